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
/// Work that any plan of a placement has to do, whatever its buckets and its order.

namespace shardweave::inline v0 {

/// The work of an edge under a pair of strategies, in the host's unit of time. Not negative; +infinity, of a pair that
/// the cost model forbids, counts as 0.
struct edge_work {
  std::vector<double> loads;  ///< per channel, the compute stream first; empty: all are 0
  double chain = 0;           ///< least time from the end of the producer to the start of the consumer
  /// Loads of alternative ways, of which a plan chooses one: merged with other collectives, an edge may load its
  /// channel less and the compute stream more.
  std::vector<std::vector<double>> otherwise = {};
};

/// Tells the work of vertices and edges on the compute stream (channel 0) and on the other channels, and promises for
/// every plan of an assignment, whatever its buckets and its order:
///  - with some way for each edge (`edge_work::otherwise`), the makespan is at least the sum of all times of vertices
///    and all loads of edges on any one channel, where of the edges of one share (`sharing_work_model`) any one is
///    counted;
///  - along any path of the graph the makespan is at least the sum of the times of its vertices and the chains of its
///    edges.
/// So a load is what merging cannot remove: bytes at the best rate of any bucket, without the latency of a single
/// launch.
template <class M, class G>
concept work_model =
    planning_graph<G> && requires(const M& model, vertex_t<G> v, edge_t<G> e, strategy producer, strategy consumer) {
      { model.channel_count() } -> std::convertible_to<std::size_t>;
      { model.vertex_time(v, producer) } -> std::convertible_to<double>;
      { model.edge_work(e, producer, consumer) } -> std::same_as<edge_work>;
    };

/// The number of an edge's amount for each pair of classes. Edges with equal lists may share them.
struct work_patterns {
  std::shared_ptr<const std::vector<std::uint32_t>> of_pair = nullptr;  ///< row by row; null: all amounts are 0
  std::size_t column_classes = 0;
  std::uint32_t count = 0;  ///< one more than the largest number
};

/// The same by classes, as in `classified_cost_model`: classes of strategies that an edge does not distinguish, a key
/// for edges with equal classes and work, and, since few amounts repeat in many pairs of classes, a number for each
/// pair (`work_patterns`) and the work of each number. Then no pair is queried by itself.
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

/// Also tells which edges one transfer may serve: a value that two consumers need in the same form is transferred once.
/// Edges of one producer with equal `share_key` form a share. Without this ability every edge is its own.
template <class M, class G>
concept sharing_work_model = planning_graph<G> && requires(const M& model, edge_t<G> e) {
  { model.share_key(e) } -> std::convertible_to<std::uint64_t>;
};

}  // namespace shardweave::inline v0
