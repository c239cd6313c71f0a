#pragma once

#include <shardweave/spmd/rules.hpp>
#include <shardweave/spmd/strategies.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// One operation alone, and the ways to run it that a table of rules offers.
namespace one_operations {

using namespace shardweave;
using shardweave_test::refusal_of;

using shardweave_test::refusal_of;
inline sharding lying(const char* text) { return sharding::parse(text); }
inline const operator_cost moves{.moves_data_only = true};

/// Sources x0, x1, ... and one operation on them.
inline computation one_operation(const std::string& op, const std::vector<tensor>& inputs, std::vector<tensor> outputs,
                                 attributes with = {}) {
  computation graph;
  operation last{"z", op, phase::forward, role::none, {}, std::move(outputs), std::move(with)};
  for (const tensor& in : inputs) {
    const std::string name = "x" + std::to_string(graph.operations.size());
    last.inputs.push_back(static_cast<std::uint32_t>(graph.operations.size()));
    graph.operations.push_back({name, "input", phase::forward, role::input, {}, {in}});
  }
  graph.operations.push_back(std::move(last));
  return graph;
}

inline std::set<std::string> labels_of(const strategy_list& list) {
  std::set<std::string> labels;
  for (const mesh_strategy& s : list.strategies) {
    std::string label;
    for (const sharding& in : s.inputs) label += in.to_string() + " ";
    label += "->";
    for (const sharding& out : s.outputs) label += " " + out.to_string();
    CHECK(labels.insert(label).second);
  }
  return labels;
}

inline std::set<std::string> ways(const computation& graph, const rule_table& rules, const std::string& mesh = "2") {
  const strategy_space space =
      enumerate_strategies(graph, device_mesh::parse(mesh), roofline{find_device("h100")}, rules);
  return labels_of(space.of(graph.operations.size() - 1));
}

inline std::string refusal(const computation& graph, const rule_table& rules) {
  return refusal_of([&] { return ways(graph, rules); });
}

}  // namespace one_operations
