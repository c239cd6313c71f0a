#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

/// \file
/// Enumerators by their names.

namespace shardweave::inline v0 {

/// The enumerator of exactly that name; nothing if there is none.
/// \param names  in the order of the enumerators, which count from 0
template <class Enum, std::size_t N>
[[nodiscard]] constexpr std::optional<Enum> enumerator_named(const std::array<std::string_view, N>& names,
                                                             std::string_view name) {
  for (std::size_t i = 0; i < N; ++i)
    if (names[i] == name) return static_cast<Enum>(i);
  return std::nullopt;
}

}  // namespace shardweave::inline v0
