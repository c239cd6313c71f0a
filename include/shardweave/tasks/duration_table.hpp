#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective.hpp>

#include <cstdint>
#include <vector>

/// \file
/// How long a collective takes as a function of its size: straight lines through measured points.

namespace shardweave::inline v0 {

namespace detail {
__extension__ typedef __int128 wide_integer;

/// numerator / denominator to the nearest whole number, ties to even. \pre denominator > 0
[[nodiscard]] constexpr std::int64_t divide_to_even(wide_integer numerator, std::int64_t denominator) {
  wide_integer quotient = numerator / denominator;
  wide_integer rest = numerator % denominator;
  if (rest < 0) {
    rest += denominator;
    --quotient;
  }
  const wide_integer twice = 2 * rest;
  if (twice > denominator || (twice == denominator && quotient % 2 != 0)) ++quotient;
  return static_cast<std::int64_t>(quotient);
}
}  // namespace detail

/// Duration of one operation on one group by bytes in: constant below the first point, by the slope of the
/// last segment beyond the last, but never below 0, nor above what 64 bits hold. Exact: rounded once, to the nearest
/// nanosecond, ties to even.
class duration_table {
 public:
  duration_table() = default;
  /// \param bytes_in  sizes, strictly ascending; as many as times and at least one
  /// \throws error naming the point that breaks a rule
  duration_table(collective op, std::uint32_t group, std::vector<bytes> bytes_in, std::vector<nanoseconds> time);

  [[nodiscard]] collective op() const { return op_; }
  [[nodiscard]] std::uint32_t group() const { return group_; }
  [[nodiscard]] const std::vector<bytes>& bytes_in() const { return bytes_in_; }
  [[nodiscard]] const std::vector<nanoseconds>& time() const { return time_; }

  /// Complexity: logarithmic in the number of points.
  [[nodiscard]] nanoseconds operator()(bytes size) const;

  friend bool operator==(const duration_table&, const duration_table&) = default;

 private:
  collective op_ = collective::other;
  std::uint32_t group_ = 0;
  std::vector<bytes> bytes_in_;
  std::vector<nanoseconds> time_;
};

/// Time to read and write `size` bytes once each on a device: twice the size over its memory bandwidth,
/// rounded to the nearest nanosecond, ties to even; 0 where the bandwidth is unknown (0).
[[nodiscard]] inline nanoseconds copy_time(bytes size, double dram_bytes_per_ns) {
  if (!(dram_bytes_per_ns > 0)) return nanoseconds(0);
  return nanoseconds(
      static_cast<std::int64_t>(std::nearbyint(2.0 * static_cast<double>(size.count()) / dram_bytes_per_ns)));
}

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/tasks/impl/duration_table.hpp>
#endif
