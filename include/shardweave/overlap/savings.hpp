#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/graph/concepts.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <optional>
#include <queue>
#include <ranges>
#include <string>
#include <vector>

/// \file
/// How much communication computation can hide, when costs and order are fixed.

namespace shardweave {
inline namespace v0 {

/// A length of time: exact (`nanoseconds`, or a signed integer of the caller's unit) or floating.
template <class T>
concept duration_value = std::same_as<T, nanoseconds> || std::signed_integral<T> || std::floating_point<T>;

/// Positions `first` to `last` of a linear order, both included; empty when `first > last`.
struct window {
  std::size_t first = 0;
  std::size_t last = 0;
};

/// Communication that computation inside `where` may hide.
template <duration_value Time>
struct hideable {
  window where;
  Time amount{};
};

/// The outcome of `hide`: what is saved, and what it was paid with.
template <duration_value Time>
struct savings {
  Time total{};              ///< sum of `hidden`, and of `spent`
  std::vector<Time> hidden;  ///< per communication, between 0 and its amount
  std::vector<Time> spent;   ///< per position, between 0 and its computation
};

/// Hides as much communication as computation allows: a unit of computation hides at most one unit of
/// communication, and communication is hidden at most once.
///
/// Each position serves the released communication whose window ends first, which is a maximum matching
/// of a convex bipartite graph.
/// Source: F. Glover, Maximum matching in a convex bipartite graph, Naval Res. Logist. 14 (1967).
///
/// \param computation  time that each position offers, not negative
/// \param demands      windows may reach past the last position; amounts are not negative
/// \throws error naming the position or demand whose time is negative or not a number
/// Complexity: O((n + m) log m) time and O(n + m) memory for n positions and m demands.
template <std::ranges::random_access_range Computation, std::ranges::random_access_range Demands,
          duration_value Time = std::ranges::range_value_t<Computation>>
  requires std::ranges::sized_range<Computation> && std::ranges::sized_range<Demands> &&
           std::same_as<std::ranges::range_value_t<Demands>, hideable<Time>>
[[nodiscard]] savings<Time> hide(const Computation& computation, const Demands& demands) {
  const std::size_t positions = std::ranges::size(computation);
  const std::size_t count = std::ranges::size(demands);
  const auto refuse_unless = [](bool good, const char* what, std::size_t index) {
    if (!good)
      refuse(error_category::input, std::string(what) + ' ' + std::to_string(index) + " is negative or not a number");
  };

  savings<Time> result{Time{}, std::vector<Time>(count), std::vector<Time>(positions)};
  std::vector<std::size_t> by_release;
  for (std::size_t d = 0; d < count; ++d) {
    refuse_unless(demands[d].amount >= Time{}, "the amount of demand", d);
    if (demands[d].where.first <= demands[d].where.last) by_release.push_back(d);
  }
  std::ranges::stable_sort(by_release, {}, [&](std::size_t d) { return demands[d].where.first; });

  const auto ends_later = [&](std::size_t a, std::size_t b) { return demands[a].where.last > demands[b].where.last; };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(ends_later)> open(ends_later);
  auto next = by_release.begin();
  for (std::size_t q = 0; q < positions; ++q) {
    refuse_unless(computation[q] >= Time{}, "the computation at position", q);
    for (; next != by_release.end() && demands[*next].where.first <= q; ++next) open.push(*next);
    Time left = computation[q];
    while (left > Time{} && !open.empty()) {
      const std::size_t d = open.top();
      const Time wanted = demands[d].amount - result.hidden[d];
      if (demands[d].where.last < q || !(wanted > Time{})) {
        open.pop();
        continue;
      }
      const Time served = std::min(left, wanted);
      result.hidden[d] += served;
      left -= served;
    }
    result.spent[q] = computation[q] - left;
    result.total += result.spent[q];
  }
  return result;
}

/// The same for the edges of a graph: `order` lists vertices, `computation` prices them, `communication`
/// prices edges, and `where(edge)` says which positions may hide an edge, or nothing.
///
/// `hidden` follows the order of `edges(g)`; edges without a window have 0.
/// \pre `order` lists vertices of `g`, each at most once.
/// \throws error as above
/// Complexity: O((V + E) log E) time.
template <planning_graph G, std::ranges::input_range Order, readable_map<vertex_t<G>> Computation,
          readable_map<edge_t<G>> Communication, std::invocable<edge_t<G>> Where,
          duration_value Time = map_value_t<Computation>>
  requires std::same_as<map_value_t<Communication>, Time> &&
           std::convertible_to<std::invoke_result_t<Where, edge_t<G>>, std::optional<window>>
[[nodiscard]] savings<Time> hide(const G& g, const Order& order, Computation computation, Communication communication,
                                 Where where) {
  std::vector<Time> offered;
  for (const vertex_t<G> v : order) offered.push_back(get(computation, v));
  std::vector<hideable<Time>> demands;
  demands.reserve(num_edges(g));
  for (auto [e, last] = edges(g); e != last; ++e) {
    const std::optional<window> w = where(*e);
    demands.push_back(w ? hideable<Time>{*w, get(communication, *e)} : hideable<Time>{{1, 0}, Time{}});
  }
  return hide(offered, demands);
}

}  // namespace v0
}  // namespace shardweave
