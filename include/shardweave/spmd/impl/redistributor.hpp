#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/spmd/redistributor.hpp>

#include <limits>

/// \file
/// The search for the cheapest way.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE std::uint32_t redistributor::value_number(const tensor& value) {
  const std::uint32_t number = values_(value);
  if (number == spaces_.size()) spaces_.push_back(std::make_unique<space>(value, mesh()));
  return number;
}

SHARDWEAVE_INLINE void redistributor::costs(std::uint32_t value, const sharding& from, std::span<const sharding> to,
                                            std::span<double> result) {
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

SHARDWEAVE_INLINE void redistributor::forget(std::uint32_t value) {
  for (auto& way : spaces_[value]->from) way.reset();
  for (auto& arcs : spaces_[value]->arcs) arcs = std::vector<arc>();  // `= {}` would keep the memory
  spaces_[value]->steps = std::vector<redistribution_step>();
  for (auto& numbers : spaces_[value]->step_numbers) numbers = std::vector<std::uint32_t>();
}

SHARDWEAVE_INLINE redistribution redistributor::plan(const tensor& value, const sharding& from, const sharding& to) {
  redistribution result;
  if (from.is_none() || to.is_none() || from == to) return result;
  space& known = *spaces_[value_number(value)];
  const std::optional<std::uint32_t> target = known.shardings.reachable_number(from, to);
  if (!target) {  // one of them does not fit the value and the mesh
    result.cost_us = std::numeric_limits<double>::infinity();
    return result;
  }
  if (!options_.search) return straight(known.shardings.value(), from, to);
  const ways& way = ways_from(known, from, true);
  result.cost_us = way.cost[*target];
  if (!(result.cost_us < std::numeric_limits<double>::infinity())) return result;

  std::vector<std::uint32_t> route;  // states from the last to the first
  for (std::uint32_t at = way.best[*target]; at != none; at = way.before[at]) route.push_back(at);
  for (std::size_t i = route.size() - 1; i-- > 0;)
    result.steps.push_back(step_between(known, from, route[i + 1], route[i]));
  return result;
}

SHARDWEAVE_INLINE redistribution_step redistributor::step_between(const space& known, const sharding& source,
                                                                  std::uint32_t before, std::uint32_t after) {
  const detail::sharding_numbers& all = known.shardings;
  const std::uint32_t now = before / 4, next = after / 4;
  std::size_t d = 0;
  while (all.digit(now, d) == all.digit(next, d)) ++d;
  dim_placement from = all.placement_of(all.digit(now, d));
  if (from.is_partial()) from = source[d];  // nothing leads to a partial result: it is the source's, of its kind
  const dim_placement to = all.placement_of(all.digit(next, d));
  const detail::priced_step step = price_(from, to, all.held(now), d, (before & is_contiguous) == 0);
  return {step.op, d, from, to, all.held(now), all.held(next), step.cost_us};
}

SHARDWEAVE_INLINE std::uint32_t redistributor::step_number(space& known, const sharding& source, std::uint32_t before,
                                                           std::uint32_t after) {
  const detail::sharding_numbers& all = known.shardings;
  const std::uint32_t now = before / 4, next = after / 4;
  std::size_t d = 0;
  while (all.digit(now, d) == all.digit(next, d)) ++d;
  const bool is_partial = all.digit(now, d) == all.partial_digit();
  std::vector<std::uint32_t>& numbers =
      known.step_numbers[is_partial ? static_cast<std::size_t>(source[d].kind()) : std::size_t{0}];
  const std::size_t choices = all.partial_digit();  // nothing leads to a partial result
  if (numbers.empty()) numbers.assign(all.size() * mesh().rank() * choices * 2, none);
  const std::size_t at = (now * mesh().rank() + d) * choices + all.digit(next, d);
  std::uint32_t& number = numbers[at * 2 + ((before & is_contiguous) == 0 ? 1 : 0)];
  if (number == none) {
    number = static_cast<std::uint32_t>(known.steps.size());
    known.steps.push_back(step_between(known, source, before, after));
  }
  return number;
}

SHARDWEAVE_INLINE redistribution redistributor::straight(const tensor& value, const sharding& from,
                                                         const sharding& to) {
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

SHARDWEAVE_INLINE const std::vector<redistributor::arc>& redistributor::arcs_from(space& known, std::uint32_t number) {
  const detail::sharding_numbers& all = known.shardings;
  std::vector<arc>& arcs = known.arcs[number];
  if (!arcs.empty() || !all.is_valid(number)) return arcs;
  for (std::size_t d = 0; d < mesh().rank(); ++d) {
    const std::uint32_t now = all.digit(number, d);
    for (std::uint32_t code = 0; code < all.partial_digit(); ++code) {
      const std::uint32_t next = all.with_digit(number, d, code);
      if (code == now || !all.is_valid(next)) continue;
      arc made{.next = next * 4};
      if (options_.strict_nesting) {
        if (all.is_nested(number, d, now, d + 1) || all.is_nested(number, d, code, d + 1)) continue;
      } else {
        made.leaves_nested = all.is_nested(number, d, now, 0);
        if (all.is_nested(number, d, code, 0)) made.next |= is_final;
      }
      const auto priced = [&](bool copy_first) {
        return price_(all.placement_of(now), all.placement_of(code), all.held(number), d, copy_first);
      };
      const detail::priced_step step = priced(false);
      if (step.op) made.next |= is_contiguous;
      made.cost = step.cost_us;
      made.cost_with_copy = priced(true).cost_us;
      arcs.push_back(made);
    }
  }
  return arcs;
}

SHARDWEAVE_INLINE const redistributor::ways& redistributor::ways_from(space& known, const sharding& source,
                                                                      bool with_steps) {
  const std::uint32_t start = *known.shardings.number_of(source);
  if (known.from[start] && (!with_steps || !known.from[start]->before.empty())) return *known.from[start];
  const std::size_t count = known.shardings.size();
  auto made = std::make_unique<ways>();
  made->cost.assign(count, std::numeric_limits<double>::infinity());
  std::vector<std::uint32_t> best_state(count, none), state_before(4 * count, none);

  open_.begin(4 * count);
  open_.offer(0.0, 0U, start * 4 + (known.shardings.value().contiguous ? is_contiguous : 0U), none);
  while (!open_.empty()) {
    const auto [spent, steps, state] = open_.take();
    const std::uint32_t number = state / 4;
    state_before[state] = open_.before(state);
    if (best_state[number] == none) {
      best_state[number] = state;
      made->cost[number] = spent;
    }
    const bool is_final_here = (state & is_final) != 0, copies = (state & is_contiguous) == 0;
    for (const arc& way : arcs_from(known, number))
      if (!is_final_here || !way.leaves_nested)
        open_.offer(spent + (copies ? way.cost_with_copy : way.cost), steps + 1, way.next | state % 4, state);
  }
  if (with_steps) {
    made->best = std::move(best_state);
    made->before = std::move(state_before);
  }
  known.from[start] = std::move(made);
  return *known.from[start];
}

}  // namespace shardweave::inline v0
