#pragma once

#include "annotated.hpp"
#include "around_plan.hpp"
#include "collective_models.hpp"
#include "losses.hpp"
#include "plan_options.hpp"
#include "program.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/nccl_node.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/io/device_file.hpp>
#include <shardweave/io/model_config.hpp>
#include <shardweave/models/deepseek.hpp>
#include <shardweave/models/f8_products.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/models/training_layout.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/mesh.hpp>
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/standard_rules.hpp>
#include <shardweave/spmd/training_constraints.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// \file
/// The training that a command line states: a model, the devices, what its parts cost and where they may lie.

namespace programs {

/// Whether there are fewer sequences than devices along the first mesh dimension.
[[nodiscard]] inline bool has_few_sequences(const shardweave::computation& graph, const shardweave::device_mesh& mesh) {
  const auto tokens = std::ranges::find(graph.operations, shardweave::role::input, &shardweave::operation::kind);
  return tokens->outputs.front().shape.front() < mesh.extent(0);
}

/// Sequences over the first mesh dimension, or their positions where there are too few; and over the last one, if
/// there is another, what is left: nothing of the inputs, the vocabulary of the logits.
[[nodiscard]] inline shardweave::sharding batch_sharded(const shardweave::spmd_cost_model& model, bool of_results) {
  const shardweave::device_mesh& mesh = model.mesh();
  std::string text = has_few_sequences(model.operations(), mesh) ? "S(1)" : "S(0)";
  for (std::size_t d = 1; d < mesh.rank(); ++d) text += of_results && d + 1 == mesh.rank() ? "S(2)" : "R";
  return shardweave::sharding::parse(text);
}

class stated_training {
 public:
  const shardweave::model_config config;
  const std::optional<shardweave::training_layout> layout;  ///< nothing: placements are searched
  const shardweave::device_mesh mesh;
  const shardweave::device_profile device;
  const shardweave::training_shape shape;

  /// \param chosen  outlives this
  /// \throws error which names the option or the file
  explicit stated_training(const plan_options& chosen)
      : config(shardweave::read_model_config(std::filesystem::path(chosen.config))),
        layout(layout_of(chosen)),
        mesh(layout ? layout->mesh() : about("--mesh", [&] { return shardweave::device_mesh::parse(chosen.mesh); })),
        device(device_of(chosen)),
        shape({.batch = chosen.batch > 0 ? chosen.batch : 2 * (layout ? layout->data_ranks() : mesh.shape().front()),
               .sequence = chosen.sequence,
               .loss = loss_of(chosen).loss,
               .loss_chunks = chosen.loss_chunks > 0 ? chosen.loss_chunks : loss_of(chosen).chunks}),
        chosen_(chosen),
        compute_(compute_of(device, chosen.compute == "published")),
        collectives_(make_collective_model(
            chosen.collectives, {.device = device, .node = [this] { return shardweave::nccl_node_of(device); }})) {
    if (shape.batch % chosen.batch_parts != 0)
      shardweave::refuse(shardweave::error_category::input, "--batch-parts: a batch of " + std::to_string(shape.batch) +
                                                                " sequences has no " +
                                                                std::to_string(chosen.batch_parts) + " equal parts");
    if (!chosen.calibration.empty()) about(chosen.calibration, [&] { calibrate(); });
  }
  stated_training(const stated_training&) = delete;
  stated_training& operator=(const stated_training&) = delete;

