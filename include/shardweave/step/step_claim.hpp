#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/step/detail/places_between.hpp>
#include <shardweave/step/step_work.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

/// \file
/// Why no plan of a placement ends before some time: a sum of what the placement takes.

namespace shardweave::inline v0 {

/// A sum of times, loads and chains that the end of every plan is not below, whatever the placement, the buckets and
/// the order, each edge done in the way in which the plan does it: the work of a channel, what lies along a path, or a
/// path and then all work of a channel that cannot begin before the path's end. To the work of a channel what is held
/// above a limit may be added at a price, since no plan holds more.
struct step_claim {
  static constexpr std::uint32_t path = ~0U;

  std::uint32_t channel = path;  ///< whose loads are added up (of the first one, the times of all vertices, too)
  std::uint32_t first = 0;       ///< of a path, or of a head: its first vertex
  std::vector<std::uint32_t> edges = {};  ///< of a channel: one of each share at most; of a path: in their order
  /// Of a channel: whether a path comes before what is counted of it. It goes from `first` along `head`, and what is
  /// counted comes after its last vertex: of vertices `later`, in ascending order, and edges that begin there or since.
  bool has_head = false;
  std::vector<std::uint32_t> head = {};
  std::vector<std::uint32_t> later = {};
  /// Of the compute stream after a head: edges one after another whose chains it waits for, as all that is counted
  /// comes before the producer's end or after the consumer's start.
  std::vector<std::uint32_t> waits = {};
  /// Of a channel: what a unit above the limit of channel `held` is worth, all edges counted; 0: nothing.
  double price = 0;
  std::uint32_t held = 0;

