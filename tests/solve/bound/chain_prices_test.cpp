#include "solve/bound/priced_terms.hpp"
#include "solve/small_problems.hpp"
#include "support/scale.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/overlap/window.hpp>
#include <shardweave/placement/savings_terms.hpp>
#include <shardweave/solve/bound/chain_prices.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace chain_prices_tests {
namespace {

namespace sw = shardweave;
using priced_terms::draw_prices;
using priced_terms::draw_terms;
using priced_terms::priced_savings;
using priced_terms::relief_of;
using shardweave_test::at_scale;
using shardweave_test::draw_small;
using shardweave_test::for_all_labelings;
using shardweave_test::label_list;

}  // namespace

TEST_SUITE("chain_prices") {
  TEST_CASE_TEMPLATE("worth is summed over channels, and relief is what the cheapest slot of a window leaves", Cost,
                     double, std::int64_t) {
    for (std::uint64_t seed = 0; seed < at_scale(120); ++seed) {
      const auto p = draw_small<Cost>(seed, {.variables = 3});
      const auto terms = draw_terms(seed, p);
      sw::random_source random(seed);
      sw::chain_prices<Cost> chain(terms);
      REQUIRE(chain.values().size() == terms.channels * terms.slots());
      for (int round = 0; round < 2; ++round) {  // nothing of the first prices may stay
        chain.values() = draw_prices(chain.values().size(), random);
        chain.update();
        for (std::size_t q = 0; q < terms.slots(); ++q) {
          double worth = 0;
          for (std::size_t c = 0; c < terms.channels; ++c) worth += chain.values()[c * terms.slots() + q];
          CHECK(chain.worth(q) == worth);
        }
        for (std::size_t d = 0; d < terms.demands.size(); ++d) {
          CHECK(chain.saved(d) == relief_of(terms, chain.values(), d));
          CHECK(chain.saved()[d] == chain.saved(d));
        }
      }
    }
  }

  TEST_CASE("no labeling saves more than any prices say, and all free saves what is wanted") {
    for (std::uint64_t seed = 0; seed < at_scale(60); ++seed) {
      const auto p = draw_small<std::int64_t>(seed, {.variables = 4, .most_labels = 3});
      const auto terms = draw_terms(seed, p);
      sw::random_source random(seed);
      const std::vector<double> prices = draw_prices(terms.channels * terms.slots(), random);
      const std::vector<double> free(prices.size()), full(prices.size(), 1.0);
      for_all_labelings<std::int64_t>(p, [&](const label_list& labels) {
        const auto saved = static_cast<double>(sw::savings_of(terms, std::span<const sw::strategy>(labels)));
        CHECK(saved <= priced_savings(terms, prices, labels));
        std::vector<std::int64_t> offered, wanted;
        terms.measure(labels, offered, wanted);
        std::int64_t all_offered = 0, all_wanted = 0;
        for (const auto c : offered) all_offered += c;
        for (std::size_t d = 0; d < wanted.size(); ++d)
          if (terms.demands[d].where != sw::window{0, 0, 0}) all_wanted += wanted[d];
        CHECK(priced_savings(terms, free, labels) == static_cast<double>(all_wanted));
        CHECK(priced_savings(terms, full, labels) ==
              static_cast<double>(all_offered) * static_cast<double>(terms.channels));
        CHECK(saved <= static_cast<double>(terms.most()));
      });
    }
  }

  TEST_CASE("the prices of a least cut say of their labeling what it saves, and are 0 or 1") {
    for (std::uint64_t seed = 0; seed < at_scale(60); ++seed) {
      const auto p = draw_small<std::int64_t>(seed, {.variables = 4, .most_labels = 3});
      const auto terms = draw_terms(seed, p);
      for_all_labelings<std::int64_t>(p, [&](const label_list& labels) {
        std::vector<std::int64_t> offered, wanted;
        terms.measure(labels, offered, wanted);
        const std::vector<double> prices = sw::detail::cut_prices(terms, offered, wanted);
        REQUIRE(prices.size() == terms.channels * terms.slots());
        for (const double v : prices) CHECK((v == 0 || v == 1));
        CHECK(priced_savings(terms, prices, labels) ==
              static_cast<double>(sw::savings_of(terms, std::span<const sw::strategy>(labels))));
      });
    }
  }
}

}  // namespace chain_prices_tests
