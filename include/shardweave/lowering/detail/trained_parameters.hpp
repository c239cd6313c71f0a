#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/tensor.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// The parameters that an optimizer updates.

namespace shardweave::inline v0::detail {

/// A parameter with a gradient.
struct trained_parameter {
  std::uint32_t operation = 0;
  task_index parameter = no_index, gradient = no_index;  ///< in the graph of the forward and backward part
  double updated = 0, computed = 0;  ///< numbers of elements that a device updates, and computes with
};

/// The parameters of one layer.
struct trained_layer {
  /// The number for parameters outside of layers; sorts after all layers.
  static constexpr std::int64_t none = std::int64_t{1} << 40;
  std::int64_t number = none;
  std::vector<trained_parameter> parameters = {};
  double updated = 0;  ///< elements

  [[nodiscard]] std::string name() const {
    return number == none ? "optimizer" : "optimizer.layers." + std::to_string(number);
  }
};

/// Parameters with a gradient, by layer, those outside of layers last; and how the mesh shards them.
class trained_parameters {
 public:
  /// \throws error (input) if there are none
  trained_parameters(const lowered_graph& given, const spmd_cost_model& model, std::span<const strategy> chosen)
      : shares_(model.mesh().rank(), false), gathered_(model.mesh().rank(), 0.0) {
    const task_graph& g = given.tasks;
    const computation& operations = model.operations();
    const auto lies = [&](std::uint32_t v) -> const sharding& {
      return model.strategies(v).strategies[chosen[v]].outputs.front();
    };
    std::map<std::int64_t, trained_layer> by_layer;
    for (const auto& [v, of] : operations.gradient_of) {
      const operation& op = operations.operations[v];
      if (op.kind != role::parameter) continue;
      trained_parameter p{.operation = v, .parameter = given.task_of[v], .gradient = given.task_of[of]};
      p.computed = elements(g.output(p.parameter, 0), op.outputs.front());
      p.updated = elements(g.output(p.gradient, 0), operations.operations[of].outputs.front());
      for (std::size_t d = 0; d < shares_.size(); ++d) {
        if (!lies(of)[d].is_sharded()) continue;
        shares_[d] = true;
        if (!lies(v)[d].is_sharded()) gathered_[d] += p.computed;
      }
      updated_ += p.updated;
      trained_layer& layer = by_layer[op.layer < 0 ? trained_layer::none : op.layer];
      layer.updated += p.updated;
      layer.parameters.push_back(p);
    }
    for (auto& [number, layer] : by_layer) {
      layer.number = number;
      layers_.push_back(std::move(layer));
    }
    if (layers_.empty()) refuse(error_category::input, "whole step: no parameter of '" + g.name + "' has a gradient");
  }

  [[nodiscard]] const std::vector<trained_layer>& layers() const { return layers_; }
  /// Elements that a device updates.
  [[nodiscard]] double updated() const { return updated_; }
  [[nodiscard]] std::size_t dimensions() const { return shares_.size(); }
  /// Whether gradients are sharded along a mesh dimension.
  [[nodiscard]] bool is_shared(std::size_t d) const { return shares_[d]; }
  /// Elements that are gathered along a mesh dimension after the update.
  [[nodiscard]] double gathered(std::size_t d) const { return gathered_[d]; }

  /// Divides a time among updated elements: the time of the next `more` of them; all such times add up to `all`.
  /// \param done  elements before; `more` is added to it
  [[nodiscard]] nanoseconds share(nanoseconds all, double& done, double more) const {
    const auto until = [&](double count) {
      return static_cast<std::int64_t>(static_cast<double>(all.count()) * (count / updated_));
    };
    const std::int64_t before = until(done);
    done += more;
    return nanoseconds((done >= updated_ ? all.count() : until(done)) - before);
  }

 private:
  [[nodiscard]] static double elements(const output_info& o, const tensor& value) {
    return static_cast<double>(o.size.count()) / static_cast<double>(element_size(value.type));
  }

  std::vector<trained_layer> layers_;
  std::vector<bool> shares_;
  std::vector<double> gathered_;
  double updated_ = 0;
};

}  // namespace shardweave::inline v0::detail
