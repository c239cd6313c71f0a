#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/placement/check_certificate.hpp>
#include <shardweave/placement/placement_certificate.hpp>

#include <doctest/doctest.h>
#include <support/random_certificate.hpp>
#include <support/random_problem.hpp>
#include <support/random_savings.hpp>
#include <support/scale.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace check_certificate_tests {
namespace {

using shardweave_test::at_scale;

/// Two vertices with two strategies and an edge that costs 3 where they differ; the first two take 4 and 5 of `room`.
sw::placement_description<double> two_of_two(double room = 6) {
  sw::placement_description<double> d;
  d.vertices.push_back({.name = "a", .compute = {1, 2}});
  d.vertices.push_back({.name = "b", .compute = {4, 1}});
  d.tables.push_back(std::make_shared<const sw::cost_table<double>>(
      sw::cost_table<double>::from_entries(2, 2, std::vector<double>{0, 3, 3, 0})));
  d.edges.push_back({.from = 0, .to = 1, .communication = 0});
  d.constraints.budgets.push_back({.name = "memory", .high = room, .terms = {{0, {4, 1}, {}}, {1, {1, 5}, {}}}});
  return d;
}

/// One message, one case.
sw::placement_certificate<double> one_case(const std::vector<std::int64_t>& amounts, double bound) {
  sw::placement_certificate<double> c{.lower_bound = bound};
  c.multipliers.emplace_back().messages.add({0, 1, amounts});
  c.cases.push_back({.multipliers = 0});
  return c;
}

/// By vertex a into its strategies, each bounded by the first multipliers.
sw::placement_certificate<double> split(sw::placement_certificate<double> c) {
  c.cases.clear();
  c.cases.push_back({.vertex = 0, .parts = {{0}, {1}}, .cases = {1, 2}});
  c.cases.push_back({.multipliers = 0});
  c.cases.push_back({.multipliers = 0});
  return c;
}

std::string failure_of(const sw::placement_description<double>& d, const sw::placement_certificate<double>& c) {
  const auto verdict = sw::check_certificate(d, c);
  CHECK(verdict.accepted == verdict.failure.empty());
  return verdict.failure;
}

}  // namespace

