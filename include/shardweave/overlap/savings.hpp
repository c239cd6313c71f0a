#pragma once

#include <shardweave/graph/concepts.hpp>
#include <shardweave/overlap/detail/sweep.hpp>
#include <shardweave/overlap/hideable.hpp>
#include <shardweave/overlap/window.hpp>

#include <concepts>
#include <cstddef>
#include <optional>
#include <ranges>
#include <type_traits>
#include <vector>

/// \file
/// How much communication computation can hide, when costs and order are fixed.

namespace shardweave::inline v0 {

/// Hides as much communication as computation allows: a unit of computation hides at most one unit of
/// communication per channel, and communication is hidden at most once.
///
/// Each position serves the released communication whose window ends first, which is a maximum matching
/// of a convex bipartite graph. What may use all positions but one is served from what that leaves idle.
/// Source: F. Glover, Maximum matching in a convex bipartite graph, Naval Res. Logist. 14 (1967).
///
/// \param computation  time that each position offers to each channel, not negative
/// \param demands      windows may reach past the last position; amounts are not negative
/// \throws error naming the position or demand whose time is negative or not a number, or the demand that
///         leaves a position out of a window that is not the whole order
/// Complexity: O(k n + m) for n positions, m demands and k channels, with a factor log_64 m for the open demands.
template <class Computation, class Demands, class Time = typename detail::time_of<Computation>::type>
[[nodiscard]] savings<Time> hide(const Computation& computation, const Demands& demands) {
  if constexpr (detail::may_hide<Computation, Demands>()) {
    const auto by_channel = detail::checked<Time>(computation, demands);
    savings<Time> result{Time{}, std::vector<Time>(std::ranges::size(demands)), {}};
    for (const std::vector<std::size_t>& chosen : by_channel.chosen) {
      auto swept = detail::sweep_channel<Time>(computation, demands, by_channel.windows, chosen, result.hidden);
      detail::fill_idle<Time>(demands, by_channel.windows, chosen, swept, result.hidden);
      for (std::size_t q = 0; q < swept.idle.size(); ++q) {
        result.spent.push_back(computation[q] - swept.idle[q]);
        result.total += result.spent.back();
      }
    }
    return result;
  }
}

/// What hides what where `hide` reaches its total, in no order. Pieces are not negative; a demand and a position may
/// have several.
/// \throws error as `hide` Complexity: as `hide`
template <class Computation, class Demands, class Time = typename detail::time_of<Computation>::type>
[[nodiscard]] std::vector<hidden_piece<Time>> hide_in_pieces(const Computation& computation, const Demands& demands) {
  if constexpr (detail::may_hide<Computation, Demands>()) {
    const auto by_channel = detail::checked<Time>(computation, demands);
    std::vector<Time> hidden(std::ranges::size(demands));
    std::vector<hidden_piece<Time>> result;
    for (const std::vector<std::size_t>& chosen : by_channel.chosen) {
      auto swept = detail::sweep_channel<Time>(computation, demands, by_channel.windows, chosen, hidden);
      detail::fill_idle<Time>(demands, by_channel.windows, chosen, swept, hidden);
      result.insert(result.end(), swept.pieces.begin(), swept.pieces.end());
    }
    return result;
  }
}

namespace detail {
/// Whether a graph and what prices and places its edges are such; a static assertion says so of anything else.
template <class G, class Computation, class Communication, class Where>
[[nodiscard]] consteval bool may_hide_edges() {
  if constexpr (is_graph<G>())
    if constexpr (is_map<Computation, vertex_t<G>>() && is_map<Communication, edge_t<G>>()) {
      constexpr bool are_times = duration_value<map_value_t<Computation>> &&
                                 std::same_as<map_value_t<Communication>, map_value_t<Computation>>;
      constexpr bool are_windows = std::is_invocable_r_v<std::optional<window>, Where&, edge_t<G>>;
      static_assert(are_times,
                    "Computation and communication must have one type of time (shardweave::duration_value).");
      static_assert(are_windows, "What says where an edge may hide must be called with one and give a window or none.");
      return are_times && are_windows;
    }
  return false;
}
}  // namespace detail

/// The same as `hide` for the edges of a graph, all on one channel: `order` lists vertices, `computation` prices them,
/// `communication` prices edges, and `where(edge)` says which positions may hide an edge, or nothing.
///
/// `hidden` follows the order of `edges(g)`; edges without a window have 0.
/// \pre `order` lists vertices of `g`, each at most once.
/// \throws error as above; demand i is edge i of `edges(g)`
/// Complexity: O(V + E), with the same factor.
template <class G, std::ranges::input_range Order, class Computation, class Communication, class Where>
[[nodiscard]] auto hide(const G& g, const Order& order, Computation computation, Communication communication,
                        Where where) {
  if constexpr (detail::may_hide_edges<G, Computation, Communication, Where>()) {
    using time = map_value_t<Computation>;
    std::vector<time> offered;
    for (const vertex_t<G> v : order) offered.push_back(get(computation, v));
    std::vector<hideable<time>> demands;
    demands.reserve(num_edges(g));
    for (auto [e, last] = edges(g); e != last; ++e) {
      const std::optional<window> w = where(*e);
      demands.push_back(w ? hideable<time>{*w, get(communication, *e)} : hideable<time>{{1, 0}, time{}});
    }
    return hide(offered, demands);
  }
}

}  // namespace shardweave::inline v0
