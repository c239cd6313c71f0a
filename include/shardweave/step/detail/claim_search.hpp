#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_work.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// \file
/// The claims that say most.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// The average of what assignments take. \pre as many weights as assignments, one at least
[[nodiscard]] inline taken_work mixture_of(std::span<const taken_work> taken, std::span<const double> weights) {
  taken_work sum{std::vector<double>(taken.front().time.size()), std::vector<double>(taken.front().load.size()),
                 std::vector<double>(taken.front().chain.size())};
  const auto add = [](std::vector<double>& to, const std::vector<double>& some, double weight) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += weight * some[i];
  };
  for (std::size_t k = 0; k < taken.size(); ++k) {
    if (weights[k] == 0) continue;
    add(sum.time, taken[k].time, weights[k]);
    add(sum.load, taken[k].load, weights[k]);
    add(sum.chain, taken[k].chain, weights[k]);
  }
  return sum;
}

/// Finds, for given work, the largest claim of each form.
class claim_search {
 public:
  /// \throws error (input) if the edges form a cycle
  explicit claim_search(const step_work& work) : work_(&work), out_(work.vertex_count()) {
    std::vector<std::size_t> missing(work.vertex_count());
    for (std::uint32_t e = 0; e < work.edges.size(); ++e) {
      out_[work.edges[e].from].push_back(e);
      ++missing[work.edges[e].to];
    }
    for (std::uint32_t v = 0; v < missing.size(); ++v)
      if (missing[v] == 0) order_.push_back(v);
    for (std::size_t i = 0; i < order_.size(); ++i)
      for (const std::uint32_t e : out_[order_[i]])
        if (--missing[work.edges[e].to] == 0) order_.push_back(work.edges[e].to);
    if (order_.size() < missing.size())
      refuse(error_category::input, "the graph has a cycle, so no path through it bounds the step");
  }

  /// The work of each channel, of every share its first edge.
  [[nodiscard]] std::vector<step_claim> claims_of_channels() const {
    return claims_by([](std::uint32_t, std::size_t) { return 0.0; });
  }
  /// The work of each channel, of every share the edge with the largest load; and the longest path.
  [[nodiscard]] std::vector<step_claim> largest(const taken_work& taken) const {
    std::vector<step_claim> claims =
        claims_by([&](std::uint32_t e, std::size_t c) { return taken.load[e * work_->channels + c]; });
    claims.push_back(longest_path(taken));
    return claims;
  }

 private:
  template <class Load>
  [[nodiscard]] std::vector<step_claim> claims_by(const Load& load) const {
    std::vector<step_claim> claims(work_->channels);
    constexpr std::uint32_t nobody = ~0U;
    for (std::uint32_t c = 0; c < work_->channels; ++c) {
      claims[c].channel = c;
      std::vector<std::uint32_t> chosen(work_->shares, nobody);
      for (std::uint32_t e = 0; e < work_->edges.size(); ++e) {
        if (work_->tables[work_->edges[e].tables].loads[c] == nullptr) continue;
        std::uint32_t& best = chosen[work_->edges[e].share];
        if (best == nobody || load(e, c) > load(best, c)) best = e;
      }
      for (const std::uint32_t e : chosen)
        if (e != nobody) claims[c].edges.push_back(e);
    }
    return claims;
  }

  [[nodiscard]] step_claim longest_path(const taken_work& taken) const {
    constexpr std::uint32_t nobody = ~0U;
    std::vector<double> reached(taken.time);
    std::vector<std::uint32_t> by(reached.size(), nobody);
    for (const std::uint32_t v : order_)
      for (const std::uint32_t e : out_[v]) {
        const std::uint32_t to = work_->edges[e].to;
        const double there = reached[v] + taken.chain[e] + taken.time[to];
        if (there <= reached[to]) continue;
        reached[to] = there;
        by[to] = e;
      }
    step_claim claim;
    if (reached.empty()) return claim;
    auto at = static_cast<std::uint32_t>(std::ranges::max_element(reached) - reached.begin());
    for (; by[at] != nobody; at = work_->edges[by[at]].from) claim.edges.push_back(by[at]);
    std::ranges::reverse(claim.edges);
    claim.first = at;
    return claim;
  }

  const step_work* work_;
  std::vector<std::vector<std::uint32_t>> out_;
  std::vector<std::uint32_t> order_;  ///< every vertex after those before it
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave
