#include "io/refused.hpp"
#include "support/random_problem.hpp"
#include "support/temporary_folder.hpp"
#include <shardweave/io/solution.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/solve/exhaustive.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace sw = shardweave;
using shardweave_test::draw_problem;
using shardweave_test::problem_features;

namespace solution_tests {
namespace {

template <class Cost>
sw::stored_solution<Cost> read(const std::string& text) {
  auto input = sw::text_input::of_memory("T", text);
  return sw::read_solution<Cost>(input, {.strict = true});
}
template <class Cost>
std::string written(const sw::placement_description<Cost>& d, const sw::solution<Cost>& s) {
  return sw::json_string([&](sw::json_writer& out) { sw::write_solution(out, d, s); });
}

}  // namespace

TEST_SUITE("shardweave.solution") {
  TEST_CASE_TEMPLATE("an answer reads back the same, and its assignment costs the same again", Cost, double,
                     std::int64_t) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      CAPTURE(seed);
      const auto problem = draw_problem<Cost>(seed, problem_features::combination(0));
      const auto& d = problem.description;
      const auto answer = sw::exhaustive{}.solve(sw::compile(d));
      const auto stored = read<Cost>(written(d, answer));
      CHECK(stored.problem == d.name);
      CHECK(stored.answer.choice == answer.choice);
      CHECK(stored.answer.objective == answer.objective);
      CHECK(stored.answer.lower_bound == answer.lower_bound);
      CHECK(stored.answer.status == answer.status);
      CHECK(stored.answer.statistics.solver == answer.statistics.solver);
      CHECK(stored.answer.statistics.counters == answer.statistics.counters);
      if (answer.has_assignment()) CHECK(sw::evaluate(d, stored.answer.choice).objective == answer.objective);
    }
  }

  TEST_CASE("names stand beside indices, with what each vertex costs, and the gap beside the bound") {
    sw::placement_description<double> d;
    d.name = "p";
    d.vertices = {{.name = "v", .op = "", .phase = "", .labels = {"R", "S(0)"}, .compute = {1, 2}, .memory = {}}};
    sw::solution<double> s;
    s.choice = {1};
    s.objective = 2;
    CHECK(written(d, s).find("{\"vertex\":0,\"name\":\"v\",\"strategy\":\"S(0)\",\"compute\":2,\"arguments\":[]}") !=
          std::string::npos);
    CHECK(written(d, s).find("\"gap\":null") != std::string::npos);
    d.vertices.push_back({.name = "w", .compute = {5}});
    const std::vector<double> entries{7, 3};
    d.tables = {std::make_shared<const sw::cost_table<double>>(sw::cost_table<double>::from_entries(2, 1, entries))};
    d.edges = {{.from = 0, .to = 1, .transition = 0}};
    s.choice = {1, 0};
    s.objective = 10;
    s.lower_bound = 8;
    const std::string text = written(d, s);
    CHECK(text.find("\"lower_bound\":8,\"gap\":0.25,") != std::string::npos);
    CHECK(text.find("{\"vertex\":1,\"name\":\"w\",\"strategy\":\"0\",\"compute\":5,"
                    "\"arguments\":[{\"from\":0,\"communication\":0,\"transition\":3}]}") != std::string::npos);
  }

  TEST_CASE("by names an answer serves a problem that numbers vertices and strategies in another way") {
    sw::placement_description<double> d, other;
    d.vertices = {{.name = "a", .labels = {"R", "S(0)"}, .compute = {1, 2}},
                  {.name = "b", .labels = {"R", "S(0)", "S(1)"}, .compute = {3, 4, 5}}};
    other.vertices = {{.name = "b", .labels = {"S(1)", "P", "S(0)", "R"}, .compute = {5, 9, 4, 3}},
                      {.name = "a", .labels = {"S(0)", "R"}, .compute = {2, 1}}};
    sw::solution<double> s;
    for (sw::strategy a = 0; a < 2; ++a)
      for (sw::strategy b = 0; b < 3; ++b) {
        s.choice = {a, b};
        s.objective = sw::evaluate(d, s.choice).objective;
        const auto stored = read<double>(written(d, s));
        CHECK(sw::assignment_by_name(d, stored) == s.choice);
        CHECK(sw::evaluate(other, sw::assignment_by_name(other, stored)).objective == s.objective);
      }
    const auto stored = read<double>(written(d, s));  // S(0), S(1)
    const auto message = [&](const sw::placement_description<double>& to) {
      return refused([&] { return sw::assignment_by_name(to, stored); });
    };
    CHECK(message(other).empty());
    auto changed = other;
    changed.vertices[0].name = "c";
    CHECK(message(changed) == "the problem has no vertex 'b', for which there is a strategy");
    changed = other;
    changed.vertices[0].labels = {"R", "S(0)", "P", "S(2)"};
    CHECK(message(changed) == "vertex 0 (b) has no strategy 'S(1)' among its 4, of which the first is 'R'");
    changed.vertices[0].labels = {};
    CHECK(message(changed) == "vertex 0 (b) has no strategy 'S(1)' among its 4");
    changed = other;
    changed.vertices.push_back({.name = "c", .compute = {1}});
    CHECK(message(changed) == "there is no strategy for vertex 2 (c)");
    changed = other;
    changed.vertices.push_back(other.vertices[0]);
    CHECK(message(changed) ==
          "vertex 0 (b) and vertex 2 (b) have the same name, expected names that tell vertices apart");
    auto again = stored;
    again.choices.push_back({"b", "S(0)"});
    CHECK(refused([&] { return sw::assignment_by_name(other, again); }) ==
          "there are two strategies for vertex 0 (b): 'S(1)' and 'S(0)'");
  }

  TEST_CASE("an answer without an assignment has no objective") {
    sw::placement_description<double> d;
    sw::solution<double> s;
    s.status = sw::solve_status::infeasible;
    s.lower_bound = std::numeric_limits<double>::infinity();
    const auto stored = read<double>(written(d, s));
    CHECK(!stored.answer.has_assignment());
    CHECK(stored.answer.status == sw::solve_status::infeasible);
    CHECK(stored.answer.lower_bound == std::numeric_limits<double>::infinity());
  }

  TEST_CASE("the problem's name and the assignment are all that a file needs") {
    const auto stored = read<std::int64_t>(
        R"({"format": "shardweave.solution", "version": 1, "problem": "p", "assignment": [1, 0, 2]})");
    CHECK(stored.answer.choice == sw::assignment{1, 0, 2});
    CHECK(std::isinf(stored.answer.lower_bound));
  }

  TEST_CASE("wrong files are refused in one line") {
    const std::string good =
        R"({"format": "shardweave.solution", "version": 1, "problem": "p", "assignment": [1], "status": "optimal"})";
    const auto message = [](const std::string& text) { return refused([&] { return read<std::int64_t>(text); }); };
    CHECK(message(good).empty());
    CHECK(message(changed(good, "[1]", "[-1]"))
              .ends_with("assignment[0] is -1, expected a whole number from 0 to 4294967295"));
    CHECK(message(changed(good, "optimal", "best"))
              .ends_with("status is \"best\", expected \"optimal\", \"feasible\", \"infeasible\" or \"stopped\""));
    CHECK(message(changed(good, "\"version\": 1", "\"version\": 7")).find("version is 7") != std::string::npos);
    for (std::size_t size = 0; size < good.size(); ++size) CHECK(is_one_line(message(good.substr(0, size))));
  }
  TEST_CASE("strategies without labels are found by their numbers") {
    sw::placement_description<double> d;
    d.name = "p";
    d.vertices.resize(2);
    d.vertices[0].name = "a";
    d.vertices[0].compute = {1, 2};
    d.vertices[1].name = "b";
    d.vertices[1].compute = {3, 4};
    sw::solution<double> s;
    s.choice = {1, 0};
    s.objective = 5;
    s.status = sw::solve_status::feasible;
    const std::string text = sw::json_string([&](sw::json_writer& out) { sw::write_solution(out, d, s); });
    auto in = sw::text_input::of_memory("s", text);
    CHECK(sw::assignment_by_name(d, sw::read_solution<double>(in)) == s.choice);
  }
}

}  // namespace solution_tests
