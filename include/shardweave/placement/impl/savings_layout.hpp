#pragma once

#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/graph/ready_order.hpp>
#include <shardweave/graph/stable_order.hpp>
#include <shardweave/overlap/eligibility.hpp>
#include <shardweave/overlap/forms.hpp>
#include <shardweave/placement/savings_layout.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

/// \file
/// Definition of `layout_of`.

namespace shardweave::inline v0 {

namespace detail {

/// The order in which the vertices of a problem run.
/// \throws error as `layout_of`
template <cost_value Cost>
[[nodiscard]] std::vector<std::uint32_t> order_of_savings(const placement_description<Cost>& d,
                                                          const compressed_graph& graph, bool has_windows) {
  const auto back = std::ranges::find_if(d.edges, [](const described_edge& e) { return e.from >= e.to; });
  if (back != d.edges.end()) {
    const bool asks = d.counted == savings_form::windows;
    if (asks && has_windows)
      refuse(error_category::input, d.name_of_edge(static_cast<std::size_t>(back - d.edges.begin())) +
                                        " runs against the order of the vertices, of which the overlap section gives "
                                        "windows; form 'windows' needs every producer before its consumers there");
    if (asks) return stable_topological_order(graph);
    std::vector<std::uint32_t> waiting, order;
    if (!has_windows) order = ready_order(graph, waiting);
    if (order.size() == graph.vertex_count()) return order;
  }
  std::vector<std::uint32_t> listed(d.vertices.size());
  std::iota(listed.begin(), listed.end(), 0U);
  return listed;
}

}  // namespace detail

template <cost_value Cost>
savings_layout layout_of(const placement_description<Cost>& d) {
  savings_layout result;
  const bool every_edge = d.counted == savings_form::windows && d.windows.every_edge;
  if (d.counted == savings_form::off || (d.overlap.empty() && !every_edge)) return result;
  const std::size_t n = d.vertices.size();
  std::vector<hiding> direction(d.edges.size(), hiding::none);
  std::vector<std::int64_t> channel(d.edges.size());
  std::vector<bool> early(n), late(n), has_window(d.edges.size());
  bool has_windows = false;
  for (const hideable_edge& h : d.overlap) {
    direction[h.edge] = direction[h.edge] | h.direction;
    if (h.direction != hiding::none) channel[h.edge] = h.channel;
    if (allows(h.direction, hiding::earlier)) early[d.edges[h.edge].from] = true;
    if (allows(h.direction, hiding::later)) late[d.edges[h.edge].to] = true;
    if (h.direction == hiding::none) has_windows = has_window[h.edge] = true;
  }

  std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;
  for (const described_edge& e : d.edges) ends.emplace_back(e.from, e.to);
  const compressed_graph graph(n, ends);
  result.order = detail::order_of_savings(d, graph, has_windows);
  result.idle.assign(n, false);
  const auto computes = [&](std::uint32_t v) {
    return !result.idle[v] && std::any_of(d.vertices[v].compute.begin(), d.vertices[v].compute.end(),
                                          [](Cost c) { return amount_of(c) > Cost{}; });
  };
  const auto place = [&](const auto& form) {
    result.places = hiding_places(
        graph, result.order, computes, [&](const auto& e) { return direction[e.index]; }, form,
        [&](const auto& e) { return channel[e.index]; });
  };
  switch (d.counted) {
    case savings_form::off:
      break;
    case savings_form::windows: {
      const auto may_wait = [&](std::uint32_t v) { return graph.in(v).size() <= 1 && late[v]; };
      const std::vector<bool> tail = feeding_only(
          graph, [&](std::uint32_t v) { return graph.out(v).empty() && (may_wait(v) || (late[v] && !computes(v))); },
          may_wait);
      for (std::uint32_t v = 0; v < n; ++v) result.idle[v] = early[v] || tail[v];
      place([&](const edge_site& site) {
        const bool is_given = site.direction == hiding::none && has_window[site.edge];
        return is_given ? std::nullopt : d.windows(site);
      });
      break;
    }
    case savings_form::strict:
      place(strict_form{});
      break;
    case savings_form::inclusive:
      place(inclusive_form{});
      break;
    case savings_form::inclusive_twice:
      place(inclusive_form{.twice = true});
      break;
  }
  if (!has_windows) return result;

  std::map<std::int64_t, std::size_t> numbers;  // as `hiding_places` numbers them, then those of the windows
  for (std::size_t i = 0; i < result.places.size(); ++i)
    numbers.try_emplace(channel[result.places[i].edge], result.places[i].channel);
  for (const hideable_edge& h : d.overlap)
    if (h.direction == hiding::none)
      result.places.push_back(
          {h.edge, {h.first, h.last}, numbers.try_emplace(h.channel, numbers.size()).first->second});
  return result;
}

}  // namespace shardweave::inline v0
