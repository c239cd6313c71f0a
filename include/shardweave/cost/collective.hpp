#pragma once

#include <shardweave/core/enumerator_named.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

/// \file
/// The collectives that the library knows, and their names.

namespace shardweave::inline v0 {

/// What a collective does. Cost models answer for all but the last.
enum class collective : std::uint8_t {
  all_gather,
  reduce_scatter,
  all_reduce,
  all_to_all,
  shift,  ///< each rank's buffer goes to the next rank of the group, the last one's to the first: a step around a ring
  other   ///< anything else: a broadcast, single sends. It takes the time that its task states, and is never merged
};

/// The names that files use, in the order of the enumerators.
inline constexpr std::array<std::string_view, 6> collective_names = {"all_gather", "reduce_scatter", "all_reduce",
                                                                     "all_to_all", "shift",          "other"};
/// Those for which cost models answer.
inline constexpr std::array<collective, 5> priced_collectives = {collective::all_gather, collective::reduce_scatter,
                                                                 collective::all_reduce, collective::all_to_all,
                                                                 collective::shift};

/// The name that files use, for example "all_gather".
[[nodiscard]] constexpr std::string_view name_of(collective kind) {
  return collective_names[static_cast<std::size_t>(kind)];
}

/// The collective of exactly that name; nothing if there is none.
[[nodiscard]] constexpr std::optional<collective> collective_from(std::string_view name) {
  return enumerator_named<collective>(collective_names, name);
}

/// Whether several can be launched as one: their buffers can be packed side by side. Those of an all_to_all cannot, and
/// those of a shift, which come one after the other, need not.
[[nodiscard]] constexpr bool is_mergeable(collective kind) {
  return kind == collective::all_gather || kind == collective::reduce_scatter || kind == collective::all_reduce;
}

}  // namespace shardweave::inline v0
