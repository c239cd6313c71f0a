// How tensors lie on a mesh, what a change of placement costs, and a rule for an operator of one's own.
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/planner.hpp>
#include <shardweave/spmd/mesh.hpp>
#include <shardweave/spmd/redistributor.hpp>
#include <shardweave/spmd/rules.hpp>
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/standard_rules.hpp>

#include <cstdio>
#include <vector>

namespace sw = shardweave;

// [rule]
/// Softmax over the last dimension: every other dimension may be cut, the last one stays together.
std::vector<sw::dim_strategy> softmax_rule(const sw::operation_view& view, std::int64_t) {
  std::vector<sw::dim_strategy> ways{{{sw::dim_placement::replicate()}, {sw::dim_placement::replicate()}}};
  for (std::size_t d = 0; d + 1 < view.outputs.front().rank(); ++d)
    ways.push_back({{sw::dim_placement::shard(d)}, {sw::dim_placement::shard(d)}});
  return ways;
}
// [rule]

int main() {
  // [sharding]
  const sw::device_mesh mesh({2, 4}, {"data", "model"});
  const sw::tensor scores{{65536, 8192}, sw::dtype::bf16};
  const auto rows = sw::sharding::parse("S(0)R");  // cut in 2 along the rows, the same on the 4 of "model"
  const sw::bytes held = sw::local_size(scores, rows, mesh);
  // [sharding]
  std::printf("%s holds %lld of %lld bytes\n", rows.to_string().c_str(), static_cast<long long>(held.count()),
              static_cast<long long>(scores.size().count()));

  // [use]
  sw::rule_table rules = sw::standard_rules();
  rules.add("row_softmax", &softmax_rule);
  sw::graph_builder b("attention weights");
  const auto x = b.input("scores", scores);
  b.result(b.apply("row_softmax", {x}, {scores}));
  const auto device = sw::find_device("h100");
  const sw::spmd_cost_model model(b.finish(), mesh, sw::roofline{device}, sw::node_table<>(device), rules);
  // [use]

  const std::size_t count = model.strategy_count(1);  // R or S(0) along each of two mesh dimensions
  const auto plan = sw::planner(model.graph(), model).solve();
  std::printf("%zu ways to run it; best: %s\n", count, model.label(1, plan.choice[1]).c_str());
  return held * 2 == scores.size() && count == 4 && model.label(1, plan.choice[1]) == "S(0)S(0)->S(0)S(0)" ? 0 : 1;
}
