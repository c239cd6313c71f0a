#include "small_problem.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/placement/restrict.hpp>

#include <doctest/doctest.h>
#include <support/random_problem.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;
using shardweave_test::at_scale;
using shardweave_test::brute_force;
using shardweave_test::draw_problem;
using shardweave_test::problem_features;
using small::pair_of_vertices;

namespace compile_tests {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Every labeling of a compact problem that keeps its rows and is not forbidden, with its cost, by plain
/// counting through all labels.
template <class Cost>
std::map<sw::assignment, Cost> all_labelings(const sw::compact_problem<Cost>& p) {
  std::map<sw::assignment, Cost> found;
  sw::assignment labels(p.size());
  for (;;) {
    const Cost cost = p.cost(labels);
    if (!sw::is_forbidden(cost) && p.keeps_rows(labels)) found.emplace(labels, cost);
    std::size_t x = 0;
    while (x < p.size() && ++labels[x] == p.label_count(x)) labels[x++] = 0;
    if (x == p.size()) return found;
  }
}

template <class Cost>
bool close(Cost a, Cost b) {
  return std::abs(static_cast<double>(a - b)) <= 1e-9 * std::max(1.0, std::abs(static_cast<double>(b)));
}

/// What every compiled problem must be.
template <class Cost>
void check_shape(const sw::compact_problem<Cost>& p) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> joined;
  for (const auto& e : p.edges()) {
    CHECK(e.first < e.second);
    CHECK(e.second < p.size());
    CHECK(joined.insert({e.first, e.second}).second);
    const auto& t = p.table(e);
    CHECK(t.rows() == p.label_count(e.first));
    CHECK(t.columns() == p.label_count(e.second));
    CHECK(t.row_classes() > 1);
    CHECK(t.column_classes() > 1);
    for (std::size_t a = 0; a < t.rows(); ++a) {
      bool partner = false;
      for (std::size_t b = 0; b < t.columns(); ++b) partner = partner || !sw::is_forbidden(t(a, b));
      CHECK(partner);
    }
    for (std::size_t b = 0; b < t.columns(); ++b) {
      bool partner = false;
      for (std::size_t a = 0; a < t.rows(); ++a) partner = partner || !sw::is_forbidden(t(a, b));
      CHECK(partner);
    }
  }
  std::size_t links = 0;
  for (std::size_t x = 0; x < p.size(); ++x) {
    CHECK(p.label_count(x) > 0);
    for (const Cost c : p.unary(x)) CHECK_FALSE(sw::is_forbidden(c));
    bool later = false;
    for (const auto& link : p.links(x)) {
      const auto& e = p.edges()[link.edge];
      CHECK((link.is_first ? e.first : e.second) == x);
      CHECK((link.is_first ? e.second : e.first) == link.other);
      CHECK_FALSE((later && link.other < x));  // those to earlier variables come first
      later = later || link.other > x;
      ++links;
    }
    for (const auto& s : p.segments(x)) {
      CHECK(s.begin < s.end);
      CHECK(s.end <= p.rows().size());
      CHECK(s.usage.size() == p.label_count(x));
    }
  }
  CHECK(links == 2 * p.edges().size());
}

