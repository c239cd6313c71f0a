#pragma once

#include <shardweave/overlap/hideable.hpp>
#include <shardweave/overlap/window.hpp>

#include <concepts>
#include <cstddef>
#include <optional>
#include <ranges>
#include <vector>

/// \file
/// Positions that no window tells apart are one position: savings, prices and rows need only segments.

namespace shardweave::inline v0 {

/// Runs of positions that lie in the same windows; what a window leaves out has a segment, too. Computation of a
/// segment is the sum over its positions, and the savings are the same as before.
struct order_segments {
  std::size_t positions = 0;
  std::vector<window> runs;             ///< positions of each segment, in order; none is empty
  std::vector<std::size_t> segment_of;  ///< by position; `no_position` where no window reaches

  [[nodiscard]] std::size_t size() const { return runs.size(); }

  /// A window of positions in terms of segments; empty (1 to 0) if it holds none.
  /// \pre it is one of the windows that the segments were made of
  [[nodiscard]] window operator()(const window& w) const {
    const std::optional<window> n = detail::normalized(w, positions, 0);
    if (!n) return {1, 0};
    return {segment_of[n->first], segment_of[n->last], n->except == no_position ? no_position : segment_of[n->except]};
  }

  /// Adds up computation.
  template <computation_range Computation>
  [[nodiscard]] auto sums(const Computation& computation) const {
    std::vector<std::ranges::range_value_t<Computation>> result(size());
    for (std::size_t q = 0; q < positions; ++q)
      if (segment_of[q] != no_position) result[segment_of[q]] += computation[q];
    return result;
  }
};

/// Splits an order where windows begin and end. Channels share segments.
///
/// \param demands  whatever has a member `where`: `hiding_place`, `hideable`
/// \throws error if a window that is not the whole order leaves a position out
/// Complexity: O(n + m)
template <std::ranges::input_range Demands>
  requires requires(const std::ranges::range_value_t<Demands>& d) {
    { d.where } -> std::convertible_to<window>;
  }
[[nodiscard]] order_segments segments_of(const Demands& demands, std::size_t positions) {
  std::vector<bool> begins(positions + 1);
  std::vector<std::ptrdiff_t> covering(positions + 1);
  std::size_t index = 0;
  for (const auto& d : demands) {
    const std::optional<window> w = detail::normalized(d.where, positions, index++);
    if (!w) continue;
    begins[w->first] = begins[w->last + 1] = true;
    if (w->except != no_position) begins[w->except] = begins[w->except + 1] = true;
    ++covering[w->first];
    --covering[w->last + 1];
  }
  order_segments result{positions, {}, std::vector<std::size_t>(positions, no_position)};
  std::ptrdiff_t windows = 0;
  for (std::size_t q = 0; q < positions; ++q) {
    windows += covering[q];
    if (windows == 0) continue;
    if (begins[q]) result.runs.push_back({q, q});
    result.runs.back().last = q;
    result.segment_of[q] = result.size() - 1;
  }
  return result;
}

}  // namespace shardweave::inline v0
