#pragma once

#include <shardweave/core/interning.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/compute_profile.hpp>
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
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// The cheapest way from one sharding to another.

namespace shardweave {
inline namespace v0 {

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
template <collective_cost_model Collectives>
class redistributor {
 public:
  /// The groups along each mesh dimension fill nodes of the device's node size.
  redistributor(device_mesh mesh, compute_profile compute, Collectives collectives, redistribution_options options = {})
      : price_(std::move(mesh), compute, std::move(collectives)), options_(options) {}

  /// Microseconds from one sharding to the other; +infinity if there is no way or either is not valid for
  /// the tensor. A sharding that stands for "no tensor" costs nothing.
  [[nodiscard]] double cost(const tensor& value, const sharding& from, const sharding& to) {
    if (from.is_none() || to.is_none() || from == to) return 0;
    return cost(value_number(value), from, to);
  }
  /// The same for a tensor known by number, see `value_number`.
  [[nodiscard]] double cost(std::uint32_t value, const sharding& from, const sharding& to) {
    if (from.is_none() || to.is_none() || from == to) return 0;
    space& known = *spaces_[value];
    const std::optional<std::uint32_t> target = reachable_number(known, from, to);
    if (!target) return std::numeric_limits<double>::infinity();
    return options_.search ? ways_from(known, from).cost[*target] : straight(known.value, from, to).cost_us;
  }
  /// A number for the tensor's shape, type and layout, so that many questions hash it once.
  [[nodiscard]] std::uint32_t value_number(const tensor& value) {
    const std::uint32_t number = values_(value);
    if (number == spaces_.size()) spaces_.push_back(make_space(value));
    return number;
  }

  /// The steps of the cheapest way.
  [[nodiscard]] redistribution plan(const tensor& value, const sharding& from, const sharding& to) {
    redistribution result;
    if (from.is_none() || to.is_none() || from == to) return result;
    space& known = *spaces_[value_number(value)];
    const std::optional<std::uint32_t> target = reachable_number(known, from, to);
    if (target && !options_.search) return straight(known.value, from, to);
    const ways& way = ways_from(known, from);
    result.cost_us = target ? way.cost[*target] : std::numeric_limits<double>::infinity();
    if (!(result.cost_us < std::numeric_limits<double>::infinity())) return result;

    std::vector<std::uint32_t> route;  // states from the last to the first
    for (std::uint32_t at = way.best[*target]; at != none; at = way.before[at]) route.push_back(at);
    sharding where = from;
    for (std::size_t i = route.size() - 1; i-- > 0;) {
      const std::uint32_t now = route[i + 1] / 4;
      const std::uint32_t next = route[i] / 4;
      for (std::size_t d = 0; d < mesh().rank(); ++d) {
        if (digit(known, now, d) == digit(known, next, d)) continue;
        const dim_placement to_placement = placement_of(known, digit(known, next, d));
        const bytes held(known.size[now]);
        const detail::priced_step step = price_(where[d], to_placement, held, d, (route[i + 1] & is_contiguous) == 0);
        result.steps.push_back({step.op, d, where[d], to_placement, held, bytes(known.size[next]), step.cost_us});
        where.set(d, to_placement);
      }
    }
    return result;
  }

  [[nodiscard]] const device_mesh& mesh() const { return price_.mesh(); }
  [[nodiscard]] const compute_profile& compute() const { return price_.compute(); }
  [[nodiscard]] const Collectives& collectives() const { return price_.collectives(); }

 private:
  static constexpr std::uint32_t none = ~0U;

  /// A state is 4 * number + (2 if nested cuts are final) + (1 if contiguous). The number has a digit per mesh
  /// dimension, the first being the most significant: 0 = R, 1 + d = S(d), rank + 1 = P of whatever kind.
  static constexpr std::uint32_t is_contiguous = 1;
  static constexpr std::uint32_t is_final = 2;
  struct ways {
    std::vector<double> cost;           ///< by number
    std::vector<std::uint32_t> best;    ///< by number: the state that reaches it first
    std::vector<std::uint32_t> before;  ///< by state
  };
  struct space {
    tensor value;
    std::uint32_t base = 0;
    std::vector<std::uint32_t> weight;        ///< of each mesh dimension's digit
    std::vector<std::int64_t> size;           ///< bytes on a rank, by number; -1 = not a valid sharding
    std::vector<std::unique_ptr<ways>> from;  ///< by number
  };
  struct tensor_hash {
    std::size_t operator()(const tensor& value) const {
      return hash_combine(sequence_hash{}(value.shape),
                          static_cast<std::size_t>(value.type) * 2 + (value.contiguous ? 1 : 0));
    }
  };

  [[nodiscard]] std::unique_ptr<space> make_space(const tensor& value) const {
    auto made = std::make_unique<space>();
    made->value = value;
    made->base = static_cast<std::uint32_t>(value.rank()) + 2;
    std::uint32_t count = 1;
    made->weight.resize(mesh().rank());
    for (std::size_t d = mesh().rank(); d-- > 0;) {
      made->weight[d] = count;
      count *= made->base;
    }
    made->size.resize(count);
    made->from.resize(count);
    for (std::uint32_t number = 0; number < count; ++number) {
      sharding where(mesh().rank());
      for (std::size_t d = 0; d < mesh().rank(); ++d) where.set(d, placement_of(*made, digit(*made, number, d)));
      made->size[number] =
          is_valid_sharding(value.shape, where, mesh()) ? local_size(value, where, mesh()).count() : -1;
    }
    return made;
  }
  [[nodiscard]] static std::uint32_t digit(const space& known, std::uint32_t number, std::size_t d) {
    return number / known.weight[d] % known.base;
  }
  [[nodiscard]] static dim_placement placement_of(const space& known, std::uint32_t digit) {
    if (digit == 0) return dim_placement::replicate();
    return digit + 1 == known.base ? dim_placement::partial() : dim_placement::shard(digit - 1);
  }
  /// Number of a sharding, or nothing if it is not one of this tensor on this mesh.
  [[nodiscard]] std::optional<std::uint32_t> number_of(const space& known, const sharding& where) const {
    if (where.size() != mesh().rank()) return std::nullopt;
    std::uint32_t number = 0;
    for (std::size_t d = 0; d < where.size(); ++d) {
      const dim_placement p = where[d];
      if (p.is_sharded() && p.dim() + 2 >= known.base) return std::nullopt;
      const std::uint32_t code = p.is_replicated() ? 0
                                 : p.is_partial()  ? known.base - 1
                                                   : static_cast<std::uint32_t>(p.dim()) + 1;
      number += code * known.weight[d];
    }
    if (known.size[number] < 0) return std::nullopt;
    return number;
  }
  /// Number of the target if both ends are valid and no partial result would have to be made.
  [[nodiscard]] std::optional<std::uint32_t> reachable_number(const space& known, const sharding& from,
                                                              const sharding& to) const {
    if (!number_of(known, from)) return std::nullopt;
    const std::optional<std::uint32_t> target = number_of(known, to);
    if (target)
      for (std::size_t d = 0; d < to.size(); ++d)
        if (to[d].is_partial() && to[d] != from[d]) return std::nullopt;
    return target;
  }

  /// Whether a mesh dimension other than d, not before `first`, cuts the same tensor dimension as `code` does.
  [[nodiscard]] bool is_nested(const space& known, std::uint32_t number, std::size_t d, std::uint32_t code,
                               std::size_t first) const {
    if (code == 0 || code + 1 == known.base) return false;
    for (std::size_t other = first; other < mesh().rank(); ++other)
      if (other != d && digit(known, number, other) == code) return true;
    return false;
  }

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

  [[nodiscard]] const ways& ways_from(space& known, const sharding& source) {
    const std::uint32_t start = *number_of(known, source);
    if (known.from[start]) return *known.from[start];
    const std::size_t count = known.size.size();
    auto made = std::make_unique<ways>();
    made->cost.assign(count, std::numeric_limits<double>::infinity());
    made->best.assign(count, none);
    made->before.assign(4 * count, none);

    using entry = std::tuple<double, std::uint32_t, std::uint32_t, std::uint32_t>;  // cost, steps, state, before
    std::priority_queue<entry, std::vector<entry>, std::greater<>> open;
    std::vector<bool> closed(4 * count);
    open.emplace(0.0, 0U, start * 4 + (known.value.contiguous ? is_contiguous : 0U), none);
    while (!open.empty()) {
      const auto [spent, steps, state, before] = open.top();
      open.pop();
      if (closed[state]) continue;
      closed[state] = true;
      made->before[state] = before;
      const std::uint32_t number = state / 4;
      if (made->best[number] == none) {
        made->best[number] = state;
        made->cost[number] = spent;
      }
      for (std::size_t d = 0; d < mesh().rank(); ++d) {
        const std::uint32_t now = digit(known, number, d);
        for (std::uint32_t code = 0; code + 1 < known.base; ++code) {
          const std::uint32_t next = number + (code - now) * known.weight[d];
          if (code == now || known.size[next] < 0) continue;
          std::uint32_t flags = state % 4;
          if (options_.strict_nesting) {
            if (is_nested(known, number, d, now, d + 1) || is_nested(known, number, d, code, d + 1)) continue;
          } else {
            if ((flags & is_final) != 0 && is_nested(known, number, d, now, 0)) continue;
            if (is_nested(known, number, d, code, 0)) flags |= is_final;
          }
          const detail::priced_step step = price_(placement_of(known, now), placement_of(known, code),
                                                  bytes(known.size[number]), d, (flags & is_contiguous) == 0);
          if (step.op) flags |= is_contiguous;
          open.emplace(spent + step.cost_us, steps + 1, next * 4 + flags, state);
        }
      }
    }
    known.from[start] = std::move(made);
    return *known.from[start];
  }

  detail::step_prices<Collectives> price_;
  redistribution_options options_;
  interner<tensor, tensor_hash> values_;
  std::vector<std::unique_ptr<space>> spaces_;
};

}  // namespace v0
}  // namespace shardweave
