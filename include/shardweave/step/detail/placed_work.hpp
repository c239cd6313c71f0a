#pragma once

#include <shardweave/placement/cost.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_work.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// \file
/// Alternative ways of the edges of one placement.

namespace shardweave::inline v0::detail {

/// An edge in another way than its first.
struct other_way {
  std::uint32_t edge = 0;
  std::uint32_t at = 0;  ///< number of the way, for `placed_work::more`

  friend bool operator==(const other_way&, const other_way&) = default;
};

/// How the loads of a placement's edges in other ways differ from those in the first way (`edge_work::otherwise`).
class placed_work {
 public:
  /// \pre one strategy per vertex, each below the vertex's count
  placed_work(const step_work& work, std::span<const strategy> choice) : channels_(work.channels) {
    for (std::uint32_t e = 0; e < work.edges.size(); ++e) {
      const work_edge& edge = work.edges[e];
      const std::size_t ways = work.tables[edge.table].ways();
      if (ways == 1) continue;
      edges_.push_back({e, static_cast<std::uint32_t>(ways)});
      const strategy a = choice[edge.from], b = choice[edge.to];
      for (std::size_t way = 1; way < ways; ++way)
        for (std::size_t c = 0; c < channels_; ++c)
          more_.push_back(work.load(edge, c, a, b, way) - work.load(edge, c, a, b));
    }
  }

  /// The edges with a way that costs less than the first one, each with its cheapest way.
  /// Complexity: linear in the ways of all edges, times channels
  [[nodiscard]] std::vector<other_way> cheapest(const work_prices& prices) const {
    std::vector<other_way> chosen;
    std::uint32_t at = 0;
    for (const several& s : edges_) {
      const std::span<const double> price(prices.load.data() + s.edge * channels_, channels_);
      double least = 0;
      std::uint32_t best = ~0U;
      for (std::uint32_t way = 1; way < s.ways; ++way, ++at) {
        double cost = 0;
        for (std::size_t c = 0; c < channels_; ++c)
          if (price[c] > 0) cost += price[c] * more_[at * channels_ + c];
        if (cost >= least) continue;
        least = cost;
        best = at;
      }
      if (best != ~0U) chosen.push_back({s.edge, best});
    }
    return chosen;
  }
  /// Per channel: the load in this way less that in the first way; may be negative.
  [[nodiscard]] std::span<const double> more(const other_way& way) const {
    return std::span(more_).subspan(way.at * channels_, channels_);
  }

 private:
  struct several {
    std::uint32_t edge = 0;
    std::uint32_t ways = 0;
  };

  std::size_t channels_;
  std::vector<several> edges_;  ///< edges with several ways
  std::vector<double> more_;    ///< per such edge, way after the first, and channel: the difference
};

}  // namespace shardweave::inline v0::detail
