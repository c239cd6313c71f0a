#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/memory/block_policies.hpp>
#include <shardweave/memory/impl/block_policy.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <tuple>

/// \file
/// Definition of `block_policies`.

namespace shardweave::inline v0 {

namespace detail {

/// The cost of a choice, and the choice itself: two bits for each value that has one.
struct choice_cost {
  std::int64_t time = 0, kept = 0, transient = 0, offloaded = 0;
  std::uint64_t choice = 0;

  [[nodiscard]] auto order() const { return std::tie(time, kept, transient, offloaded, choice); }
  /// Whether it costs no more in any of the four.
  [[nodiscard]] bool is_no_worse_than(const choice_cost& b) const {
    return time <= b.time && kept <= b.kept && transient <= b.transient && offloaded <= b.offloaded;
  }
};

/// Keeps the choices that no other one dominates, the fastest first; of equal ones the first.
/// Complexity: O(n log n) where nothing is offloaded, otherwise also n * choices that are left
inline void drop_dominated_choices(std::vector<choice_cost>& choices) {
  std::sort(choices.begin(), choices.end(),
            [](const choice_cost& a, const choice_cost& b) { return a.order() < b.order(); });
  const bool lends = std::any_of(choices.begin(), choices.end(), [](const choice_cost& c) { return c.offloaded > 0; });
  // of faster choices: kept bytes, and the least transient of those that keep at most so much
  std::map<std::int64_t, std::int64_t> stairs;
  std::size_t left = 0;
  for (const choice_cost& next : choices) {
    if (lends) {
      const auto known = std::span(choices).first(left);
      if (std::any_of(known.begin(), known.end(), [&](const choice_cost& c) { return c.is_no_worse_than(next); }))
        continue;
    } else {
      auto after = stairs.upper_bound(next.kept);
      if (after != stairs.begin() && std::prev(after)->second <= next.transient) continue;
      while (after != stairs.end() && after->second >= next.transient) after = stairs.erase(after);
      stairs[next.kept] = next.transient;
    }
    choices[left++] = next;
  }
  choices.resize(left);
}

}  // namespace detail

SHARDWEAVE_INLINE std::vector<block_policy> block_policies(const recompute_block& block, const offload_rates& rates,
                                                           const solve_control& control) {
  validate(block);
  const deadline limit(control);
  const auto go_on = [&] {
    if (limit.expired()) refuse(error_category::stopped, "block '" + block.name + "': stopped among its policies");
  };
  go_on();
  std::vector<std::uint32_t> free;
  std::vector<retention> choice(block.values.size(), retention::keep);
  for (std::uint32_t v = 0; v < block.values.size(); ++v) {
    const block_value& value = block.values[v];
    if (int{value.may_keep} + int{value.may_drop} + int{value.may_offload} > 1) {
      free.push_back(v);
    } else if (!value.may_keep) {
      choice[v] = value.may_drop ? retention::recompute : retention::offload;
    }
  }
  if (free.size() > most_block_choices)
    refuse(error_category::input, "block '" + block.name + "' has " + std::to_string(free.size()) +
                                      " values with a choice, expected at most " + std::to_string(most_block_choices) +
                                      ": part it, or fix some of them");
  detail::policy_player player(block, rates);
  std::vector<detail::choice_cost> found;
  std::size_t worth = 1 << 16;  // size at which dominated choices are removed
  const auto try_all = [&](const auto& self, std::size_t i, bytes window, std::uint64_t code) -> void {
    if (i == free.size()) {
      const block_policy cost = player.cost(choice);
      found.push_back({cost.time.count(), cost.kept.count(), cost.transient.count(), cost.offloaded.count(), code});
      if ((found.size() & 4095U) == 0) go_on();
      if (found.size() < worth) return;
      detail::drop_dominated_choices(found);
      worth = 2 * found.size() + (1 << 16);
      return;
    }
    const auto with = [&](retention how) { return code << 2 | static_cast<std::uint64_t>(how); };
    const block_value& value = block.values[free[i]];
    retention& own = choice[free[i]];
    if (value.may_keep) {
      own = retention::keep;
      self(self, i + 1, window, with(own));
    }
    if (value.may_drop) {
      own = retention::recompute;
      self(self, i + 1, window, with(own));
    }
    if (value.may_offload && value.size <= window) {
      own = retention::offload;
      self(self, i + 1, window - value.size, with(own));
    }
  };
  try_all(try_all, 0, rates.window, 0);
  detail::drop_dominated_choices(found);
  std::vector<block_policy> result;
  for (const detail::choice_cost& left : found) {
    std::uint64_t code = left.choice;
    for (std::size_t i = free.size(); i-- > 0; code >>= 2) choice[free[i]] = static_cast<retention>(code & 3);
    result.push_back(player.play(choice));
  }
  return result;
}

}  // namespace shardweave::inline v0
