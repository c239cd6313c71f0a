#pragma once

#include <shardweave/bucketing/detail/overlap_account.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/tasks/launch_units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Which collectives depend on one another and cannot be in one bucket.

namespace shardweave::inline v0::detail {

/// Whether a candidate and the members of a bucket depend on one another: the launch of one on that of the other, the
/// wait of one on that of the other, or what hides one on the wait of the other. Then no order launches them as one and
/// keeps them hidden. Successors and predecessors of members are marked as far as the next candidates lie, so a query
/// is cheap. Merges in the meantime are not considered; the merged graph detects those. Complexity: O(V + E) of the
/// marked range per member; O(tasks that hide it) per query.
class member_relations {
 public:
  /// \pre all arguments outlive this
  member_relations(const launch_units& units, const overlap_account& account)
      : account_(&account), known_(with_hiding(units, account)), marks_(5, std::vector<std::uint32_t>(units.size())) {}

  /// Starts anew, for these members and candidates.
  /// \pre members is not empty
  void look_around(std::span<const std::uint32_t> members, std::span<const std::uint32_t> candidates) {
    ++stamp_;
    first_ = account_->place[members.front()];
    last_ = 0;
    const auto cover = [&](std::uint32_t u) {
      first_ = std::min(first_, account_->place[u]);
      last_ = std::max(last_, account_->place[u]);
    };
    for (const std::uint32_t c : candidates) {
      cover(c);
      cover(account_->wait_of[c]);
      for (const std::uint32_t h : account_->hidden_by[c]) cover(h);
    }
    for (const std::uint32_t m : members) add(m);
  }
  /// Adds a member.
  void add(std::uint32_t member) {
    const std::uint32_t wait = account_->wait_of[member];
    spread<true>(after_start, member);
    spread<false>(before_start, member);
    spread<true>(after_wait, wait);
    spread<false>(before_wait, wait);
    for (const std::uint32_t h : account_->hidden_by[member]) spread<false>(before_hiding, h);
  }
  /// \pre `c` is one of the candidates
  [[nodiscard]] bool is_related(std::uint32_t c) const {
    const std::uint32_t wait = account_->wait_of[c];
    if (is_marked(after_start, c) || is_marked(before_start, c) || is_marked(after_wait, wait) ||
        is_marked(before_wait, wait) || is_marked(before_hiding, wait))
      return true;
    const auto& hidden_by = account_->hidden_by[c];
    return std::any_of(hidden_by.begin(), hidden_by.end(), [&](auto h) { return is_marked(after_wait, h); });
  }

 private:
  enum mark : std::size_t { after_start, before_start, after_wait, before_wait, before_hiding };

  /// The dependencies of units, with those that keep hiding tasks between launches and waits.
  [[nodiscard]] static compressed_graph with_hiding(const launch_units& units, const overlap_account& account) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;
    for (const auto& e : units.graph().all_edges()) ends.emplace_back(e.source, e.target);
    account.for_each_hiding([&](std::uint32_t before, std::uint32_t after) { ends.emplace_back(before, after); });
    return compressed_graph(units.size(), ends);
  }
  template <bool Forward>
  void spread(mark which, std::uint32_t from) {
    stack_.assign(1, from);
    while (!stack_.empty()) {
      const std::uint32_t u = stack_.back();
      stack_.pop_back();
      for (const auto& e : Forward ? known_.out(u) : known_.in(u)) {
        const std::uint32_t n = Forward ? e.target : e.source;
        if (marks_[which][n] == stamp_ || (Forward ? account_->place[n] > last_ : account_->place[n] < first_))
          continue;
        marks_[which][n] = stamp_;
        stack_.push_back(n);
      }
    }
  }
  [[nodiscard]] bool is_marked(mark which, std::uint32_t u) const { return marks_[which][u] == stamp_; }

  const overlap_account* account_;
  compressed_graph known_;
  std::vector<std::vector<std::uint32_t>> marks_;
  std::vector<std::uint32_t> stack_;
  std::uint32_t stamp_ = 0, first_ = 0, last_ = 0;  // range of places that is searched
};

}  // namespace shardweave::inline v0::detail
