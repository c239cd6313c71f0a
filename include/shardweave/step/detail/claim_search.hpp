#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/step/detail/waiting_claim.hpp>
#include <shardweave/step/detail/work_order.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_work.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Separation of claims: those of largest value for given work.

namespace shardweave::inline v0::detail {

/// The average of the work of assignments. \pre as many weights as assignments, one at least
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

/// Finds, for given work, the claim of largest value in each form.
class claim_search {
 public:
  /// \throws error (input) if the edges form a cycle
  explicit claim_search(const step_work& work) : work_(&work), order_(work), late_of_(work.edges.size()) {
    for (const late_work& late : work.late) late_of_[late.edge] = &late;
  }
  // `waiting_` refers to `order_`
  claim_search(const claim_search&) = delete;
  claim_search& operator=(const claim_search&) = delete;

  /// One claim per channel, on the first edge of every share; and their copies with prices (`add_priced`).
  [[nodiscard]] std::vector<step_claim> claims_of_channels() const {
    std::vector<step_claim> claims = claims_by([](std::uint32_t, std::size_t) { return 0.0; }, nullptr);
    add_priced(claims);
    return claims;
  }
  /// The load of each channel, with the edge of largest load of every share; the longest path; if wanted, the longest
  /// path to the turn with the load of each channel after it, and a claim with waits. Claims on the compute stream, but
  /// those with waits, also in copies with prices.
  [[nodiscard]] std::vector<step_claim> largest(const taken_work& taken) {
    const auto load = [&](std::uint32_t e, std::size_t c) { return taken.load[e * work_->channels + c]; };
    std::vector<step_claim> claims = claims_by(load, nullptr);
    const reach paths = longest_paths(taken);
    if (paths.length.empty()) return claims;
    step_claim longest;
    const auto last = static_cast<std::uint32_t>(std::ranges::max_element(paths.length) - paths.length.begin());
    longest.edges = trace(paths, last, longest.first);
    if (has_heads_) {
      if (!turn_) turn_ = turn_along(paths, last, taken);
      step_claim head{.has_head = true};
      head.head = trace(paths, turn_->at, head.first);
      for (step_claim& claim : claims_by(load, &*turn_)) {
        claim.has_head = true;
        claim.first = head.first;
        claim.head = head.head;
        if (claim.channel == 0) claim.later = turn_->later;
        claims.push_back(std::move(claim));
      }
    }
    std::optional<step_claim> waiting;
    if (waiting_) waiting = waiting_->find(taken, counted_while_waiting(claims.front()));
    add_priced(claims);
    if (waiting) claims.push_back(*std::move(waiting));
    claims.push_back(std::move(longest));
    return claims;
  }
  /// Adds claims with heads from now on. The turn, at which heads end, is chosen at the next call of `largest`.
  /// \returns whether there were none before
  bool want_heads() { return !std::exchange(has_heads_, true); }
  /// Adds claims with waits from now on; claims with heads then count late work none of whose vertices they count.
  /// \returns whether there were none before
  bool want_waits() {
    if (waiting_ || work_->vertex_count() == 0) return false;
    waiting_.emplace(*work_, order_);
    return true;
  }
  /// As `want_heads`, with a turn at this vertex.
  /// \throws error (input) if there is no such vertex
  void want_heads_at(std::uint32_t v) {
    if (v >= work_->vertex_count())
      refuse(error_category::input, "paths are to turn at vertex " + std::to_string(v) + ", but there are only " +
                                        number_text(work_->vertex_count(), "vertex", "vertices"));
    has_heads_ = true;
    turn_ = turn_of(v);
  }

 private:
  static constexpr std::uint32_t nobody = ~0U;

  /// The length of the longest path to each vertex, its own time included, and the last edge of that path.
  struct reach {
    std::vector<double> length;
    std::vector<std::uint32_t> by;
  };
  /// The vertex at which heads end, and the vertices that depend on it.
  struct turn {
    std::uint32_t at = 0;
    std::vector<bool> is_after;  ///< reachable from `at`, or `at` itself
    std::vector<std::uint32_t> later;
  };

  [[nodiscard]] bool is_counted(std::uint32_t e, const turn* after) const {
    const work_edge& edge = work_->edges[e];
    if (const late_work* const late = late_of_[e])
      return after != nullptr && waiting_ && after->is_after[edge.since] &&
             std::ranges::none_of(late->vertices, [&](std::uint32_t v) { return after->is_after[v]; });
    if (after == nullptr) return true;
    return after->is_after[edge.from] || (edge.since != work_edge::no_vertex && after->is_after[edge.since]);
  }