/// The compiled problem has the feasible assignments of the stated one, each at its price.
template <class Cost>
void compare_with_brute_force(std::uint64_t problems, std::size_t& feasible, std::size_t& refused) {
  for (std::uint64_t seed = 0; seed < problems; ++seed) {
    CAPTURE(seed);
    problem_features features = problem_features::combination(static_cast<unsigned>(seed % 128));
    features.max_assignments = 600;
    const auto stated = draw_problem<Cost>(seed, features);
    const auto best = brute_force(stated);
    std::optional<sw::placement_problem<Cost>> problem;
    try {
      problem = sw::compile(stated.description);
    } catch (const sw::error& e) {
      INFO(std::string(e.what()));
      CHECK(e.category() == sw::error_category::constraint);
      CHECK(best.feasible == 0);
      ++refused;
      continue;
    }
    check_shape(problem->compact());
    const auto labelings = all_labelings(problem->compact());
    CHECK(labelings.size() == best.feasible);  // nothing lost, nothing added: ties decide for all their members
    std::optional<Cost> least;
    for (const auto& [labels, cost] : labelings) {
      const auto choice = problem->lift(labels);
      const auto price = shardweave_test::price_of(stated, choice);
      REQUIRE(price.has_value());
      CHECK(close(cost, *price));
      CHECK(problem->labels_of(choice) == labels);
      CHECK(sw::evaluate(*problem, choice).is_feasible());
      if (!least || cost < *least) least = cost;
    }
    CHECK(least.has_value() == best.objective.has_value());
    if (least && best.objective) {
      CHECK(close(*least, *best.objective));
      if constexpr (std::numeric_limits<Cost>::is_integer) CHECK(*least == *best.objective);
      CHECK(problem->labels_of(best.choice).has_value());
      ++feasible;
    }
  }
}

template <class Cost>
void check_refused(const sw::placement_description<Cost>& d, const std::string& text) {
  small::check_refused([&] { return sw::compile(d); }, sw::error_category::constraint, text);
}

}  // namespace

