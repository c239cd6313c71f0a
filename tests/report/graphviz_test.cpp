#include "report/small_timeline.hpp"
#include <shardweave/report/graphviz.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>

#include <set>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace graphviz_tests {
namespace {
std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}
}  // namespace

TEST_SUITE("graphviz") {
  TEST_CASE("colour tells the kind, the border the bucket, dashes what is no data") {
    const small_timeline all = two_products();
    sw::schedule s = all.schedule;
    s.after = {{3, 5}, {5, 4}};
    CHECK(sw::graphviz(all.graph, s, {.part = {1, 4, 5, 3}}) ==
          "digraph \"two products\" {\n"
          "  node [shape=box, style=filled, fontsize=10];\n"
          "  t1 [label=\"1 gather_1\\nall_gather on dp (group 513), 50 B\\n1.50 \xC2\xB5s\\nbucket 0\", "
          "fillcolor=\"#fdae6b\", penwidth=3, color=\"#e41a1c\", shape=ellipse];\n"
          "  t3 [label=\"3 mm_1\\n1.00 \xC2\xB5s\", fillcolor=\"#9ecae1\"];\n"
          "  t4 [label=\"4 wait_1\", fillcolor=\"#fdd0a2\"];\n"
          "  t5 [label=\"5 reduce\\nall_reduce on tp, 60 B\\n1.30 \xC2\xB5s\", fillcolor=\"#fdae6b\", shape=ellipse];\n"
          "  t1 -> t4;\n"
          "  t3 -> t5;\n"
          "  t3 -> t5 [style=dashed, color=red];\n"
          "  t5 -> t4 [style=dashed, color=red];\n"
          "}\n");
  }

  TEST_CASE("every task and every dependency is there") {
    const sw::task_graph g = random_tasks(5, {.blocks = 60});
    const std::string text = sw::graphviz(g);
    CHECK(count(text, " [label=") == g.size());
    CHECK(count(text, " -> ") == g.dependencies().all_edges().size());
    std::size_t further = 0;
    for (sw::task_index t = 0; t < g.size(); ++t)
      for (const auto& e : g.dependencies().in(t)) {
        const std::set<sw::task_index> inputs(g.inputs(t).begin(), g.inputs(t).end());
        further += inputs.count(e.source) == 0;
      }
    CHECK(count(text, "[style=dashed]") == further);
  }

  TEST_CASE("a graph that is too large is cut, and says so") {
    const sw::task_graph g = random_tasks(5, {.blocks = 60});
    const std::string text = sw::graphviz(g, {}, {.most_tasks = 10});
    CHECK(count(text, " [label=") == 11);
    CHECK(text.find(std::to_string(g.size() - 10) + " further tasks are not drawn") != std::string::npos);
  }

  TEST_CASE("names are escaped, an empty graph is a graph") {
    sw::task_graph_builder b;
    b.name = "x\"y";
    b.add_task({.name = "a\"b\\", .op = "o"});
    CHECK(sw::graphviz(std::move(b).build()) ==
          "digraph \"x\\\"y\" {\n  node [shape=box, style=filled, fontsize=10];\n"
          "  t0 [label=\"0 a\\\"b\\\\\", fillcolor=\"#deebf7\"];\n}\n");
    CHECK(sw::graphviz(no_tasks().graph) == "digraph \"\" {\n  node [shape=box, style=filled, fontsize=10];\n}\n");
  }

  TEST_CASE("tasks that do not exist are refused") {
    const small_timeline all = two_products();
    CHECK_THROWS_WITH_AS(sw::graphviz(all.graph, {}, {.part = {10}}),
                         "the part to draw names task 10, but there are only 10", sw::error);
    sw::schedule s;
    s.after = {{0, 12}};
    CHECK_THROWS_WITH_AS(sw::graphviz(all.graph, s), "an added dependency names task 12, but there are only 10",
                         sw::error);
    s.after.clear();
    s.buckets.push_back({{11, 12}, 0, {}, {}});
    CHECK_THROWS_WITH_AS(sw::graphviz(all.graph, s), "a bucket names task 11, but there are only 10", sw::error);
    CHECK_THROWS_WITH_AS(sw::neighbourhood(all.graph, 10, 1), "there is no task 10, only 10", sw::error);
  }
}

TEST_SUITE("neighbourhood") {
  TEST_CASE("steps go along dependencies in both directions") {
    const small_timeline all = two_products();
    using tasks = std::vector<sw::task_index>;
    CHECK(sw::neighbourhood(all.graph, 4, 0) == tasks{4});
    CHECK(sw::neighbourhood(all.graph, 4, 1) == tasks{1, 4, 7});
    CHECK(sw::neighbourhood(all.graph, 4, 2) == tasks{0, 1, 4, 7, 9});
    CHECK(sw::neighbourhood(all.graph, 4, 100).size() == all.graph.size());
  }

  TEST_CASE("is what repeated relaxation of distances finds") {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      const sw::task_graph g = random_tasks(seed);
      std::vector<std::size_t> distance(g.size(), 1000);
      distance[5] = 0;
      for (std::size_t round = 0; round < g.size(); ++round)
        for (const auto& e : g.dependencies().all_edges()) {
          distance[e.source] = std::min(distance[e.source], distance[e.target] + 1);
          distance[e.target] = std::min(distance[e.target], distance[e.source] + 1);
        }
      for (std::size_t steps = 0; steps < 5; ++steps) {
        std::vector<sw::task_index> expected;
        for (sw::task_index t = 0; t < g.size(); ++t)
          if (distance[t] <= steps) expected.push_back(t);
        CHECK(sw::neighbourhood(g, 5, steps) == expected);
      }
    }
  }
}

}  // namespace graphviz_tests
