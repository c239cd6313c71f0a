#include "support/user_graph.hpp"
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/overlap/window.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/planner.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/first_proven.hpp>
#include <shardweave/solve/local_search.hpp>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace planner_tests {
namespace {

namespace sw = shardweave;

/// Prices by a vertex's position: strategy s of vertex i costs 10 i + s, an edge 1 where strategies differ.
/// Optimum of a graph on 3 vertices: all take strategy 0, 30.
template <class G>
struct plain_costs {
  using cost_type = double;
  const G* graph = nullptr;
  std::shared_ptr<std::atomic<int>> asked = std::make_shared<std::atomic<int>>(0);

  std::size_t strategy_count(sw::vertex_t<G>) const { return 2; }
  double vertex_cost(sw::vertex_t<G> v, sw::strategy s) const {
    ++*asked;
    return 10.0 * sw::vertex_numbering<G>(*graph)(v) + s;
  }
  double edge_cost(sw::edge_t<G>, sw::strategy a, sw::strategy b) const { return a == b ? 0 : 1; }
};

template <class G>
void check_plans(const G& g) {
  const sw::planner p{g, plain_costs<G>{&g}};
  const auto best = p.solve();
  CHECK(best.status == sw::solve_status::optimal);
  CHECK(best.objective == 30);
  CHECK(best.choice == sw::assignment{0, 0, 0});
  std::map<sw::vertex_t<G>, sw::strategy> written;
  sw::write_assignment(g, best.choice, boost::make_assoc_property_map(written));
  CHECK(written.size() == 3);

  const sw::planner fixed{g, plain_costs<G>{&g}, sw::constraint_set{.fixed = {{1, {1}, "middle"}}}};
  const auto other = fixed.solve();
  CHECK(other.objective == 33);  // a neighbour pays 1 to follow, or 1 for the edge
  CHECK(other.choice[1] == 1);
}

template <class G>
G path() {
  G g(3);
  auto v = vertices(g).first;
  const auto a = *v++, b = *v++, c = *v;
  add_edge(a, b, g);
  add_edge(b, c, g);
  return g;
}

/// All abilities at once on a compressed graph 0 -> 1, 0 -> 1, 1 -> 2.
struct rich_costs {
  using cost_type = std::int64_t;
  using G = sw::compressed_graph;
  std::shared_ptr<int> priced = std::make_shared<int>(0);
  std::uint32_t top_class = 1;

  std::size_t strategy_count(std::uint32_t) const { return 3; }
  std::int64_t vertex_cost(std::uint32_t v, sw::strategy s) const { return v + s; }
  std::int64_t edge_cost(G::edge_descriptor e, sw::strategy a, sw::strategy b) const {
    return class_parts(e, a == 2, b == 0).communication + class_parts(e, a == 2, b == 0).transition;
  }
  sw::edge_parts<std::int64_t> edge_parts(G::edge_descriptor e, sw::strategy a, sw::strategy b) const {
    return class_parts(e, a == 2, b == 0);
  }
  std::vector<std::uint32_t> producer_classes(G::edge_descriptor) const { return {0, 0, top_class}; }
  std::vector<std::uint32_t> consumer_classes(G::edge_descriptor) const { return {1, 0, 0}; }
  sw::edge_parts<std::int64_t> class_parts(G::edge_descriptor, std::uint32_t a, std::uint32_t b) const {
    ++*priced;
    return {5 * a + b, 0};
  }
  std::uint64_t edge_key(G::edge_descriptor) const { return 4; }
  double memory_usage(std::uint32_t v, sw::strategy s) const { return v == 2 ? 0 : 8.0 - s; }
  sw::live_interval live(std::uint32_t v) const { return {v, v + 2}; }
  double memory_limit() const { return 13; }
  sw::hiding hides(G::edge_descriptor e) const { return e.index == 2 ? sw::hiding::later : sw::hiding::none; }
  std::string strategy_name(std::uint32_t, sw::strategy s) const { return "S" + std::to_string(s); }
};
static_assert(sw::classified_cost_model<rich_costs, sw::compressed_graph>);
static_assert(sw::memory_cost_model<rich_costs, sw::compressed_graph>);
static_assert(sw::overlap_cost_model<rich_costs, sw::compressed_graph>);
static_assert(sw::named_cost_model<rich_costs, sw::compressed_graph>);

sw::compressed_graph doubled() {
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> ends{{0, 1}, {0, 1}, {1, 2}};
  return sw::compressed_graph(3, ends);
}

}  // namespace

