#pragma once

#include "solve/small_problems.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/solve/guided_search.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace shardweave_test {

/// A chain of variables under one limit on what all use together: long, and yet its optimum is known.
struct limited_chain {
  explicit limited_chain(std::uint64_t seed, std::size_t n, double room) {
    shardweave::random_source random(seed);
    for (std::size_t x = 0; x < n; ++x) {
      const std::size_t k = 2 + random.below(4);
      auto& u = unary.emplace_back(k);
      auto& w = usage.emplace_back(k);
      for (std::size_t l = 0; l < k; ++l) {
        w[l] = random.below(6);
        u[l] = static_cast<std::int64_t>(random.below(30) + 5 * (5 - w[l]));
      }
      w[0] = 0;
      if (x == 0) continue;
      auto& t = pair.emplace_back(unary[x - 1].size() * k);
      for (auto& c : t) c = static_cast<std::int64_t>(random.below(40));
    }
    limit = static_cast<std::size_t>(room * static_cast<double>(n));
  }

  [[nodiscard]] shardweave::compact_problem<std::int64_t> problem() const {
    shardweave::compact_builder<std::int64_t> builder;
    for (const auto& u : unary) builder.add_variable(u);
    for (std::uint32_t x = 1; x < unary.size(); ++x)
      builder.add_edge(x - 1, x, table_of(unary[x - 1].size(), unary[x].size(), pair[x - 1]));
    builder.add_row({.high = static_cast<double>(limit)});
    for (std::uint32_t x = 0; x < unary.size(); ++x)
      builder.add_segment(x, {0, 1, std::vector<double>(usage[x].begin(), usage[x].end())});
    return builder.build();
  }

  /// The least cost, by dynamic programming over label and usage so far; with a label of one variable given, the least
  /// of those that have it.
  [[nodiscard]] std::int64_t optimum(std::size_t fixed = ~std::size_t{0}, std::size_t label = 0) const {
    constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max() / 2;
    std::vector<std::vector<std::int64_t>> best;  // [label][usage]
    for (std::size_t x = 0; x < unary.size(); ++x) {
      std::vector<std::vector<std::int64_t>> next(unary[x].size(), std::vector<std::int64_t>(limit + 1, none));
      for (std::size_t l = 0; l < unary[x].size(); ++l) {
        if (x == fixed && l != label) continue;
        for (std::size_t used = usage[x][l]; used <= limit; ++used) {
          std::int64_t least = x == 0 && used == usage[x][l] ? 0 : none;
          for (std::size_t k = 0; x > 0 && k < best.size(); ++k)
            least = std::min(least, best[k][used - usage[x][l]] + pair[x - 1][k * unary[x].size() + l]);
          next[l][used] = std::min(none, least + unary[x][l]);
        }
      }
      best = std::move(next);
    }
    std::int64_t least = none;
    for (const auto& of_label : best) least = std::min(least, *std::min_element(of_label.begin(), of_label.end()));
    return least;
  }

  std::vector<std::vector<std::int64_t>> unary, pair;
  std::vector<std::vector<std::size_t>> usage;
  std::size_t limit = 0;
};

/// A guided search that takes a blink.
inline shardweave::guided_search brief_guided() {
  shardweave::guided_search brief;
  brief.rounds = 2;
  brief.first_steps = 60;
  return brief;
}

}  // namespace shardweave_test
