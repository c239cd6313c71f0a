// The fastest plan, and why none is faster: a bound on the step of every plan, over a host's own graph and prices.
#include <shardweave/shardweave.hpp>
#include <shardweave/step.hpp>

#include <boost/graph/adjacency_list.hpp>

#include <cstddef>
#include <cstdio>
#include <vector>

namespace sw = shardweave;

using graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
using vertex = sw::vertex_t<graph>;
using edge = sw::edge_t<graph>;

// [model]
/// Stages of a pipeline of filters, each on one card (strategy 0) or cut over four (strategy 1). A cut stage computes
/// four times as fast; between stages that are not cut alike the link moves the frames, and merging its transfers saves
/// the 2 of latency of each, but not the 9 of the bytes.
struct my_costs {
  using cost_type = double;
  std::size_t strategy_count(vertex) const { return 2; }
  double vertex_cost(vertex, sw::strategy s) const { return s == 0 ? 16 : 4; }
  double edge_cost(edge, sw::strategy from, sw::strategy to) const { return from == to ? 0 : 11; }

  // what any plan takes of the cards (channel 0) and of the link (channel 1)
  std::size_t channel_count() const { return 2; }
  double vertex_time(vertex v, sw::strategy s) const { return vertex_cost(v, s); }
  sw::edge_work edge_work(edge, sw::strategy from, sw::strategy to) const {
    if (from == to) return {};
    return {.loads = {0, 9}, .chain = 11};
  }
};
// [model]

int main() {
  graph g(6);
  for (const auto& [from, to] : {std::pair(0, 1), {0, 2}, {1, 3}, {2, 4}, {3, 5}, {4, 5}})
    add_edge(static_cast<vertex>(from), static_cast<vertex>(to), g);
  sw::constraint_set constraints;  // frames arrive and leave on one card
  constraints.fixed.push_back({0, {0}, "frames arrive whole"});
  constraints.fixed.push_back({5, {0}, "frames leave whole"});

  // [bound]
  const auto problem = sw::compile(sw::describe(g, my_costs{}, constraints));
  const auto work = sw::describe_work(g, my_costs{});
  const sw::step_bounds found = sw::step_bound(problem, work, sw::exhaustive{});
  // [bound]

  // [certificate]
  const sw::step_certificate proof = sw::certify_step(found, problem, work);
  const auto verdict = sw::check_certificate(*problem.description(), work, proof);  // knows nothing of how it was found
  // [certificate]

  const double proven = verdict.bound;
  std::printf("no plan ends before %.2f; the certificate proves %.2f\n", found.bound, proven);
  for (std::size_t r = 0; r < found.claims.size(); ++r) {
    const sw::step_claim& claim = found.claims[r];
    std::printf("  %.2f of %s\n", found.weights[r],
                claim.channel == sw::step_claim::path ? "a path"
                : claim.channel == 0                  ? "the cards"
                                                      : "the link");
  }
  return verdict.accepted && proven > 0.95 * found.bound
             ? 0
             : 1;  // either may be a little above the other: both are bounds
}