TEST_SUITE("planner") {
  TEST_CASE("any graph of Boost.Graph is planned: vectors, lists, compressed rows, ours, a user's own") {
    check_plans(path<boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>>());
    check_plans(path<boost::adjacency_list<boost::listS, boost::listS, boost::bidirectionalS>>());
    const std::vector<std::pair<std::uint32_t, std::uint32_t>> ends{{0, 1}, {1, 2}};
    check_plans(sw::compressed_graph(3, ends));
    check_plans(
        boost::compressed_sparse_row_graph<boost::directedS>(boost::edges_are_sorted, ends.begin(), ends.end(), 3));
    test_support::user_graph own(3);
    own.add(10, 20);
    own.add(20, 30);
    check_plans(own);
  }

  TEST_CASE("the problem is built once for all policies") {
    using graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
    const graph g = path<graph>();
    const plain_costs<graph> costs{&g};
    const sw::planner p{g, costs, sw::local_search{}};
    CHECK(*costs.asked == 0);  // nothing is priced before it is needed
    CHECK(p.solve().status == sw::solve_status::feasible);
    CHECK(*costs.asked == 6);
    const auto sure = p.with(sw::first_proven{sw::local_search{}, sw::exhaustive{}});
    CHECK(sure.solve().status == sw::solve_status::optimal);
    CHECK(p.evaluate(sw::assignment{1, 1, 1}).objective == 33);
    CHECK(*costs.asked == 6);
  }

  TEST_CASE("constraints stand before or behind the solver, and either may be left to its default") {
    using graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
    const graph g = path<graph>();
    const plain_costs<graph> costs{&g};
    const sw::constraint_set fixed{.fixed = {{1, {1}, "middle"}}};
    CHECK(sw::planner(g, costs, fixed, sw::exhaustive{}).solve().objective == 33);
    CHECK(sw::planner(g, costs, sw::exhaustive{}, fixed).solve().objective == 33);
    CHECK(sw::planner(g, costs, {}, fixed).solve().objective == 33);
    CHECK(sw::planner(g, costs, fixed).solve().objective == 33);
    CHECK(sw::planner(g, costs, sw::exhaustive{}).solve().objective == 30);
  }

  TEST_CASE("contradictory constraints are infeasible, and say which") {
    using graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
    const graph g = path<graph>();
    const sw::constraint_set both{.fixed = {{0, {1}, "first"}, {0, {0}, "second"}}};
    const sw::planner p{g, plain_costs<graph>{&g}, sw::local_search{}, both};
    const auto answer = p.solve();
    CHECK(answer.status == sw::solve_status::infeasible);
    CHECK_FALSE(answer.has_assignment());
    CHECK(answer.statistics.note ==
          "no strategy is left for vertex 0: the last one, 1, is ruled out by constraint 'second'");
    CHECK_THROWS_WITH_AS(p.problem(), answer.statistics.note.c_str(), sw::error);
  }

  TEST_CASE("a stop while the problem is built is a stopped solution, and the next call starts anew") {
    using graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
    const graph g = path<graph>();
    const sw::planner p{g, plain_costs<graph>{&g}};
    std::stop_source source;
    source.request_stop();
    const auto answer = p.solve({.stop = source.get_token()});
    CHECK(answer.status == sw::solve_status::stopped);
    CHECK(answer.statistics.note == "the problem was not priced before the stop");
    CHECK(p.solve().objective == 30);
  }
}

TEST_SUITE("describe") {
  TEST_CASE("every ability of a model arrives in the description") {
    const auto g = doubled();
    const rich_costs costs;
    std::vector<double> done;
    const auto d =
        sw::describe(g, costs, {}, {.progress = [&](const sw::progress_report& r) { done.push_back(r.done); }},
                     [](std::uint32_t v) { return "op" + std::to_string(v); });
    REQUIRE(d.vertices.size() == 3);
    CHECK(d.name_of(1) == "vertex 1 (op1)");
    CHECK(d.vertices[1].compute == std::vector<std::int64_t>{1, 2, 3});
    CHECK(d.vertices[1].labels == std::vector<std::string>{"S0", "S1", "S2"});
    CHECK(*costs.priced == 4);  // 2 x 2 classes, once for three edges of one key
    REQUIRE(d.tables.size() == 1);
    REQUIRE(d.edges.size() == 3);
    CHECK(d.edges[1].slot == 1);
    for (const auto& e : d.edges) {
      CHECK(e.communication == 0);
      CHECK(e.transition == sw::no_table);
    }
    for (sw::strategy a = 0; a < 3; ++a)
      for (sw::strategy b = 0; b < 3; ++b) CHECK((*d.tables[0])(a, b) == costs.edge_cost({}, a, b));
    REQUIRE(d.constraints.budgets.size() == 1);
    CHECK(d.constraints.budgets[0].name == "memory");
    CHECK(d.constraints.budgets[0].high == 13);
    REQUIRE(d.constraints.budgets[0].terms.size() == 2);  // vertex 2 never uses any
    CHECK(d.constraints.budgets[0].terms[1].live == sw::live_interval{1, 3});
    REQUIRE(d.overlap.size() == 1);
    CHECK(d.overlap[0].edge == 2);
    CHECK(d.overlap[0].direction == sw::hiding::later);
    CHECK(done.back() == 1);
  }

  TEST_CASE("memory keeps the plan within its limit") {
    const auto g = doubled();
    const auto answer = sw::planner{g, rich_costs{}, sw::exhaustive{}}.solve();
    REQUIRE(answer.status == sw::solve_status::optimal);
    CHECK(answer.choice[0] + answer.choice[1] >= 3);  // 16 - (a + b) <= 13
  }

  TEST_CASE("classes that contradict the strategies are refused") {
    const auto g = doubled();
    rich_costs costs;
    costs.top_class = 3;
    CHECK_THROWS_WITH_AS(sw::describe(g, costs),
                         "edge 0 (vertex 0 -> vertex 1) numbers a class 3, but classes are numbered 0, 1, ... without "
                         "more classes than strategies",
                         sw::error);
  }
}

}  // namespace planner_tests
