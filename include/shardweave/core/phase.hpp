#pragma once

#include <shardweave/core/enumerator_named.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

/// \file
/// The phases of a training step.

namespace shardweave::inline v0 {

/// Which part of a training step something belongs to. What a phase gives is used by it or by later ones.
enum class phase : std::uint8_t {
  forward,
  backward,
  update  ///< the optimizer's: gradients and its state become parameters
};

/// The names that files use, in the order of the enumerators.
inline constexpr std::array<std::string_view, 3> phase_names = {"forward", "backward", "update"};

/// The name that files use: "forward", "backward", "update".
[[nodiscard]] constexpr std::string_view name_of(phase when) { return phase_names[static_cast<std::size_t>(when)]; }

/// The phase of exactly that name; nothing if there is none.
[[nodiscard]] constexpr std::optional<phase> phase_from(std::string_view name) {
  return enumerator_named<phase>(phase_names, name);
}

}  // namespace shardweave::inline v0
