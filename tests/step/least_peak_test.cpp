#include <shardweave/core/random.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/schedule/exact.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/step/detail/least_peak.hpp>
#include <shardweave/tasks/memory_tracker.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>
#include <support/tiny_steps.hpp>
#include <support/tiny_training.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace sw = shardweave;

namespace least_peak_tests {

TEST_SUITE("least peak") {
  TEST_CASE("what is held in any order is held by the best of all orders, whatever the buckets") {
    sw::random_source random(11);
    std::size_t graphs = 0, reached = 0, plain = 0, above = 0;
    for (std::size_t i = 0; i < shardweave_test::sized<std::size_t>(40, 6); ++i) {
      CAPTURE(i);
      const tiny_training::model m = tiny_training::random_model(random);
      tiny_steps::for_each_assignment(m, [&](const std::vector<sw::strategy>& choice) {
        if (random.below(4) != 0) return;
        const sw::task_graph g = m.lower(choice);
        const sw::storage_uses uses(g);
        sw::bytes least;
        for (sw::task_index t = 0; t < g.size(); ++t)
          if (!g.is_collective(t)) least = std::max(least, sw::detail::held_in_any_order(g, uses, t));
        // an order that holds less would be found
        std::size_t tried = 0;
        tiny_steps::for_each_bucketing(g, [&](const sw::bucketing_result& buckets) {
          if (++tried > 6) return;
          const sw::schedule s = sw::exact{.memory = least - sw::bytes(1)}(g, buckets);
          CHECK(sw::simulate(g, s).peak >= least);
        });
        ++graphs;
        reached += sw::simulate(g, sw::exact{.memory = least}(g, {})).peak == least ? 1U : 0U;
        const sw::bytes own = sw::simulate(g).peak;
        CHECK_FALSE(sw::detail::exceeds_in_any_order(g, own));
        CHECK_FALSE(sw::detail::exceeds_in_any_order(g, least));
        above += own > least ? 1U : 0U;
        plain += sw::detail::exceeds_in_any_order(g, least - sw::bytes(1)) ? 1U : 0U;
      });
    }
    MESSAGE(graphs << " graphs: " << reached << " have an order that holds no more, of " << plain
                   << " the own order's peak tells the most, of " << above << " the own order holds more");
    CHECK(reached * 2 > graphs);
    CHECK(plain * 2 > graphs);
    CHECK(above > 0);
  }
}

}  // namespace least_peak_tests
