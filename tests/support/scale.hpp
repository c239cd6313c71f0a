#pragma once

#include <cstddef>
#include <vector>

namespace shardweave_test {

// Small: under sanitizers, whose builds are slow, unoptimized, and look for other mistakes than wrong answers; and
// where `tests/run.sh` leaves the rest to `tests/run.sh full`.
#if defined(SHARDWEAVE_SMALL_TESTS) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_small_scale = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool is_small_scale = true;
#else
inline constexpr bool is_small_scale = false;
#endif
#else
inline constexpr bool is_small_scale = false;
#endif

/// How many random problems to try, and how many of them at least must show something: a tenth at small scale.
[[nodiscard]] constexpr std::size_t at_scale(std::size_t count) { return is_small_scale ? (count + 9) / 10 : count; }

/// A size, or a number of steps: `usual`, or the `small` one, which still reaches every path.
template <class T>
[[nodiscard]] constexpr T sized(T usual, T small) {
  return is_small_scale ? small : usual;
}

/// What to go through of a long list, such as one of real inputs: all of it, or at small scale the first and
/// every fourth after it.
template <class T>
[[nodiscard]] std::vector<T> some_of(const std::vector<T>& all) {
  std::vector<T> kept;
  for (std::size_t i = 0; i < all.size(); i += sized<std::size_t>(1, 4)) kept.push_back(all[i]);
  return kept;
}

}  // namespace shardweave_test
