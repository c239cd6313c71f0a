#include <shardweave/core/random.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/step/detail/placements_by_bound.hpp>
#include <shardweave/step/memory_limit.hpp>
#include <shardweave/step/step_work.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>
#include <support/tiny_steps.hpp>
#include <support/tiny_training.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace sw = shardweave;

namespace placements_by_bound_tests {
namespace {

TEST_SUITE("placements by bound") {
  TEST_CASE(
      "all placements of a tiny graph come, each once, the least bound first, and no plan of one ends before it") {
    sw::random_source random(61);
    std::size_t tight = 0, all_of_them = 0;
    for (std::size_t i = 0; i < shardweave_test::at_scale(40); ++i) {
      const tiny_steps::model m = tiny_steps::random_model(random);
      const auto problem = sw::compile(sw::describe(m.graph, m));
      const sw::step_work work = sw::describe_work(m.graph, m);
      const std::size_t n = m.times.size();
      sw::detail::placement_bound bound(work, std::nullopt, n);
      std::vector<sw::strategy> labels(n);
      std::size_t count = 1;
      for (const auto& times : m.times) count *= times.size();
      CHECK_FALSE(sw::detail::placements_by_bound(problem, labels, n, count - 1, bound));
      const auto found = sw::detail::placements_by_bound(problem, labels, n, count, bound);
      REQUIRE(found);
      CHECK(found->size() == count);
      CHECK(std::ranges::is_sorted(*found, {}, &sw::detail::bounded_placement::bound));
      std::set<sw::assignment> known;
      for (const sw::detail::bounded_placement& p : *found) {
        CHECK(known.insert(p.choice).second);
        const std::int64_t best = tiny_steps::best_step_of(m, p.choice);
        CHECK(p.bound <= static_cast<double>(best));
        tight += p.bound >= static_cast<double>(best) * (1 - 1e-6) ? 1U : 0U;
        ++all_of_them;
      }
    }
    MESSAGE("as long as the best plan: " << tight << " of " << all_of_them);
    CHECK(tight * 3 >= all_of_them);
  }

  TEST_CASE("within a memory the bound of a placement counts nothing of what is made again") {
    sw::random_source random(62);
    for (std::size_t i = 0; i < shardweave_test::at_scale(20); ++i) {
      const tiny_training::model m = tiny_training::random_model(random);
      const std::size_t n = m.times.size();
      const sw::held_values held = m.held_at_loss();
      const sw::step_work plain = sw::describe_work(m.graph, m);
      const sw::step_work work = sw::with_policies(plain, held, 1, n);
      const auto problem = sw::compile(sw::with_policies(sw::describe(m.graph, m), held));
      sw::detail::placement_bound of_plain(plain, held.moment, n), bound(work, held.moment, n);
      const sw::assignment keeps = sw::keeping_all(sw::assignment(n), held);
      sw::assignment again = keeps;  // all values that may be are made again
      for (std::size_t v = 0; v < held.values.size(); ++v)
        again[n + v] = static_cast<sw::strategy>(held.values[v].forms.size());
      for (const sw::assignment& policies : {keeps, again}) {
        const auto found = sw::detail::placements_by_bound(problem, *problem.labels_of(policies), n, 1000, bound);
        REQUIRE(found);
        CHECK(found->size() == std::size_t{1} << n);
        for (const sw::detail::bounded_placement& p : *found)
          CHECK(p.bound ==
                of_plain(sw::assignment(p.choice.begin(), p.choice.begin() + static_cast<std::ptrdiff_t>(n))));
      }
    }
  }
}

}  // namespace
}  // namespace placements_by_bound_tests
