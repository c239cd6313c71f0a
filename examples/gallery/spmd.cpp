// How tensors lie on a mesh, what a change of placement costs, and a rule for an operator of one's own.
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/planner.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/spmd/mesh.hpp>
#include <shardweave/spmd/redistributor.hpp>
#include <shardweave/spmd/rules.hpp>
#include <shardweave/spmd/rules/attention.hpp>
#include <shardweave/spmd/rules/letters.hpp>
#include <shardweave/spmd/rules/local_region.hpp>
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/standard_rules.hpp>

#include <cstdio>
#include <string>
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

/// How many ways there are to run an operator on tensors of these shapes, and whether one of them is `label`.
bool offers(const std::string& op, const std::vector<sw::tensor>& inputs, const sw::tensor& output,
            const sw::rule_table& rules, const char* mesh, std::size_t count, const std::string& label) {
  sw::graph_builder b("one operation");
  std::vector<sw::graph_builder::value> arguments;
  for (const sw::tensor& in : inputs) arguments.push_back(b.input("x" + std::to_string(arguments.size()), in));
  const auto y = b.apply(op, arguments, {output});
  b.result(y);
  const auto device = sw::find_device("h100");
  const sw::spmd_cost_model model(b.finish(), sw::device_mesh::parse(mesh), sw::roofline{device},
                                  sw::node_table<>(device), rules);
  bool found = false;
  for (sw::strategy s = 0; s < model.strategy_count(y.vertex); ++s) found = found || model.label(y.vertex, s) == label;
  std::printf("%s: %zu ways\n", op.c_str(), model.strategy_count(y.vertex));
  return found && model.strategy_count(y.vertex) == count;
}

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
  rules.add("row_softmax", &softmax_rule, {.moves_data_only = true});  // what it computes takes less than its data
  sw::graph_builder b("attention weights");
  const auto x = b.input("scores", scores);
  b.result(b.apply("row_softmax", {x}, {scores}));
  const auto device = sw::find_device("h100");
  const sw::spmd_cost_model model(b.finish(), mesh, sw::roofline{device}, sw::node_table<>(device), rules);
  // [use]

  const std::size_t count = model.strategy_count(1);  // R or S(0) along each of two mesh dimensions
  const auto plan = sw::planner(model.graph(), model).solve();
  std::printf("%zu ways to run it; best: %s\n", count, model.label(1, plan.choice[1]).c_str());

  // [letters]
  // scores of tokens for classes, from features: one letter per dimension; "f" is not to be cut
  rules.add("class_scores", sw::letter_rule{"tf,cf->tc", "f"}, {.flops = sw::letter_flops{"tf,cf->tc"}});
  // a region with collectives of its own: queries cut along the sequence, keys and values whole
  const auto query = sw::sharding::parse("S(0)S(2)");
  const auto key = sw::sharding::parse("S(0)R");
  rules.add("ring_attention", sw::local_region_rule{{query, key, key}, {query}},
            {.flops = sw::attention_flops{}, .kernel = sw::kernel_kind::attention});
  // [letters]
  const sw::tensor heads{{16, 8, 4096, 128}, sw::dtype::bf16};
  const bool extended =
      offers("class_scores", {{{512, 64}}, {{100, 64}}}, {{512, 100}}, rules, "8", 3, "S(0),R->S(0)") &&
      offers("ring_attention", {heads, heads, heads}, heads, rules, "2x4", 1, "S(0)S(2),S(0)R,S(0)R->S(0)S(2)");
  if (!extended) return 1;
  return held * 2 == scores.size() && count == 4 && model.label(1, plan.choice[1]) == "S(0)S(0)->S(0)S(0)" ? 0 : 1;
}
