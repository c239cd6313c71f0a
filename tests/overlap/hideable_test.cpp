#include <shardweave/core/random.hpp>
#include <shardweave/overlap/hideable.hpp>
#include <shardweave/overlap/savings.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace hideable_tests {
namespace {
static_assert(sw::duration_value<sw::nanoseconds> && sw::duration_value<double> && sw::duration_value<long>);
static_assert(!sw::duration_value<unsigned> && !sw::duration_value<std::string> && !sw::duration_value<sw::bytes>);
static_assert(sw::computation_range<std::vector<float>> && !sw::computation_range<std::vector<std::string>>);
static_assert(sw::hideable_range<std::vector<sw::hideable<double>>, double>);
static_assert(!sw::hideable_range<std::vector<sw::hideable<double>>, float>);
}  // namespace

TEST_SUITE("hideable") {
  TEST_CASE("demands stand in the order of their places, each with the amount of its edge") {
    const std::vector<sw::hiding_place> places{{.edge = 2, .where = {0, 3}},
                                               {.edge = 0, .where = {1, 1}, .channel = 1}};
    const std::vector<long> amounts{10, 20, 30};
    const auto demands = sw::demands_of(places, [&](std::size_t edge) { return amounts[edge]; });
    REQUIRE(demands.size() == 2);
    CHECK(demands[0].amount == 30);
    CHECK(demands[0].where == places[0].where);
    CHECK(demands[0].channel == 0);
    CHECK(demands[1].amount == 10);
    CHECK(demands[1].channel == 1);
  }
  TEST_CASE("what is saved is what is hidden and what is spent, never more than is there") {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      sw::random_source random(seed);
      std::vector<long> computation(1 + random.below(6));
      for (long& c : computation) c = static_cast<long>(random.below(9));
      std::vector<sw::hideable<long>> demands(random.below(7));
      for (auto& d : demands) {
        const std::size_t first = random.below(computation.size());
        d = {{first, first + random.below(computation.size() - first)},
             static_cast<long>(random.below(9)),
             random.below(2)};
      }
      const sw::savings<long> saved = sw::hide(computation, demands);
      long hidden = 0, spent = 0;
      for (std::size_t i = 0; i < demands.size(); ++i) {
        CHECK((saved.hidden[i] >= 0 && saved.hidden[i] <= demands[i].amount));
        hidden += saved.hidden[i];
      }
      for (std::size_t i = 0; i < saved.spent.size(); ++i) {
        CHECK((saved.spent[i] >= 0 && saved.spent[i] <= computation[i % computation.size()]));
        spent += saved.spent[i];
      }
      CHECK(saved.total == hidden);
      CHECK(saved.total == spent);
    }
  }
}

}  // namespace hideable_tests
