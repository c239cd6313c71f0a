#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

/// \file
/// The numbers of a placement problem: strategies, assignments, costs that may be forbidden.

namespace shardweave::inline v0 {

/// One of a vertex's candidates: an index 0..k-1.
using strategy = std::uint32_t;
/// One strategy per vertex, in the order of the graph's vertices.
using assignment = std::vector<strategy>;

/// Types of costs: floating-point, or 64-bit integers, which are evaluated exactly.
template <class T>
concept cost_value = std::floating_point<T> || std::same_as<T, std::int64_t>;

/// The cost of a forbidden choice: +infinity, or the largest integer; sums preserve it.
template <cost_value Cost>
inline constexpr Cost forbidden =
    std::floating_point<Cost> ? std::numeric_limits<Cost>::infinity() : std::numeric_limits<Cost>::max();

/// Whether a cost marks a forbidden choice.
template <cost_value Cost>
[[nodiscard]] constexpr bool is_forbidden(Cost cost) {
  return cost == forbidden<Cost>;
}

/// As a double, +infinity if forbidden. Integers of more than 53 bits are rounded down, so that lower bounds stay
/// valid.
template <cost_value Cost>
[[nodiscard]] constexpr double in_double(Cost cost) {
  if (is_forbidden(cost)) return std::numeric_limits<double>::infinity();
  if constexpr (std::same_as<Cost, std::int64_t>) {
    const auto magnitude = static_cast<std::uint64_t>(cost < 0 ? -(cost + 1) : cost);
    const int excess = static_cast<int>(std::bit_width(magnitude)) - std::numeric_limits<double>::digits;
    if (excess > 0) return static_cast<double>((cost >> excess) * (std::int64_t{1} << excess));
  }
  return static_cast<double>(cost);
}

/// Sum of two costs; forbidden if either is.
/// \pre the sum of allowed integers does not overflow (`validate` checks the total of a problem once)
template <cost_value Cost>
[[nodiscard]] constexpr Cost plus(Cost a, Cost b) {
  if constexpr (std::floating_point<Cost>) {
    return a + b;
  } else {
    return is_forbidden(a) || is_forbidden(b) ? forbidden<Cost> : a + b;
  }
}

/// `count` times a cost; forbidden stays forbidden.
template <cost_value Cost>
[[nodiscard]] constexpr Cost times(Cost cost, std::size_t count) {
  return is_forbidden(cost) ? cost : cost * static_cast<Cost>(count);
}

/// The amount of computation that can hide, or of communication that can be hidden, of a cost: 0 if it is negative or
/// forbidden.
template <cost_value Cost>
[[nodiscard]] constexpr Cost amount_of(Cost cost) {
  return is_forbidden(cost) || cost < Cost{} ? Cost{} : cost;
}

/// The parts of an edge's cost.
template <cost_value Cost>
struct edge_parts {
  Cost communication{};
  Cost transition{};  ///< of the change of placement itself
};

/// The parts of an assignment's cost.
template <cost_value Cost>
struct cost_parts {
  Cost compute{};
  Cost communication{};
  Cost transition{};
  [[nodiscard]] constexpr Cost total() const { return plus(plus(compute, communication), transition); }
  friend constexpr bool operator==(const cost_parts&, const cost_parts&) = default;
};

/// Time points first, first + 1, ..., end - 1; empty when first >= end.
struct live_interval {
  std::int64_t first = 0;
  std::int64_t end = 0;
  friend constexpr bool operator==(const live_interval&, const live_interval&) = default;
};

}  // namespace shardweave::inline v0
