#pragma once

#include <shardweave/step/detail/largest_of_positions.hpp>
#include <shardweave/step/detail/places_between.hpp>
#include <shardweave/step/detail/work_order.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_work.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Claims on the compute stream that count the time for which it idles.

namespace shardweave::inline v0::detail {

/// Finds claims with waits: the chains of some edges of a longest path, and all computation that cannot run during any
/// of these chains.
class waiting_claim {
 public:
  /// \pre both outlive this
  waiting_claim(const step_work& work, const work_order& order) : work_(work), order_(order), root_(root()) {}

  /// The claim of largest value, for given work, on a longest path from the root; nothing if no chain counts.
  /// \param counted  edges that may be counted, one of each share
  /// Complexity: O(V + E log V)
  [[nodiscard]] std::optional<step_claim> find(const taken_work& taken, std::span<const std::uint32_t> counted) const {
    const std::vector<std::uint32_t> path = longest_path(taken);
    const places_between places(work_, path);
    const auto steps = static_cast<std::uint32_t>(path.size());
    // work, by the interval of edges of the path during whose chains it may run
    struct job {
      double time;
      std::uint32_t until;
    };
    std::vector<std::vector<job>> begins(steps), ends(steps + 1);
    const auto place_job = [&](const std::pair<std::uint32_t, std::uint32_t>& between, double time) {
      if (between.first >= between.second || time <= 0) return;
      begins[between.first].push_back({time, between.second});
      ends[between.second].push_back({time, between.first});
    };
    for (const std::uint32_t v : order_.vertices)
      if (is_candidate_[v] != 0) place_job({places.after[v], places.before[v]}, taken.time[v]);
    for (const std::uint32_t e : counted)
      if (is_after_root(e)) place_job(places.of(work_.edges[e]), taken.load[e * work_.channels]);

    // best[k]: the largest value of chains of edges before k, that of edge k - 1 among them, less the work that may run
    // during any of these chains; of no chain for k = 0
    largest_of_positions best(steps + 1);
    best.set(0, 0.0);
    std::vector<std::size_t> by(steps + 1);
    std::size_t last = 0;
    double most = 0;
    for (std::uint32_t k = 0; k < steps; ++k) {
      for (const job& j : ends[k]) best.add(j.until + 1, j.time);
      for (const job& j : begins[k]) best.add(k + 1, -j.time);
      if (taken.chain[path[k]] <= 0) continue;
      by[k + 1] = best.position();
      const double worth = best.value() + taken.chain[path[k]];
      best.set(k + 1, worth);
      if (worth <= most) continue;
      most = worth;
      last = k + 1;
    }
    if (last == 0) return std::nullopt;
    step_claim claim{.channel = 0, .first = root_, .has_head = true};
    for (; last > 0; last = by[last]) claim.waits.push_back(path[last - 1]);
    std::ranges::reverse(claim.waits);
    count(claim, counted);
    return claim;
  }

 private:
  static constexpr std::uint32_t nobody = ~0U;

  /// The source vertex with the longest path to a sink, counted in edges. Marks the vertices that claims may count:
  /// those reachable from it whose time is not late work.
  [[nodiscard]] std::uint32_t root() {
    std::vector<std::uint32_t> rest(work_.vertex_count());
    for (std::size_t i = order_.vertices.size(); i-- > 0;) {
      const std::uint32_t v = order_.vertices[i];
      for (const std::uint32_t e : order_.out[v]) rest[v] = std::max(rest[v], rest[work_.edges[e].to] + 1);
    }
    const auto first = static_cast<std::uint32_t>(std::ranges::max_element(rest) - rest.begin());
    is_candidate_.assign(work_.vertex_count(), 0);
    comes_after_ = reached_from(work_, first);
    for (std::uint32_t v = 0; v < work_.vertex_count(); ++v) is_candidate_[v] = comes_after_[v] && v != first ? 1 : 0;
    for (const late_work& late : work_.late)
      for (const std::uint32_t v : late.vertices) is_candidate_[v] = 0;
    return first;
  }
  [[nodiscard]] bool is_after_root(std::uint32_t e) const {
    const work_edge& edge = work_.edges[e];
    return comes_after_[edge.from] || (edge.since != work_edge::no_vertex && comes_after_[edge.since]);
  }

  /// The longest path from the root, as edges.
  [[nodiscard]] std::vector<std::uint32_t> longest_path(const taken_work& taken) const {
    std::vector<double> length(work_.vertex_count(), -1.0);
    std::vector<std::uint32_t> by(length.size(), nobody);
    length[root_] = taken.time[root_];
    std::uint32_t last = root_;
    for (const std::uint32_t v : order_.vertices) {
      if (length[v] < 0) continue;
      if (length[v] > length[last]) last = v;
      for (const std::uint32_t e : order_.out[v]) {
        const std::uint32_t to = work_.edges[e].to;
        const double there = length[v] + taken.chain[e] + taken.time[to];
        if (there <= length[to]) continue;
        length[to] = there;
        by[to] = e;
      }
    }
    std::vector<std::uint32_t> path;
    for (std::uint32_t at = last; by[at] != nobody; at = work_.edges[by[at]].from) path.push_back(by[at]);
    std::ranges::reverse(path);
    return path;
  }
  /// Adds the work that cannot run during the waits of a claim.
  void count(step_claim& claim, std::span<const std::uint32_t> counted) const {
    const places_between places(work_, claim.waits);
    for (std::uint32_t v = 0; v < work_.vertex_count(); ++v)
      if (is_candidate_[v] != 0 && places.before[v] <= places.after[v]) claim.later.push_back(v);
    for (const std::uint32_t e : counted) {
      const auto [after, before] = places.of(work_.edges[e]);
      if (is_after_root(e) && before <= after) claim.edges.push_back(e);
    }
  }

  const step_work& work_;
  const work_order& order_;
  std::vector<bool> comes_after_;   ///< by vertex: whether it is the root or reachable from it
  std::vector<char> is_candidate_;  ///< by vertex: whether a claim may count it
  std::uint32_t root_;
};

}  // namespace shardweave::inline v0::detail
