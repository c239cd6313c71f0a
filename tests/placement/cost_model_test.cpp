#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/overlap/window.hpp>
#include <shardweave/placement/cost_model.hpp>

#include <boost/graph/adjacency_list.hpp>
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sw = shardweave;

namespace cost_model_tests {
namespace {

using list_graph = boost::adjacency_list<boost::listS, boost::listS, boost::bidirectionalS>;
using vector_graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;

/// The least that a model is.
template <class Graph, class Cost = double>
struct plain {
  using cost_type = Cost;
  std::size_t strategy_count(sw::vertex_t<Graph>) const { return 2; }
  Cost vertex_cost(sw::vertex_t<Graph>, sw::strategy s) const { return static_cast<Cost>(s); }
  Cost edge_cost(sw::edge_t<Graph>, sw::strategy a, sw::strategy b) const { return static_cast<Cost>(a == b ? 0 : 5); }
};

template <class Graph>
struct decomposed : plain<Graph> {
  sw::edge_parts<double> edge_parts(sw::edge_t<Graph>, sw::strategy, sw::strategy) const { return {1, 2}; }
};

template <class Graph>
struct overlapping : decomposed<Graph> {
  sw::hiding hides(sw::edge_t<Graph>) const { return sw::hiding::earlier; }
};

template <class Graph>
struct hiding_without_parts : plain<Graph> {
  sw::hiding hides(sw::edge_t<Graph>) const { return sw::hiding::later; }
};

template <class Graph>
struct remembering : plain<Graph> {
  double memory_usage(sw::vertex_t<Graph>, sw::strategy) const { return 1; }
  sw::live_interval live(sw::vertex_t<Graph>) const { return {0, 1}; }
  double memory_limit() const { return 10; }
};

template <class Graph>
struct forgetful : plain<Graph> {  // no live interval
  double memory_usage(sw::vertex_t<Graph>, sw::strategy) const { return 1; }
  double memory_limit() const { return 10; }
};

template <class Graph>
struct classified : plain<Graph> {
  std::vector<std::uint32_t> classes{0, 1};
  std::span<const std::uint32_t> producer_classes(sw::edge_t<Graph>) const { return classes; }
  std::span<const std::uint32_t> consumer_classes(sw::edge_t<Graph>) const { return classes; }
  sw::edge_parts<double> class_parts(sw::edge_t<Graph>, std::uint32_t, std::uint32_t) const { return {}; }
  std::uint64_t edge_key(sw::edge_t<Graph>) const { return 0; }
};

struct no_cost_type {
  std::size_t strategy_count(std::uint32_t) const { return 1; }
  double vertex_cost(std::uint32_t, sw::strategy) const { return 0; }
  double edge_cost(sw::compressed_graph::edge_descriptor, sw::strategy, sw::strategy) const { return 0; }
};
struct no_edge_cost {
  using cost_type = double;
  std::size_t strategy_count(std::uint32_t) const { return 1; }
  double vertex_cost(std::uint32_t, sw::strategy) const { return 0; }
};
struct not_const : no_edge_cost {
  double edge_cost(sw::compressed_graph::edge_descriptor, sw::strategy, sw::strategy) { return 0; }
};
struct other_number : no_edge_cost {
  float edge_cost(sw::compressed_graph::edge_descriptor, sw::strategy, sw::strategy) const { return 0; }
};

using g = sw::compressed_graph;

static_assert(sw::cost_model<plain<g>, g>);
static_assert(sw::cost_model<plain<g, float>, g>);
static_assert(sw::cost_model<plain<g, std::int64_t>, g>);
static_assert(sw::cost_model<plain<list_graph>, list_graph>);
static_assert(sw::cost_model<plain<vector_graph>, vector_graph>);
static_assert(!sw::cost_model<plain<g, int>, g>, "costs are floating or 64-bit");
static_assert(!sw::cost_model<plain<g>, list_graph>, "a model of one graph is none of another");
static_assert(!sw::cost_model<plain<g>, int>);
static_assert(!sw::cost_model<int, g>);
static_assert(!sw::cost_model<no_cost_type, g>);
static_assert(!sw::cost_model<no_edge_cost, g>);
static_assert(!sw::cost_model<not_const, g>, "pricing does not change the model");
static_assert(!sw::cost_model<other_number, g>, "one type of cost");

static_assert(sw::decomposed_cost_model<decomposed<g>, g>);
static_assert(!sw::decomposed_cost_model<plain<g>, g>);
static_assert(sw::classified_cost_model<classified<g>, g>);
static_assert(!sw::classified_cost_model<plain<g>, g>);
static_assert(sw::memory_cost_model<remembering<g>, g>);
static_assert(!sw::memory_cost_model<forgetful<g>, g>);
static_assert(!sw::memory_cost_model<plain<g>, g>);
static_assert(sw::overlap_cost_model<overlapping<g>, g>);
static_assert(!sw::overlap_cost_model<decomposed<g>, g>);
static_assert(!sw::overlap_cost_model<hiding_without_parts<g>, g>, "what hides must be told apart");

static_assert(sw::cost_model<remembering<g>, g> && sw::cost_model<overlapping<g>, g> &&
              sw::cost_model<classified<g>, g>);

/// What planners do: one overload per ability, the most able first.
template <class Graph, sw::cost_model<Graph> Model>
constexpr int ability(const Graph&, const Model&) {
  return 0;
}
template <class Graph, sw::decomposed_cost_model<Graph> Model>
constexpr int ability(const Graph&, const Model&) {
  return 1;
}
template <class Graph, sw::overlap_cost_model<Graph> Model>
constexpr int ability(const Graph&, const Model&) {
  return 2;
}

}  // namespace

TEST_SUITE("cost_model") {
  TEST_CASE("abilities refine each other, so that overloads choose the most able") {
    const g graph;
    CHECK(ability(graph, plain<g>{}) == 0);
    CHECK(ability(graph, remembering<g>{}) == 0);
    CHECK(ability(graph, decomposed<g>{}) == 1);
    CHECK(ability(graph, overlapping<g>{}) == 2);
    CHECK(ability(graph, hiding_without_parts<g>{}) == 0);
  }
}

}  // namespace cost_model_tests
