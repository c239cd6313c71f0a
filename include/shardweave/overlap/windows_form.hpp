#pragma once

#include <shardweave/overlap/window.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

/// \file
/// Windows by dependency: the form that asks what waits for what.

namespace shardweave::inline v0 {

/// All that a form is told about an edge. Positions are those of the order.
struct edge_site {
  std::size_t edge = 0;       ///< its number in the order of `edges(g)`
  std::size_t producer = 0;   ///< position of its source
  std::size_t consumer = 0;   ///< position of its target
  std::size_t available = 0;  ///< the first position after all computation that the communication waits for
  std::size_t needed = 0;     ///< the first position whose computation waits for it; `positions` if none does
  std::size_t positions = 0;  ///< length of the order
  hiding direction = hiding::none;
  std::span<const std::size_t> computing = {};  ///< the positions that compute, in order
};

/// Windows by dependency: communication may run from where all computation that it waits for is done to just
/// before the first computation that waits for it, so nothing hides communication that depends on it or that
/// it depends on. Whatever may move at all may move both ways, as far as the order leaves room.
struct windows_form {
  static constexpr std::string_view name = "windows";
  /// How early communication may start: at most so many computing positions before its consumer, since what arrives
  /// early takes memory. No limit on communication that may move later: nothing waits for it.
  std::size_t prefetch = no_position;
  /// Also edges without permission (`hiding::none`): in the given order they may run between their ends.
  bool every_edge = false;

  [[nodiscard]] constexpr std::optional<window> operator()(const edge_site& site) const {
    if ((site.direction == hiding::none && !every_edge) || site.needed == 0) return std::nullopt;
    const window result{std::max(site.available, nearest(site)), site.needed - 1};
    return result.first <= result.last ? std::optional(result) : std::nullopt;
  }
  friend constexpr bool operator==(const windows_form&, const windows_form&) = default;

 private:
  [[nodiscard]] constexpr std::size_t nearest(const edge_site& site) const {
    if (prefetch == no_position || allows(site.direction, hiding::later)) return 0;
    if (prefetch == 0) return site.consumer;
    const auto before =
        static_cast<std::size_t>(std::ranges::lower_bound(site.computing, site.consumer) - site.computing.begin());
    return prefetch < before ? site.computing[before - prefetch] : 0;
  }
};

}  // namespace shardweave::inline v0
