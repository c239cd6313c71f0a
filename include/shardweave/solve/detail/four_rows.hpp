#pragma once

#include <shardweave/solve/detail/two_costs.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <limits>

/// \file
/// Four rows of costs at once: the innermost loops of message passing and reductions. A program that is compiled for
/// any x86-64 asks the machine that it runs on for wider instructions; sums and minima are the same, to the last bit,
/// as long as no sum is of infinities of both signs.

namespace shardweave::inline v0::detail {

/// Where four rows of costs begin.
using four_rows = std::array<const double*, 4>;

#if defined(__x86_64__) && defined(__GNUC__)
/// Whether this machine has wider instructions; answers do not depend on it.
inline bool has_avx() { return __builtin_cpu_supports("avx") != 0; }

typedef double four_costs __attribute__((vector_size(32)));  // NOLINT: an alias does not take the attribute

[[gnu::target("avx"), gnu::always_inline]] inline four_costs four_at(const double* from) {
  four_costs four;
  std::memcpy(&four, from, sizeof four);
  return four;
}
[[gnu::target("avx"), gnu::always_inline]] inline four_costs least_of(four_costs a, four_costs b) {
  return __builtin_ia32_minpd256(a, b);
}

[[gnu::target("avx")]] inline void least_down_by_avx(const four_rows& rows, const double* raised, std::size_t stride,
                                                     double* out) {
  const auto [a, b, c, d] = rows;
  const double of_a = raised[0], of_b = raised[1], of_c = raised[2], of_d = raised[3];
  for (std::size_t j = 0; j < stride; j += 4) {
    const four_costs low = least_of(four_at(a + j) + of_a, four_at(b + j) + of_b);
    const four_costs high = least_of(four_at(c + j) + of_c, four_at(d + j) + of_d);
    const four_costs least = least_of(least_of(low, high), four_at(out + j));
    std::memcpy(out + j, &least, sizeof least);
  }
}
[[gnu::target("avx")]] inline void least_along_by_avx(const four_rows& rows, const double* h, std::size_t stride,
                                                      double* out) {
  const auto [a, b, c, d] = rows;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const four_costs nothing{infinity, infinity, infinity, infinity};
  four_costs of_a = nothing, of_b = nothing, of_c = nothing, of_d = nothing;
  for (std::size_t j = 0; j < stride; j += 4) {
    const four_costs here = four_at(h + j);
    of_a = least_of(of_a, four_at(a + j) + here);
    of_b = least_of(of_b, four_at(b + j) + here);
    of_c = least_of(of_c, four_at(c + j) + here);
    of_d = least_of(of_d, four_at(d + j) + here);
  }
  const auto least = [](const four_costs& v) { return std::min(std::min(v[0], v[1]), std::min(v[2], v[3])); };
  out[0] = least(of_a);
  out[1] = least(of_b);
  out[2] = least(of_c);
  out[3] = least(of_d);
}
#endif

inline void least_down_by_any(const four_rows& rows, const double* raised, std::size_t stride, double* out) {
  const auto [a, b, c, d] = rows;
  const double of_a = raised[0], of_b = raised[1], of_c = raised[2], of_d = raised[3];
  for (std::size_t j = 0; j < stride; j += 2) {
    const two_costs low = least_of_two(two_at(a + j) + of_a, two_at(b + j) + of_b);
    const two_costs high = least_of_two(two_at(c + j) + of_c, two_at(d + j) + of_d);
    put_two(out + j, least_of_two(least_of_two(low, high), two_at(out + j)));
  }
}
inline void least_along_by_any(const four_rows& rows, const double* h, std::size_t stride, double* out) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < 4; ++i) {
    two_costs least{infinity, infinity}, others = least;
    for (std::size_t j = 0; j < stride; j += 4) {
      least = least_of_two(least, two_at(rows[i] + j) + two_at(h + j));
      others = least_of_two(others, two_at(rows[i] + j + 2) + two_at(h + j + 2));
    }
    least = least_of_two(least, others);
    out[i] = std::min(least[0], least[1]);
  }
}

/// out[j] = the least of itself and of raised[i] + rows[i][j], for `stride` costs, a multiple of four.
inline void least_down(const four_rows& rows, const double* raised, std::size_t stride, double* out) {
#if defined(__x86_64__) && defined(__GNUC__)
  if (has_avx()) return least_down_by_avx(rows, raised, stride, out);
#endif
  least_down_by_any(rows, raised, stride, out);
}

/// out[i] = the least of h[j] + rows[i][j], for `stride` costs, a multiple of four.
inline void least_along(const four_rows& rows, const double* h, std::size_t stride, double* out) {
#if defined(__x86_64__) && defined(__GNUC__)
  if (has_avx()) return least_along_by_avx(rows, h, stride, out);
#endif
  least_along_by_any(rows, h, stride, out);
}

}  // namespace shardweave::inline v0::detail
