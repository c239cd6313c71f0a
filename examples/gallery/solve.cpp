// A solver of one's own is one struct, and composes with those of the library.
#include <shardweave/core/random.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/solve/certified.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/elimination.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/first_proven.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/polished.hpp>
#include <shardweave/solve/reduced.hpp>
#include <shardweave/solve/solver.hpp>
#include <shardweave/solve/trws.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sw = shardweave;

// [dice]
/// Throws dice, and keeps the best of many throws. No bound, no promise: `conclude` prices what it found.
struct dice {
  static constexpr std::string_view name = "dice";
  static constexpr sw::solver_abilities abilities{};
  std::size_t throws = 100;

  template <sw::cost_value Cost>
  [[nodiscard]] sw::solution<Cost> solve(const sw::placement_problem<Cost>& problem,
                                         const sw::solve_control& control = {}) const {
    const sw::compact_problem<Cost>& p = problem.compact();
    const sw::deadline limit(control);
    sw::random_source random(control.seed);
    std::vector<sw::strategy> labels(p.size()), best;
    Cost least = sw::forbidden<Cost>;
    for (std::size_t i = 0; i < throws && !limit.expired(); ++i) {
      for (std::size_t x = 0; x < p.size(); ++x) labels[x] = static_cast<sw::strategy>(random.below(p.label_count(x)));
      const Cost cost = p.cost(labels);
      if (cost < least) best = labels, least = cost;
    }
    constexpr double no_bound = -std::numeric_limits<double>::infinity();
    return sw::conclude<Cost>(problem, best, no_bound, limit.expired(), {.solver = "dice"}, control);
  }
};
static_assert(sw::solver<dice, double>);
// [dice]

/// Any cost model would do: 4 strategies, costs between 0 and 19 that look random.
struct noisy_costs {
  using cost_type = double;
  static double noise(std::uint64_t seed) { return static_cast<double>(sw::random_source(seed).below(20)); }
  std::size_t strategy_count(std::uint32_t) const { return 4; }
  double vertex_cost(std::uint32_t v, sw::strategy s) const { return noise(4 * v + s); }
  double edge_cost(sw::compressed_graph::edge_descriptor e, sw::strategy a, sw::strategy b) const {
    return noise(1000 + 16 * e.index + 4 * a + b);
  }
};

int main() {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> chain;
  for (std::uint32_t v = 0; v + 1 < 30; ++v) chain.emplace_back(v, v + 1);
  const auto problem = sw::compile(sw::describe(sw::compressed_graph(30, chain), noisy_costs{}));
  // [compose]
  const auto thrown = dice{}.solve(problem);
  const auto better = sw::polished(dice{}, sw::local_search{}).solve(problem);      // start there, then improve
  const auto judged = sw::certified(dice{.throws = 1}, sw::trws{}).solve(problem);  // bound from someone else
  const auto proven = sw::first_proven(sw::reduced(dice{}), sw::elimination{}).solve(problem, {.seed = 3});
  // [compose]
  const auto show = [](const char* what, const sw::solution<double>& s) {
    std::printf("%-28s cost %4g  bound %4g  %s\n", what, s.objective, s.lower_bound,
                std::string(sw::name_of(s.status)).c_str());
  };
  show("dice", thrown);
  show("dice, polished", better);
  show("one throw, judged by trws", judged);
  show("reduced dice or elimination", proven);
  return proven.status == sw::solve_status::optimal && better.objective <= thrown.objective &&
                 proven.objective <= better.objective && judged.lower_bound <= proven.objective
             ? 0
             : 1;
}
