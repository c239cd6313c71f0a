#pragma once

#include <cstddef>
#include <vector>

namespace shardweave_test {

#if defined(SHARDWEAVE_SMALL_TESTS) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif
#else
inline constexpr bool is_sanitized = false;
#endif

/// How many random problems to try, and how many of them at least must show something: sanitized builds are slow and
/// unoptimised, and look for other mistakes than wrong answers, so they try a tenth.
[[nodiscard]] constexpr std::size_t at_scale(std::size_t count) { return is_sanitized ? (count + 9) / 10 : count; }

/// A size, or a number of steps: `usual`, or in sanitized builds the `small` one, which still reaches every path.
template <class T>
[[nodiscard]] constexpr T sized(T usual, T small) {
  return is_sanitized ? small : usual;
}

/// What to go through of a long list, such as one of real inputs: all of it, or in sanitized builds the first and every
/// fourth after it.
template <class T>
[[nodiscard]] std::vector<T> some_of(const std::vector<T>& all) {
  std::vector<T> kept;
  for (std::size_t i = 0; i < all.size(); i += sized<std::size_t>(1, 4)) kept.push_back(all[i]);
  return kept;
}

}  // namespace shardweave_test
