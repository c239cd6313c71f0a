#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/step/step_work.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// \file
/// Why no plan of a placement ends before some time: a sum of what the placement takes.

namespace shardweave {
inline namespace v0 {

/// A sum of times, loads and chains that the end of every plan is not below, whatever the placement, the buckets and
/// the order: the work of a channel, or what lies along a path.
struct step_claim {
  static constexpr std::uint32_t path = ~0U;

  std::uint32_t channel = path;  ///< whose loads are added up (of the first one, the times of all vertices, too)
  std::uint32_t first = 0;       ///< of a path: its first vertex
  std::vector<std::uint32_t> edges = {};  ///< of a channel: one of each share at most; of a path: in their order

  friend bool operator==(const step_claim&, const step_claim&) = default;
};

/// What every vertex and edge takes: under one assignment, or on average over several.
struct taken_work {
  std::vector<double> time;   ///< per vertex
  std::vector<double> load;   ///< per edge, channel by channel
  std::vector<double> chain;  ///< per edge
};

/// \pre one strategy per vertex, each below the vertex's count
/// Complexity: O(V + channels * E)
[[nodiscard]] inline taken_work work_of(const step_work& work, std::span<const strategy> choice) {
  taken_work taken;
  for (std::uint32_t v = 0; v < work.vertex_count(); ++v) taken.time.push_back(work.time(v, choice[v]));
  taken.load.reserve(work.edges.size() * work.channels);
  for (const work_edge& e : work.edges) {
    for (std::size_t c = 0; c < work.channels; ++c) taken.load.push_back(work.load(e, c, choice[e.from], choice[e.to]));
    taken.chain.push_back(work.chain(e, choice[e.from], choice[e.to]));
  }
  return taken;
}

/// What a claim comes to.
/// Complexity: linear in the claim's edges, and for the compute stream in the vertices
[[nodiscard]] inline double value_of(const step_claim& claim, const step_work& work, const taken_work& taken) {
  double sum = 0;
  if (claim.channel == step_claim::path) {
    sum = taken.time[claim.first];
    for (const std::uint32_t e : claim.edges) sum += taken.chain[e] + taken.time[work.edges[e].to];
    return sum;
  }
  if (claim.channel == 0)
    for (const double t : taken.time) sum += t;
  for (const std::uint32_t e : claim.edges) sum += taken.load[e * work.channels + claim.channel];
  return sum;
}

/// Refuses a claim that need not hold: a path that is none, a share that is counted twice.
/// \throws error (input) naming the edge
inline void validate(const step_claim& claim, const step_work& work) {
  const auto refuse_edge = [](std::uint32_t e, const std::string& what) {
    refuse(error_category::input, "a claim about the step: edge " + std::to_string(e) + " " + what);
  };
  for (const std::uint32_t e : claim.edges)
    if (e >= work.edges.size())
      refuse_edge(e, "does not exist, expected a number below " + std::to_string(work.edges.size()));
  if (claim.channel == step_claim::path) {
    if (claim.first >= work.vertex_count())
      refuse(error_category::input, "a claim about the step: vertex " + std::to_string(claim.first) +
                                        " does not exist, expected a number below " +
                                        std::to_string(work.vertex_count()));
    std::uint32_t at = claim.first;
    for (const std::uint32_t e : claim.edges) {
      if (work.edges[e].from != at)
        refuse_edge(e, "begins at vertex " + std::to_string(work.edges[e].from) + ", expected " + std::to_string(at) +
                           ", where the path has come to");
      at = work.edges[e].to;
    }
    return;
  }
  if (claim.channel >= work.channels)
    refuse(error_category::input, "a claim about the step: channel " + std::to_string(claim.channel) +
                                      " does not exist, expected a number below " + std::to_string(work.channels));
  std::vector<bool> counted(work.shares);
  for (const std::uint32_t e : claim.edges) {
    if (counted[work.edges[e].share]) refuse_edge(e, "is of a share that the claim counts already");
    counted[work.edges[e].share] = true;
  }
}

/// What a unit of everything is worth in step time, by claims and their weights.
struct work_prices {
  std::vector<double> time;   ///< per vertex
  std::vector<double> load;   ///< per edge, channel by channel
  std::vector<double> chain;  ///< per edge
};

/// \pre as many weights as claims, valid ones
[[nodiscard]] inline work_prices prices_of(std::span<const step_claim> claims, std::span<const double> weights,
                                           const step_work& work) {
  work_prices prices{std::vector<double>(work.vertex_count()), std::vector<double>(work.edges.size() * work.channels),
                     std::vector<double>(work.edges.size())};
  for (std::size_t r = 0; r < claims.size(); ++r) {
    const double w = weights[r];
    if (w == 0) continue;
    if (claims[r].channel == step_claim::path) {
      prices.time[claims[r].first] += w;
      for (const std::uint32_t e : claims[r].edges) {
        prices.chain[e] += w;
        prices.time[work.edges[e].to] += w;
      }
      continue;
    }
    if (claims[r].channel == 0)
      for (double& t : prices.time) t += w;
    for (const std::uint32_t e : claims[r].edges) prices.load[e * work.channels + claims[r].channel] += w;
  }
  return prices;
}

}  // namespace v0
}  // namespace shardweave
