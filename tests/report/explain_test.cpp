#include "report/explained_chain.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/placement/diff.hpp>
#include <shardweave/placement/explain.hpp>
#include <shardweave/report/assignment_text.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace explain_tests {
namespace {

using namespace explained_chains;
using choice_span = std::span<const sw::strategy>;

}  // namespace

TEST_SUITE("explain") {
  TEST_CASE("a vertex by part, its edges, and what hides behind what") {
    const auto d = explain_chain();
    const auto told = sw::explain(d, choice_span(whole), 1);
    CHECK(told.price == sw::vertex_price<double>{{4, 10, 1}, 8});
    CHECK(told.price.total() == 7);
    REQUIRE(told.inputs.size() == 1);
    CHECK(told.inputs[0].hidden == 8);  // behind a and c, which are 3 and 5
    CHECK(told.outputs.size() == 1);
    CHECK(told.hides.empty());
    CHECK(to_text(told, d) ==
          "vertex 1 (b) takes strategy whole and costs 7.000 us\n"
          "  computation               4.000\n"
          "  communication of inputs  10.000\n"
          "  transition of inputs      1.000\n"
          "  less savings of inputs    8.000\n"
          "\n"
          "input            communication  transition  hidden  behind\n"
          "------------------------------------------------------------------------------------------\n"
          "edge 0 (a -> b)         10.000       1.000   8.000  vertex 2 (c) 5.000, vertex 0 (a) 3.000\n"
          "\n"
          "output           communication  transition  hidden  behind\n"
          "----------------------------------------------------------\n"
          "edge 1 (b -> c)          0.000       0.000   0.000\n");
    const std::string first = to_text(sw::explain(d, choice_span(whole), 0), d);
    CHECK(first.ends_with("\nits computation hides edge 0 (a -> b) 3.000\n"));
    const std::string short_one = to_text(told, d, 1);
    CHECK(short_one.find("vertex 2 (c) 5.000 and 1 more\n") != std::string::npos);
  }

  TEST_CASE("without savings nothing is said of them, and what is forbidden is called so") {
    auto d = explain_chain();
    d.counted = sw::savings_form::off;
    d.vertices[2].compute = {sw::forbidden<double>};
    const auto told = sw::explain(d, choice_span(split), 2);
    CHECK(sw::is_forbidden(told.price.total()));
    CHECK(to_text(told, d) ==
          "vertex 2 (c) takes strategy 0 and costs forbidden us\n"
          "  computation              forbidden\n"
          "  communication of inputs      2.000\n"
          "  transition of inputs         0.000\n"
          "\n"
          "input            communication  transition\n"
          "------------------------------------------\n"
          "edge 1 (b -> c)          2.000       0.000\n");
  }

  TEST_CASE("a vertex that is not there is refused") {
    CHECK_THROWS_WITH_AS(static_cast<void>(sw::explain(explain_chain(), choice_span(whole), 3)),
                         "vertex 3 is to be explained, but there are only 3", sw::error);
  }
}

