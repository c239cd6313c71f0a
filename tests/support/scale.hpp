#pragma once

#include <cstddef>

namespace shardweave_test {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool is_sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
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

}  // namespace shardweave_test
