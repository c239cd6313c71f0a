#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/memory/block_policies.hpp>
#include <shardweave/memory/block_policy.hpp>
#include <shardweave/memory/impl/block_policy.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// All policies of a block that are worth a thought.

namespace shardweave {
inline namespace v0 {

namespace detail {

/// Whether `a` costs no more than `b` in any respect.
[[nodiscard]] inline bool is_no_worse(const block_policy& a, const block_policy& b) {
  return a.time <= b.time && a.kept <= b.kept && a.transient <= b.transient && a.offloaded <= b.offloaded;
}

/// Leaves of the policies those that no other one is as good as, the quickest first; of equal ones the first.
/// Complexity: O(n log n + n * policies that are left)
inline void drop_dominated_policies(std::vector<block_policy>& policies) {
  std::stable_sort(policies.begin(), policies.end(), [](const block_policy& a, const block_policy& b) {
    return std::tie(a.time, a.kept, a.transient, a.offloaded) < std::tie(b.time, b.kept, b.transient, b.offloaded);
  });
  std::size_t left = 0;
  for (block_policy& next : policies) {
    const auto known = std::span(policies).first(left);
    if (std::any_of(known.begin(), known.end(), [&](const block_policy& p) { return is_no_worse(p, next); })) continue;
    std::swap(policies[left++], next);
  }
  policies.resize(left);
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
  std::vector<block_policy> found;
  std::size_t worth = 4096;  // so many more are looked through at once
  const auto try_all = [&](const auto& self, std::size_t i, bytes window) -> void {
    if (i == free.size()) {
      found.push_back(player.play(choice));
      if (found.size() < worth) return;
      go_on();
      detail::drop_dominated_policies(found);
      worth = 2 * found.size() + 4096;
      return;
    }
    const block_value& value = block.values[free[i]];
    retention& own = choice[free[i]];
    if (value.may_keep) {
      own = retention::keep;
      self(self, i + 1, window);
    }
    if (value.may_drop) {
      own = retention::recompute;
      self(self, i + 1, window);
    }
    if (value.may_offload && value.size <= window) {
      own = retention::offload;
      self(self, i + 1, window - value.size);
    }
  };
  try_all(try_all, 0, rates.window);
  detail::drop_dominated_policies(found);
  return found;
}

}  // namespace v0
}  // namespace shardweave
