#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/graph/concepts.hpp>
#include <shardweave/graph/numbering.hpp>
#include <shardweave/overlap/window.hpp>
#include <shardweave/overlap/windows_form.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

/// \file
/// From permission to windows: the forms, and how a graph's edges are put in their places.

namespace shardweave::inline v0 {

/// Decides what may hide the communication of an edge: any callable that gives a window, or nothing.
///
/// A policy is called once per edge, in the order of `edges(g)`. The forms below are policies; one of them
/// may answer with two windows, each of which hides the whole amount (see `inclusive_form`).
template <class P>
concept eligibility_policy =
    std::invocable<const P&, const edge_site&> &&
    (std::convertible_to<std::invoke_result_t<const P&, const edge_site&>, std::optional<window>> ||
     std::ranges::input_range<std::invoke_result_t<const P&, const edge_site&>>);

namespace detail {
/// The windows that a form gives of an edge; a static assertion says so of anything else.
template <class Form, class Place>
void for_each_window(const Form& form, const edge_site& site, const Place& place) {
  static_assert(eligibility_policy<Form>,
                "A form must be called with an edge_site and give a window, none, or a range of windows "
                "(shardweave::eligibility_policy).");
  if constexpr (eligibility_policy<Form>) {
    if constexpr (std::convertible_to<std::invoke_result_t<const Form&, const edge_site&>, std::optional<window>>) {
      if (const std::optional<window> w = std::invoke(form, site)) place(*w);
    } else {
      for (const window& w : std::invoke(form, site)) place(w);
    }
  }
}
}  // namespace detail

/// The windows of `inclusive_form` without the consumer: earlier communication hides behind all computation before it,
/// later communication behind all computation after it. Whether that computation waits for it is not asked.
struct strict_form {
  static constexpr std::string_view name = "strict";

  [[nodiscard]] constexpr std::optional<window> operator()(const edge_site& site) const {
    const std::size_t p = site.consumer, n = site.positions;
    if (site.direction == hiding::both && n > 1) {
      if (p == 0) return window{1, n - 1};
      if (p == n - 1) return window{0, n - 2};
      return window{0, n - 1, p};
    }
    if (site.direction == hiding::earlier && p > 0) return window{0, p - 1};
    if (site.direction == hiding::later && p + 1 < n) return window{p + 1, n - 1};
    return std::nullopt;
  }
};

/// Windows from the consumer, included, to an end of the order: even the consumer's own computation hides the
/// communication that it waits for.
/// Source: the overlap rows of AutoParallel (github.com/meta-pytorch/autoparallel, pull request 353).
struct inclusive_form {
  static constexpr std::string_view name = "inclusive";
  /// An edge that may move both ways is hidden in both, up to twice its communication, as in AutoParallel.
  bool twice = false;

  /// At most two windows.
  [[nodiscard]] std::vector<window> operator()(const edge_site& site) const {
    const window before{0, site.consumer}, after{site.consumer, site.positions - 1};
    if (site.direction == hiding::both && !twice) return {{0, site.positions - 1}};
    std::vector<window> result;
    if (allows(site.direction, hiding::earlier)) result.push_back(before);
    if (allows(site.direction, hiding::later)) result.push_back(after);
    return result;
  }
};

/// Every edge on one channel.
struct one_channel {
  template <class Edge>
  constexpr std::size_t operator()(const Edge&) const {
    return 0;
  }
};

/// Puts the edges of a graph in their places: what `form` says of each edge, for the given order.
///
/// \param order      lists every vertex once; topological, if the form looks at dependencies
/// \param computes   says whether a vertex ever has computation. One that moves with its edges may answer no, so
///                   that it neither begins a window nor ends one: a cast of a parameter runs beside its gather,
///                   wherever that goes. Whoever says so leaves its computation out of what hides, too.
/// \param direction  which way an edge may move, as `hiding_of_edges` or a host's own knowledge has it
/// \param channel    what an edge moves on, any ordered value; places number them 0, 1, ... as they come up
/// \return places in the order of `edges(g)`; edges that may hide nowhere are absent
/// \throws error if the order leaves vertices out
/// Complexity: O((V + E) log E)
template <class G, std::ranges::input_range Order, class Computes, class Direction, class Form = windows_form,
          class Channel = one_channel>
[[nodiscard]] std::vector<hiding_place> hiding_places(const G& g, const Order& order, Computes computes,
                                                      Direction direction, const Form& form = {},
                                                      Channel channel = {}) {
  const vertex_numbering<G> numbering(g);
  const std::size_t n = numbering.size();
  std::vector<std::size_t> position(n, no_position), at;
  for (const vertex_t<G> v : order) {
    position[numbering(v)] = at.size();
    at.push_back(numbering(v));
  }
  for (std::size_t v = 0; v < n; ++v)
    if (position[v] == no_position || at.size() != n)
      refuse(error_category::input, "the order lists " + std::to_string(at.size()) +
                                        " vertices, expected each of the " + std::to_string(n) +
                                        " vertices of the graph once");

  // what a vertex waits for itself, and what waits for it: along the order, and back
  std::vector<bool> works(n);
  std::vector<std::size_t> available(n, 0), needed(n, n), computing;
  const auto edges_of = [&](std::size_t q) { return out_edges(numbering[at[q]], g); };
  for (std::size_t q = 0; q < n; ++q) {
    const std::size_t v = at[q];
    works[v] = std::invoke(computes, numbering[v]);
    if (works[v]) {
      available[v] = q + 1;
      computing.push_back(q);
    }
    for (auto [e, last] = edges_of(q); e != last; ++e) {
      std::size_t& next = available[numbering(target(*e, g))];
      next = std::max(next, available[v]);
    }
  }
  for (std::size_t q = n; q-- > 0;) {
    const std::size_t v = at[q];
    for (auto [e, last] = edges_of(q); e != last; ++e)
      needed[v] = std::min(needed[v], needed[numbering(target(*e, g))]);
    if (works[v]) needed[v] = q;
  }

  std::vector<hiding_place> places;
  std::map<std::decay_t<std::invoke_result_t<Channel&, edge_t<G>>>, std::size_t> channels;
  std::size_t number = 0;
  for (auto [e, last] = edges(g); e != last; ++e, ++number) {
    const std::size_t from = numbering(source(*e, g)), to = numbering(target(*e, g));
    const edge_site site{.edge = number,
                         .producer = position[from],
                         .consumer = position[to],
                         .available = available[from],
                         .needed = needed[to],
                         .positions = n,
                         .direction = std::invoke(direction, *e),
                         .computing = computing};
    const auto place = [&](const window& w) {
      const auto [entry, is_new] = channels.try_emplace(std::invoke(channel, *e), channels.size());
      places.push_back({number, w, entry->second});
    };
    detail::for_each_window(form, site, place);
  }
  return places;
}

}  // namespace shardweave::inline v0
