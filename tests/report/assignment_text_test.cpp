#include "report/explained_chain.hpp"
#include <shardweave/report/assignment_text.hpp>

#include <doctest/doctest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace assignment_text_tests {
namespace {

namespace sw = shardweave;
using namespace explained_chains;

using choice_span = std::span<const sw::strategy>;

}  // namespace

TEST_SUITE("assignment_text") {
  TEST_CASE("every vertex on a line with what its arguments cost, then the whole, and what is broken") {
    auto d = explain_chain();
    d.constraints.fixed = {{.vertex = 1, .allowed = {1}, .why = "b is split"}};
    d.constraints.budgets = {{.name = "memory", .high = 9, .terms = {{.vertex = 1, .usage = {8, 4}}}}};
    CHECK(sw::assignment_text(d, choice_span(whole)) ==
          "vertex  name  operation  strategy  computation  arguments\n"
          "----------------------------------------------------------------------\n"
          "     0  a     load       0               3.000\n"
          "     1  b     multiply   whole           4.000  10.000 + 1.000 - 8.000\n"
          "     2  c     add        0               5.000  0\n"
          "\n"
          "objective, us            15.000\n"
          "  computation            12.000\n"
          "  communication          10.000\n"
          "  transition              1.000\n"
          "  less savings            8.000\n"
          "budget memory    8.000 of 9.000\n"
          "broken: constraint 'b is split': vertex 1 (b) takes strategy whole\n");
    d.counted = sw::savings_form::off;
    d.edges.push_back({.from = 0, .to = 2, .slot = 1, .communication = 0});
    d.vertices[0].compute = {sw::forbidden<double>};
    d.tables[0] = std::make_shared<const sw::cost_table<double>>(
        sw::cost_table<double>::from_entries(1, 1, std::vector<double>{2}));
    d.edges[0].communication = sw::no_table;
    const std::string text = sw::assignment_text(d, choice_span(split));
    CHECK(text.find("\n     0  a     load       0           forbidden\n") != std::string::npos);
    CHECK(text.find("\n     1  b     multiply   split           2.000  0\n") != std::string::npos);
    CHECK(text.find("\n     2  c     add        0               5.000  2.000, 2.000\n") != std::string::npos);
    CHECK(text.find("less savings") == std::string::npos);
    CHECK(text.find("\nobjective, us         forbidden\n") != std::string::npos);
  }
}

}  // namespace assignment_text_tests
