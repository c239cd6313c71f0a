#include "solve/bound/priced_terms.hpp"
#include "solve/small_problems.hpp"
#include "support/scale.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/solve/bound/chain_prices.hpp>
#include <shardweave/solve/bound/priced_problem.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>

namespace priced_problem_tests {
namespace {

namespace sw = shardweave;
using priced_terms::draw_prices;
using priced_terms::draw_terms;
using priced_terms::priced_savings;
using shardweave_test::at_scale;
using shardweave_test::draw_small;
using shardweave_test::for_all_labelings;
using shardweave_test::label_list;
using shardweave_test::naive_cost;
using shardweave_test::naive_rows;

}  // namespace

TEST_SUITE("priced_problem") {
  TEST_CASE_TEMPLATE("every labeling costs its costs less what the prices say that it saves", Cost, double,
                     std::int64_t) {
    std::size_t forbidden = 0;
    for (std::uint64_t seed = 0; seed < at_scale(60); ++seed) {
      const auto p =
          draw_small<Cost>(seed, {.variables = 4, .most_labels = 3, .density = 0.3, .forbidden = 0.2, .rows = 2});
      const auto terms = draw_terms(seed, p);
      sw::priced_problem<Cost> priced(p, terms);
      CHECK(priced.shape().size() == p.size());
      CHECK(priced.shape().rows().size() == p.rows().size());
      sw::random_source random(seed);
      sw::chain_prices<Cost> chain(terms);
      for (int round = 0; round < 2; ++round) {
        chain.values() = draw_prices(chain.values().size(), random);
        chain.update();
        const auto merged = priced.with_prices(chain);
        const auto apart = priced.with_prices(chain, false);
        CHECK(apart.edges().size() == priced.shape().edges().size());
        for_all_labelings<Cost>(p, [&](const label_list& labels) {
          const auto cost = naive_cost(p, labels);
          const auto shape = naive_cost(priced.shape(), labels);
          REQUIRE(shape.has_value() == cost.has_value());
          CHECK(naive_cost(merged, labels).has_value() == cost.has_value());
          CHECK(naive_rows(merged, labels) == naive_rows(p, labels));
          if (!cost) {
            ++forbidden;
            return;
          }
          CHECK(*shape == static_cast<double>(*cost));
          const double expected = static_cast<double>(*cost) - priced_savings(terms, chain.values(), labels);
          CHECK(*naive_cost(merged, labels) == expected);
          CHECK(*naive_cost(apart, labels) == expected);
        });
      }
    }
    CHECK(forbidden > at_scale(50));
  }
}

}  // namespace priced_problem_tests