TEST_SUITE("alternatives") {
  TEST_CASE("every strategy beside the chosen one, by argument, with what it would break") {
    auto d = explain_chain();
    d.constraints.fixed = {{.vertex = 1, .allowed = {1}, .why = "b is split"}};
    const auto told = sw::alternatives(d, choice_span(split), 1);
    CHECK(told.chosen == 1);
    CHECK(told.along.empty());
    REQUIRE(told.strategies.size() == 2);
    CHECK(told.strategies[1].change == 0);
    CHECK(told.strategies[0].change == 3);  // 15 less 12: dearer by 7 at b, 2 less for c, and 2 more is saved
    CHECK(told.strategies[0].breaks ==
          std::vector<std::string>{"constraint 'b is split': vertex 1 (b) takes strategy whole"});
    CHECK(to_text(told, d) ==
          "vertex 1 (b) and its other strategies, if no other vertex changed, us\n"
          "strategy  computation  argument 0  users  objective\n"
          "------------------------------------------------------------"
          "---------------------------------------------------\n"
          "split           2.000       6.000  2.000             chosen\n"
          "whole           4.000      11.000  0.000     +3.000  "
          "constraint 'b is split': vertex 1 (b) takes strategy whole\n");
    CHECK(to_text(told, d, 0).ends_with("chosen\nand 1 more\n"));
    CHECK_THROWS_WITH_AS(static_cast<void>(sw::alternatives(d, choice_span(split), 7)),
                         "vertex 7 is to be explained, but there are only 3", sw::error);
  }

  TEST_CASE("tied vertices move along, what is forbidden comes last, and broken constraints are counted") {
    auto d = explain_chain();
    d.counted = sw::savings_form::off;
    d.vertices.push_back({.name = "e", .op = "multiply", .compute = {sw::forbidden<double>, 1}});
    d.constraints.ties = {{.vertices = {1, 3}, .why = "layers"}};
    d.constraints.budgets = {{.name = "memory", .high = 5, .terms = {{.vertex = 1, .usage = {8, 4}}}}};
    const auto told = sw::alternatives(d, choice_span(std::vector<sw::strategy>{0, 1, 0, 1}), 1);
    CHECK(told.along == std::vector<std::uint32_t>{3});
    CHECK(sw::is_forbidden(told.strategies[0].change));
    CHECK(to_text(told, d) ==
          "vertex 1 (b) and its other strategies, which 1 tied to it would take too, if no other vertex changed, us\n"
          "strategy  computation  argument 0  users  objective\n"
          "------------------------------------------------------------"
          "---------------------------------------------------------\n"
          "split           2.000       6.000  2.000             chosen\n"
          "whole           4.000      11.000  0.000  forbidden  "
          "vertex 3 (e) takes strategy 0, whose cost is infinite and 1 more\n");
  }
}

TEST_SUITE("diff") {
  TEST_CASE("the objective by part, and who changes") {
    auto d = explain_chain();
    d.constraints.budgets = {{.name = "memory", .high = 9, .terms = {{.vertex = 1, .usage = {8, 4}}}}};
    const auto told = sw::diff(d, choice_span(whole), choice_span(split));
    REQUIRE(told.vertices.size() == 2);
    CHECK(told.vertices[0].is_changed());
    CHECK_FALSE(told.vertices[1].is_changed());  // c pays for what b makes
    CHECK(to_text(told, d) ==
          "us               before   after  change\n"
          "---------------------------------------\n"
          "objective        15.000  12.000  -3.000\n"
          "  computation    12.000  10.000  -2.000\n"
          "  communication  10.000   8.000  -2.000\n"
          "  transition      1.000   0.000  -1.000\n"
          "  less savings    8.000   6.000  -2.000\n"
          "\n"
          "budget  before  after\n"
          "---------------------\n"
          "memory   8.000  4.000\n"
          "\n"
          "1 of 3 vertices change their strategy\n"
          "changed        vertices  first  before  after  change\n"
          "-----------------------------------------------------\n"
          "multiply              1      1  whole   split  -5.000\n"
          "same strategy         1                        +2.000\n");
    CHECK(to_text(told, d, 0).find("and 1 more row\n") != std::string::npos);
  }

  TEST_CASE("an assignment differs from itself in nothing") {
    const auto d = explain_chain();
    const auto told = sw::diff(d, choice_span(split), choice_span(split));
    CHECK(told.vertices.empty());
    CHECK(to_text(told, d).ends_with("\n0 of 3 vertices change their strategy\n"));
  }

  TEST_CASE("what is forbidden has no change") {
    auto d = explain_chain();
    d.counted = sw::savings_form::off;
    d.vertices[1].compute[1] = sw::forbidden<double>;
    const std::string text = to_text(sw::diff(d, choice_span(whole), choice_span(split)), d);
    CHECK(
        text.starts_with("us               before      after  change\n"
                         "------------------------------------------\n"
                         "objective        23.000  forbidden\n"));
    CHECK(text.find("multiply              1      1  whole   split\n") != std::string::npos);
  }
}

}  // namespace explain_tests
