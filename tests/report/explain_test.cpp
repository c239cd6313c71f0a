#include <shardweave/core/error.hpp>
#include <shardweave/overlap/window.hpp>
#include <shardweave/placement/diff.hpp>
#include <shardweave/placement/explain.hpp>
#include <shardweave/report/assignment_text.hpp>

#include <doctest/doctest.h>
#include <support/random_problem.hpp>
#include <support/random_savings.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace explain_tests {
namespace {

using choice_span = std::span<const sw::strategy>;

/// a -> b -> c; b runs whole (4 us) or split (2 us), and split it gathers less from a and more for c.
sw::placement_description<double> explain_chain() {
  sw::placement_description<double> d;
  d.unit = "us";
  d.vertices = {{.name = "a", .op = "load", .compute = {3}},
                {.name = "b", .op = "multiply", .labels = {"whole", "split"}, .compute = {4, 2}},
                {.name = "c", .op = "add", .compute = {5}}};
  const auto table = [&](std::size_t rows, std::size_t columns, std::vector<double> entries) {
    d.tables.push_back(
        std::make_shared<const sw::cost_table<double>>(sw::cost_table<double>::from_entries(rows, columns, entries)));
    return static_cast<std::uint32_t>(d.tables.size() - 1);
  };
  d.edges = {{.from = 0, .to = 1, .communication = table(1, 2, {10, 6}), .transition = table(1, 2, {1, 0})},
             {.from = 1, .to = 2, .communication = table(2, 1, {0, 2})}};
  d.overlap = {{.edge = 0, .direction = sw::hiding::both}, {.edge = 1, .direction = sw::hiding::later}};
  d.counted = sw::savings_form::strict;
  return d;
}
const std::vector<sw::strategy> whole{0, 0, 0}, split{0, 1, 0};

/// Some feasible assignments of a random problem, far from each other.
template <class Cost>
std::vector<sw::assignment> explain_feasible(const shardweave_test::random_problem<Cost>& stated) {
  std::vector<sw::assignment> all, some;
  shardweave_test::for_all_feasible(stated, [&](const sw::assignment& choice) { all.push_back(choice); });
  for (std::size_t i = 0; i < 3 && !all.empty(); ++i) some.push_back(all[i * (all.size() - 1) / 2]);
  return some;
}

template <class Cost>
Cost explain_objective(const shardweave_test::random_problem<Cost>& stated, const sw::assignment& choice) {
  return *shardweave_test::price_of(stated, choice) - shardweave_test::savings_by_flow(stated, choice);
}

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

  TEST_CASE("explanations add up to the objective, and nothing hides where or more than it may") {
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(120); ++seed) {
      CAPTURE(seed);
      const auto stated = shardweave_test::draw_savings_problem<std::int64_t>(seed);
      const auto& d = stated.description;
      const auto sets = shardweave_test::position_sets(d);
      for (const sw::assignment& choice : explain_feasible(stated)) {
        std::int64_t objective = 0, hidden = 0;
        std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> by_edge, by_vertex;  // edge and vertex
        for (std::uint32_t v = 0; v < d.vertices.size(); ++v) {
          const auto told = sw::explain(d, choice_span(choice), v);
          CHECK(told.chosen == choice[v]);
          std::int64_t inputs = 0, of_inputs = 0;
          for (const auto& e : told.inputs) {
            CHECK(d.edges[e.edge].to == v);
            std::int64_t behind = 0;
            for (const auto& share : e.behind) {
              CHECK(share.amount > 0);
              CHECK(std::any_of(sets.begin(), sets.end(),
                                [&](const auto& s) { return s.edge == e.edge && s.allowed[share.behind]; }));
              behind += share.amount;
              by_edge[{e.edge, share.behind}] = share.amount;
            }
            CHECK(behind == e.hidden);
            CHECK(e.hidden <=
                  std::max<std::int64_t>(e.parts.communication, 0) *
                      std::count_if(sets.begin(), sets.end(), [&](const auto& s) { return s.edge == e.edge; }));
            of_inputs += e.hidden;
            inputs += e.parts.communication + e.parts.transition;
          }
          for (const auto& share : told.hides) by_vertex[{share.edge, v}] = share.amount;
          CHECK(told.price.total() == d.vertices[v].compute[choice[v]] + inputs - of_inputs);
          objective += told.price.total();
          hidden += of_inputs;
        }
        CHECK(objective == explain_objective(stated, choice));
        CHECK(hidden == shardweave_test::savings_by_flow(stated, choice));
        CHECK(by_edge == by_vertex);
        std::set<std::int64_t> channels;
        for (const auto& s : sets) channels.insert(s.channel);
        for (std::uint32_t v = 0; v < d.vertices.size(); ++v) {
          std::int64_t spent = 0;
          for (const auto& [at, amount] : by_edge) spent += at.second == v ? amount : 0;
          CHECK(spent <= std::max<std::int64_t>(d.vertices[v].compute[choice[v]], 0) *
                             static_cast<std::int64_t>(channels.size()));
        }
      }
    }
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

