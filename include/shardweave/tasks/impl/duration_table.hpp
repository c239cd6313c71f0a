#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/tasks/duration_table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

/// \file
/// Tables of durations.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE duration_table::duration_table(collective op, std::uint32_t group, std::vector<bytes> bytes_in,
                                                 std::vector<nanoseconds> time)
    : op_(op), group_(group), bytes_in_(std::move(bytes_in)), time_(std::move(time)) {
  const std::string who = "duration table of " + std::string(name_of(op_)) + " on group " + std::to_string(group_);
  if (bytes_in_.empty() || bytes_in_.size() != time_.size())
    refuse(error_category::input, who + " has " + number_text(bytes_in_.size(), "size") + " and " +
                                      number_text(time_.size(), "time") + ", expected as many and at least one");
  if (bytes_in_.front() < bytes(0))
    refuse(error_category::input,
           who + ": size 0 is " + std::to_string(bytes_in_.front().count()) + " bytes, expected none below 0");
  for (std::size_t i = 0; i < bytes_in_.size(); ++i) {
    if (i > 0 && bytes_in_[i] <= bytes_in_[i - 1])
      refuse(error_category::input, who + ": size " + std::to_string(i) + " is " +
                                        std::to_string(bytes_in_[i].count()) + ", expected more than " +
                                        std::to_string(bytes_in_[i - 1].count()));
    if (time_[i] < nanoseconds(0))
      refuse(error_category::input, who + ": time " + std::to_string(i) + " is " + std::to_string(time_[i].count()) +
                                        " ns, expected none below 0");
  }
}

SHARDWEAVE_INLINE nanoseconds duration_table::operator()(bytes size) const {
  const std::size_t n = bytes_in_.size();
  if (n == 1 || size <= bytes_in_.front()) return time_.front();
  const auto above =
      static_cast<std::size_t>(std::upper_bound(bytes_in_.begin(), bytes_in_.end(), size) - bytes_in_.begin());
  const std::size_t right = std::min(above, n - 1);
  const std::size_t left = right - 1;
  const std::int64_t width = (bytes_in_[right] - bytes_in_[left]).count();
  const detail::wide_integer rise = (time_[right] - time_[left]).count();
  const detail::wide_integer scaled =
      detail::wide_integer(time_[left].count()) * width + rise * (size - bytes_in_[left]).count();
  const detail::wide_integer most = detail::wide_integer(std::numeric_limits<std::int64_t>::max()) * width;
  return nanoseconds(detail::divide_to_even(std::clamp<detail::wide_integer>(scaled, 0, most), width));
}

}  // namespace shardweave::inline v0
