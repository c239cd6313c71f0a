#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

/// \file
/// Arrays of costs, two at a time: the loops of message passing outside of tables. All machines have instructions for
/// two doubles, and g++ and clang a type; results equal those of a scalar loop.

namespace shardweave::inline v0::detail {

typedef double two_costs __attribute__((vector_size(16)));  // NOLINT: an alias does not take the attribute

inline two_costs two_at(const double* from) {
  two_costs two;
  std::memcpy(&two, from, sizeof two);
  return two;
}
inline void put_two(double* to, two_costs two) { std::memcpy(to, &two, sizeof two); }
inline two_costs least_of_two(two_costs a, two_costs b) { return a < b ? a : b; }

/// to[i] += from[i]
inline void add_costs(double* to, const double* from, std::size_t n) {
  std::size_t i = 0;
  for (; i + 2 <= n; i += 2) put_two(to + i, two_at(to + i) + two_at(from + i));
  if (i < n) to[i] += from[i];
}

/// to[i] -= amount
inline void lower_costs(double* to, double amount, std::size_t n) {
  std::size_t i = 0;
  for (; i + 2 <= n; i += 2) put_two(to + i, two_at(to + i) - amount);
  if (i < n) to[i] -= amount;
}

/// \pre n > 0
[[nodiscard]] inline double least_cost(const double* of, std::size_t n) {
  double least = of[0];
  std::size_t i = 0;
  if (n >= 4) {
    two_costs a = two_at(of), b = two_at(of + 2);
    for (i = 4; i + 4 <= n; i += 4) {
      a = least_of_two(a, two_at(of + i));
      b = least_of_two(b, two_at(of + i + 2));
    }
    a = least_of_two(a, b);
    least = std::min(a[0], a[1]);
  }
  for (; i < n; ++i) least = std::min(least, of[i]);
  return least;
}

/// to[i] = share * from[i] - received[i], infinite where what was received is. `to` may be `from`.
inline void share_costs(double* to, const double* from, double share, const double* received, std::size_t n) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const two_costs never{infinity, infinity};
  std::size_t i = 0;
  for (; i + 2 <= n; i += 2) {
    const two_costs taken = two_at(received + i);
    const two_costs left = share * two_at(from + i) - taken;
    put_two(to + i, taken < never ? left : never);
  }
  if (i < n) to[i] = received[i] < infinity ? share * from[i] - received[i] : infinity;
}

/// to[i] = from[i] - amount. \returns the largest change
inline double replace_costs(double* to, const double* from, double amount, std::size_t n) {
  two_costs most{0, 0};
  std::size_t i = 0;
  for (; i + 2 <= n; i += 2) {
    const two_costs now = two_at(from + i) - amount, change = now - two_at(to + i);
    const two_costs size = change < 0 ? -change : change;
    most = most < size ? size : most;
    put_two(to + i, now);
  }
  double largest = std::max(most[0], most[1]);
  if (i < n) {
    const double now = from[i] - amount;
    largest = std::max(largest, std::abs(now - to[i]));
    to[i] = now;
  }
  return largest;
}

}  // namespace shardweave::inline v0::detail
