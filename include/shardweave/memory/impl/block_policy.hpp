#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/memory/block_policy.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

/// \file
/// Definition of `price_policy`.

namespace shardweave::inline v0 {

namespace detail {

/// Runs the backward part of a block under given policies, and counts time and memory.
class policy_player {
 public:
  policy_player(const recompute_block& block, const offload_rates& rates) : block_(&block), rates_(rates) {
    const std::size_t n = block.values.size();
    uses_.resize(n);
    state_.resize(n);
  }

  /// \pre one choice per value
  [[nodiscard]] block_policy play(std::span<const retention> choice) {
    block_policy result = cost(choice);
    result.values.assign(choice.begin(), choice.end());
    return result;
  }
  /// The same without `values`.
  [[nodiscard]] block_policy cost(std::span<const retention> choice) {
    block_policy result;
    count_uses(choice);
    std::int64_t live = 0, most = std::numeric_limits<std::int64_t>::min();
    for (std::size_t v = 0; v < choice.size(); ++v) {
      const block_value& value = block_->values[v];
      if (choice[v] == retention::keep) result.kept += value.size;
      if (choice[v] == retention::offload) result.offloaded += value.size;
      // what waited in the host's memory is back before the block's backward part begins
      state_[v] = choice[v] == retention::recompute ? state::missing : state::there;
      if (choice[v] == retention::offload) live += value.size.count();
      if (state_[v] == state::there && uses_[v] == 0) live -= value.size.count();
    }
    for (const backward_step& step : block_->backward) {
      const std::int64_t gradients = step.gradients.count();
      for (const std::uint32_t read : step.reads) result.time += make(read, gradients, live, most);
      most = std::max(most, live + gradients);
      for (const std::uint32_t read : step.reads) release(read, live);
    }
    result.transient = bytes(std::max<std::int64_t>(most, 0));
    if (rates_.memory_bandwidth > 0)  // each byte is read once and written once
      result.time += nanoseconds(
          static_cast<std::int64_t>(2e9 * static_cast<double>(result.offloaded.count()) / rates_.memory_bandwidth));
    return result;
  }

 private:
  enum class state : std::uint8_t {
    missing,  ///< dropped
    there,    ///< kept, or back from the host's memory
    again,    ///< recomputed
    untaken,  ///< likewise, with another value of its operation, and not read yet
  };

  /// How often each value is read by backward steps and by recomputation.
  void count_uses(std::span<const retention> choice) {
    std::fill(uses_.begin(), uses_.end(), std::size_t{0});
    for (const backward_step& step : block_->backward)
      for (const std::uint32_t read : step.reads) ++uses_[read];
    for (std::size_t v = choice.size(); v-- > 0;)
      if (choice[v] == retention::recompute && uses_[v] > 0)
        for (const std::uint32_t input : block_->values[v].inputs) ++uses_[input];
  }

  /// Recomputes a value, those made with it that are needed, and the inputs that are missing, unless it is live; of
  /// inputs the last one first, as `with_recomputation` does. \returns the time
  nanoseconds make(std::uint32_t first, std::int64_t gradients, std::int64_t& live, std::int64_t& most) {
    /// A value whose inputs are being made, then those of the values that are made with it.
    struct making {
      std::uint32_t v, member;         ///< `member`: of those values the one whose inputs come next
      std::size_t inputs, others = 0;  ///< inputs of it, and values made with it, that are still to come
    };
    std::vector<making> open;  // chains may be long
    nanoseconds time;
    const auto for_each = [&](std::uint32_t v, auto visit) {
      visit(v);
      for (const std::uint32_t other : block_->values[v].made_with)
        if (state_[other] == state::untaken) visit(other);
    };
    const auto begin = [&](std::uint32_t v) {
      if (state_[v] != state::missing) {
        if (state_[v] == state::untaken) {
          most = std::max(most, live + gradients);
          take(v, live);
        }
        return;
      }
      state_[v] = state::again;
      std::size_t beside = 0;
      for (const std::uint32_t other : block_->values[v].made_with)
        if (state_[other] == state::missing && uses_[other] > 0) {
          state_[other] = state::untaken;
          ++beside;
        }
      for_each(v, [&](std::uint32_t x) { uses_[x] += x == v ? beside : beside - 1; });
      time += block_->values[v].time;
      open.push_back({v, v, block_->values[v].inputs.size()});
    };
    for (begin(first); !open.empty();) {
      making& now = open.back();
      if (now.inputs > 0) {
        begin(block_->values[now.member].inputs[--now.inputs]);
        continue;
      }
      const std::vector<std::uint32_t>& made_with = block_->values[now.v].made_with;
      while (now.others < made_with.size() && state_[made_with[now.others]] != state::untaken) ++now.others;
      if (now.others < made_with.size()) {
        now.member = made_with[now.others++];
        now.inputs = block_->values[now.member].inputs.size();
        time += block_->values[now.member].time;
        continue;
      }
      const std::uint32_t v = now.v;
      open.pop_back();
      for_each(v, [&](std::uint32_t x) { live += block_->values[x].size.count(); });
      most = std::max(most, live + gradients);
      for_each(v, [&](std::uint32_t x) {
        for (const std::uint32_t input : block_->values[x].inputs) release(input, live);
      });
    }
    return time;
  }
  /// The first read of a value that was made with another one: until then whoever takes it reads the result of the
  /// operation, and holds all values of it.
  void take(std::uint32_t v, std::int64_t& live) {
    state_[v] = state::again;
    for (const std::uint32_t other : block_->values[v].made_with)
      if (state_[other] >= state::again) release(other, live);
  }

  void release(std::uint32_t v, std::int64_t& live) {
    if (--uses_[v] == 0) live -= block_->values[v].size.count();
  }

  const recompute_block* block_;
  offload_rates rates_;
  std::vector<std::size_t> uses_;
  std::vector<state> state_;
};

/// \throws error (input) for a choice that the block does not allow
inline void validate(const recompute_block& block, std::span<const retention> choice) {
  if (choice.size() != block.values.size())
    refuse(error_category::input, "block '" + block.name + "' has " + std::to_string(block.values.size()) +
                                      " values, the policy says what becomes of " + std::to_string(choice.size()));
  for (std::size_t v = 0; v < choice.size(); ++v) {
    const block_value& value = block.values[v];
    const bool may = choice[v] == retention::keep        ? value.may_keep
                     : choice[v] == retention::recompute ? value.may_drop
                                                         : value.may_offload;
    constexpr const char* words[] = {"kept", "dropped", "offloaded"};
    if (!may)
      refuse(error_category::input, "block '" + block.name + "': value '" + value.name + "' may not be " +
                                        words[static_cast<std::size_t>(choice[v])]);
  }
}

}  // namespace detail

SHARDWEAVE_INLINE block_policy price_policy(const recompute_block& block, std::span<const retention> choice,
                                            const offload_rates& rates) {
  validate(block);
  detail::validate(block, choice);
  return detail::policy_player(block, rates).play(choice);
}

}  // namespace shardweave::inline v0
