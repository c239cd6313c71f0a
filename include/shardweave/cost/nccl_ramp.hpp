#pragma once

#include <shardweave/core/error.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// \file
/// Shares of a bandwidth that grow with the size, looked up by its log2.

namespace shardweave::inline v0 {

/// A share of bandwidth at a size, which is given by its log2.
struct nccl_ramp_point {
  double log2_bytes = 0;
  double share = 1;
};

namespace detail {

/// log2, exact at powers of two and linear between them: continuous, growing, and a few instructions.
/// \pre x >= 1
[[nodiscard]] inline double doublings_in(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto exponent = static_cast<std::int64_t>(bits >> 52) - 1023;
  const auto fraction = static_cast<double>(bits & ((std::uint64_t{1} << 52) - 1)) * 0x1p-52;
  return static_cast<double>(exponent) + fraction;
}

/// A ramp as a line per doubling, so that looking one up takes no search.
class nccl_ramp {
 public:
  nccl_ramp(const std::vector<nccl_ramp_point>& points, const std::string& name) {
    const auto fail = [&](std::size_t i) {
      refuse(error_category::input, "point " + std::to_string(i) + " of the " + name + " ramp does not rise gently");
    };
    shares_.fill(points.empty() ? 1 : points.back().share);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const nccl_ramp_point& b = points[i];
      const nccl_ramp_point& a = points[i == 0 ? 0 : i - 1];
      const double doublings = b.log2_bytes - a.log2_bytes;
      // the correction of trees may gain a third with a doubling, so that half is left for this
      if (!(b.share > 0 && b.share <= 1 && b.log2_bytes >= 0 && b.share >= a.share) ||
          (i > 0 && !(doublings > 0 && b.share - a.share <= .3 * a.share * doublings)))
        fail(i);
      if (i == 0) continue;
      for (std::size_t x = 0; x < shares_.size(); ++x) {
        const auto at = static_cast<double>(x);
        if (at < b.log2_bytes && (at >= a.log2_bytes || i == 1))
          shares_[x] = a.share + (b.share - a.share) * std::max(0.0, at - a.log2_bytes) / doublings;
      }
    }
  }
  [[nodiscard]] double at(double doublings) const {
    const double x = std::min(std::max(doublings, 0.0), static_cast<double>(shares_.size() - 2));
    const auto i = static_cast<std::size_t>(x);
    return shares_[i] + (shares_[i + 1] - shares_[i]) * (x - static_cast<double>(i));
  }

 private:
  std::array<double, 65> shares_{};  ///< by doublings; one more than are asked for, so that there is a next one
};

}  // namespace detail
}  // namespace shardweave::inline v0
