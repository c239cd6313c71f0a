#pragma once

#include <shardweave/core/interning.hpp>
#include <shardweave/cost/any_collectives.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/spmd/detail/sharding_numbers.hpp>
#include <shardweave/spmd/detail/step_prices.hpp>
#include <shardweave/spmd/mesh.hpp>
#include <shardweave/spmd/redistribution.hpp>
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// The cheapest way from one sharding to another.

namespace shardweave {
inline namespace v0 {
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
  /// The same for a tensor known by number, see `value_number`.
  [[nodiscard]] double cost(std::uint32_t value, const sharding& from, const sharding& to) {
    double result = 0;
    costs(value, from, std::span(&to, 1), std::span(&result, 1));
    return result;
  }
  /// A number for the tensor's shape, type and layout, so that many questions hash it once.
  [[nodiscard]] std::uint32_t value_number(const tensor& value) {
    const std::uint32_t number = values_(value);
    if (number == spaces_.size()) spaces_.push_back(std::make_unique<space>(value, mesh()));
    return number;
  }
  /// The same to many: one cost per sharding of `to`.
  void costs(std::uint32_t value, const sharding& from, std::span<const sharding> to, std::span<double> result) {
    space& known = *spaces_[value];
    const bool is_valid = known.shardings.number_of(from).has_value();
    const ways* found = nullptr;
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (from.is_none() || to[i].is_none() || from == to[i]) {
        result[i] = 0;
        continue;
      }
      const auto target = is_valid ? known.shardings.number_from(from, to[i]) : std::nullopt;
      if (!target) {
        result[i] = std::numeric_limits<double>::infinity();
      } else if (!options_.search) {
        result[i] = straight(known.shardings.value(), from, to[i]).cost_us;
      } else {
        if (found == nullptr) found = &ways_from(known, from);
        result[i] = found->cost[*target];
      }
    }
  }
  /// Gives back what is remembered of the ways of a tensor, which for meshes of many dimensions is much.
  void forget(std::uint32_t value) {
    for (auto& way : spaces_[value]->from) way.reset();
    for (auto& arcs : spaces_[value]->arcs) arcs = std::vector<arc>();  // `= {}` would keep the memory
  }

  /// The steps of the cheapest way.
  [[nodiscard]] redistribution plan(const tensor& value, const sharding& from, const sharding& to) {
    redistribution result;
    if (from.is_none() || to.is_none() || from == to) return result;
    space& known = *spaces_[value_number(value)];
    const std::optional<std::uint32_t> target = known.shardings.reachable_number(from, to);
    if (target && !options_.search) return straight(known.shardings.value(), from, to);
    const ways& way = ways_from(known, from, true);
    result.cost_us = target ? way.cost[*target] : std::numeric_limits<double>::infinity();
    if (!(result.cost_us < std::numeric_limits<double>::infinity())) return result;

    std::vector<std::uint32_t> route;  // states from the last to the first
    for (std::uint32_t at = way.best[*target]; at != none; at = way.before[at]) route.push_back(at);
    sharding where = from;
    for (std::size_t i = route.size() - 1; i-- > 0;) {
      const std::uint32_t now = route[i + 1] / 4;
      const std::uint32_t next = route[i] / 4;
      for (std::size_t d = 0; d < mesh().rank(); ++d) {
        if (known.shardings.digit(now, d) == known.shardings.digit(next, d)) continue;
        const dim_placement to_placement = known.shardings.placement_of(known.shardings.digit(next, d));
        const bytes held = known.shardings.held(now);
        const detail::priced_step step = price_(where[d], to_placement, held, d, (route[i + 1] & is_contiguous) == 0);
        result.steps.push_back({step.op, d, where[d], to_placement, held, known.shardings.held(next), step.cost_us});
        where.set(d, to_placement);
      }
    }
    return result;
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
    std::uint32_t next = 0;
    bool leaves_nested = false;  ///< of two mesh dimensions that cut the same tensor dimension
    bool enters_nested = false;
    bool is_collective = false;
    double cost = 0;
    double cost_with_copy = 0;  ///< of a tensor that is not contiguous
  };
  /// What is known of a tensor.
  struct space {
    detail::sharding_numbers shardings;
    std::vector<std::vector<arc>> arcs;       ///< by number; empty until asked for
    std::vector<std::unique_ptr<ways>> from;  ///< by number

    space(const tensor& value, const device_mesh& mesh)
        : shardings(value, mesh), arcs(shardings.size()), from(shardings.size()) {}
  };