  [[nodiscard]] shardweave::computation graph_of(const shardweave::training_shape& of) const {
    auto made = about(chosen_.config, [&] {
      if (const auto* llama = std::get_if<shardweave::llama_config>(&config))
        return shardweave::llama_training_graph(*llama, of);
      return shardweave::deepseek_training_graph(std::get<shardweave::deepseek_config>(config), of);
    });
    if (chosen_.f8 != "off") {
      if (!(device.rate(shardweave::arithmetic::f8) > 0))
        shardweave::refuse(shardweave::error_category::input,
                           "--f8: " + std::string(device.name) + " has no 8-bit floating point");
      const bool delayed = chosen_.f8 == "delayed";
      made = shardweave::with_f8_products(
          made, {.scaling = delayed ? shardweave::f8_scaling::delayed : shardweave::f8_scaling::current,
                 .keeps_converted = delayed});
    }
    if (chosen_.layers == "found")
      for (shardweave::operation& op : made.operations) op.site = 0;  // what is not told is found
    return made;
  }
  [[nodiscard]] shardweave::spmd_cost_model model_of(const shardweave::computation& graph,
                                                     const shardweave::device_mesh& on) const {
    return {graph,
            on,
            compute_,
            collectives_,
            layout ? shardweave::layout_rules(*layout) : rules_of(graph, on),
            {.reduce_after_cast = chosen_.reduce_f32, .threads = chosen_.common.threads}};
  }
  /// Of a search: whether attention may be cut by positions, beside whole keys and values or in rings.
  [[nodiscard]] shardweave::rule_table rules_of(const shardweave::computation& graph,
                                                const shardweave::device_mesh& on) const {
    const std::string& told = chosen_.context_parallel;
    const bool rings = told == "rings" || (told.empty() && has_few_sequences(graph, on));
    return shardweave::standard_rules(
        {.attention_by_positions = rings || told == "on" || (told.empty() && chosen_.for_step()),
         .attention_in_rings = rings});
  }
  /// \param placed  as `training_options` has it
  [[nodiscard]] shardweave::constraint_set constraints_of(const shardweave::spmd_cost_model& model,
                                                          const std::vector<std::uint32_t>& placed = {}) const {
    return about(chosen_.config, [&] {
      if (layout) return shardweave::layout_constraints(model, *layout);
      shardweave::training_options usual{.inputs = batch_sharded(model, false),
                                         .results = result_placement(model),
                                         .tie_layers = chosen_.layers != "untied",
                                         .placed = placed};
      if (chosen_.memory_budget) usual.device_memory = shardweave::bytes(*chosen_.memory_budget);
      usual.memory.state_per_element = chosen_.optimizer_bytes;
      return shardweave::training_constraints(model, usual);
    });
  }
  /// Logits are cut as their inputs are, and by words; a loss is one number, which every device has.
  [[nodiscard]] shardweave::sharding result_placement(const shardweave::spmd_cost_model& model) const {
    return shape.loss == shardweave::training_loss::logits
               ? batch_sharded(model, true)
               : shardweave::sharding::parse(std::string(model.mesh().rank(), 'R'));
  }
  /// Where parameters are gathered again in the backward pass, whatever is planned.
  [[nodiscard]] bool regathers() const {
    return chosen_.regather || (layout && layout->stage == shardweave::zero_stage::parameters);
  }
  /// Whether gradients of several micro-batches are reduced once a step.
  [[nodiscard]] bool reduces_once() const { return layout && layout->reduces_once(); }
  /// How many devices that hold the same parameters share their optimizer's state.
  [[nodiscard]] double state_sharers() const {
    return layout && layout->updates_parts() ? static_cast<double>(layout->sharers()) : 1;
  }

 private:
  [[nodiscard]] static std::optional<shardweave::training_layout> layout_of(const plan_options& chosen) {
    if (chosen.layout.empty()) return std::nullopt;
    return about("--layout", [&] { return shardweave::training_layout::parse(chosen.layout); });
  }
  /// The device, with as much memory as plans may count on.
  [[nodiscard]] static shardweave::device_profile device_of(const plan_options& chosen) {
    shardweave::device_profile device = shardweave::find_device(chosen.device);
    if (!chosen.reserve) return device;
    if (*chosen.reserve >= device.memory)
      shardweave::refuse(shardweave::error_category::input,
                         "--reserve: " + shardweave::size_text(static_cast<double>(*chosen.reserve)) + " of the " +
                             shardweave::size_text(static_cast<double>(device.memory)) + " of " +
                             std::string(device.name) + " leave nothing");
    device.memory -= *chosen.reserve;
    return device;
  }
  [[nodiscard]] static named_loss loss_of(const plan_options& chosen) {
    const std::vector<named_loss> all = losses();
    return *std::ranges::find(all, chosen.loss, &named_loss::name);
  }
  /// Published shares of the peaks, where there are some of the device and they are wanted.
  [[nodiscard]] static shardweave::compute_profile compute_of(const shardweave::device_profile& device,
                                                              bool published) {
    for (const shardweave::device_preset& preset : shardweave::device_presets())
      if (published && preset.profile.name == device.name) return preset.compute();
    return shardweave::roofline(device);
  }
  void calibrate() {
    const shardweave::device_calibration measured = shardweave::read_device(chosen_.calibration);
    require_device(measured, device.name);
    collectives_ = detail::plain_model(measured.correct(collectives_));
    if (measured.compute) compute_ = measured.compute_on(device);
  }

  const plan_options& chosen_;
  shardweave::compute_profile compute_;
  collective_model collectives_;
};

}  // namespace programs