TEST_SUITE("check_certificate") {
  TEST_CASE_TEMPLATE("whatever the numbers are, no assignment is below what is proven", Cost, double, std::int64_t) {
    std::size_t bounded = 0, tight = 0, empty = 0, dropping = 0;
    for (std::uint64_t seed = 0; seed < at_scale(1700); ++seed) {
      CAPTURE(seed);
      const auto stated = shardweave_test::draw_problem<Cost>(seed, {.max_assignments = 512});
      const auto best = shardweave_test::brute_force(stated);
      for (std::uint64_t trial = 0; trial < 4; ++trial) {
        auto c = shardweave_test::draw_certificate(stated.description, 7 * seed + trial);
        const auto proven = sw::proven_by(stated.description, c);
        if (!proven.accepted) {
          CHECK(proven.failure.ends_with("is not shown to break a limit, which only_limits is for"));
          continue;
        }
        CHECK(proven.steps > 0);
        if (sw::is_forbidden(proven.bound)) {
          CHECK(!best.objective);
          ++empty;
          c.infeasible = true;
          CHECK(sw::check_certificate(stated.description, c).accepted);
          continue;
        }
        const bool drops = shardweave_test::narrows(c);
        if (drops && c.lower_bound > proven.bound) c.cutoff = c.lower_bound;
        c.lower_bound = proven.bound;
        CHECK(sw::check_certificate(stated.description, c).accepted);
        c.lower_bound += static_cast<Cost>(1);
        dropping += drops ? 1U : 0U;
        if (!drops) CHECK(!sw::check_certificate(stated.description, c).accepted);
        c.infeasible = true;
        if (!drops || best.objective) CHECK(!sw::check_certificate(stated.description, c).accepted);
        if (!best.objective) continue;
        ++bounded;
        const double tolerance = 1e-9 * (1 + std::abs(static_cast<double>(*best.objective)));  // of the oracle's sums
        CHECK(static_cast<double>(proven.bound) <= static_cast<double>(*best.objective) + tolerance);
        if (static_cast<double>(proven.bound) >= static_cast<double>(*best.objective) - tolerance) ++tight;
      }
    }
    CHECK(bounded > at_scale(1500));
    CHECK(tight > at_scale(40));
    CHECK(dropping > at_scale(1500));
    CHECK(empty > at_scale(40));
  }
  TEST_CASE_TEMPLATE("what was spoiled is refused, or holds all the same", Cost, double, std::int64_t) {
    std::size_t refused = 0, held = 0;
    for (std::uint64_t seed = 0; seed < at_scale(600); ++seed) {
      const auto stated = shardweave_test::draw_problem<Cost>(seed, {.impossible = false, .max_assignments = 256});
      const auto best = shardweave_test::brute_force(stated);
      if (!best.objective) continue;
      auto c = shardweave_test::draw_certificate(stated.description, seed);
      c.lower_bound = *best.objective;
      for (std::uint64_t trial = 0; trial < 5; ++trial) {
        CAPTURE(seed);
        CAPTURE(trial);
        shardweave_test::spoil(c, 5 * seed + trial);
        const auto proven = sw::proven_by(stated.description, c);
        if (proven.accepted) {
          ++held;
          CHECK(static_cast<double>(proven.bound) <=
                static_cast<double>(*best.objective) + 1e-9 * (1 + std::abs(static_cast<double>(*best.objective))));
        } else {
          ++refused;
        }
        auto wrong = c;
        wrong.lower_bound += static_cast<Cost>(1);
        CHECK(!sw::check_certificate(stated.description, wrong).accepted);
        wrong.infeasible = true;
        CHECK(!sw::check_certificate(stated.description, wrong).accepted);
      }
    }
    CHECK(refused > at_scale(300));
    CHECK(held > at_scale(300));
  }
  TEST_CASE("a check that is stopped accepts nothing, and says how far it came") {
    const auto d = two_of_two();
    const auto fine = one_case({-1, 1}, 3);
    REQUIRE(sw::proven_by(d, fine).bound == 3);
    std::stop_source source;
    CHECK(sw::proven_by<double>(d, fine, nullptr, {.seconds = 60, .stop = source.get_token()}).bound == 3);
    source.request_stop();
    for (const sw::solve_control& over :
         {sw::solve_control{.seconds = 0}, sw::solve_control{.stop = source.get_token()}}) {
      const auto verdict = sw::proven_by<double>(d, fine, nullptr, over);
      CHECK(!verdict.accepted);
      CHECK(verdict.failure == "cases[0] was not checked before the stop");
    }
  }
  TEST_CASE("each step that does not hold is named, with what was found") {
    const auto d = two_of_two();
    const auto fine = one_case({-1, 1}, 3);  // b: 3 and 2, a: 2 and 1
    CHECK(failure_of(d, fine).empty());
    auto c = fine;
    c.lower_bound = 3.5;
    CHECK(failure_of(d, c) == "cases[0] is bounded by 3, expected no less than 3.5, which is claimed");
    c = fine;
    c.cases.clear();
    CHECK(failure_of(d, c) == "there are no cases, expected one at least");
    c = fine;
    c.cases[0].multipliers = 1;
    CHECK(failure_of(d, c) == "cases[0] names multipliers 1, but there are only 1");
    c = fine;
    c.multipliers[0].messages.clear();
    c.multipliers[0].messages.add({1, 0, fine.multipliers[0].messages[0].amounts});
    CHECK(failure_of(d, c) ==
          "multipliers[0] the message from vertex 1 to 0: there is no edge between them, or the "
          "second is not after the first");
    c = fine;
    c.multipliers[0].messages.add(fine.multipliers[0].messages[0]);
    CHECK(failure_of(d, c) == "multipliers[0] the message from vertex 0 to 1 is there twice");
    c = fine;
    c.multipliers[0].messages.clear();
    c.multipliers[0].messages.add({0, 1, fine.multipliers[0].messages[0].amounts.first(1)});
    CHECK(failure_of(d, c) == "multipliers[0] the message from vertex 0 to 1 has 1 amounts for 2 strategies");
    c = fine;
    c.multipliers[0].prices.push_back({0, 0, -1});
    CHECK(failure_of(d, c) == "multipliers[0] the price of budget 0 is against a limit that is not there");
    c = fine;
    c.multipliers[0].price_bits = -1;
    CHECK(failure_of(d, c) == "multipliers[0] has units of -1 bits, expected 0 to 1200");
    c = split(fine);
    CHECK(failure_of(d, c).empty());
    c.cases[0].parts[1] = {0};
    CHECK(failure_of(d, c) == "cases[0] has no part with strategy 1 of vertex 0");
    c = split(fine);
    c.cases[0].cases[1] = 1;
    CHECK(failure_of(d, c) == "cases[1] is a part of two others, or twice of one");
    c = split(fine);
    c.cases[0].cases[1] = 0;
    CHECK(failure_of(d, c) == "cases[0] leads to case 0, expected one from 1 to 2");
    c = split(fine);
    c.cases.push_back({.multipliers = 0});
    CHECK(failure_of(d, c) == "cases[3] is a part of no other");
    c = fine;
    c.ruled_out.push_back({.vertex = 1, .strategies = {0}, .budget = 0});
    CHECK(failure_of(d, c) == "ruled_out[0] rules out strategy 0 of vertex 1, with which the limit can be kept");
    c.ruled_out[0].strategies = {2};
    CHECK(failure_of(d, c) == "ruled_out[0] names strategy 2 of vertex 1, which has only 2");
    c.ruled_out[0] = {.vertex = 1, .strategies = {0}, .budget = 0, .of_lower_limit = true};
    CHECK(failure_of(d, c) == "ruled_out[0] names a limit that is not there");
    c.ruled_out[0] = {.vertex = 1, .strategies = {0}, .budget = 3};
    CHECK(failure_of(d, c) == "ruled_out[0] names budget 3, but there are only 1");
  }
  TEST_CASE("so is a strategy that is removed out of turn, and a vertex that a dynamic program cannot eliminate") {
    const auto d = two_of_two();
    auto fine = one_case({}, 3);
    fine.multipliers[0] = {};
    fine.cases[0].elimination_order = {1};
    CHECK(failure_of(d, fine).empty());
    fine.lower_bound = 3.5;
    CHECK(failure_of(d, fine) == "cases[0] is bounded by 3, expected no less than 3.5, which is claimed");
    fine.lower_bound = 3;
    auto c = fine;
    c.cases[0].elimination_order = {1, 0, 1};
    CHECK(failure_of(d, c) == "cases[0] eliminates vertex 1, which it eliminates already");
    c.cases[0].elimination_order = {2};
    CHECK(failure_of(d, c) == "cases[0] names vertex 2, but there are only 2");
    c.cases[0] = {.multipliers = 0, .elimination_order = {1}, .cases = {1}};
    c.cases.push_back({.multipliers = 0});
    CHECK(failure_of(d, c) == "cases[0] has an elimination order, and 1 cases, expected none");
    c.reductions.push_back({.steps = {{1, 0}}, .dominated = {{0, 1, 1, 0}, {1, 0, 1, 0}}});
    c.cases[0] = {.reduction = 0, .cases = {1}};
    CHECK(failure_of(d, c).empty());
    c.cases[1].elimination_order = {1};
    CHECK(failure_of(d, c) == "cases[1] eliminates vertex 1, which was eliminated before");
    c.cases[1].elimination_order.clear();
    auto& dominated = c.reductions[0].dominated;
    dominated[1].step = 2;
    CHECK(failure_of(d, c) == "reductions[0] removes a strategy of vertex 0 before step 2, expected from 0 to 1");
    dominated = {{1, 0, 1, 0}, {0, 1, 1, 0}};
    CHECK(failure_of(d, c) == "reductions[0] removes a strategy of vertex 1 before step 0, expected from 1 to 1");
    dominated = {{1, 1, 1, 0}};
    CHECK(failure_of(d, c) == "reductions[0] removes a strategy of vertex 1, which is not there any more");
    dominated = {{1, 0, 2, 0}};
    CHECK(failure_of(d, c) == "reductions[0] names strategy 2 of vertex 0, which has only 2");
  }
  TEST_CASE("what multipliers prove of a case holds for its parts, even if they remove nothing of it") {
    const auto d = two_of_two();
    auto c = one_case({-1, 1}, 3);
    c.cutoff = 100;                // which nothing comes near
    c.multipliers.emplace_back();  // 2 in all: each its cheapest strategy
    c.cases.push_back({.multipliers = 1});
    CHECK(failure_of(d, c) == "cases[1] is a part of no other");
    c.cases[0].cases = {1};
    CHECK(failure_of(d, c).empty());
    CHECK(sw::proven_by(d, c).bound == 3);
    SUBCASE("the better of two bounds counts") {
      c.cases.push_back({.multipliers = 1});
      c.cases[1].cases = {2};
      CHECK(sw::proven_by(d, c).bound == 3);
      c.cases[0].multipliers = 1;
      c.cases[1].multipliers = 0;
      CHECK(sw::proven_by(d, c).bound == 3);
      c.cases[1].multipliers = 1;
      CHECK(failure_of(d, c) == "cases[2] is bounded by 2, expected no less than 3, which is claimed");
    }
    SUBCASE("of parts of a split") {
      c.cases[1] = {.vertex = 0, .parts = {{0}, {1}}, .cases = {2, 3}};
      c.cases.resize(4, {.multipliers = 1});
      CHECK(failure_of(d, c).empty());
      c.cases[0].multipliers = 1;
      CHECK(failure_of(d, c) == "cases[2] is bounded by 2, expected no less than 3, which is claimed");
    }
    SUBCASE("of what a reduction leaves") {
      c.reductions.push_back({.steps = {}});
      c.cases[1] = {.reduction = 0, .cases = {2}};
      c.cases.push_back({.multipliers = 1});
      CHECK(failure_of(d, c).empty());
    }
    SUBCASE("of a dynamic program whose prices prove less") {
      c.multipliers[1].prices = {{0, 0, 1}};
      const auto roomy = two_of_two(20);  // and 20 is taken off
      c.cases[1].elimination_order = {1};
      CHECK(failure_of(roomy, c).empty());
      c.cases[0].multipliers = 1;
      CHECK(failure_of(roomy, c) == "cases[1] is bounded by -11, expected no less than 3, which is claimed");
    }
    SUBCASE("what they prove of limits alone is no bound on costs") {
      c.multipliers[0].only_limits = true;
      CHECK(failure_of(d, c) == "cases[1] is bounded by 2, expected no less than 3, which is claimed");
    }
    SUBCASE("nor one of a case that is to be shown to have nothing in it") {
      c.infeasible = true;
      CHECK(failure_of(d, c) == "cases[1] is bounded by 2, expected that nothing is feasible");
      c.infeasible = false;
      c.multipliers[1].only_limits = true;
      CHECK(failure_of(d, c) == "cases[1] is not shown to break a limit, which only_limits is for");
    }
  }
  TEST_CASE("a strategy is ruled out by what is above a limit, or below it, not by what just keeps it") {
    for (const bool of_lower : {false, true}) {
      // strategy 1 of b takes 6 at least, strategy 0 takes 5 at most
      for (const double limit : {4.0, 5.0, 6.0, 7.0}) {
        CAPTURE(of_lower);
        CAPTURE(limit);
        auto d = two_of_two(of_lower ? std::numeric_limits<double>::infinity() : limit);
        if (of_lower) d.constraints.budgets[0].low = limit;
        auto c = one_case({0, 0}, 0);
        c.ruled_out.push_back(
            {.vertex = 1, .strategies = {of_lower ? 0U : 1U}, .budget = 0, .of_lower_limit = of_lower});
        const bool can_be_kept = of_lower ? 5 >= limit : 6 <= limit;
        const std::string refusal = "ruled_out[0] rules out strategy " + std::to_string(of_lower ? 0 : 1) +
                                    " of vertex 1, with which the limit can be kept";
        CHECK(failure_of(d, c) == (can_be_kept ? refusal : ""));
      }
    }
  }
  TEST_CASE_TEMPLATE("whatever the prices of savings are, no assignment is below what is proven", Cost, double,
                     std::int64_t) {
    std::size_t bounded = 0, tight = 0, refused = 0;
    for (std::uint64_t seed = 0; seed < at_scale(800); ++seed) {
      CAPTURE(seed);
      const auto stated = shardweave_test::draw_savings_problem<Cost>(seed);
      const auto best = shardweave_test::brute_force_with_savings(stated);
      if (!best.objective) continue;
      const double most = static_cast<double>(*best.objective) +
                          1e-9 * (1 + std::abs(static_cast<double>(*best.objective)));  // of the oracle's sums
      for (std::uint64_t trial = 0; trial < 6; ++trial) {
        auto c = shardweave_test::draw_certificate(stated.description, 7 * seed + trial);
        for (const bool is_spoiled : {false, true}) {
          if (is_spoiled) shardweave_test::spoil(c, 11 * seed + trial);
          const auto proven = sw::proven_by(stated.description, c);
          if (!proven.accepted) {
            ++refused;
            continue;
          }
          ++bounded;
          REQUIRE(!sw::is_forbidden(proven.bound));
          CHECK(static_cast<double>(proven.bound) <= most);
          if (static_cast<double>(proven.bound) >= 2 * static_cast<double>(*best.objective) - most) ++tight;
          c.lower_bound = *best.objective + static_cast<Cost>(1);
          CHECK(!sw::check_certificate(stated.description, c).accepted);
        }
      }
    }
    CHECK(bounded > at_scale(1500));
    CHECK(tight > at_scale(20));
    CHECK(refused > at_scale(200));
  }
  TEST_CASE("a knapsack proves what no price does: usage comes in lumps") {
    // three of weight 3 in room for two and a third of them: whoever does without pays 5
    sw::placement_description<double> d;
    sw::budget memory{.name = "memory", .high = 7.5};
    for (std::uint32_t v = 0; v < 3; ++v) {
      d.vertices.push_back({.name = std::to_string(v), .compute = {5, 0}});
      memory.terms.push_back({v, {0, 3}, {}});
    }
    d.constraints.budgets.push_back(memory);
    const auto with_price = [](std::int64_t price, int bits) {
      sw::placement_certificate<double> c;
      c.multipliers.push_back({.price_bits = bits, .prices = {{0, 0, price}}});
      c.cases.push_back({.multipliers = 0});
      return c;
    };
    // of all prices the best is 5 / 3: 15 less 7 of them, as whole usage has whole limits
    for (const std::int64_t price : {100, 400, 426, 427, 500})
      CHECK(sw::proven_by(d, with_price(price, 8)).bound < 3.4);
    sw::placement_certificate<double> c{.lower_bound = 5};
    sw::row_knapsack k{.budget = 0, .cells = 1024};
    for (std::uint32_t v = 0; v < 3; ++v) k.members.push_back({.vertex = v, .amounts = {5, 0}});
    c.multipliers.push_back({.knapsacks = {k}});
    c.cases.push_back({.multipliers = 0});
    sw::row_knapsack& in_proof = c.multipliers[0].knapsacks[0];
    CHECK(failure_of(d, c).empty());
    c.lower_bound = 5.5;
    CHECK(failure_of(d, c) == "cases[0] is bounded by 5, expected no less than 5.5, which is claimed");

    SUBCASE("cells are as large as what all take in common") {
      in_proof.cells = 3;
      CHECK(sw::proven_by(d, c).bound == 5);
    }
    SUBCASE("larger ones prove less: 7 in one cell is room for all") {
      in_proof.cells = 1;
      CHECK(sw::proven_by(d, c).bound == 0);
    }
    SUBCASE("what a vertex that is no member takes at least is no room") {
      d.constraints.budgets[0].terms[2].usage = {3, 4};
      in_proof.members.pop_back();
      CHECK(sw::proven_by(d, c).bound == 5);  // of the two others one does without
    }
    SUBCASE("a dynamic program counts it, too") {
      c.cases[0].elimination_order = {1};
      CHECK(sw::proven_by(d, c).bound == 5);
      d.vertices[0].compute[1] = 0x1p-1074;  // more bits than 128
      CHECK(failure_of(d, c) == "cases[0] is bounded by 5, expected no less than 5.5, which is claimed");
      d.constraints.budgets[0].high = -1;
      c.infeasible = true;
      CHECK(failure_of(d, c).empty());  // even the least usage is above it
    }
    SUBCASE("only amounts that are taken off count") {
      in_proof.members.pop_back();
      CHECK(sw::proven_by(d, c).bound == 0);  // the third one costs nothing, and there is room for two
      in_proof.members[0].amounts = {4, 1};   // 1 is taken off both, and put in by one at least
      CHECK(sw::proven_by(d, c).bound == 0);
    }
    SUBCASE("strategies with which the least sum is too much are dropped, and those that do not fit") {
      d.vertices[0].compute = {8, 0};  // who saves 8 leaves no room for the others, which then pay 10
      in_proof.members[0].amounts = {0, 0};
      c.multipliers.emplace_back();
      c.cases[0].cases = {1};
      c.cases.push_back({.multipliers = 1});  // each the cheapest that is left to it
      c.lower_bound = 8;
      c.cutoff = 9;
      for (const double usage : {4.0, 5.0, 7.0, 8.0}) {
        CAPTURE(usage);
        d.constraints.budgets[0].terms[0].usage = {0, usage};
        const double others = usage == 4.0 ? 5 : 10;  // one of them fits beside 4
        CHECK(failure_of(d, c) ==
              (others < 9 ? "cases[1] is bounded by 0, expected no less than 8, which is claimed" : ""));
      }
      c.cutoff = 11;  // with 7 the others come to 10, which is less
      CHECK(failure_of(d, c).empty());
      d.constraints.budgets[0].terms[0].usage = {0, 7};
      CHECK(failure_of(d, c) == "cases[1] is bounded by 0, expected no less than 8, which is claimed");
    }
    SUBCASE("no room at all is no assignment") {
      for (auto& term : d.constraints.budgets[0].terms) term.usage = {3, 4};
      c.infeasible = true;
      CHECK(failure_of(d, c).empty());
    }
    SUBCASE("limits alone: what is put in by all cannot be less than the least sum") {
      c.infeasible = true;
      c.multipliers[0].only_limits = true;
      CHECK(!failure_of(d, c).empty());
      d.vertices[0].compute[0] = d.vertices[1].compute[0] = sw::forbidden<double>;
      d.vertices[2].compute[0] = sw::forbidden<double>;
      CHECK(failure_of(d, c).empty());  // each takes 3
    }
    SUBCASE("what is not there is named") {
      const auto says = [&](const std::string& what) {
        CHECK(failure_of(d, c) == "multipliers[0] has a knapsack that " + what);
      };
      SUBCASE("cells") {
        in_proof.cells = 4097;
        says("has 4097 cells, expected 1 to 4096");
        in_proof.cells = 0;
        says("has 0 cells, expected 1 to 4096");
      }
      SUBCASE("budget") {
        in_proof.budget = 1;
        says("names budget 1, but there are only 1");
      }
      SUBCASE("limit") {
        d.constraints.budgets[0].high = std::numeric_limits<double>::infinity();
        d.constraints.budgets[0].low = 1;
        says("is of budget 0, which has no upper limit");
      }
      SUBCASE("vertex") {
        in_proof.members[1].vertex = 9;
        says("names vertex 9, but there are only 3");
        in_proof.members[1].vertex = 0;
        says("names vertex 0, or one tied to it, twice");
      }
      SUBCASE("amounts") {
        in_proof.members[1].amounts.push_back(1);
        says("has 3 amounts for 2 strategies of vertex 1");
      }
    }
  }
  TEST_CASE("in a reduced case knapsacks are of rows that were kept, and have what vertices that are gone use") {
    // as above, with a vertex that takes 1 at least, and 4 for those who take part
    sw::placement_description<double> d;
    sw::budget memory{.name = "memory", .high = 8.5};
    for (std::uint32_t v = 0; v < 4; ++v) {
      d.vertices.push_back(
          {.name = std::to_string(v), .compute = v < 3 ? std::vector<double>{5, 0} : std::vector<double>{0, 2}});
      memory.terms.push_back({v, v < 3 ? std::vector<double>{0, 3} : std::vector<double>{4, 1}, {}});
    }
    d.constraints.budgets.push_back(memory);
    d.constraints.budgets.push_back(memory);
    sw::placement_certificate<double> c{.lower_bound = 5};
    sw::row_knapsack k{.budget = 0, .time = 7, .cells = 1024};
    for (std::uint32_t v = 0; v < 3; ++v) k.members.push_back({.vertex = v, .amounts = {5, 0}});
    c.multipliers.push_back({.knapsacks = {k}});
    c.reductions.push_back({.rows = {{1, 7}, {0, 7}}, .steps = {{3}}});
    c.cases.push_back({.reduction = 0, .cases = {1}});
    c.cases.push_back({.multipliers = 0});
    CHECK(failure_of(d, c).empty());  // 1 is used by none: of three two take part
    CHECK(sw::proven_by(d, c).bound == 5);
    d.constraints.budgets[0].terms[3].usage = {4, 0};
    CHECK(sw::proven_by(d, c).bound == 5);
    d.constraints.budgets[0].high = 9;
    CHECK(sw::proven_by(d, c).bound == 0);
    d.constraints.budgets[0].terms[3].usage = {4, 1};
    CHECK(sw::proven_by(d, c).bound == 5);

    sw::row_knapsack& in_proof = c.multipliers[0].knapsacks[0];
    SUBCASE("of no other time") {
      in_proof.time = 8;
      CHECK(failure_of(d, c) ==
            "multipliers[0] in cases[1]: the knapsack of budget 0 at time 8 is of a row that was not kept");
    }
    SUBCASE("of no other budget") {
      c.reductions[0].rows.pop_back();
      CHECK(failure_of(d, c) ==
            "multipliers[0] in cases[1]: the knapsack of budget 0 at time 7 is of a row that was not kept");
    }
    SUBCASE("no member is gone") {
      in_proof.members.push_back({.vertex = 3, .amounts = {0, 0}});
      CHECK(failure_of(d, c) ==
            "multipliers[0] in cases[1]: the knapsack of budget 0 at time 7 has vertex 3, which was eliminated");
    }
    SUBCASE("a member has what those take that went into it") {
      // the last one costs 9 without 1, that is with 4, so who takes 3 needs it to take 1
      d.tables.push_back(std::make_shared<const sw::cost_table<double>>(sw::cost_table<double>::from_entries(
          2, 2, std::vector<double>{sw::forbidden<double>, 0, 0, sw::forbidden<double>})));
      d.edges.push_back({.from = 2, .to = 3, .communication = 0});
      c.reductions[0].steps = {{3, 2}};
      // vertex 2: without costs 7 and takes 1, with costs 0 and takes 7: then no other takes part, which costs 10
      CHECK(sw::proven_by(d, c).bound == 5);
      in_proof.members[2].amounts = {7, 0};
      CHECK(sw::proven_by(d, c).bound == 7);
    }
  }
  TEST_CASE("savings that are left out, or counted otherwise, are refused") {
    auto d = two_of_two();
    auto c = one_case({0, 0}, 2);
    d.overlap.push_back({.edge = 0, .direction = sw::hiding::later});
    d.counted = sw::savings_form::inclusive;
    CHECK(failure_of(d, c) ==
          "counts savings in form 'off', but the problem in form 'inclusive', or with other settings");
    c.counted = d.counted;
    CHECK(failure_of(d, c) == "multipliers[0] leaves savings out, which the proof counts: it needs prices of savings");
    c.multipliers[0].savings = 0;
    CHECK(failure_of(d, c) == "multipliers[0] names prices 0 of savings, but there are only 0");
    c.savings.push_back({.bits = 1, .runs = {{.position = 0, .price = 0}}});
    CHECK(failure_of(d, c).empty());  // all communication is hidden: 1 and 1
    c.lower_bound = 2.5;
    CHECK(failure_of(d, c) == "cases[0] is bounded by 2, expected no less than 2.5, which is claimed");
    c.lower_bound = 2;
    c.savings[0].runs[0].price = 1;  // half of it, and half of what b computes: 1 and 2 and a half of 3
    CHECK(sw::proven_by(d, c).accepted);
    c.savings[0].runs[0].price = 3;
    CHECK(failure_of(d, c) == "savings[0] has a price of 3, expected 0 to 2");
    c.savings[0].runs[0] = {.position = 2, .price = 1};
    CHECK(failure_of(d, c) == "savings[0] names position 2, but there are only 2");
    c.savings[0].runs[0] = {.channel = 1, .price = 1};
    CHECK(failure_of(d, c) == "savings[0] names channel 1, but there are only 1");
    c.savings[0] = {.bits = 41};
    CHECK(failure_of(d, c) == "savings[0] has units of 41 bits, expected 0 to 40");
    d.counted = c.counted = sw::savings_form::off;
    CHECK(failure_of(d, c) == "has prices of savings that do not count");
  }
  TEST_CASE("strategies that cost what is claimed are dropped, and nothing else") {
    const auto d = two_of_two();
    auto c = one_case({0, 0}, 3);  // a: 1 and 2, b: 4 and 1; a b of 0 1 cost 5, of 1 1 cost 3, of 0 0 5, of 1 0 9
    CHECK(failure_of(d, c) == "cases[0] is bounded by 2, expected no less than 3, which is claimed");
    c.cases[0].cases = {1};
    c.cases.push_back({.multipliers = 0});  // b = 0 costs 5 at least: dropped; then a = 0 costs 5, and a = 1 costs 3
    CHECK(failure_of(d, c).empty());
    CHECK(sw::proven_by(d, c).bound == 3);
    c.lower_bound = 2;  // all is dropped
    CHECK(failure_of(d, c).empty());
    CHECK(sw::proven_by(d, c).bound == 2);
    c.lower_bound = 4;
    CHECK(failure_of(d, c) == "cases[1] is bounded by 3, expected no less than 4, which is claimed");
    c.infeasible = true;  // no cost is too much then
    CHECK(failure_of(d, c) == "cases[1] is bounded by 2, expected that nothing is feasible");
    c.infeasible = false;
    c.lower_bound = 3;
    c.cases[0].cases.push_back(1);
    CHECK(failure_of(d, c) == "cases[0] has multipliers, 0 parts and 2 cases, expected no part and one case at most");
    c.cases[0].cases = {0};
    CHECK(failure_of(d, c) == "cases[0] leads to case 0, expected one from 1 to 1");

    auto limits = one_case({0, 0}, 3);
    limits.infeasible = true;
    limits.multipliers[0] = {.only_limits = true, .prices = {{.budget = 0, .price = 1}}};
    limits.cases[0].cases = {1};
    limits.cases.push_back({.multipliers = 0});
    CHECK(sw::check_certificate(two_of_two(1), limits).accepted);   // 2 is the least that both take
    CHECK(!sw::check_certificate(two_of_two(2), limits).accepted);  // a = 1 and b = 0
  }
  TEST_CASE("strategies that break a limit are ruled out, one after another, and then cost nothing") {
    const auto d = two_of_two(5.5);  // a = 0 and b = 1 need 9, a = 1 and b = 1 need 6
    auto c = one_case({0, 0}, 5);
    c.ruled_out.push_back({.vertex = 1, .strategies = {1}, .budget = 0});
    CHECK(failure_of(d, c).empty());  // b = 0 is left: 4, and a = 0: 1
    c.lower_bound = 5.5;
    CHECK(failure_of(d, c) == "cases[0] is bounded by 5, expected no less than 5.5, which is claimed");
    c.infeasible = true;
    CHECK(failure_of(d, c) == "cases[0] is bounded by 5, expected that nothing is feasible");
    const auto full = two_of_two(1.5);
    c = one_case({0, 0}, 0);
    c.infeasible = true;
    c.ruled_out.push_back({.vertex = 0, .strategies = {0, 1}, .budget = 0});
    CHECK(failure_of(full, c).empty());
    c.ruled_out.clear();
    c.multipliers[0].only_limits = true;
    c.multipliers[0].prices.push_back({0, 0, 1});  // 2 is used at least
    CHECK(failure_of(full, c).empty());
    c.multipliers[0].only_limits = false;
    CHECK(failure_of(full, c) == "cases[0] is bounded by 7, expected that nothing is feasible");
  }
  TEST_CASE("numbers of any size are added exactly") {
    auto d = two_of_two();
    d.vertices[0].compute = {0x1p-1074, 0x1p-1000};  // more bits than 128 between them and the other costs
    auto c = one_case({0, 0}, 1);
    const auto proven = sw::proven_by(d, c);
    REQUIRE(proven.accepted);
    CHECK(proven.bound == 1);  // 1 + 2^-1074 in full, rounded down
    c.lower_bound = 1;
    CHECK(failure_of(d, c).empty());
    c.lower_bound = std::nextafter(1, 2);
    CHECK(failure_of(d, c) == "cases[0] is bounded by 1, expected no less than 1.0000000000000002, which is claimed");
    d.vertices[1].compute = {0x1p900, 0x1p900};
    c.lower_bound = 0x1p900;
    CHECK(failure_of(d, c).empty());
    c.lower_bound = std::nextafter(0x1p900, std::numeric_limits<double>::infinity());
    CHECK(!failure_of(d, c).empty());
  }
  TEST_CASE("whole costs make whole objectives") {
    sw::placement_description<std::int64_t> d;
    d.vertices.push_back({.compute = {5, 6}});
    d.constraints.budgets.push_back({.name = "memory", .high = 3, .terms = {{0, {4, 1}, {}}}});
    sw::placement_certificate<std::int64_t> c{.lower_bound = 6};
    c.multipliers.push_back({.price_bits = 2, .prices = {{0, 0, 2}}});  // half a unit: 7, 6.5 less 1.5
    c.cases.push_back({.multipliers = 0});
    CHECK(sw::proven_by(d, c).bound == 5);
    CHECK(!sw::check_certificate(d, c).accepted);
    c.multipliers[0].prices[0].price = 1;  // a quarter: 6, 6.25 less 0.75 is 5.25
    CHECK(sw::proven_by(d, c).bound == 6);
    CHECK(sw::check_certificate(d, c).accepted);
    c.lower_bound = 7;
    CHECK(!sw::check_certificate(d, c).accepted);
  }
  TEST_CASE("limits are kept to within what assignments are judged by, and whole usage has whole limits") {
    auto d = two_of_two(6.9);  // 9, 6, 5 and 2 are used: so 6 is the limit that counts
    auto c = one_case({0, 0}, 0);
    c.multipliers[0].messages.clear();
    c.multipliers[0].prices.push_back({0, 0, 1});
    CHECK(sw::proven_by(d, c).bound == 2);  // a: 3 by its second strategy, b: 5 and 6, less 6
    d.constraints.budgets[0].terms[0].usage = {4, 1.5};
    CHECK(sw::proven_by(d, c).bound == 2);  // multiples of a half: 3.5 and 5, less 6.5
    d.constraints.budgets[0].high = 6;
    d.constraints.budgets[0].terms[0].usage = {4, 1 + 0x1p-30};
    CHECK(sw::proven_by(d, c).bound == 2 + 0x1p-30 - 0x1p-18);
  }

  TEST_CASE("rows that a reduction names twice use what they use") {
    sw::placement_description<double> d;
    d.vertices.push_back({.name = "a", .compute = {0, 5}});
    d.constraints.budgets.push_back({.name = "use", .low = 1, .terms = {{0, {1, 2}, {}}}});
    sw::placement_certificate<double> c{.lower_bound = 100};
    c.reductions = {{.rows = {{0, 0}}}, {.rows = {{0, 0}, {0, 0}}}};
    c.multipliers.emplace_back().prices.push_back({0, 0, -100});
    c.cases = {{.reduction = 0, .cases = {1}}, {.reduction = 1, .cases = {2}}, {.multipliers = 0}};
    CHECK_FALSE(sw::check_certificate(d, c).accepted);
    CHECK(sw::proven_by(d, c).bound <= 0);  // which the first strategy costs
  }

  TEST_CASE("a bound below what floating-point numbers hold is minus infinity") {
    sw::placement_description<double> d;
    d.vertices = {{.compute = {0, 1}}};
    d.constraints.budgets.push_back({.name = "use", .high = 1e300, .terms = {{0, {0, 0}, {}}}});
    sw::placement_certificate<double> c{.lower_bound = 0};
    c.multipliers.emplace_back().prices.push_back({0, 0, std::int64_t{1} << 62});
    c.cases.push_back({.multipliers = 0});
    CHECK_FALSE(sw::check_certificate(d, c).accepted);
    CHECK(sw::proven_by(d, c).bound == -std::numeric_limits<double>::infinity());
  }
}

}  // namespace check_certificate_tests