  template <class Load>
  [[nodiscard]] std::vector<step_claim> claims_by(const Load& load, const turn* after) const {
    std::vector<step_claim> claims(work_->machines());
    for (std::uint32_t c = 0; c < claims.size(); ++c) {
      claims[c].channel = c;
      std::vector<std::uint32_t> chosen(work_->shares, nobody);
      for (std::uint32_t e = 0; e < work_->edges.size(); ++e) {
        if (!work_->tables[work_->edges[e].table].has_load(c) || !is_counted(e, after)) continue;
        std::uint32_t& best = chosen[work_->edges[e].share];
        if (best == nobody || load(e, c) > load(best, c)) best = e;
      }
      for (const std::uint32_t e : chosen)
        if (e != nobody) claims[c].edges.push_back(e);
    }
    return claims;
  }

  /// Adds copies of claims on the compute stream, for each limit with two prices: the whole limit, or a 32nd of it,
  /// costs as much as all computation (with each vertex at its slowest).
  void add_priced(std::vector<step_claim>& claims) const {
    const std::size_t plain = claims.size();
    for (std::uint32_t held = 0; held < work_->limits.size(); ++held) {
      if (!(work_->limits[held] > 0)) continue;
      double all = 0;
      for (const auto list : work_->times_of)
        all += work_->times[list].empty() ? 0 : *std::ranges::max_element(work_->times[list]);
      for (const double part : {1.0, 32.0})
        for (std::size_t r = 0; r < plain; ++r) {
          if (claims[r].channel != 0) continue;
          step_claim priced = claims[r];
          // a power of two: certificates count in whole numbers
          priced.price = std::exp2(std::ceil(std::log2(std::max(part * all / work_->limits[held], 1e-9))));
          priced.held = static_cast<std::uint32_t>(work_->machines() + held);
          claims.push_back(std::move(priced));
        }
    }
  }

  [[nodiscard]] reach longest_paths(const taken_work& taken) const {
    reach paths{taken.time, std::vector<std::uint32_t>(taken.time.size(), nobody)};
    for (const std::uint32_t v : order_.vertices)
      for (const std::uint32_t e : order_.out[v]) {
        const std::uint32_t to = work_->edges[e].to;
        const double there = paths.length[v] + taken.chain[e] + taken.time[to];
        if (there <= paths.length[to]) continue;
        paths.length[to] = there;
        paths.by[to] = e;
      }
    return paths;
  }
  [[nodiscard]] std::vector<std::uint32_t> trace(const reach& paths, std::uint32_t at, std::uint32_t& first) const {
    std::vector<std::uint32_t> edges;
    for (; paths.by[at] != nobody; at = work_->edges[paths.by[at]].from) edges.push_back(paths.by[at]);
    std::ranges::reverse(edges);
    first = at;
    return edges;
  }

  [[nodiscard]] turn turn_of(std::uint32_t v) const {
    turn found{.at = v, .is_after = std::vector<bool>(work_->vertex_count()), .later = {}};
    found.is_after[v] = true;
    for (const std::uint32_t u : order_.vertices) {
      if (!found.is_after[u]) continue;
      for (const std::uint32_t e : order_.out[u]) found.is_after[work_->edges[e].to] = true;
    }
    for (std::uint32_t u = 0; u < found.is_after.size(); ++u)
      if (found.is_after[u] && u != v) found.later.push_back(u);
    return found;
  }
  /// The vertex of a path that maximizes the length of the path up to it plus all computation that depends on it, by
  /// samples: 16 over the whole path, then 16 around the best one, until they are neighbours.
  [[nodiscard]] turn turn_along(const reach& paths, std::uint32_t last, const taken_work& taken) const {
    std::uint32_t first = 0;
    const std::vector<std::uint32_t> edges = trace(paths, last, first);
    std::vector<std::uint32_t> on_path{first};
    for (const std::uint32_t e : edges) on_path.push_back(work_->edges[e].to);
    std::size_t low = 0, high = on_path.size() - 1, best = 0;
    double most = -1;
    while (true) {
      const std::size_t stride = std::max<std::size_t>(1, (high - low) / 16);
      for (std::size_t i = low; i <= high; i += stride) {
        const turn here = turn_of(on_path[i]);
        double sum = paths.length[here.at];
        for (const std::uint32_t v : here.later) sum += taken.time[v];
        if (sum <= most) continue;
        most = sum;
        best = i;
      }
      if (stride == 1) break;
      low = best - std::min(best, stride);
      high = std::min(best + stride, on_path.size() - 1);
    }
    return turn_of(on_path[best]);
  }

  /// The edges that the claim on the whole compute stream counts, and all late work.
  [[nodiscard]] std::vector<std::uint32_t> counted_while_waiting(const step_claim& whole) const {
    std::vector<std::uint32_t> edges = whole.edges;
    for (const late_work& late : work_->late) edges.push_back(late.edge);
    return edges;
  }

  const step_work* work_;
  work_order order_;
  std::vector<const late_work*> late_of_;  ///< by edge; null: it is not late work
  std::optional<waiting_claim> waiting_;
  bool has_heads_ = false;
  std::optional<turn> turn_;
};

}  // namespace shardweave::inline v0::detail
