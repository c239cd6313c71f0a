#include <shardweave/placement/detail/eliminate.hpp>
#include <shardweave/placement/stated_form.hpp>

#include <doctest/doctest.h>
#include <support/random_problem.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace eliminate_tests {
namespace {

using shardweave_test::at_scale;
using problem = sw::detail::exact_problem<double>;
using elimination = sw::detail::elimination<double>;
const sw::detail::number_room plenty(1'000'000);
constexpr double no = std::numeric_limits<double>::infinity();

problem::shared_amounts amounts(std::vector<double> of) {
  return std::make_shared<const std::vector<double>>(std::move(of));
}

/// Unknowns with costs, and tables between them; infinite costs are forbidden.
struct sketch {
  std::vector<std::vector<double>> costs;
  struct table {
    std::uint32_t first, second;
    std::vector<double> entries;
  };
  std::vector<table> tables;

  [[nodiscard]] std::pair<problem, sw::strategies_left> build() const {
    problem p;
    sw::strategies_left left;
    for (std::uint32_t x = 0; x < costs.size(); ++x) {
      p.name.push_back(10 * x);
      p.costs.push_back(costs[x]);
      left.emplace_back(costs[x].size(), 1);
    }
    for (const table& t : tables) {
      sw::detail::summed_table<double> sum{.rows = costs[t.first].size(), .columns = costs[t.second].size()};
      for (std::uint32_t s = 0; s < sum.rows; ++s) sum.row_class.push_back(s);
      for (std::uint32_t s = 0; s < sum.columns; ++s) sum.column_class.push_back(s);
      for (const double c : t.entries) {
        sum.costs.push_back(c == no ? 0 : c);
        sum.allowed.push_back(c == no ? 0 : 1);
        sum.forbids = sum.forbids || c == no;
      }
      p.pairs.push_back({t.first, t.second, std::make_shared<const sw::detail::summed_table<double>>(std::move(sum))});
    }
    p.link();
    p.usages.resize(p.size());
    p.keeps_all_rows = false;
    p.propagate(left);
    return {std::move(p), std::move(left)};
  }
};

/// The least cost of an assignment of the strategies that are left; nothing if there is none.
/// \param most  of a limit's usage, if it is the only one
std::optional<double> least_of(const problem& p, const sw::strategies_left& left, double most = no) {
  std::optional<double> best;
  std::vector<std::size_t> at(p.size());
  for (bool more = true; more;) {
    double cost = p.apart, used = p.used.empty() ? 0 : p.used[0];
    for (std::uint32_t x = 0; x < p.size(); ++x) {
      cost += left[x][at[x]] != 0 ? p.costs[x][at[x]] : no;
      for (const auto& u : p.usages[x]) used += (*u.amounts)[at[x]];
    }
    for (const auto& pair : p.pairs) {
      const std::size_t i = pair.table->row_class[at[pair.first]], j = pair.table->column_class[at[pair.second]];
      const std::size_t entry = i * pair.table->columns + j;
      cost += pair.table->allowed[entry] != 0 ? pair.table->costs[entry] : no;
    }
    if (cost < no && used <= most && (!best || cost < *best)) best = cost;
    more = false;
    for (std::size_t x = 0; x < at.size() && !more; ++x) {
      at[x] = at[x] + 1 < p.costs[x].size() ? at[x] + 1 : 0;
      more = at[x] != 0;
    }
  }
  return best;
}

void eliminate(elimination& work, std::vector<std::uint32_t> step) {
  work.eliminate(step.front(), std::span<const std::uint32_t>(step).subspan(1));
}

/// A random problem of some unknowns with whole costs; each pair has a table with a probability.
sketch random_sketch(std::uint64_t seed, std::size_t unknowns, double density, double forbidding) {
  sw::random_source random(2 * seed + 1);
  sketch result;
  for (std::size_t x = 0; x < unknowns; ++x) {
    auto& costs = result.costs.emplace_back(1 + random.below(3));
    for (double& c : costs) c = static_cast<double>(random.below(20)) - 5;
  }
  for (std::uint32_t a = 0; a < unknowns; ++a)
    for (std::uint32_t b = a + 1; b < unknowns; ++b) {
      if (!random.chance(density)) continue;
      std::vector<double> entries(result.costs[a].size() * result.costs[b].size());
      for (double& c : entries) c = random.chance(forbidding) ? no : static_cast<double>(random.below(20)) - 5;
      result.tables.push_back({a, b, entries});
    }
  return result;
}

}  // namespace

