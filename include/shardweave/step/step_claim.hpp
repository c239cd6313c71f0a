#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/step/detail/places_between.hpp>
#include <shardweave/step/step_work.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <vector>

/// \file
/// Lower bounds on the makespan of every plan, as sums of vertex times, channel loads and chains of edges, and mixtures
/// of them.

namespace shardweave::inline v0 {

/// A lower bound on the makespan of every plan, whatever the placement, the buckets and the order: the load of one
/// channel, the length of a path, or the length of a path (the head) plus the load of a channel that depends on its
/// last vertex. It is linear in the work (`value_of`), with each edge in the way in which the plan does it. The load of
/// a channel may have another term, a price times what is held above a limit: it is not positive for any plan, since
/// plans keep to their limits.
struct step_claim {
  static constexpr std::uint32_t path = ~0U;

  std::uint32_t channel = path;  ///< whose loads are added up, for channel 0 with the times of all vertices; or `path`
  std::uint32_t first = 0;       ///< of a path, or of a head: its first vertex
  std::vector<std::uint32_t> edges = {};  ///< of a channel: at most one of each share; of a path: in its order
  /// Of a channel: whether a path, the head, precedes the load. It goes from `first` along `head`; the load is that of
  /// work which depends on its last vertex: of vertices `later`, in ascending order, and of edges whose producer or
  /// `since` is that vertex or reachable from it.
  bool has_head = false;
  std::vector<std::uint32_t> head = {};
  std::vector<std::uint32_t> later = {};
  /// Of the compute stream after a head: edges of a path, in its order, whose chains count as idle time of the stream,
  /// because all other work that the claim counts precedes their producer's end or follows their consumer's start.
  std::vector<std::uint32_t> waits = {};
  /// Of a channel: the price of a unit by which the load of all edges on channel `held` exceeds its limit; 0: no such
  /// term.
  double price = 0;
  std::uint32_t held = 0;

  friend bool operator==(const step_claim&, const step_claim&) = default;
};

/// A lower bound, the weighted claims that prove it, and the placements that were met on the way.
struct step_bounds {
  double bound = -std::numeric_limits<double>::infinity();  ///< in the unit of the work; no plan ends earlier
  /// No weights on claims of these forms prove more: for some mixture of placements none of these claims exceeds this.
  double limit = std::numeric_limits<double>::infinity();
  std::vector<step_claim> claims = {};      ///< those of positive weight
  std::vector<double> weights = {};         ///< one per claim; they add up to 1
  std::vector<assignment> placements = {};  ///< each the best under some prices, the starts first; no two are equal
  std::size_t rounds = 0;
  bool stopped = false;  ///< a limit ended the search
};

/// The work of all vertices and edges: under one assignment, or the average over a mixture of several.
struct taken_work {
  std::vector<double> time;   ///< per vertex
  std::vector<double> load;   ///< per edge and channel: `load[edge * channels + channel]`
  std::vector<double> chain;  ///< per edge
};

/// The price of each unit of work in time of the step: the weights of the claims that count it, added up (`prices_of`).
struct work_prices {
  std::vector<double> time;   ///< per vertex
  std::vector<double> load;   ///< per edge and channel, as in `taken_work`
  std::vector<double> chain;  ///< per edge
};

/// The work under an assignment.
/// \param prices  if given, each edge takes its way of least cost under them; otherwise its first way
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

/// Visits the terms of a claim, but not its price on held amounts: `vertex(v)` for the time of each vertex, `load(e)`
/// for the load of each edge on the claim's channel, `chain(e)` for the chain of each edge.
/// Complexity: linear in the claim's edges and vertices; for the whole compute stream also in the vertices of the work
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

/// The value of a claim for given work; for the work of a placement it bounds the makespan of its plans from below.
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

/// The constant part of a mixture of claims: limits times their prices, which is subtracted from the cost of the priced
/// work.
/// Complexity: O(claims)
[[nodiscard]] inline double price_of_limits(std::span<const step_claim> claims, std::span<const double> weights,
                                            const step_work& work) {
  double sum = 0;
  for (std::size_t r = 0; r < claims.size(); ++r)
    if (claims[r].price > 0) sum += weights[r] * claims[r].price * work.limits[claims[r].held - work.machines()];
  return sum;
}

/// By vertex: whether it is `v` or reachable from it, so that it starts after the end of `v` in every plan.
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

/// Refuses waits that are not edges of one path after the head, and counted work that may run during a wait.
/// \param end  the last vertex of the head
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

/// Refuses a claim that need not be a lower bound: edges that are no path, a share that is counted twice, work that
/// does not depend on the head or may run during a wait, late work that is counted together with its vertices, a price
/// that is negative or not finite.
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

/// Prices of all work under a mixture of claims.
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