  /// One step per mesh dimension, see `redistribution_options::search`.
  [[nodiscard]] redistribution straight(const tensor& value, const sharding& from, const sharding& to) {
    bool all_partial = true, all_cut = true;
    for (std::size_t d = 0; d < from.size(); ++d) {
      all_partial = all_partial && from[d].is_partial();
      all_cut = all_cut && to[d].is_sharded();
    }
    redistribution result;
    bytes held = local_size(value, from, mesh());
    for (std::size_t i = 0; i < from.size(); ++i) {
      const std::size_t d = all_partial && all_cut ? from.size() - 1 - i : i;
      if (from[d] == to[d]) continue;
      const detail::priced_step step = price_(from[d], to[d], held, d, result.steps.empty() && !value.contiguous);
      bytes after = held;
      if (from[d].is_sharded() && to[d].is_replicated()) after = held * mesh().extent(d);
      if (from[d].is_partial() && to[d].is_sharded())
        after = bytes((held.count() + mesh().extent(d) - 1) / mesh().extent(d));
      result.steps.push_back({step.op, d, from[d], to[d], held, after, step.cost_us});
      result.cost_us += step.cost_us;
      held = after;
    }
    return result;
  }

  /// The steps that lead on from a number; priced when the number is first come to.
  [[nodiscard]] const std::vector<arc>& arcs_from(space& known, std::uint32_t number) {
    const detail::sharding_numbers& all = known.shardings;
    std::vector<arc>& arcs = known.arcs[number];
    if (!arcs.empty() || !all.is_valid(number)) return arcs;
    for (std::size_t d = 0; d < mesh().rank(); ++d) {
      const std::uint32_t now = all.digit(number, d);
      for (std::uint32_t code = 0; code < all.partial_digit(); ++code) {
        const std::uint32_t next = all.with_digit(number, d, code);
        if (code == now || !all.is_valid(next)) continue;
        arc made{.next = next};
        if (options_.strict_nesting) {
          if (all.is_nested(number, d, now, d + 1) || all.is_nested(number, d, code, d + 1)) continue;
        } else {
          made.leaves_nested = all.is_nested(number, d, now, 0);
          made.enters_nested = all.is_nested(number, d, code, 0);
        }
        const auto priced = [&](bool copy_first) {
          return price_(all.placement_of(now), all.placement_of(code), all.held(number), d, copy_first);
        };
        const detail::priced_step step = priced(false);
        made.is_collective = step.op.has_value();
        made.cost = step.cost_us;
        made.cost_with_copy = priced(true).cost_us;
        arcs.push_back(made);
      }
    }
    return arcs;
  }

  /// \param with_steps  not only what the ways cost: they take three times as much memory then
  [[nodiscard]] const ways& ways_from(space& known, const sharding& source, bool with_steps = false) {
    const std::uint32_t start = *known.shardings.number_of(source);
    if (known.from[start] && (!with_steps || !known.from[start]->before.empty())) return *known.from[start];
    const std::size_t count = known.shardings.size();
    auto made = std::make_unique<ways>();
    made->cost.assign(count, std::numeric_limits<double>::infinity());
    std::vector<std::uint32_t> best_state(count, none), state_before(4 * count, none);

    using entry = std::tuple<double, std::uint32_t, std::uint32_t, std::uint32_t>;  // cost, steps, state, before
    std::priority_queue<entry, std::vector<entry>, std::greater<>> open;
    const auto offer = [&](double spent, std::uint32_t steps, std::uint32_t state, std::uint32_t before) {
      entry& least = least_[state];  // of those offered: the others are never needed
      if (const entry offered(spent, steps, state, before); offered < least) open.push(least = offered);
    };
    least_.assign(4 * count, entry(std::numeric_limits<double>::infinity(), none, none, none));
    offer(0.0, 0U, start * 4 + (known.shardings.value().contiguous ? is_contiguous : 0U), none);
    while (!open.empty()) {
      const entry top = open.top();
      const auto [spent, steps, state, before] = top;
      open.pop();
      if (top != least_[state]) continue;
      state_before[state] = before;
      const std::uint32_t number = state / 4;
      if (best_state[number] == none) {
        best_state[number] = state;
        made->cost[number] = spent;
      }
      const std::uint32_t flags = state % 4;
      for (const arc& way : arcs_from(known, number)) {
        if ((flags & is_final) != 0 && way.leaves_nested) continue;
        const std::uint32_t after =
            flags | (way.enters_nested ? is_final : 0U) | (way.is_collective ? is_contiguous : 0U);
        offer(spent + ((flags & is_contiguous) == 0 ? way.cost_with_copy : way.cost), steps + 1, way.next * 4 + after,
              state);
      }
    }
    if (with_steps) {
      made->best = std::move(best_state);
      made->before = std::move(state_before);
    }
    known.from[start] = std::move(made);
    return *known.from[start];
  }

  detail::step_prices price_;
  redistribution_options options_;
  interner<tensor, detail::tensor_hash> values_;
  std::vector<std::unique_ptr<space>> spaces_;
  std::vector<std::tuple<double, std::uint32_t, std::uint32_t, std::uint32_t>> least_;  // of a search, by state
};

}  // namespace v0
}  // namespace shardweave