TEST_SUITE("detail::elimination") {
  TEST_CASE("a leaf becomes costs of its neighbour, with the least that it uses") {
    auto [p, left] = sketch{{{1, 2}, {4, 1}}, {{0, 1, {0, 3, 3, 0}}}}.build();
    p.limits.push_back({.budget = 0, .time = 7, .is_low = false});
    p.limits.push_back({.budget = 0, .time = 7, .is_low = true});
    p.used = {0, 0};
    p.usages[0] = {{0, amounts({4, 1})}, {1, amounts({4, 1})}};
    const auto shared = amounts({1, 5});
    p.usages[1] = {{0, shared}, {1, shared}};
    elimination work(p, left, plenty);
    CHECK(work.are_neighbours(1, 0));
    eliminate(work, {1, 0});
    CHECK(!work.is_there(1));
    const auto [rest, its_left] = std::move(work).finish();
    CHECK(rest.name == std::vector<std::uint32_t>{0});
    CHECK(rest.costs[0] == std::vector<double>{1 + 4, 2 + 1});  // with strategy 0 either costs 4, with 1 the second 1
    CHECK(*rest.usages[0][0].amounts == std::vector<double>{4 + 1, 1 + 1});  // of the upper limit the least
    CHECK(*rest.usages[0][1].amounts == std::vector<double>{4 + 5, 1 + 5});  // of the lower one the most
    CHECK(rest.pairs.empty());
  }
  TEST_CASE("by two neighbours it becomes a table between them, by none a constant and costs of all of them") {
    const sketch s{{{0, 0}, {3, 1}, {0, 0}}, {{0, 1, {0, 5, 5, 0}}, {1, 2, {0, no, 2, 1}}}};
    auto [p, left] = s.build();
    elimination by_two(p, left, plenty);
    eliminate(by_two, {1, 0, 2});
    const auto [rest, its_left] = std::move(by_two).finish();
    REQUIRE(rest.pairs.size() == 1);
    CHECK(rest.pairs[0].table->costs == std::vector<double>{3, 7, 3, 2});
    elimination by_none(p, left, plenty);
    eliminate(by_none, {1});
    const auto [apart, apart_left] = std::move(by_none).finish();
    CHECK(apart.apart == 1);
    CHECK(apart.pairs.empty());
    CHECK(apart.costs == std::vector<std::vector<double>>{{0, 0}, {0, 1}});
  }
  TEST_CASE(
      "a table that is a sum of costs of its ends goes to them: nothing is lost where a hub has many neighbours") {
    // table 1-2 is {1, 4} of the first end plus {0, 2} of the second
    const sketch s{{{0, 9}, {0, 0}, {0, 0}}, {{0, 1, {5, 0, 0, 5}}, {1, 2, {1, 3, 4, 6}}}};
    auto [p, left] = s.build();
    const auto whole = least_of(p, left);
    elimination work(p, left, plenty);
    eliminate(work, {1, 0});
    const auto [rest, its_left] = std::move(work).finish();
    CHECK(rest.pairs.empty());
    CHECK(rest.costs == std::vector<std::vector<double>>{{4, 10}, {0, 2}});
    CHECK(least_of(rest, its_left) == whole);
  }
  TEST_CASE("what has no partner any more goes, also elsewhere, and a problem without strategies stays one") {
    const sketch s{{{0, 0}, {0, 0}, {0, 0}}, {{0, 1, {0, no, no, 0}}, {0, 2, {0, no, no, 0}}, {1, 2, {no, 0, 0, no}}}};
    auto [p, left] = s.build();
    elimination work(p, left, plenty);
    eliminate(work, {2, 0, 1});  // 0 and 1 must differ now, and be equal
    eliminate(work, {1, 0});
    const auto [rest, its_left] = std::move(work).finish();
    CHECK(!least_of(rest, its_left));
    CHECK(std::ranges::count(its_left[0], 1) == 0);
  }
  TEST_CASE("what a new table forbids goes on to those that only an old one joins") {
    const std::vector<double> equal{0, no, no, 0};
    // 1 and 2 are not both 1; once 3 is gone they are equal, so both are 0, and so is 0
    const sketch s{{{0, 0}, {0, 0}, {0, 0}, {0, 0}},
                   {{0, 1, equal}, {1, 2, {0, 0, 0, no}}, {1, 3, equal}, {2, 3, equal}}};
    auto [p, left] = s.build();
    CHECK(left == sw::strategies_left(4, {1, 1}));
    elimination work(p, left, plenty);
    eliminate(work, {3, 1, 2});
    const auto [rest, its_left] = std::move(work).finish();
    CHECK(its_left == sw::strategies_left(3, {1, 0}));
  }
  TEST_CASE("what is made has room for so many numbers at once, and gives it back") {
    // a ring: each unknown but three leaves a table of 2 * 2 costs and 2 + 2 classes, added to what was there at the
    // end
    sketch ring;
    for (std::uint32_t x = 0; x < 50; ++x) {
      ring.costs.push_back({0, static_cast<double>(x % 3)});
      ring.tables.push_back({std::min(x, (x + 1) % 50), std::max(x, (x + 1) % 50), {1, 0, 0, 2}});
    }
    auto [p, left] = ring.build();
    for (const std::size_t numbers : {7U, 16U}) {
      const sw::detail::number_room room(numbers);
      {
        elimination work(p, left, room);
        for (std::uint32_t x = 2; x < 50; ++x) eliminate(work, {x, 1, (x + 1) % 50});
        CHECK(work.has_room() == (numbers == 16));
        CHECK(room.has(numbers) == (numbers == 7));
      }
      CHECK(room.has(numbers));
    }
    // usage that is moved takes room, too
    p.limits.push_back({});
    p.used = {0};
    p.usages[49] = {{0, amounts({1, 2})}};
    elimination work(p, left, sw::detail::number_room(1));
    eliminate(work, {49, 0});
    CHECK(!work.has_room());
  }
  TEST_CASE(
      "a strategy goes where another one is at least as good, and not where that may be dearer, forbidden or take "
      "more") {
    // of the first unknown strategy 1 costs one more than 0 alone, 2 is 2 dearer where 0 pays 3 more than it
    const sketch s{{{0, 1, 2}, {0, 0}}, {{0, 1, {3, 1, 3, 1, 0, no}}}};
    auto [p, left] = s.build();
    const auto dropped = [&, &of = p, &all = left](std::size_t removed, std::size_t by) {
      elimination work(of, all, plenty);
      work.drop_dominated(0, removed, by);
      return std::move(work).finish().second[0][removed] == 0;
    };
    CHECK(dropped(1, 0));
    CHECK(!dropped(0, 1));
    CHECK(!dropped(1, 2));  // forbidden beside strategy 1 of the other unknown
    CHECK(!dropped(2, 0));  // one dearer beside strategy 0
    CHECK(!dropped(0, 0));
    p.costs[0][2] = 3;
    CHECK(dropped(2, 0));
    p.limits.push_back({.budget = 0, .time = 0, .is_low = false});
    p.used = {0};
    p.usages[0] = {{0, amounts({2, 1, 2})}};
    CHECK(!dropped(1, 0));
    CHECK(dropped(2, 0));
    p.limits[0].is_low = true;
    CHECK(dropped(1, 0));
    p.usages[0] = {{0, amounts({1, 2, 1})}};
    CHECK(!dropped(1, 0));
  }
  TEST_CASE(
      "strategies that others dominate are not missed: the least cost within a limit stays, and each that went was "
      "one") {
    std::size_t gone = 0;
    for (std::uint64_t seed = 0; seed < at_scale(1500); ++seed) {
      CAPTURE(seed);
      const sketch s = random_sketch(seed, 2 + seed % 3, seed % 2 == 0 ? 0.4 : 0.9, 0.2);
      auto [p, left] = s.build();
      p.limits.push_back({.budget = 0, .time = 0, .is_low = false});
      p.used = {0};
      sw::random_source random(seed);
      for (std::uint32_t x = 0; x < p.size(); ++x) {
        std::vector<double> used(p.costs[x].size());
        for (double& u : used) u = static_cast<double>(random.below(5));
        p.usages[x].push_back({0, amounts(std::move(used))});
      }
      const double most = static_cast<double>(random.below(12));
      const auto whole = least_of(p, left, most);
      elimination work(p, left, plenty);
      for (std::uint32_t x = 0; x < p.size(); ++x)
        for (std::size_t removed = 0; removed < p.costs[x].size(); ++removed)
          for (std::size_t by = 0; by < p.costs[x].size(); ++by) work.drop_dominated(x, removed, by);
      const auto [rest, its_left] = std::move(work).finish();
      CHECK(least_of(rest, its_left, most) == whole);
      for (std::size_t x = 0; x < left.size(); ++x)
        gone += static_cast<std::size_t>(std::ranges::count(left[x], 1) - std::ranges::count(its_left[x], 1));
    }
    CHECK(gone > at_scale(500));
  }
  TEST_CASE("whatever is eliminated, no assignment of the rest costs more; by all neighbours, none less") {
    std::size_t exact = 0, below = 0;
    for (std::uint64_t seed = 0; seed < at_scale(1500); ++seed) {
      CAPTURE(seed);
      const bool is_sparse = seed % 2 == 0;
      const sketch s = random_sketch(seed, 2 + seed % 4, is_sparse ? 0.4 : 0.9, 0.2);
      auto [p, left] = s.build();
      p.limits.push_back({});
      p.used = {0};
      sw::random_source random(seed);
      const bool uses = seed % 3 != 0;
      for (std::uint32_t x = 0; x < p.size() && uses; ++x) {
        if (random.chance(0.3)) continue;
        std::vector<double> used(p.costs[x].size());
        for (double& u : used) u = static_cast<double>(random.below(5));
        p.usages[x].push_back({0, amounts(std::move(used))});
      }
      const double most = uses ? static_cast<double>(random.below(12)) : no;
      const auto whole = least_of(p, left, most);
      elimination work(p, left, plenty);
      bool is_exact = !uses;
      for (std::size_t steps = 1 + random.below(p.size()); steps-- > 0;) {
        const auto x = static_cast<std::uint32_t>(random.below(p.size()));
        if (!work.is_there(x)) continue;
        std::vector<std::uint32_t> step{x};
        std::size_t neighbours = 0;
        for (std::uint32_t y = 0; y < p.size(); ++y) {
          if (!work.is_there(y) || !work.are_neighbours(x, y)) continue;
          ++neighbours;
          if (step.size() < 3 && random.chance(0.8)) step.push_back(y);
        }
        is_exact = is_exact && step.size() == neighbours + 1;
        eliminate(work, step);
      }
      const auto [rest, its_left] = std::move(work).finish();
      const auto found = least_of(rest, its_left, most);
      if (whole) {
        REQUIRE(found);
        CHECK(*found <= *whole);
        below += *found < *whole ? 1U : 0U;
      }
      if (is_exact) {
        CHECK(found == whole);
        ++exact;
      }
    }
    CHECK(exact > at_scale(100));
    CHECK(below > at_scale(100));
  }
}

}  // namespace eliminate_tests
