#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

/// \file
/// Where communication may hide.

namespace shardweave::inline v0 {

/// No position of an order; as a length, no limit.
inline constexpr std::size_t no_position = std::numeric_limits<std::size_t>::max();

/// Positions `first` to `last` of a linear order, both included; empty when `first > last`. One position may
/// be left out, but only of a window over the whole order: that is what the exact sweep can bear.
struct window {
  std::size_t first = 0;
  std::size_t last = 0;
  std::size_t except = no_position;

  /// Complexity: O(1)
  [[nodiscard]] constexpr bool contains(std::size_t position) const {
    return first <= position && position <= last && position != except;
  }
  friend bool operator==(const window&, const window&) = default;
};

/// Which way the communication of an edge may move.
enum class hiding : std::uint8_t {
  none,     ///< nowhere: its producer and its consumer wait for it
  earlier,  ///< behind computation before its consumer
  later,    ///< behind computation after its producer
  both      ///< either way
};

/// Both permissions together.
[[nodiscard]] constexpr hiding operator|(hiding a, hiding b) {
  return static_cast<hiding>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
/// True if `a` lets communication move the way of `b`, `earlier` or `later`.
[[nodiscard]] constexpr bool allows(hiding a, hiding b) {
  return (static_cast<unsigned>(a) & static_cast<unsigned>(b)) != 0;
}

/// Communication of an edge and the computation that may hide it. An edge that stands in two places is hidden
/// in both, up to twice: only the form `inclusive_form` does that, when told to.
struct hiding_place {
  std::size_t edge = 0;     ///< its number in the order of `edges(g)`
  window where = {};        ///< positions of the order
  std::size_t channel = 0;  ///< 0, 1, ...: what moves on one channel shares its computation
  friend bool operator==(const hiding_place&, const hiding_place&) = default;
};

}  // namespace shardweave::inline v0
