#pragma once

#include <shardweave/graph/concepts.hpp>
#include <shardweave/overlap/window.hpp>
#include <shardweave/placement/cost.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

/// \file
/// Cost models, which users write: prices, and optional abilities.

namespace shardweave::inline v0 {

/// Prices every choice of a vertex and every pair of choices of an edge.
///
/// The compiler checks the calls; a model also promises that
///  - `strategy_count` is at least 1, and a cost is finite, or `forbidden` for what must not be chosen;
///  - equal arguments give equal results while a problem is built;
///  - const members may be called from several threads at once.
template <class M, class G>
concept cost_model = planning_graph<G> && requires { requires cost_value<typename M::cost_type>; } &&
                     requires(const M& model, vertex_t<G> v, edge_t<G> e, strategy producer, strategy consumer) {
                       { model.strategy_count(v) } -> std::convertible_to<std::size_t>;
                       { model.vertex_cost(v, producer) } -> std::same_as<typename M::cost_type>;
                       { model.edge_cost(e, producer, consumer) } -> std::same_as<typename M::cost_type>;
                     };

namespace detail {
/// Whether a type is a cost model of the graph; a static assertion rejects anything else.
template <class M, class G>
[[nodiscard]] consteval bool is_cost_model() {
  static_assert(cost_model<M, G>,
                "A cost model must have a cost_type (a floating-point type or std::int64_t), and const members "
                "strategy_count(vertex), vertex_cost(vertex, strategy) and edge_cost(edge, producer_strategy, "
                "consumer_strategy) that return it (shardweave::cost_model).");
  return cost_model<M, G>;
}

/// The cost type of a model; for anything else some type, so that the error is reported once.
template <class M>
struct cost_of {
  using type = double;
};
template <class M>
  requires requires { requires cost_value<typename M::cost_type>; }
struct cost_of<M> {
  using type = typename M::cost_type;
};
}  // namespace detail

/// Also tells the parts of an edge's cost. Without this ability edge costs count as communication. `edge_parts(e, a,
/// b).communication + .transition == edge_cost(e, a, b)`.
template <class M, class G>
concept decomposed_cost_model =
    cost_model<M, G> && requires(const M& model, edge_t<G> e, strategy producer, strategy consumer) {
      { model.edge_parts(e, producer, consumer) } -> std::same_as<edge_parts<typename M::cost_type>>;
    };

/// Also tells classes of strategies that an edge does not distinguish (of a producer by its output, of a consumer by
/// its input). Strategies of one class have equal edge costs, so an edge is priced once per pair of classes, and edges
/// with equal `edge_key` (equal classes and equal costs) are priced once.
///
/// `producer_classes(e)` and `consumer_classes(e)` give one class per strategy, numbered 0, 1, ...
template <class M, class G>
concept classified_cost_model =
    cost_model<M, G> && requires(const M& model, edge_t<G> e, std::uint32_t producer, std::uint32_t consumer) {
      { model.producer_classes(e) } -> std::convertible_to<std::span<const std::uint32_t>>;
      { model.consumer_classes(e) } -> std::convertible_to<std::span<const std::uint32_t>>;
      { model.class_parts(e, producer, consumer) } -> std::same_as<edge_parts<typename M::cost_type>>;
      { model.edge_key(e) } -> std::convertible_to<std::uint64_t>;
    };

/// Also tells the memory of a strategy and its lifetime: the sum over the vertices that live at a time must not exceed
/// the limit. Usage is not negative, in any unit.
template <class M, class G>
concept memory_cost_model = cost_model<M, G> && requires(const M& model, vertex_t<G> v, strategy s) {
  { model.memory_usage(v, s) } -> std::convertible_to<double>;
  { model.live(v) } -> std::convertible_to<live_interval>;
  { model.memory_limit() } -> std::convertible_to<double>;
};

/// Also tells which communication may hide behind computation. The computation that hides is the vertex cost, the
/// communication that is hidden is the communication part of the edge.
template <class M, class G>
concept overlap_cost_model = decomposed_cost_model<M, G> && requires(const M& model, edge_t<G> e) {
  { model.hides(e) } -> std::same_as<hiding>;
};

}  // namespace shardweave::inline v0
