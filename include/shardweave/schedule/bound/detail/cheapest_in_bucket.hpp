#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/schedule/bound/detail/activity_network.hpp>
#include <shardweave/tasks/duration_table.hpp>

#include <algorithm>
#include <cstdint>

/// \file
/// A bound on what a collective costs in whatever bucket.

namespace shardweave::inline v0::detail {

/// What one collective costs at least in any bucket of at most `all` bytes in. Time over size is monotone between
/// the points of a table, and so is time: only the points and the two ends need a look.
[[nodiscard]] inline collective_floor cheapest_in_bucket(const duration_table& table, nanoseconds alone, bytes size,
                                                         bytes all) {
  collective_floor least{alone, alone, alone, {}};
  const auto look = [&](bytes total) {
    if (total < size) return;
    const nanoseconds time = table(total);
    least.duration = std::min(least.duration, time);
    if (total == bytes(0)) return void(least.share = nanoseconds(0));
    // a nanosecond less, for what the table rounded
    const wide_integer part = wide_integer(std::max<std::int64_t>(time.count() - 1, 0)) * size.count();
    least.share = std::min(least.share, nanoseconds(static_cast<std::int64_t>(part / total.count())));
  };
  look(size);
  look(all);
  for (const bytes point : table.bytes_in())
    if (point <= all) look(point);
  return least;
}

}  // namespace shardweave::inline v0::detail