  friend bool operator==(const step_claim&, const step_claim&) = default;
};

/// What every vertex and edge takes: under one assignment, or on average over several.
struct taken_work {
  std::vector<double> time;   ///< per vertex
  std::vector<double> load;   ///< per edge, channel by channel
  std::vector<double> chain;  ///< per edge
};

/// What a unit of everything is worth in step time, by claims and their weights.
struct work_prices {
  std::vector<double> time;   ///< per vertex
  std::vector<double> load;   ///< per edge, channel by channel
  std::vector<double> chain;  ///< per edge
};

/// \param prices  if told, each edge does its work in the way that is worth least; else in its first way
/// \pre one strategy per vertex, each below the vertex's count
/// Complexity: O(V + channels * E), times the ways of edges
[[nodiscard]] inline taken_work work_of(const step_work& work, std::span<const strategy> choice,
                                        const work_prices* prices = nullptr) {
  taken_work taken;
  for (std::uint32_t v = 0; v < work.vertex_count(); ++v) taken.time.push_back(work.time(v, choice[v]));
  taken.load.reserve(work.edges.size() * work.channels);
  for (std::size_t i = 0; i < work.edges.size(); ++i) {
    const work_edge& e = work.edges[i];
    const strategy a = choice[e.from], b = choice[e.to];
    const std::size_t way =
        prices == nullptr || work.tables[e.table].ways() == 1
            ? 0
            : work.cheapest_way(e, a, b, std::span(prices->load).subspan(i * work.channels, work.channels));
    for (std::size_t c = 0; c < work.channels; ++c) taken.load.push_back(work.load(e, c, a, b, way));
    taken.chain.push_back(work.chain(e, choice[e.from], choice[e.to]));
  }
  return taken;
}

/// Tells what a claim counts, its price on what is held aside: `vertex(v)` for the time of each vertex, `load(e)` for
/// the load of each edge on the claim's channel, `chain(e)` for the chain of each edge.
/// Complexity: linear in the claim's edges and vertices, and for the whole compute stream in those of the work
template <class Vertex, class Load, class Chain>
void for_each_counted(const step_claim& claim, const step_work& work, const Vertex& vertex, const Load& load,
                      const Chain& chain) {
  const auto along = [&](const std::vector<std::uint32_t>& path) {
    vertex(claim.first);
    for (const std::uint32_t e : path) {
      chain(e);
      vertex(work.edges[e].to);
    }
  };
  if (claim.channel == step_claim::path) return along(claim.edges);
  if (claim.has_head) along(claim.head);
  if (claim.channel == 0 && claim.has_head)
    for (const std::uint32_t v : claim.later) vertex(v);
  if (claim.channel == 0 && !claim.has_head)
    for (std::uint32_t v = 0; v < work.vertex_count(); ++v) vertex(v);
  for (const std::uint32_t e : claim.edges) load(e);
  for (const std::uint32_t e : claim.waits) chain(e);
}

/// What a claim comes to.
/// Complexity: that of `for_each_counted`, and with a price linear in all edges
[[nodiscard]] inline double value_of(const step_claim& claim, const step_work& work, const taken_work& taken) {
  double sum = 0;
  for_each_counted(
      claim, work, [&](std::uint32_t v) { sum += taken.time[v]; },
      [&](std::uint32_t e) { sum += taken.load[e * work.channels + claim.channel]; },
      [&](std::uint32_t e) { sum += taken.chain[e]; });
  if (claim.price > 0) {
    double held = -work.limits[claim.held - work.machines()];
    for (std::size_t e = 0; e < work.edges.size(); ++e) held += taken.load[e * work.channels + claim.held];
    sum += claim.price * held;
  }
  return sum;
}

/// Of a mixture of claims: how much of it is not work but limits, at their prices, which the work has to make up for.
/// Complexity: O(claims)
[[nodiscard]] inline double price_of_limits(std::span<const step_claim> claims, std::span<const double> weights,
                                            const step_work& work) {
  double sum = 0;
  for (std::size_t r = 0; r < claims.size(); ++r)
    if (claims[r].price > 0) sum += weights[r] * claims[r].price * work.limits[claims[r].held - work.machines()];
  return sum;
}

/// By vertex: whether it is `v`, or comes after its end in every plan.
/// Complexity: O(V + E)
[[nodiscard]] inline std::vector<bool> reached_from(const step_work& work, std::uint32_t v) {
  std::vector<std::vector<std::uint32_t>> out(work.vertex_count());
  for (const work_edge& e : work.edges) out[e.from].push_back(e.to);
  std::vector<bool> is_reached(work.vertex_count());
  is_reached[v] = true;
  for (std::vector<std::uint32_t> open{v}; !open.empty();) {
    const std::uint32_t at = open.back();
    open.pop_back();
    for (const std::uint32_t to : out[at]) {
      if (is_reached[to]) continue;
      is_reached[to] = true;
      open.push_back(to);
    }
  }
  return is_reached;
}

namespace detail {

/// \param end  where the head ends
inline void validate_waits(const step_claim& claim, const step_work& work, std::uint32_t end) {
  const auto refuse_wait = [](std::uint32_t e, const std::string& what) {
    refuse(error_category::input, "a claim about the step: wait " + std::to_string(e) + " " + what);
  };
  for (const std::uint32_t e : claim.waits)
    if (e >= work.edges.size())
      refuse_wait(e, "does not exist, expected a number below " + std::to_string(work.edges.size()));
  if (claim.channel != 0) refuse_wait(claim.waits.front(), "is of another channel than the compute stream, which is 0");
  const places_between places(work, claim.waits);
  for (std::uint32_t k = 0; k < claim.waits.size(); ++k) {
    const std::uint32_t before = k == 0 ? end : work.edges[claim.waits[k - 1]].to;
    if (places.before[before] != k || places.after[work.edges[claim.waits[k]].from] != k)
      refuse_wait(claim.waits[k], "does not come after vertex " + std::to_string(before));
  }
  for (const std::uint32_t v : claim.later)
    if (places.before[v] > places.after[v])
      refuse_wait(claim.waits[places.after[v]], "may be done while vertex " + std::to_string(v) + " runs");
  for (const std::uint32_t e : claim.edges) {
    const auto [after, before] = places.of(work.edges[e]);
    if (before > after) refuse_wait(claim.waits[after], "may be done during the work of edge " + std::to_string(e));
  }
}

}  // namespace detail

/// Refuses a claim that need not hold: a path that is none, a share that is counted twice.
/// \throws error (input) naming the edge
inline void validate(const step_claim& claim, const step_work& work) {
  const auto refuse_edge = [](std::uint32_t e, const std::string& what) {
    refuse(error_category::input, "a claim about the step: edge " + std::to_string(e) + " " + what);
  };
  for (const std::uint32_t e : claim.edges)
    if (e >= work.edges.size())
      refuse_edge(e, "does not exist, expected a number below " + std::to_string(work.edges.size()));
  const auto end_of_path = [&](const std::vector<std::uint32_t>& edges) {
    if (claim.first >= work.vertex_count())
      refuse(error_category::input, "a claim about the step: vertex " + std::to_string(claim.first) +
                                        " does not exist, expected a number below " +
                                        std::to_string(work.vertex_count()));
    std::uint32_t at = claim.first;
    for (const std::uint32_t e : edges) {
      if (work.edges[e].from != at)
        refuse_edge(e, "begins at vertex " + std::to_string(work.edges[e].from) + ", expected " + std::to_string(at) +
                           ", where the path has come to");
      at = work.edges[e].to;
    }
    return at;
  };
  if (claim.channel == step_claim::path) {
    if (claim.has_head || !claim.later.empty() || claim.price != 0)
      refuse(error_category::input, "a claim about the step: a path has a head, or a price, expected neither");
    if (!claim.waits.empty()) refuse(error_category::input, "a claim about the step: a path has waits, expected none");
    end_of_path(claim.edges);
    return;
  }
  if (claim.channel >= work.machines())
    refuse(error_category::input, "a claim about the step: channel " + std::to_string(claim.channel) +
                                      " does not exist, expected a number below " + std::to_string(work.machines()));
  std::vector<bool> counted(work.shares);
  for (const std::uint32_t e : claim.edges) {
    if (counted[work.edges[e].share]) refuse_edge(e, "is of a share that the claim counts already");
    counted[work.edges[e].share] = true;
  }
  if (!(claim.price >= 0) || !std::isfinite(claim.price))
    refuse(error_category::input, "a claim about the step: a price of " + number_text(claim.price) +
                                      ", expected a number that is not negative");
  if (claim.price > 0 && (claim.held < work.machines() || claim.held >= work.channels))
    refuse(error_category::input, "a claim about the step: channel " + std::to_string(claim.held) +
                                      " has no limit, expected one from " + std::to_string(work.machines()) +
                                      " to below " + std::to_string(work.channels));
  const std::set<std::uint32_t> chosen(claim.edges.begin(), claim.edges.end());
  for (const late_work& late : work.late) {
    if (!chosen.contains(late.edge)) continue;
    const bool counts_all = claim.channel == 0 && !claim.has_head;
    const auto is_counted = [&](std::uint32_t v) {
      return std::ranges::binary_search(claim.later, v) || v == claim.first;
    };
    if (counts_all || std::ranges::any_of(late.vertices, is_counted) ||
        std::ranges::any_of(claim.head, [&](std::uint32_t e) {
          return e < work.edges.size() && std::ranges::binary_search(late.vertices, work.edges[e].to);
        }))
      refuse_edge(late.edge, "is the time of vertices that the claim counts, too");
  }
  if (!claim.has_head) {
    if (!claim.head.empty() || !claim.later.empty() || !claim.waits.empty())
      refuse(error_category::input, "a claim about the step: it has edges or vertices of a head that it has not");
    return;
  }
  for (const std::uint32_t e : claim.head)
    if (e >= work.edges.size())
      refuse_edge(e, "does not exist, expected a number below " + std::to_string(work.edges.size()));
  const std::uint32_t end = end_of_path(claim.head);
  const std::vector<bool> is_after = reached_from(work, end);
  for (const std::uint32_t e : claim.edges) {
    const std::uint32_t since = work.edges[e].since;
    if (!is_after[work.edges[e].from] && !(since < is_after.size() && is_after[since]))
      refuse_edge(e, "may be done before vertex " + std::to_string(end) + ", at which the head ends");
  }
  if (claim.channel != 0 && !claim.later.empty())
    refuse(error_category::input, "a claim about the step: it counts vertices after its head on channel " +
                                      std::to_string(claim.channel) + ", expected the compute stream, which is 0");
  for (std::size_t i = 0; i < claim.later.size(); ++i) {
    const std::uint32_t v = claim.later[i];
    if (v >= is_after.size() || v == end || !is_after[v] || (i > 0 && v <= claim.later[i - 1]))
      refuse(error_category::input, "a claim about the step: vertex " + std::to_string(v) +
                                        " does not come after vertex " + std::to_string(end) +
                                        ", at which the head ends, or is counted twice");
  }
  if (!claim.waits.empty()) detail::validate_waits(claim, work, end);
}

/// Prices of the work that a mixture of claims counts, by vertex, edge and channel.
/// \pre as many weights as claims, valid ones
/// Complexity: that of `for_each_counted` for each claim, and O(E) for each that has a price
[[nodiscard]] inline work_prices prices_of(std::span<const step_claim> claims, std::span<const double> weights,
                                           const step_work& work) {
  work_prices prices{std::vector<double>(work.vertex_count()), std::vector<double>(work.edges.size() * work.channels),
                     std::vector<double>(work.edges.size())};
  for (std::size_t r = 0; r < claims.size(); ++r) {
    const double w = weights[r];
    if (w == 0) continue;
    for_each_counted(
        claims[r], work, [&](std::uint32_t v) { prices.time[v] += w; },
        [&](std::uint32_t e) { prices.load[e * work.channels + claims[r].channel] += w; },
        [&](std::uint32_t e) { prices.chain[e] += w; });
    if (claims[r].price > 0)
      for (std::size_t e = 0; e < work.edges.size(); ++e)
        prices.load[e * work.channels + claims[r].held] += w * claims[r].price;
  }
  return prices;
}

}  // namespace shardweave::inline v0
