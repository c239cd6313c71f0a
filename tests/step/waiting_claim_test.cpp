#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/placement/work_model.hpp>
#include <shardweave/step/detail/claim_search.hpp>
#include <shardweave/step/detail/waiting_claim.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_work.hpp>
#include <shardweave/step/work_table.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

namespace sw = shardweave;

namespace waiting_claim_tests {
namespace {

/// A few jobs of one machine, with delays between them; some need not run before a moment, and are told as late.
struct jobs {
  std::size_t count = 0;
  std::uint32_t moment = 0;
  std::vector<std::uint32_t> may_be_late = {};  ///< whose policies are the vertices from `count` on
  sw::step_work work = {};

  /// What an order takes; infinite where it breaks a dependence.
  [[nodiscard]] double end_of(const std::vector<std::uint32_t>& order) const {
    std::vector<double> ends(count, -1.0);
    double clock = 0;
    for (const std::uint32_t v : order) {
      for (const sw::work_edge& e : work.edges) {
        if (e.to != v || e.from >= count) continue;
        if (ends[e.from] < 0) return std::numeric_limits<double>::infinity();
        clock = std::max(clock, ends[e.from] + work.chain(e, 0, 0));
      }
      ends[v] = clock += work.time(v, 0);
    }
    return clock;
  }
  /// Strategy 1 of a policy: its vertex runs after the moment.
  [[nodiscard]] sw::assignment choice_of(const std::vector<std::uint32_t>& order) const {
    sw::assignment choice(work.vertex_count(), 0);
    const auto at = [&](std::uint32_t v) { return std::ranges::find(order, v); };
    for (std::size_t i = 0; i < may_be_late.size(); ++i) choice[count + i] = at(may_be_late[i]) > at(moment) ? 1 : 0;
    return choice;
  }
};

void add_edge(jobs& j, std::uint32_t from, std::uint32_t to, std::size_t columns, double load, double chain,
              std::uint32_t since = sw::work_edge::no_vertex) {
  std::vector<std::uint32_t> all(columns);
  std::iota(all.begin(), all.end(), 0U);
  j.work.tables.push_back(sw::work_table_builder(1, "a job").table({{0}}, all, [&](std::uint32_t, std::uint32_t b) {
    return sw::edge_work{.loads = {columns == 1 || b == 1 ? load : 0.0}, .chain = chain};
  }));
  j.work.edges.push_back({.from = from,
                          .to = to,
                          .table = static_cast<std::uint32_t>(j.work.tables.size() - 1),
                          .share = static_cast<std::uint32_t>(j.work.shares++),
                          .since = since});
}

jobs random_jobs(sw::random_source& random) {
  jobs j{.count = 4 + random.below(3)};
  for (std::uint32_t v = 0; v < j.count; ++v) {
    j.work.times.push_back({static_cast<double>(random.below(6))});
    j.work.times_of.push_back(v);
  }
  for (std::uint32_t to = 1; to < j.count; ++to) {
    const auto from = static_cast<std::uint32_t>(random.below(to));
    add_edge(j, from, to, 1, 0, static_cast<double>(random.below(8)));
    const auto other = static_cast<std::uint32_t>(random.below(to));
    if (other != from && random.below(2) == 0) add_edge(j, other, to, 1, 0, static_cast<double>(random.below(8)));
  }
  j.moment = static_cast<std::uint32_t>(1 + random.below(j.count - 1));
  const std::vector<bool> is_after = sw::reached_from(j.work, j.moment);
  for (std::uint32_t v = 0; v < j.count; ++v)
    if (!is_after[v] && !sw::reached_from(j.work, v)[j.moment]) j.may_be_late.push_back(v);
  for (const std::uint32_t v : j.may_be_late) {
    j.work.times.push_back({0.0, 0.0});
    j.work.times_of.push_back(static_cast<std::uint32_t>(j.work.times.size() - 1));
    j.work.late.push_back({static_cast<std::uint32_t>(j.work.edges.size()), {v}});
    add_edge(j, v, j.work.times_of.back(), 2, j.work.time(v, 0), 0, j.moment);
  }
  return j;
}

/// Calls `tell` with each order that keeps the dependences.
template <class Tell>
void for_each_order(const jobs& j, const Tell& tell) {
  std::vector<std::uint32_t> order(j.count);
  std::iota(order.begin(), order.end(), 0U);
  do {
    const double end = j.end_of(order);
    if (end < std::numeric_limits<double>::infinity()) tell(order, end);
  } while (std::ranges::next_permutation(order).found);
}

bool is_valid(const sw::step_claim& claim, const sw::step_work& work) {
  try {
    sw::validate(claim, work);
    return true;
  } catch (const sw::error&) {
    return false;
  }
}

}  // namespace

TEST_SUITE("claims that wait") {
  TEST_CASE("whatever a valid claim counts, no order of the jobs ends before") {
    sw::random_source random(21);
    std::size_t valid = 0, waits = 0, late = 0, tight = 0;
    for (std::size_t i = 0; i < shardweave_test::at_scale(150); ++i) {
      const jobs j = random_jobs(random);
      std::vector<sw::step_claim> claims;
      for (int k = 0; k < 300; ++k) {
        sw::step_claim claim{.channel = 0, .first = static_cast<std::uint32_t>(random.below(2)), .has_head = true};
        for (std::uint32_t v = 0; v < j.count; ++v)
          if (v != claim.first && random.below(3) > 0) claim.later.push_back(v);
        for (std::uint32_t e = 0; e < j.work.edges.size(); ++e) {
          if (j.work.edges[e].to >= j.count && random.below(2) == 0) claim.edges.push_back(e);
          if (j.work.edges[e].to < j.count && random.below(4) == 0) claim.waits.push_back(e);
        }
        if (!is_valid(claim, j.work)) continue;
        ++valid;
        waits += claim.waits.empty() ? 0U : 1U;
        late += claim.edges.empty() ? 0U : 1U;
        claims.push_back(std::move(claim));
      }
      const sw::detail::work_order order(j.work);
      const sw::detail::waiting_claim search(j.work, order);
      std::vector<std::uint32_t> counted;
      for (const sw::late_work& l : j.work.late) counted.push_back(l.edge);
      CAPTURE(i);
      for_each_order(j, [&](const std::vector<std::uint32_t>& by, double end) {
        const sw::taken_work taken = sw::work_of(j.work, j.choice_of(by));
        for (const sw::step_claim& claim : claims) CHECK(sw::value_of(claim, j.work, taken) <= end);
        const auto found = search.find(taken, counted);
        if (!found) return;
        CHECK(is_valid(*found, j.work));
        CHECK(sw::value_of(*found, j.work, taken) <= end);
        tight += sw::value_of(*found, j.work, taken) == end ? 1U : 0U;
      });
    }
    CHECK(valid > 0);
    CHECK(waits > 0);
    CHECK(late > 0);
    CHECK(tight > 0);
  }

  TEST_CASE("the machine waits for the exchange that all else hangs on, not for one beside which it has work") {
    // 0 -> 1 -> 3 by chains of 5 and 7; 2 beside them, of 4
    jobs j{.count = 4};
    for (const double time : {1.0, 2.0, 4.0, 3.0}) {
      j.work.times.push_back({time});
      j.work.times_of.push_back(static_cast<std::uint32_t>(j.work.times_of.size()));
    }
    add_edge(j, 0, 1, 1, 0, 5);
    add_edge(j, 1, 3, 1, 0, 7);
    const auto find = [&] {
      const sw::detail::work_order order(j.work);
      return sw::detail::waiting_claim(j.work, order).find(sw::work_of(j.work, sw::assignment(4, 0)), {});
    };
    const auto alone = find();
    REQUIRE(alone);
    CHECK(alone->waits == std::vector<std::uint32_t>{0, 1});
    CHECK(sw::value_of(*alone, j.work, sw::work_of(j.work, sw::assignment(4, 0))) == 1 + 5 + 2 + 7 + 3);
    add_edge(j, 0, 2, 1, 0, 0);
    add_edge(j, 2, 3, 1, 0, 0);
    // 2 may run during either chain: both are worth more than it
    const auto found = find();
    REQUIRE(found);
    CHECK(found->later == std::vector<std::uint32_t>{1, 3});
    j.work.times[2][0] = 20;
    CHECK(!find());
  }

  TEST_CASE("claims that wait for what they count are refused, and say why") {
    jobs j{.count = 4};
    for (std::uint32_t v = 0; v < 4; ++v) {
      j.work.times.push_back({1.0});
      j.work.times_of.push_back(v);
    }
    for (const std::uint32_t v : {0U, 1U}) add_edge(j, v, v + 1, 1, 1, 5);
    add_edge(j, 0, 3, 1, 1, 5);
    j.work.late.push_back({2, {3}});
    const auto expect = [&](const sw::step_claim& claim, const char* words) {
      CHECK_THROWS_WITH_AS(sw::validate(claim, j.work), doctest::Contains(words), sw::error);
    };
    CHECK_NOTHROW(sw::validate({.channel = 0, .has_head = true, .later = {1, 2}, .waits = {0, 1}}, j.work));
    expect({.channel = 0, .has_head = true, .waits = {7}}, "wait 7 does not exist");
    expect({.channel = 0, .has_head = true, .waits = {1, 0}}, "does not come after vertex");
    expect({.channel = 0, .has_head = true, .waits = {0, 0}}, "does not come after vertex");
    expect({.channel = 0, .first = 1, .has_head = true, .waits = {0}}, "does not come after vertex 1");
    expect({.channel = 0, .has_head = true, .later = {3}, .waits = {0}}, "may be done while vertex 3 runs");
    expect({.channel = 0, .edges = {0}, .has_head = true, .waits = {0}}, "may be done during the work of edge 0");
    expect({.channel = 0, .waits = {0}}, "of a head that it has not");
    expect({.waits = {0}}, "expected none");
    expect({.channel = 0, .edges = {2}}, "is the time of vertices that the claim counts, too");
    expect({.channel = 0, .edges = {2}, .has_head = true, .later = {3}}, "is the time of vertices");
    expect({.channel = 0, .edges = {2}, .has_head = true, .head = {2}}, "is the time of vertices");
  }
}

}  // namespace waiting_claim_tests
