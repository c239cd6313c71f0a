#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/memory/block_policy.hpp>
#include <shardweave/memory/memory_rows.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Limits on the memory that policies of blocks share.

namespace shardweave::inline v0::detail {

/// The rows of memory of `choose_policies`. The room is what the row between the forward and the backward parts leaves
/// for kept values; the rows of single blocks are restated as bytes taken from this room.
class policy_rows {
 public:
  /// \pre the blocks outlive this object
  policy_rows(std::span<const memory_block> blocks, const memory_rows& rows) : blocks_(blocks), rows_(rows) {
    least_before_.assign(blocks.size() + 1, 0);
    for (std::size_t l = 0; l < blocks.size(); ++l) {
      std::int64_t least = std::numeric_limits<std::int64_t>::max();
      for (const block_policy& p : blocks[l].policies)
        if (is_allowed(l, p)) least = std::min(least, p.kept.count());
      least_before_[l + 1] = least_before_[l] + least;
    }
  }

  [[nodiscard]] std::span<const memory_block> blocks() const { return blocks_; }
  [[nodiscard]] bool is_allowed(std::size_t l, const block_policy& p) const {
    return p.offloaded == bytes(0) || blocks_[l].may_offload;
  }
  [[nodiscard]] std::int64_t room() const { return rows_.limit.count() - rows_.after.count(); }
  [[nodiscard]] std::int64_t host() const { return rows_.host.count(); }
  [[nodiscard]] bool host_binds() const { return host() < std::numeric_limits<std::int64_t>::max(); }
  [[nodiscard]] double host_room() const { return static_cast<double>(rows_.host.count()); }
  [[nodiscard]] std::int64_t limit() const { return rows_.limit.count(); }
  /// Bytes live between the parts if `taken` of the room is taken, and the first `before` blocks keep the least they
  /// can.
  [[nodiscard]] std::int64_t needed(std::int64_t taken, std::size_t before) const {
    return taken + least_before_[before] + rows_.after.count();
  }
  /// Bytes of the room that are taken from the blocks before it, when a block chooses a policy and the later ones take
  /// `taken`.
  [[nodiscard]] std::int64_t taken_by(std::size_t l, const block_policy& p, std::int64_t taken) const {
    const auto [backward, forward] = taken_by_rows(l);
    return std::max(std::max(taken, backward + p.transient.count()) + p.kept.count(), forward);
  }
  /// A row that no choice satisfies, whatever happens in the rows of other blocks, or, where the host's memory is
  /// unlimited, together with them; nothing then means that some choice fits.
  /// Complexity: O(blocks * policies)
  [[nodiscard]] std::optional<memory_shortage> shortage() const {
    for (std::size_t l = 0; l < blocks_.size(); ++l) {
      std::int64_t least_at_peak = std::numeric_limits<std::int64_t>::max();
      for (const block_policy& p : blocks_[l].policies)
        if (is_allowed(l, p)) least_at_peak = std::min(least_at_peak, p.kept.count() + p.transient.count());
      const std::int64_t peak =
          least_before_[l] + std::max(least_at_peak + blocks_[l].beside.count(), blocks_[l].forward.count());
      if (peak > rows_.limit.count()) return memory_shortage{l, bytes(peak), rows_.limit};
    }
    const std::int64_t kept = least_before_.back();
    if (kept + rows_.after.count() > rows_.limit.count())
      return memory_shortage{blocks_.size(), bytes(kept) + rows_.after, rows_.limit};
    return host_binds() ? std::nullopt : shortage_of_all();
  }
  [[nodiscard]] bool fits(const std::vector<std::uint32_t>& policy) const {
    std::int64_t kept = 0, offloaded = 0;
    for (std::size_t l = 0; l < blocks_.size(); ++l) {
      const block_policy& p = blocks_[l].policies[policy[l]];
      if (kept + blocks_[l].forward.count() > rows_.limit.count()) return false;
      kept += p.kept.count();
      offloaded += p.offloaded.count();
      if (kept + p.transient.count() + blocks_[l].beside.count() > rows_.limit.count()) return false;
    }
    return kept + rows_.after.count() <= rows_.limit.count() && offloaded <= rows_.host.count();
  }

  /// Bytes of the room that a block's backward and its forward row take, without what the block keeps and without its
  /// transient.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> taken_by_rows(std::size_t l) const {
    return {room() - (limit() - blocks_[l].beside.count()), room() - (limit() - blocks_[l].forward.count())};
  }

 private:
  /// The least room that each block takes together with the later ones: the less the later ones take, the less all
  /// take.
  [[nodiscard]] std::optional<memory_shortage> shortage_of_all() const {
    std::int64_t taken = 0;
    for (std::size_t l = blocks_.size(); l-- > 0;) {
      std::int64_t least = std::numeric_limits<std::int64_t>::max();
      for (const block_policy& p : blocks_[l].policies)
        if (is_allowed(l, p)) least = std::min(least, taken_by(l, p, taken));
      taken = least;
      if (needed(taken, l) > limit()) return memory_shortage{l, bytes(needed(taken, l)), rows_.limit};
    }
    return std::nullopt;
  }

  std::span<const memory_block> blocks_;
  memory_rows rows_;
  std::vector<std::int64_t> least_before_;  ///< the least that so many first blocks keep
};

}  // namespace shardweave::inline v0::detail
