#include "placement/problems_with_savings.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/overlap/window.hpp>
#include <shardweave/placement/cost_table.hpp>
#include <shardweave/placement/savings_terms.hpp>

#include <doctest/doctest.h>
#include <support/random_savings.hpp>
#include <support/scale.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace savings_terms_tests {
namespace {

namespace sw = shardweave;
using shardweave_test::at_scale;
using labels_of_all = std::vector<sw::strategy>;

/// The most that computation hides, by a flow between slots and demands.
template <class Cost>
Cost hidden_by_flow(const sw::savings_terms<Cost>& terms, const labels_of_all& labels) {
  std::vector<Cost> offered, wanted;
  terms.measure(labels, offered, wanted);
  std::vector<shardweave_test::position_set> sets;
  for (const sw::savings_demand& d : terms.demands) {
    shardweave_test::position_set set{0, std::vector<bool>(terms.slots()), d.channel};
    for (std::size_t q = 0; q < terms.slots(); ++q) set.allowed[q] = d.where.contains(q);
    sets.push_back(std::move(set));
  }
  return shardweave_test::most_hidden(offered, sets, wanted);
}

/// Savings over a few slots that nobody's labels decide.
sw::savings_terms<std::int64_t> constant_terms(sw::random_source& random) {
  sw::savings_terms<std::int64_t> terms;
  const std::size_t slots = 1 + random.below(6);
  const auto amount = [&] { return static_cast<std::int64_t>(random.below(8)); };
  terms.channels = 1 + static_cast<std::uint32_t>(random.below(3));
  for (std::size_t q = 0; q < slots; ++q) terms.computation.push_back(amount());
  const bool gaps = random.chance(0.5);
  for (std::size_t d = 1 + random.below(5); d-- > 0;) {
    sw::savings_demand demand;
    demand.channel = static_cast<std::uint32_t>(random.below(terms.channels));
    demand.where.first = random.below(slots);
    demand.where.last = demand.where.first + random.below(slots - demand.where.first);
    if (gaps && slots > 1 && random.chance(0.4)) demand.where = {0, slots - 1, random.below(slots)};
    terms.demands.push_back(demand);
    terms.amount.push_back(amount());
  }
  return terms;
}

}  // namespace

