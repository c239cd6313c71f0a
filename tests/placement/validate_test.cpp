#include "small_problem.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/overlap/window.hpp>
#include <shardweave/placement/validate.hpp>

#include <doctest/doctest.h>
#include <support/random_problem.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

namespace sw = shardweave;
using small::pair_of_vertices;

namespace validate_tests {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

template <class Cost>
void check_input_refused(const sw::placement_description<Cost>& d, const std::string& text) {
  small::check_refused([&] { sw::validate(d); }, sw::error_category::input, text);
}

}  // namespace

TEST_SUITE("validate") {
  TEST_CASE("problems that make sense pass, whatever they contain") {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      CHECK_NOTHROW(sw::validate(shardweave_test::draw_problem<double>(seed).description));
      CHECK_NOTHROW(sw::validate(shardweave_test::draw_problem<std::int64_t>(seed).description));
    }
    CHECK_NOTHROW(sw::validate(sw::placement_description<double>{}));
  }

  TEST_CASE("a vertex needs strategies, and lists of their length") {
    auto d = pair_of_vertices();
    d.edges.clear();
    d.vertices[1].compute.clear();
    check_input_refused(d, "vertex 1 (b) has no strategies");
    d = pair_of_vertices();
    d.vertices[0].labels = {"S(0)", "S(1)", "R"};
    check_input_refused(d, "vertex 0 (a) has 3 labels for 2 strategies");
    d = pair_of_vertices();
    d.vertices[1].name.clear();
    d.vertices[1].memory = {1};
    check_input_refused(d, "vertex 1 has 1 memory size for 3 strategies");
  }

  TEST_CASE("a cost is a number, finite or forbidden") {
    auto d = pair_of_vertices();
    d.vertices[1].compute[2] = std::nan("");
    check_input_refused(d, "the cost of strategy 2 of vertex 1 (b) is not a number");
    d = pair_of_vertices();
    d.vertices[1].compute[1] = -infinity;
    check_input_refused(d, "the cost of strategy 1 of vertex 1 (b) is -infinity");
    d = pair_of_vertices();
    small::table<double>(d, 1, 1, {-infinity});
    check_input_refused(d, "an entry of table 1 is -infinity");
    small::table<double>(d, 1, 2, {0, std::nan("")});
    d.tables.erase(d.tables.begin() + 1);
    check_input_refused(d, "an entry of table 1 is not a number");
    d = pair_of_vertices();
    d.vertices[0].compute[0] = infinity;
    CHECK_NOTHROW(sw::validate(d));
  }

  TEST_CASE("an edge joins vertices that exist by tables that fit") {
    auto d = pair_of_vertices();
    d.edges[0].to = 2;
    check_input_refused(d, "edge 0 names vertex 2, but there are only 2 vertices");
    d = pair_of_vertices();
    d.edges[0].from = 7;
    check_input_refused(d, "edge 0 names vertex 7, but there are only 2 vertices");
    d = pair_of_vertices();
    d.edges[0].transition = 1;
    check_input_refused(d, "edge 0 (a -> b) names table 1, but there are only 1 tables");
    d = pair_of_vertices();
    std::swap(d.edges[0].from, d.edges[0].to);
    check_input_refused(d, "edge 0 (b -> a) names table 0 of 2 x 3 costs, but its ends have 3 and 2 strategies");
    d = pair_of_vertices();
    d.tables[0] = nullptr;
    check_input_refused(d, "table 0 is absent (a null pointer)");
  }

  TEST_CASE("constraints name vertices and strategies that exist") {
    auto d = pair_of_vertices();
    d.constraints.fixed.push_back({2, {0}, "input"});
    check_input_refused(d, "constraint 'input' names vertex 2, but there are only 2 vertices");
    d.constraints.fixed[0] = {1, {0, 3}, "input"};
    check_input_refused(d, "constraint 'input' names strategy 3 of vertex 1 (b), which has only 3");

    d = pair_of_vertices();
    d.constraints.ties.push_back({{0, 9}, "layers"});
    check_input_refused(d, "tie 'layers' names vertex 9, but there are only 2 vertices");
    d.constraints.ties[0].vertices = {0, 1};
    check_input_refused(d, "tie 'layers' joins vertex 0 (a) with 2 strategies to vertex 1 (b) with 3");
    d.constraints.ties[0].vertices = {};
    CHECK_NOTHROW(sw::validate(d));

    d = pair_of_vertices();
    d.constraints.pairs.push_back({0, 5, {}, "gradient"});
    check_input_refused(d, "pairing 'gradient' names vertex 5, but there are only 2 vertices");
    d.constraints.pairs[0] = {0, 1, {{1, 2}, {2, 0}}, "gradient"};
    check_input_refused(d, "pairing 'gradient' names strategy 2 of vertex 0 (a), which has only 2");
    d.constraints.pairs[0] = {0, 1, {{1, 2}, {0, 4}}, "gradient"};
    check_input_refused(d, "pairing 'gradient' names strategy 4 of vertex 1 (b), which has only 3");
  }

  TEST_CASE("a budget has a range and usages that can be summed") {
    auto d = pair_of_vertices();
    d.constraints.budgets.push_back({"memory", 2, 1, {}});
    check_input_refused(d, "budget 'memory' asks for a usage from 2 to 1");
    d.constraints.budgets[0] = {"memory", std::nan(""), 1, {}};
    check_input_refused(d, "budget 'memory' asks for a usage from nan to 1");
    d.constraints.budgets[0] = {"memory", -infinity, 1, {{4, {1, 1}, {}}}};
    check_input_refused(d, "budget 'memory' names vertex 4, but there are only 2 vertices");
    d.constraints.budgets[0] = {"memory", -infinity, 1, {{1, {1, 1}, {}}}};
    check_input_refused(d, "budget 'memory' has 2 usages for the 3 strategies of vertex 1 (b)");
    d.constraints.budgets[0] = {"memory", -infinity, 1, {{1, {1, -1, 0}, {}}}};
    check_input_refused(
        d, "the usage -1 of strategy 1 of vertex 1 (b) in budget 'memory' is negative or not a finite number");
    d.constraints.budgets[0] = {"memory", -infinity, 1, {{1, {1, 1, infinity}, {}}}};
    check_input_refused(
        d, "the usage inf of strategy 2 of vertex 1 (b) in budget 'memory' is negative or not a finite number");
    d.constraints.budgets[0] = {"memory", 0, 9, {{1, {1, 1, 1}, sw::live_interval{0, 2}}}};
    check_input_refused(d, "budget 'memory' has a lower limit and terms with live intervals, which is not supported");
    d.constraints.budgets[0].low = -infinity;
    CHECK_NOTHROW(sw::validate(d));
  }

  TEST_CASE("the overlap section names edges that exist") {
    auto d = pair_of_vertices();
    d.overlap.push_back({1, sw::hiding::later, 0, 0, 0});
    check_input_refused(d, "the overlap section names edge 1, but there are only 1 edge");
  }

  TEST_CASE("floating costs whose sum overflows are refused, and not called infeasible") {
    auto d = pair_of_vertices();
    d.vertices[1].compute = {1e307, -4, sw::forbidden<double>};
    CHECK_NOTHROW(sw::validate(d));
    d.tables[0] = std::make_shared<const sw::cost_table<double>>(
        sw::cost_table<double>::from_entries(2, 3, std::vector<double>{0, 0, 0, 0, -1e307, sw::forbidden<double>}));
    check_input_refused(d,
                        "the costs of all vertices and edges up to edge 0 (a -> b) may add up to more than "
                        "1.12356e+307, what sums of floating-point numbers are kept below; infinity forbids a choice");
    d.vertices[0].compute[0] = std::numeric_limits<double>::max();
    check_input_refused(d,
                        "the costs of all vertices and edges up to vertex 0 (a) may add up to more than 1.12356e+307, "
                        "what sums of floating-point numbers are kept below; infinity forbids a choice");
    sw::placement_description<float> narrow;
    small::vertex<float>(narrow, "a", {3e38F});
    check_input_refused(narrow,
                        "the costs of all vertices and edges up to vertex 0 (a) may add up to more than 2.12676e+37, "
                        "what sums of floating-point numbers are kept below; infinity forbids a choice");
  }

  TEST_CASE("usages whose sum overflows are refused") {
    auto d = pair_of_vertices();
    d.constraints.budgets.push_back({.name = "memory", .high = 1e308, .terms = {{.vertex = 0, .usage = {1, 1e307}}}});
    CHECK_NOTHROW(sw::validate(d));
    d.constraints.budgets[0].terms.push_back({.vertex = 1, .usage = {0, 0, 1e307}});
    check_input_refused(d,
                        "the usages of budget 'memory' up to vertex 1 (b) may add up to more than 1.12356e+307, what "
                        "sums of floating-point numbers are kept below");
  }

  TEST_CASE("whole costs whose sum leaves a quarter of 64 bits are refused, however they are spread") {
    constexpr std::int64_t large = std::numeric_limits<std::int64_t>::max() / 8;
    sw::placement_description<std::int64_t> d;
    small::vertex<std::int64_t>(d, "a", {large, 0});
    small::vertex<std::int64_t>(d, "b", {-large, 0});
    CHECK_NOTHROW(sw::validate(d));
    small::vertex<std::int64_t>(d, "c", {2, sw::forbidden<std::int64_t>});
    check_input_refused(d,
                        "the costs of all vertices and edges up to vertex 2 (c) may add up to more than a quarter "
                        "of what 64-bit integers hold, which sums are kept below");
    d.vertices[2].compute[0] = 0;
    CHECK_NOTHROW(sw::validate(d));
    small::edge<std::int64_t>(d, 0, 1, small::table<std::int64_t>(d, 2, 2, {0, 0, 0, 2}));
    check_input_refused(d,
                        "the costs of all vertices and edges up to edge 0 (a -> b) may add up to more than a quarter "
                        "of what 64-bit integers hold, which sums are kept below");
    d.vertices[0].compute[0] = std::numeric_limits<std::int64_t>::min();
    check_input_refused(d,
                        "the costs of all vertices and edges up to vertex 0 (a) may add up to more than a quarter "
                        "of what 64-bit integers hold, which sums are kept below");
  }

  TEST_CASE("whole savings that do not fit are refused") {
    using table = sw::cost_table<std::int64_t>;
    constexpr std::int64_t large = std::int64_t{1} << 59;
    sw::placement_description<std::int64_t> d;
    d.vertices = {{.compute = {large}}, {.compute = {0}}, {.compute = {0}}};
    d.tables.push_back(std::make_shared<const table>(table::from_entries(1, 1, std::vector<std::int64_t>{large})));
    d.edges.push_back({.from = 1, .to = 2, .communication = 0});
    d.counted = sw::savings_form::windows;
    for (std::int64_t channel = 0; channel < 32; ++channel)
      d.overlap.push_back({.edge = 0, .direction = sw::hiding::none, .first = 0, .last = 2, .channel = channel});
    CHECK_THROWS_AS(sw::validate(d), sw::error);
    d.overlap.resize(1);
    CHECK_NOTHROW(sw::validate(d));
  }
}

}  // namespace validate_tests
