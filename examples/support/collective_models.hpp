#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/autoparallel_formula.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/nccl_explanation.hpp>
#include <shardweave/cost/nccl_node.hpp>
#include <shardweave/cost/nccl_smooth.hpp>
#include <shardweave/cost/nccl_symmetric.hpp>
#include <shardweave/cost/nccl_tuner.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/cost/torch_formula.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// The models of collectives that a command line can name: a thin layer over the policy types.

namespace programs {

/// What a model may be made of.
struct collective_machine {
  shardweave::device_profile device = {};
  std::function<shardweave::nccl_node()> node = {};  ///< asked for by models that need it
  shardweave::nccl_tuner_options tuner = {};
};

/// A model whose type is gone.
struct collective_model {
  std::function<shardweave::collective_estimate(shardweave::collective, shardweave::bytes, shardweave::group_shape)>
      estimate = {};
  /// Empty where a model has nothing to explain.
  std::function<shardweave::nccl_explanation(shardweave::collective, shardweave::bytes, shardweave::group_shape)>
      explain = {};
};

struct named_collective_model {
  std::string name;
  std::string about;
  std::function<collective_model(const collective_machine&)> make;
};

namespace detail {

template <shardweave::collective_cost_model Model>
[[nodiscard]] collective_model plain_model(Model model) {
  return {.estimate = [model = std::move(model)](auto kind, auto size, auto group) {
    return model.estimate(kind, size, group);
  }};
}

template <class Model>
[[nodiscard]] collective_model explained_model(Model model) {
  return {.estimate = [model](auto kind, auto size, auto group) { return model.estimate(kind, size, group); },
          .explain = [model](auto kind, auto size, auto group) { return model.explain(kind, size, group); }};
}

[[nodiscard]] inline named_collective_model release(const std::string& name, shardweave::nccl_version version,
                                                    const std::string& about) {
  return {name, about, [version](const collective_machine& machine) {
            shardweave::nccl_tuner_options options = machine.tuner;
            options.version = version;
            return explained_model(shardweave::nccl_tuner(machine.node(), options));
          }};
}

}  // namespace detail

/// All of them; the first is the default.
[[nodiscard]] inline std::vector<named_collective_model> collective_models() {
  namespace sw = shardweave;
  using enum sw::nccl_version;
  return {
      {"nccl", "NCCL's cost model without its jumps, with measured ramps",
       [](const collective_machine& m) {
         return detail::explained_model(sw::nccl_smooth(m.node(), {.tuner = m.tuner}));
       }},
      {"nccl_symmetric", "the same; in a node with NCCL's kernels for symmetric memory",
       [](const collective_machine& m) {
         const sw::nccl_node node = m.node();
         return detail::plain_model(sw::nccl_symmetric<>(node, sw::nccl_smooth(node, {.tuner = m.tuner})));
       }},
      detail::release("nccl_2_20", v2_20, "NCCL 2.20's cost model"),
      detail::release("nccl_2_24", v2_24, "NCCL 2.24's cost model"),
      detail::release("nccl_2_27", v2_27, "NCCL 2.27's cost model, exactly"),
      detail::release("nccl_2_28", v2_28, "NCCL 2.28's cost model, exactly"),
      detail::release("nccl_2_29", v2_29, "NCCL 2.29's cost model"),
      detail::release("nccl_2_30", v2_30, "NCCL 2.30's cost model, exactly"),
      {"fitted_lines", "latency and bandwidth by collective and group, fitted to measurements of the device",
       [](const collective_machine& m) { return detail::plain_model(sw::find_preset(m.device.name).collectives()); }},
      {"alpha_beta", "rings over links of two speeds",
       [](const collective_machine& m) { return detail::plain_model(sw::alpha_beta(m.device)); }},
      {"node_table", "fitted constants inside a node, alpha_beta between nodes",
       [](const collective_machine& m) { return detail::plain_model(sw::node_table<>(m.device)); }},
      {"torch_formula", "what PyTorch Inductor's compiler expects, 2026",
       [](const collective_machine& m) { return detail::plain_model(sw::torch_formula(m.device)); }},
      {"torch_formula_ring_ll", "the same, until 2025",
       [](const collective_machine& m) {
         return detail::plain_model(sw::torch_formula(m.device, sw::torch_edition::ring_ll));
       }},
      {"autoparallel_formula", "what AutoParallel expects",
       [](const collective_machine& m) { return detail::plain_model(sw::autoparallel_formula(m.device)); }},
  };
}

/// The model of that name for that machine.
/// \throws shardweave::error if there is no such model, or it does not know the machine
[[nodiscard]] inline collective_model make_collective_model(const std::string& name,
                                                            const collective_machine& machine) {
  for (const named_collective_model& m : collective_models())
    if (m.name == name) return m.make(machine);
  shardweave::refuse(shardweave::error_category::input, "no model of collectives is called '" + name + "'");
}

}  // namespace programs