TEST_SUITE("compile") {
  TEST_CASE("the compiled problem has the same feasible assignments at the same prices") {
    std::size_t feasible = 0, refused = 0;
    compare_with_brute_force<double>(at_scale(2500), feasible, refused);
    CHECK(feasible > at_scale(1500));
    CHECK(refused > at_scale(200));
  }
  TEST_CASE("and so it has with whole numbers, exactly") {
    std::size_t feasible = 0, refused = 0;
    compare_with_brute_force<std::int64_t>(at_scale(1000), feasible, refused);
    CHECK(feasible > at_scale(600));
    CHECK(refused > at_scale(80));
  }

  TEST_CASE("nothing at all is a problem too") {
    const auto problem = sw::compile(sw::placement_description<double>{});
    CHECK(problem.vertex_count() == 0);
    CHECK(problem.compact().size() == 0);
    CHECK(problem.lift({}).empty());
  }

  TEST_CASE("ties become one variable, and edges between tied vertices its diagonal") {
    sw::placement_description<double> d;
    small::vertex<double>(d, "a", {1, 2});
    small::vertex<double>(d, "b", {0, 0});
    small::vertex<double>(d, "c", {10, 20});
    small::vertex<double>(d, "d", {100, 200});
    const auto t = small::table<double>(d, 2, 2, {1000, 7, 7, 2000});
    small::edge(d, 0, 2, t);
    small::edge(d, 3, 1, t);
    d.constraints.ties = {{{2, 0}, "one"}, {{3, 2}, "two"}, {{1}, "alone"}, {{}, "none"}};
    const auto problem = sw::compile(d);
    const auto& p = problem.compact();
    REQUIRE(p.size() == 2);
    CHECK(problem.variable_of(0) == 0);
    CHECK(problem.variable_of(1) == 1);
    CHECK(problem.variable_of(2) == 0);
    CHECK(problem.variable_of(3) == 0);
    CHECK(std::vector(p.unary(0).begin(), p.unary(0).end()) == std::vector<double>{1111, 2222});
    CHECK(problem.lift(std::vector<sw::strategy>{1, 0}) == sw::assignment{1, 0, 1, 1});
    CHECK_FALSE(problem.labels_of(sw::assignment{1, 0, 0, 1}).has_value());
  }

  TEST_CASE("parallel edges of both directions are one table") {
    auto d = pair_of_vertices();
    const auto back = small::table<double>(d, 3, 2, {100, 0, 0, 0, 0, 700});
    small::edge(d, 1, 0, back, back);
    small::edge(d, 0, 1, 0);
    const auto problem = sw::compile(d);
    const auto& p = problem.compact();
    REQUIRE(p.edges().size() == 1);
    CHECK(p.table(p.edges()[0])(0, 0) == 200);
    CHECK(p.table(p.edges()[0])(1, 2) == 100 + 1400);
    CHECK(p.table(p.edges()[0])(0, 1) == 20);
  }

  TEST_CASE("a pairing forbids all other pairs") {
    auto d = pair_of_vertices();
    d.edges.clear();
    d.constraints.pairs.push_back({1, 0, {{2, 0}, {1, 1}}, "agree"});
    const auto problem = sw::compile(d);
    CHECK(problem.compact().label_count(1) == 2);  // strategy 0 of b has no partner
    CHECK(problem.strategy_of(1, 0) == 1);
    CHECK_FALSE(problem.labels_of(sw::assignment{0, 0}).has_value());
    CHECK(all_labelings(problem.compact()).size() == 2);
  }

  TEST_CASE("tables that do not depend on a side are pulled out") {
    auto d = pair_of_vertices();
    d.tables[0] = std::make_shared<const sw::cost_table<double>>(
        sw::cost_table<double>::from_entries(2, 3, std::vector<double>{5, 5, 5, 5, 5, 5}));
    const auto constant = sw::compile(d);
    CHECK(constant.compact().edges().empty());
    CHECK(constant.compact().constant() == 5);
    d.tables[0] = std::make_shared<const sw::cost_table<double>>(
        sw::cost_table<double>::from_entries(2, 3, std::vector<double>{1, 2, 4, 1, 2, 4}));
    const auto of_b = sw::compile(d);
    CHECK(of_b.compact().edges().empty());
    CHECK(of_b.compact().unary(1)[2] == 9);
    CHECK(of_b.compact().unary(0)[1] == 2);
    d.tables[0] = std::make_shared<const sw::cost_table<double>>(
        sw::cost_table<double>::from_entries(2, 3, std::vector<double>{10, 10, 10, 30, 30, 30}));
    CHECK(sw::compile(d).compact().unary(0)[1] == 32);
  }

  TEST_CASE("edges of equal tables share one, as stated, cut or added up") {
    sw::placement_description<double> d;
    for (int v = 0; v < 6; ++v) small::vertex<double>(d, "", {1, 2, v % 2 == 0 ? infinity : 3.0});
    const auto t = small::table<double>(d, 3, 3, {0, 1, 2, 3, 4, 5, 6, 7, 9});
    for (std::uint32_t v = 0; v + 2 < 6; ++v) small::edge(d, v, v + 2, t);
    const auto problem = sw::compile(d);
    CHECK(problem.compact().edges().size() == 4);
    CHECK(problem.compact().tables().size() == 2);  // 2 x 2 between the even, the stated one between the odd
    CHECK(std::count(problem.compact().tables().begin(), problem.compact().tables().end(), d.tables[0]) == 1);
    for (std::uint32_t v = 0; v + 2 < 6; ++v) small::edge(d, v + 2, v, t);
    CHECK(sw::compile(d).compact().tables().size() == 2);
  }

  TEST_CASE("strategies that cannot be part of a feasible assignment are gone") {
    // a chain in which the choice at one end decides everything
    sw::placement_description<double> d;
    for (int v = 0; v < 5; ++v) small::vertex<double>(d, "", {1, 2, 3});
    const auto equal =
        small::table<double>(d, 3, 3, {0, infinity, infinity, infinity, 0, infinity, infinity, infinity, 0});
    for (std::uint32_t v = 0; v + 1 < 5; ++v) small::edge(d, v, v + 1, equal);
    d.constraints.fixed.push_back({4, {2, 1}, "output"});
    const auto problem = sw::compile(d);
    for (std::size_t x = 0; x < 5; ++x) {
      CHECK(problem.compact().label_count(x) == 2);
      CHECK(problem.strategy_of(x, 0) == 1);
      CHECK(problem.strategy_of(x, 1) == 2);
    }
  }

  TEST_CASE("strategies without room in a budget are gone, and limits that cannot be broken too") {
    auto d = pair_of_vertices();
    d.constraints.budgets.push_back({"memory", -infinity, 10, {{0, {4, 7}, {}}, {1, {5, 6, 1}, {}}}});
    d.constraints.budgets.push_back({"roomy", 0, 100, {{0, {4, 7}, {}}, {1, {5, 6, 1}, {}}}});
    const auto problem = sw::compile(d);
    REQUIRE(problem.compact().rows().size() == 1);
    CHECK(problem.compact().rows()[0].high == 10);
    CHECK(problem.compact().label_count(1) == 3);
    d.constraints.budgets[0].high = 7;
    const auto tight = sw::compile(d);
    CHECK(tight.compact().label_count(0) == 1);  // 7 + 1 is too much
    CHECK(tight.compact().label_count(1) == 1);  // 4 + 5 too
    CHECK(tight.compact().rows().empty());
    d.constraints.budgets[0] = {"memory", 12, 20, {{0, {4, 7}, {}}, {1, {5, 6, 1}, {}}}};
    const auto least = sw::compile(d);
    CHECK(least.lift(std::vector<sw::strategy>{0, 0}) == sw::assignment{1, 0});
  }

  TEST_CASE("what rounding loses of a budget of bytes is not missed in one of small numbers") {
    std::size_t feasible = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      CAPTURE(seed);
      sw::random_source random(seed * 2 + 1);
      sw::placement_description<double> d;
      sw::budget bytes{"memory", -infinity, 1.2e11, {}}, parts{"parts", -infinity, 0, {}};
      for (std::uint32_t v = 0; v < 6; ++v) {
        small::vertex<double>(d, "", {std::floor(20 * random.unit()), std::floor(20 * random.unit()), 3});
        bytes.terms.push_back({v, {8e10 * random.unit(), 8e10 * random.unit(), 8e10 * random.unit()}, {}});
        const auto first = static_cast<std::int64_t>(random.below(6));
        if (random.chance(0.6))
          bytes.terms.back().live = sw::live_interval{first, first + 1 + static_cast<std::int64_t>(random.below(6))};
        parts.terms.push_back({v, {}, {}});
        for (int s = 0; s < 3; ++s) parts.terms.back().usage.push_back(0.1 * static_cast<double>(random.below(4)));
        parts.high += *std::min_element(parts.terms.back().usage.begin(), parts.terms.back().usage.end());
      }
      parts.high += 0.1 * static_cast<double>(random.below(3));
      if (random.chance(0.3)) parts.low = parts.high;
      d.constraints.budgets = {bytes, parts};
      const auto best = brute_force(d);
      if (!best.objective) continue;
      ++feasible;
      REQUIRE(sw::evaluate(d, best.choice).is_feasible());
      const auto problem = sw::compile(d);
      const auto labels = problem.labels_of(best.choice);
      REQUIRE(labels);
      CHECK(problem.compact().keeps_rows(*labels));
      sw::restriction<double> fixed(problem.compact());
      for (std::size_t x = 0; x < labels->size(); ++x) fixed.fix(x, (*labels)[x]);
      CHECK(fixed.build().has_value());
    }
    CHECK(feasible > 20);
  }
  TEST_CASE("a limit that is what an assignment uses lets that assignment be") {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      CAPTURE(seed);
      sw::random_source random(seed * 2 + 1);
      sw::placement_description<double> d;
      sw::budget bytes{"memory", -infinity, infinity, {}};
      sw::assignment choice;
      for (std::uint32_t v = 0; v < 40; ++v) {
        small::vertex<double>(d, "", {1, 2});
        const auto first = static_cast<std::int64_t>(random.below(30));
        bytes.terms.push_back({v,
                               {8e10 * random.unit(), 8e10 * random.unit()},
                               sw::live_interval{first, first + 1 + static_cast<std::int64_t>(random.below(20))}});
        choice.push_back(static_cast<sw::strategy>(random.below(2)));
      }
      d.constraints.budgets = {bytes};
      d.constraints.budgets[0].high = sw::evaluate(d, choice).budgets[0].used;
      CHECK(sw::evaluate(d, choice).is_feasible());
      const auto problem = sw::compile(d);
      const auto labels = problem.labels_of(choice);
      REQUIRE(labels);
      CHECK(problem.compact().keeps_rows(*labels));
    }
  }

  TEST_CASE("a budget over time keeps the times that can bind: the maximal sets of what lives together") {
    sw::random_source random(5);
    for (int i = 0; i < 300; ++i) {
      sw::placement_description<double> d;
      sw::budget b{"memory", -infinity, 1.5, {}};
      const std::size_t n = 1 + random.below(7);
      for (std::uint32_t v = 0; v < n; ++v) {
        small::vertex<double>(d, "", {0, 0});
        const auto first = static_cast<std::int64_t>(random.below(10)) - 5;
        b.terms.push_back({v, {0, 1}, sw::live_interval{first, first + static_cast<std::int64_t>(random.below(5))}});
      }
      d.constraints.budgets.push_back(b);
      // sets of two and more that live at some time, less those inside others
      std::set<std::set<std::uint32_t>> sets, maximal;
      for (std::int64_t t = -10; t < 20; ++t) {
        std::set<std::uint32_t> live;
        for (std::uint32_t v = 0; v < n; ++v)
          if (b.terms[v].live->first <= t && t < b.terms[v].live->end) live.insert(v);
        if (live.size() > 1) sets.insert(live);
      }
      for (const auto& s : sets)
        if (std::none_of(sets.begin(), sets.end(), [&](const auto& o) {
              return o != s && std::includes(o.begin(), o.end(), s.begin(), s.end());
            }))
          maximal.insert(s);
      const auto problem = sw::compile(d);
      const auto& p = problem.compact();
      std::set<std::set<std::uint32_t>> rows;
      for (std::uint32_t r = 0; r < p.rows().size(); ++r) {
        std::set<std::uint32_t> covered;
        for (std::uint32_t x = 0; x < p.size(); ++x)
          for (const auto& s : p.segments(x))
            if (s.begin <= r && r < s.end) covered.insert(x);
        CHECK(rows.insert(covered).second);
        const std::int64_t t = p.rows()[r].time;
        for (const std::uint32_t v : covered) {
          CHECK(b.terms[v].live->first <= t);
          CHECK(t < b.terms[v].live->end);
        }
      }
      CHECK(rows == maximal);
    }
  }

  TEST_CASE("a vertex left without a strategy is named, with what took the last one") {
    auto d = pair_of_vertices();
    d.vertices[1].compute = {infinity, infinity, infinity};
    check_refused(d,
                  "no strategy is left for vertex 1 (b): the last one, 2, is ruled out by its own cost, which is "
                  "infinite");

    d = pair_of_vertices();
    d.constraints.fixed = {{1, {0, 1}, "input"}, {1, {2}, "output"}};
    check_refused(d, "no strategy is left for vertex 1 (b): the last one, 1, is ruled out by constraint 'output'");
    d.constraints.fixed = {{1, {0, 2}, "input"}, {1, {1, 2}, "output"}, {1, {}, "nothing"}};
    check_refused(d, "no strategy is left for vertex 1 (b): the last one, 2, is ruled out by constraint 'nothing'");

    d = pair_of_vertices();
    d.edges[0].communication = small::table<double>(d, 2, 3, {infinity, 0, 0, infinity, 0, 0});
    d.constraints.fixed = {{1, {0}, "input"}};
    check_refused(d,
                  "no strategy is left for vertex 0 (a): the last one, 1, is ruled out by edge 0 (a -> b), over "
                  "which it has no partner of finite cost");

    d = pair_of_vertices();
    d.constraints.pairs.push_back({0, 1, {}, "agree"});
    check_refused(d,
                  "no strategy is left for vertex 0 (a): the last one, 1, is ruled out by edge 0 (a -> b), over "
                  "which it has no partner of finite cost");
    d.edges.clear();
    check_refused(d,
                  "no strategy is left for vertex 0 (a): the last one, 1, is ruled out by pairing 'agree' of vertex "
                  "0 (a) with vertex 1 (b)");
  }

  TEST_CASE("a budget that even the least usage breaks is named, with the time") {
    auto d = pair_of_vertices();
    d.constraints.budgets.push_back({"memory", -infinity, 5, {{0, {4, 7}, {}}, {1, {5, 6, 3}, {}}}});
    check_refused(d, "budget 'memory' needs at least 7, but its limit is 5");
    d.constraints.budgets[0].terms[0].live = sw::live_interval{3, 9};
    d.constraints.budgets[0].terms[1].live = sw::live_interval{5, 7};
    check_refused(d, "budget 'memory' at time 5 needs at least 7, but its limit is 5");
    d.constraints.budgets[0] = {"share", 20, infinity, {{0, {4, 7}, {}}, {1, {5, 6, 3}, {}}}};
    check_refused(d, "budget 'share' gets at most 13, but its limit is 20");
  }

  TEST_CASE("what validation refuses is refused") {
    auto d = pair_of_vertices();
    d.edges[0].to = 9;
    small::check_refused([&] { return sw::compile(d); }, sw::error_category::input,
                         "edge 0 names vertex 9, but there are only 2 vertices");
  }

  TEST_CASE("a stop ends the build") {
    const auto d = std::make_shared<const sw::placement_description<double>>(pair_of_vertices());
    std::stop_source source;
    sw::solve_control control;
    control.stop = source.get_token();
    CHECK_NOTHROW(static_cast<void>(sw::compile(d, control)));
    source.request_stop();
    const std::string text = "the problem was not built before the stop";
    small::check_refused([&] { return sw::compile(d, control); }, sw::error_category::stopped, text);
    sw::solve_control no_time;
    no_time.seconds = 0;
    small::check_refused([&] { return sw::compile(d, no_time); }, sw::error_category::stopped, text);
  }

  TEST_CASE("a stop is obeyed soon at any time of a large build") {
    // every stage asks often: what is done after the stop is a small share of the whole, whatever the machine's speed
    constexpr std::uint32_t n = shardweave_test::is_small_scale ? 2'000 : 60'000;
    constexpr std::size_t k = 5, tables = 30;
    sw::random_source random(1);
    sw::placement_description<double> d;
    for (std::size_t t = 0; t < tables; ++t) {
      std::vector<double> entries;
      for (std::size_t i = 0; i < k * k; ++i)
        entries.push_back(i % (k + 1) != 0 && random.chance(0.15) ? infinity : static_cast<double>(random.below(100)));
      small::table<double>(d, k, k, entries);
    }
    sw::budget memory{.name = "memory", .high = 25'000};
    for (std::uint32_t v = 0; v < n; ++v) {
      std::vector<double> costs(k), usage(k);
      for (double& c : costs) c = static_cast<double>(random.below(50));
      for (double& u : usage) u = static_cast<double>(random.below(1000));
      small::vertex<double>(d, "", costs);
      const std::int64_t first = v;
      memory.terms.push_back({v, usage, sw::live_interval{first, first + static_cast<std::int64_t>(random.below(60))}});
      for (int i = 0; i < 2 && v > 0; ++i)
        small::edge(d, static_cast<std::uint32_t>(v - 1 - random.below(std::min<std::size_t>(v, 40))), v,
                    static_cast<std::uint32_t>(random.below(tables)), static_cast<std::uint32_t>(random.below(tables)));
      if (v % 40 == 0 && v >= 20) d.constraints.ties.push_back({{v - 20, v}, ""});
    }
    d.constraints.budgets.push_back(memory);
    const auto stated = std::make_shared<const sw::placement_description<double>>(std::move(d));
    using clock = std::chrono::steady_clock;
    const auto seconds_since = [](clock::time_point t) {
      return std::chrono::duration<double>(clock::now() - t).count();
    };
    const auto start = clock::now();
    CHECK(sw::compile(stated).compact().size() == n - (n / 40 - 1));
    const double whole = seconds_since(start);
    for (const double share : {0.02, 0.1, 0.25, 0.4, 0.55}) {
      CAPTURE(share);
      double late = 1e9;  // the best of a few: the machine may have other work
      const double allowed = 0.1 + 0.25 * whole;
      for (int i = 0; i < 5 && late >= allowed; ++i) {
        const auto begin = clock::now();
        try {
          static_cast<void>(sw::compile(stated, {.seconds = whole * share}));
        } catch (const sw::error& e) {
          CHECK(e.category() == sw::error_category::stopped);
        }
        late = std::min(late, seconds_since(begin) - whole * share);
      }
      CHECK(late < allowed);
    }
  }

  TEST_CASE("equal descriptions give equal problems") {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      problem_features features;
      features.impossible = false;
      std::vector<std::map<sw::assignment, double>> twice;
      try {
        for (int i = 0; i < 2; ++i)
          twice.push_back(all_labelings(sw::compile(draw_problem<double>(seed, features).description).compact()));
      } catch (const sw::error&) {
        continue;
      }
      CHECK(twice[0] == twice[1]);
    }
  }
}

