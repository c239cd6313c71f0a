#pragma once

#include <algorithm>
#include <cstdint>

/// \file
/// Shares of times and sizes that settings of any value cannot make overflow.

namespace shardweave::inline v0::detail {

inline constexpr std::int64_t most_share = std::int64_t{1} << 61;

/// A share of a number that is not negative: at most 2^61, at least 0, and 0 for what is no number.
[[nodiscard]] inline std::int64_t share_of(std::int64_t number, double share) {
  return static_cast<std::int64_t>(
      std::min(static_cast<double>(most_share), std::max(0.0, share * static_cast<double>(number))));
}

}  // namespace shardweave::inline v0::detail