  TEST_CASE("changes are those of the whole, by other means, and what breaks nothing is feasible") {
    std::size_t free = 0, broken = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(120); ++seed) {
      CAPTURE(seed);
      const auto stated = shardweave_test::draw_savings_problem<std::int64_t>(seed);
      const auto& d = stated.description;
      for (const sw::assignment& choice : explain_feasible(stated))
        for (std::uint32_t v = 0; v < d.vertices.size(); ++v) {
          const auto told = sw::alternatives(d, choice_span(choice), v);
          REQUIRE(told.strategies.size() == d.vertices[v].compute.size());
          CHECK(told.chosen == choice[v]);
          for (sw::strategy s = 0; s < told.strategies.size(); ++s) {
            const auto& other = told.strategies[s];
            sw::assignment moved = choice;
            moved[v] = s;
            for (const std::uint32_t w : told.along) moved[w] = s;
            const bool is_feasible = shardweave_test::price_of(stated, moved).has_value();
            CHECK(other.breaks.empty() == is_feasible);
            ++(is_feasible ? free : broken);
            if (is_feasible)
              CHECK(other.change == explain_objective(stated, moved) - explain_objective(stated, choice));
          }
        }
    }
    CHECK(free > shardweave_test::at_scale(500));
    CHECK(broken > shardweave_test::at_scale(500));
  }
}

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

  TEST_CASE("what vertices pay more adds up to what the objective is more") {
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(120); ++seed) {
      CAPTURE(seed);
      const auto stated = shardweave_test::draw_savings_problem<std::int64_t>(seed);
      const auto& d = stated.description;
      const auto choices = explain_feasible(stated);
      if (choices.empty()) continue;
      const auto& one = choices.front();
      const auto& other = choices.back();
      const auto told = sw::diff(d, choice_span(one), choice_span(other));
      CHECK(told.before.objective == explain_objective(stated, one));
      CHECK(told.after.objective == explain_objective(stated, other));
      std::int64_t change = 0;
      std::size_t next = 0;
      for (std::uint32_t v = 0; v < d.vertices.size(); ++v) {
        const auto before = sw::explain(d, choice_span(one), v).price,
                   after = sw::explain(d, choice_span(other), v).price;
        if (one[v] == other[v] && before == after) continue;
        REQUIRE(next < told.vertices.size());
        const auto& listed = told.vertices[next++];
        CHECK(listed.vertex == v);
        CHECK(listed.chosen == std::pair(one[v], other[v]));
        CHECK(listed.before == before);
        CHECK(listed.after == after);
        change += listed.after.total() - listed.before.total();
      }
      CHECK(next == told.vertices.size());
      CHECK(change == told.after.objective - told.before.objective);
    }
  }
}

}  // namespace explain_tests
