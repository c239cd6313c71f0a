#pragma once

#include <shardweave/core/interning.hpp>
#include <shardweave/cost/any_collectives.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/spmd/detail/sharding_numbers.hpp>
#include <shardweave/spmd/detail/step_prices.hpp>
#include <shardweave/spmd/detail/way_queue.hpp>
#include <shardweave/spmd/mesh.hpp>
#include <shardweave/spmd/redistribution.hpp>
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/tensor.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// The cheapest way from one sharding to another.

namespace shardweave::inline v0 {
namespace detail {

struct tensor_hash {
  std::size_t operator()(const tensor& value) const {
    return hash_combine(sequence_hash{}(value.shape),
                        static_cast<std::size_t>(value.type) * 2 + (value.contiguous ? 1 : 0));
  }
};

}  // namespace detail

/// Prices changes of sharding on one mesh.
///
/// Steps along mesh dimension i of n ranks, with b bytes on each rank before the step:
///   S(d) -> R     all-gather of n*b, copies of it unless d = 0
///   S(d) -> S(e)  all-to-all of b, copies for each of d, e that is not 0
///   P -> R        all-reduce of b
///   P -> S(e)     reduce-scatter of b, copies unless e = 0
///   R -> S(e)     free
/// and nothing leads to a partial result. A copy reads and writes once. A tensor that is not contiguous is
/// copied before its first collective. The cheapest sequence over all orders and detours is found by
/// Dijkstra's algorithm over the shardings, once per tensor and source, and remembered; so an object serves
/// one thread at a time.
/// Complexity: for tensor rank r and mesh rank m a first question costs O(s m r log s) with s = (r+2)^m; a
/// repeated one costs O(m) and two hash lookups.
class redistributor {
 public:
  /// The groups along each mesh dimension fill nodes of the device's node size.
  redistributor(device_mesh mesh, compute_profile compute, any_collectives collectives,
                redistribution_options options = {})
      : price_(std::move(mesh), compute, std::move(collectives)), options_(options) {}

  /// Microseconds from one sharding to the other; +infinity if there is no way or either is not valid for
  /// the tensor. A sharding that stands for "no tensor" costs nothing.
  [[nodiscard]] double cost(const tensor& value, const sharding& from, const sharding& to) {
    if (from.is_none() || to.is_none() || from == to) return 0;
    return cost(value_number(value), from, to);
  }
  /// The same for a tensor known by number.
  /// \pre `value` is from `value_number` of this object, here and below
  [[nodiscard]] double cost(std::uint32_t value, const sharding& from, const sharding& to) {
    double result = 0;
    costs(value, from, std::span(&to, 1), std::span(&result, 1));
    return result;
  }
  /// A number for the tensor's shape, type and layout, so that many questions hash it once.
  [[nodiscard]] std::uint32_t value_number(const tensor& value);
  /// The same to many: `result[i]` becomes the cost of `to[i]`. \pre result.size() >= to.size()
  void costs(std::uint32_t value, const sharding& from, std::span<const sharding> to, std::span<double> result);
  /// Frees what is remembered of the ways of a tensor, which on meshes of many dimensions is much; its number stays
  /// valid.
  void forget(std::uint32_t value);

  /// The steps of the cheapest way.
  [[nodiscard]] redistribution plan(const tensor& value, const sharding& from, const sharding& to);
  /// Folds over the steps of the cheapest ways from one sharding to many: what comes of `start` by `after(so_far,
  /// number)`, called for one step after the other with the number of the step (`step`). Steps with which several ways
  /// begin are folded once.
  /// \returns one per sharding of `to`; nothing where there is no way
  /// Complexity: beside the ways one call per sharding that some way passes
  template <class T, class After>
  [[nodiscard]] std::vector<std::optional<T>> along_ways(std::uint32_t value, const sharding& from,
                                                         std::span<const sharding> to, const T& start, After after);
  /// The step of which `along_ways` told `after` this number; valid until `forget`. A step has one number, or, without
  /// `redistribution_options::search`, a new one each time that it is met.
  [[nodiscard]] const redistribution_step& step(std::uint32_t value, std::uint32_t number) const {
    return spaces_[value]->steps[number];
  }