TEST_SUITE("savings_terms") {
  TEST_CASE("savings are the greatest flow from communication to computation, with gaps in windows and without") {
    std::size_t saved = 0, with_gaps = 0;
    for (std::uint64_t seed = 0; seed < at_scale(400); ++seed) {
      CAPTURE(seed);
      sw::random_source random(seed);
      const auto terms = constant_terms(random);
      const std::int64_t found = sw::savings_of(terms, std::span<const sw::strategy>());
      CHECK(found == hidden_by_flow(terms, {}));
      CHECK(found <= terms.most());
      saved += found > 0 ? 1U : 0U;
      for (const auto& d : terms.demands)
        if (d.where.except != sw::no_position) {
          ++with_gaps;
          break;
        }
    }
    CHECK(saved > at_scale(200));
    CHECK(with_gaps > at_scale(50));
  }

  TEST_CASE("one sweep serves many measurements, in whatever order they come") {
    sw::random_source random(7);
    for (std::size_t i = 0; i < at_scale(60); ++i) {
      auto terms = constant_terms(random);
      sw::savings_sweep<std::int64_t> sweep(terms);
      for (int round = 0; round < 4; ++round) {
        std::vector<std::int64_t> offered(terms.slots()), wanted(terms.demands.size());
        for (auto& c : offered) c = static_cast<std::int64_t>(random.below(8));
        for (auto& c : wanted) c = random.chance(0.3) ? 0 : static_cast<std::int64_t>(random.below(8));
        const auto found = sweep(std::span<const std::int64_t>(offered), std::span<const std::int64_t>(wanted));
        auto same = terms;
        same.computation = offered;
        same.amount = wanted;
        CHECK(found == hidden_by_flow(same, {}));
      }
    }
  }

  TEST_CASE("what is measured is the sum of what is there and what the labels add") {
    sw::savings_terms<double> terms;
    terms.demands = {{{0, 1}, 0}, {{1, 1}, 1}};
    terms.channels = 2;
    terms.computation = {1, 2};
    terms.amount = {10, 20};
    terms.offers = {{1, 0, {3, 5}}, {1, 1, {0, 7}}};
    terms.own = {{0, 1, {100, 200}}};
    terms.tables = {std::make_shared<const sw::cost_table<double>>(
        sw::cost_table<double>::from_entries(2, 2, std::vector<double>{0, 1, 2, 4}))};
    terms.joint = {{1, 0, 1, 0, 3}};
    std::vector<double> offered, wanted;
    terms.measure(labels_of_all{1, 1}, offered, wanted);
    CHECK(offered == std::vector<double>{1, 2 + 5 + 7});
    CHECK(wanted == std::vector<double>{210, 20 + 3 * 4});
    terms.measure(labels_of_all{1, 0}, offered, wanted);  // nothing of before stays
    CHECK(offered == std::vector<double>{1, 7});
    CHECK(wanted == std::vector<double>{110, 20 + 3 * 2});
    CHECK(terms.most() == 15 + 15);  // all computation, once per channel
    terms.amount = {0, 0};
    terms.own = {};
    CHECK(terms.most() == 0 + 12);  // all that the second channel may ask for
    CHECK(terms.slots() == 2);
    CHECK_FALSE(terms.empty());
    CHECK(sw::savings_terms<double>().empty());
  }

  TEST_CASE("restricted to some labels they measure what the whole ones do, constants where all is decided") {
    std::size_t decided = 0, joint = 0, problems = 0;
    problems_with_savings::for_each(at_scale(400), [&](const auto& problem, sw::random_source& random) {
      const auto& p = problem.compact();
      if (problem.savings() == nullptr) return;
      ++problems;
      const auto& terms = *problem.savings();
      std::vector<labels_of_all> kept(p.size());
      std::vector<std::uint32_t> inner(p.size(), ~0U), open;
      for (std::uint32_t x = 0; x < p.size(); ++x) {
        for (sw::strategy l = 0; l < p.label_count(x); ++l)
          if (random.chance(0.7)) kept[x].push_back(l);
        if (kept[x].empty()) kept[x].push_back(0);
        if (kept[x].size() == 1) continue;
        inner[x] = static_cast<std::uint32_t>(open.size());
        open.push_back(x);
      }
      const auto part = terms.restricted(kept, inner);
      CHECK(part.slots() == terms.slots());
      CHECK(part.demands.size() == terms.demands.size());
      for (const auto& t : part.joint) {
        ++joint;
        CHECK(t.first < t.second);
        CHECK(part.tables[t.table]->row_classes() > 1);  // what one end decides is its own
        CHECK(part.tables[t.table]->column_classes() > 1);
      }
      if (open.empty()) {
        ++decided;
        CHECK((part.offers.empty() && part.own.empty() && part.joint.empty()));
      }
      for (int i = 0; i < 6; ++i) {
        labels_of_all inside(open.size()), outside(p.size());
        for (std::size_t x = 0; x < p.size(); ++x) outside[x] = kept[x].front();
        for (std::size_t j = 0; j < open.size(); ++j) {
          inside[j] = static_cast<sw::strategy>(random.below(kept[open[j]].size()));
          outside[open[j]] = kept[open[j]][inside[j]];
        }
        std::vector<std::int64_t> offered, wanted, all_offered, all_wanted;
        part.measure(inside, offered, wanted);
        terms.measure(outside, all_offered, all_wanted);
        CHECK(offered == all_offered);
        CHECK(wanted == all_wanted);
        CHECK(sw::savings_of(terms, std::span<const sw::strategy>(outside)) == hidden_by_flow(terms, outside));
        CHECK(sw::savings_of(terms, std::span<const sw::strategy>(outside)) <= part.most());
        CHECK(part.most() <= terms.most());
      }
    });
    CHECK(problems > at_scale(100));
    CHECK(joint > at_scale(40));
    CHECK(decided > 0);
  }
}

}  // namespace savings_terms_tests
