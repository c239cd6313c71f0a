#pragma once

#include <shardweave/graph/concepts.hpp>
#include <shardweave/placement/cost.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

/// \file
/// What a placement makes the machines do, as far as no buckets and no order can change it.

namespace shardweave::inline v0 {

/// What an edge takes under a pair of strategies, in the host's unit of time. Not negative; +infinity, for what the
/// cost model forbids, counts as nothing.
struct edge_work {
  std::vector<double> loads;  ///< on each channel, the compute stream first; empty: nothing
  double chain = 0;           ///< from the end of the producer to the start of the consumer, at least
  /// Loads of other ways to do the same, of which a plan takes one: merged with other work it may take less of a
  /// channel and more of the compute stream.
  std::vector<std::vector<double>> otherwise = {};
};

/// Tells what vertices and edges take of the compute stream (channel 0) and of the other channels, and promises that
/// in every plan that may be made of an assignment, whatever its buckets and its order,
///  - there is for each edge a way to do its work (`edge_work::otherwise`) so that the end is not before the sum of all
///    times of vertices and all loads of edges on any one channel, of edges of one share (`sharing_work_model`) only
///    one counted, whichever;
///  - along any path of the graph the end is not before the sum of the times of its vertices and the chains of its
///    edges.
/// So a load is what merging cannot remove: bytes at the best rate of any bucket, not the latency of a launch alone.
template <class M, class G>
concept work_model =
    planning_graph<G> && requires(const M& model, vertex_t<G> v, edge_t<G> e, strategy producer, strategy consumer) {
      { model.channel_count() } -> std::convertible_to<std::size_t>;
      { model.vertex_time(v, producer) } -> std::convertible_to<double>;
      { model.edge_work(e, producer, consumer) } -> std::same_as<edge_work>;
    };

/// Which of few amounts each pair of classes of an edge takes. Edges of equal lists may share them.
struct work_patterns {
  std::shared_ptr<const std::vector<std::uint32_t>> of_pair = nullptr;  ///< row by row; null: no pair takes anything
  std::size_t column_classes = 0;
  std::uint32_t count = 0;  ///< all numbers are below
};

/// The same, told by class, as `classified_cost_model` does: classes of strategies that an edge cannot tell apart, a
/// key that edges of equal classes and equal work share, and, since few amounts repeat in many pairs of classes, a
/// number for each pair (`work_patterns`) and what pairs of that number take. Nothing is asked pair by pair then.
template <class M, class G>
concept classified_work_model =
    planning_graph<G> && requires(const M& model, vertex_t<G> v, edge_t<G> e, strategy s, std::uint32_t p) {
      { model.channel_count() } -> std::convertible_to<std::size_t>;
      { model.vertex_time(v, s) } -> std::convertible_to<double>;
      { model.producer_classes(e) } -> std::convertible_to<std::span<const std::uint32_t>>;
      { model.consumer_classes(e) } -> std::convertible_to<std::span<const std::uint32_t>>;
      { model.edge_patterns(e) } -> std::same_as<work_patterns>;
      { model.pattern_work(e, p) } -> std::same_as<edge_work>;
      { model.edge_key(e) } -> std::convertible_to<std::uint64_t>;
    };

/// Also says which edges may do their work together: a value that two consumers want alike is brought there once.
/// Edges of one producer and one `share_key` are one share. Without, every edge does its own.
template <class M, class G>
concept sharing_work_model = planning_graph<G> && requires(const M& model, edge_t<G> e) {
  { model.share_key(e) } -> std::convertible_to<std::uint64_t>;
};

}  // namespace shardweave::inline v0