  [[nodiscard]] const device_mesh& mesh() const { return price_.mesh(); }
  [[nodiscard]] const compute_profile& compute() const { return price_.compute(); }
  [[nodiscard]] const any_collectives& collectives() const { return price_.collectives(); }

 private:
  static constexpr std::uint32_t none = ~0U;

  /// A state is 4 * number (see `sharding_numbers`) + (2 if nested cuts are final) + (1 if contiguous).
  static constexpr std::uint32_t is_contiguous = 1;
  static constexpr std::uint32_t is_final = 2;
  struct ways {
    std::vector<double> cost;           ///< by number
    std::vector<std::uint32_t> best;    ///< by number: the state that reaches it first; only if steps were asked for
    std::vector<std::uint32_t> before;  ///< by state; likewise
  };
  /// A step on from a number.
  struct arc {
    std::uint32_t next = 0;      ///< a state: flags that are set stay set
    bool leaves_nested = false;  ///< of two mesh dimensions that cut the same tensor dimension
    double cost = 0;
    double cost_with_copy = 0;  ///< of a tensor that is not contiguous
  };
  /// What is known of a tensor.
  struct space {
    detail::sharding_numbers shardings;
    std::vector<std::vector<arc>> arcs;                      ///< by number; empty until asked for
    std::vector<std::unique_ptr<ways>> from;                 ///< by number
    std::vector<redistribution_step> steps;                  ///< by their numbers
    std::array<std::vector<std::uint32_t>, 5> step_numbers;  ///< by kind of partial result, see `step_number`

    space(const tensor& value, const device_mesh& mesh)
        : shardings(value, mesh), arcs(shardings.size()), from(shardings.size()) {}
  };

  /// The step from one state to the next, on a way from a source.
  [[nodiscard]] redistribution_step step_between(const space& known, const sharding& source, std::uint32_t before,
                                                 std::uint32_t after);

  /// The number of that step.
  [[nodiscard]] std::uint32_t step_number(space& known, const sharding& source, std::uint32_t before,
                                          std::uint32_t after);

  /// One step per mesh dimension, see `redistribution_options::search`.
  [[nodiscard]] redistribution straight(const tensor& value, const sharding& from, const sharding& to);

  /// The steps that lead on from a number; priced when the number is first come to.
  [[nodiscard]] const std::vector<arc>& arcs_from(space& known, std::uint32_t number);

  /// \param with_steps  not only what the ways cost: they take three times as much memory then
  [[nodiscard]] const ways& ways_from(space& known, const sharding& source, bool with_steps = false);

  detail::step_prices price_;
  redistribution_options options_;
  interner<tensor, detail::tensor_hash> values_;
  std::vector<std::unique_ptr<space>> spaces_;
  detail::way_queue open_;  // of a search
};

template <class T, class After>
std::vector<std::optional<T>> redistributor::along_ways(std::uint32_t value, const sharding& from,
                                                        std::span<const sharding> to, const T& start, After after) {
  std::vector<std::optional<T>> result(to.size());
  space& known = *spaces_[value];
  const ways* way = nullptr;
  std::vector<std::optional<T>> met;  // by state
  std::vector<std::uint32_t> route;   // states from the last to one that was met
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (from.is_none() || to[i].is_none() || from == to[i]) {
      result[i] = start;
      continue;
    }
    const std::optional<std::uint32_t> target = known.shardings.reachable_number(from, to[i]);
    if (!target) continue;
    if (!options_.search) {
      result[i] = start;
      for (const redistribution_step& step : straight(known.shardings.value(), from, to[i]).steps) {
        known.steps.push_back(step);
        result[i] = after(*result[i], static_cast<std::uint32_t>(known.steps.size() - 1));
      }
      continue;
    }
    if (way == nullptr) {
      way = &ways_from(known, from, true);
      met.resize(way->before.size());
    }
    route.clear();
    std::uint32_t at = way->best[*target];
    if (at == none) continue;
    for (; !met[at] && way->before[at] != none; at = way->before[at]) route.push_back(at);
    if (!met[at]) met[at] = start;
    for (; !route.empty(); route.pop_back()) {
      met[route.back()] = after(*met[at], step_number(known, from, at, route.back()));
      at = route.back();
    }
    result[i] = met[at];
  }
  return result;
}

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/spmd/impl/redistributor.hpp>
#endif
