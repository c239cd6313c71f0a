#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/schedule/bound/detail/activity_network.hpp>
#include <shardweave/tasks/duration_table.hpp>

#include <algorithm>
#include <cstdint>

/// \file
/// Lower bounds on the cost of a collective in any bucket.

namespace shardweave::inline v0::detail {

/// Lower bounds for one collective in any bucket of at most `all` bytes in. Between the points of a table both time and
/// time per byte are monotone, so the points and the two ends suffice.
[[nodiscard]] inline collective_floor cheapest_in_bucket(const duration_table& table, nanoseconds alone, bytes size,
                                                         bytes all) {
  collective_floor least{alone, alone, alone, {}};
  const auto look = [&](bytes total) {
    if (total < size) return;
    const nanoseconds time = table(total);
    least.duration = std::min(least.duration, time);
    if (total == bytes(0)) return void(least.share = nanoseconds(0));
    // a nanosecond less, as the table is rounded
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