TEST_SUITE("placement_problem") {
  TEST_CASE("a problem made from a compact one is its own description") {
    const auto compiled = sw::compile(pair_of_vertices());
    const sw::placement_problem<double> own(compiled.compact());
    CHECK(own.description() == nullptr);
    CHECK(compiled.description() != nullptr);
    CHECK(own.vertex_count() == 2);
    CHECK(own.variable_of(1) == 1);
    CHECK(own.strategy_of(1, 2) == 2);
    CHECK(own.lift(std::vector<sw::strategy>{1, 2}) == sw::assignment{1, 2});
    CHECK(own.labels_of(sw::assignment{1, 2}) == std::vector<sw::strategy>{1, 2});
    CHECK_FALSE(own.labels_of(sw::assignment{1, 3}).has_value());
    CHECK_FALSE(own.labels_of(sw::assignment{1}).has_value());
    CHECK_FALSE(own.labels_of(sw::assignment{1, 2, 0}).has_value());
  }
  TEST_CASE("copies share their data") {
    const auto a = sw::compile(pair_of_vertices());
    const auto b = a;
    CHECK(&a.compact() == &b.compact());
    CHECK(a.description() == b.description());
  }
  TEST_CASE("usage of rows is the sum of the segments over them") {
    sw::compact_builder<double> builder;
    const std::vector<double> zero{0, 0};
    builder.add_variable(zero);
    builder.add_variable(zero);
    for (int r = 0; r < 4; ++r) builder.add_row({-infinity, 10, 0, r});
    builder.add_segment(0, {0, 3, {1, 5}});
    builder.add_segment(1, {2, 4, {2, 20}});
    builder.add_segment(1, {2, 4, {0.5, 0}});  // added to the one before
    builder.add_segment(1, {0, 1, {0, 3}});
    const auto p = builder.build();
    CHECK(p.segments(1).size() == 2);
    CHECK(p.usage(sw::assignment{1, 0}) == std::vector<double>{5, 5, 7.5, 2.5});
    CHECK(p.keeps_rows(sw::assignment{1, 0}));
    CHECK(p.usage(sw::assignment{0, 1}) == std::vector<double>{4, 1, 21, 20});
    CHECK_FALSE(p.keeps_rows(sw::assignment{0, 1}));
    CHECK(p.keeps_rows(sw::assignment{0, 1}, 11));
  }
}

}  // namespace compile_tests
