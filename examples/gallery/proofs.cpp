// Proves that nothing costs less, in words that anyone can check; a proof that claims more is not believed.
#include <shardweave/core/random.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/placement/check_certificate.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/solve/proof/certify_placement.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <vector>

namespace sw = shardweave;

/// Any cost model would do: 4 strategies, costs between 0 and 19 that look random.
struct noisy_costs {
  using cost_type = double;
  static double noise(std::uint64_t seed) { return static_cast<double>(sw::random_source(seed).below(20)); }
  std::size_t strategy_count(std::uint32_t) const { return 4; }
  double vertex_cost(std::uint32_t v, sw::strategy s) const { return noise(100 * v + s); }
  double edge_cost(sw::edge_t<sw::compressed_graph> e, sw::strategy a, sw::strategy b) const {
    return noise(1'000'000 + 100 * e.source + 10 * e.target + 4 * a + b);
  }
};

int main() {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ring;
  for (std::uint32_t v = 0; v < 12; ++v) ring.emplace_back(v, (v + 1) % 12);
  const sw::compressed_graph g(12, ring);
  // [certify]
  const auto problem = sw::compile(sw::describe(g, noisy_costs{}));
  const auto answer = sw::auto_solver{}.solve(problem);
  auto proof = sw::certify_placement(problem, answer.objective);
  const auto verdict = sw::check_certificate(*problem.description(), proof);
  // [certify]
  std::printf("found %.0f; nothing costs less than %.3f: %s after %zu steps, %zu cases\n", answer.objective,
              proof.lower_bound, verdict.accepted ? "accepted" : "refused", verdict.steps, proof.cases.size());
  // [spoil]
  proof.lower_bound += 1;
  const auto refused = sw::check_certificate(*problem.description(), proof);
  // [spoil]
  std::printf("and no less than %.3f: %s\n", proof.lower_bound, refused.failure.c_str());
  return verdict.accepted && sw::proves(verdict.bound, answer.objective) && !refused.accepted ? 0 : 1;
}
