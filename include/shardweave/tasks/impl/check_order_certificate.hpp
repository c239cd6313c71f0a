#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/tasks/check_order_certificate.hpp>
#include <shardweave/tasks/detail/order_activities.hpp>
#include <shardweave/tasks/detail/order_row_bound.hpp>
#include <shardweave/tasks/duration_table.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

/// \file
/// How proofs about orders are checked.

namespace shardweave::inline v0 {
namespace detail {

/// Goes through one proof; the first step that does not hold says why.
class order_checker {
 public:
  order_checker(const task_graph& g, const order_certificate& c) : c_(c), all_(g, c) {}

  [[nodiscard]] order_verdict run() {
    wide_integer proven = 0;
    auto failure = all_.draw();
    if (!failure) failure = bound<false>();
    if (!failure) failure = bound<true>();
    if (!failure) failure = conclude(proven);
    if (failure) return {.failure = *failure, .steps = steps_};
    order_verdict verdict{.accepted = true, .steps = steps_};
    verdict.bound = nanoseconds(static_cast<std::int64_t>(std::min<wide_integer>(proven, most)));
    if (proven < c_.lower_bound.count()) {
      verdict.accepted = false;
      verdict.failure = "proves " + std::to_string(verdict.bound.count()) + " ns, expected no less than " +
                        std::to_string(c_.lower_bound.count()) + ", which is claimed";
    }
    return verdict;
  }

 private:
  static constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

  /// The earliest begin of every activity; backward, the least time from its end to the end of all.
  template <bool Backward>
  [[nodiscard]] std::optional<std::string> bound() {
    const std::vector<order_join>& joins = Backward ? c_.tails : c_.heads;
    const std::vector<activity_number>& order = all_.order();
    const std::string name = Backward ? "tails" : "heads";
    std::vector<wide_integer>& head = Backward ? tail_ : head_;
    head.resize(all_.size());
    std::vector<std::vector<std::size_t>> joins_at(joins.empty() ? 0 : all_.size());
    for (std::size_t j = 0; j < joins.size(); ++j) {
      const activity_number v = joins[j].activity;
      const std::string who = name + "[" + std::to_string(j) + "]";
      if (!all_.is_there(v)) return who + ": " + all_.label(v) + " is not there";
      if (auto wrong = all_.complaint_about(who, joins[j].work)) return wrong;
      joins_at[v].push_back(j);
    }
    std::vector<wide_integer> rest(joins_at.size());
    std::vector<std::size_t> seen(joins_at.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      const activity_number v = order[Backward ? order.size() - 1 - i : i];
      for (const auto& e : all_.before<Backward>(v)) {
        const activity_number p = order_activities::end_of<Backward>(e);
        head[v] = std::max(head[v], head[p] + all_[p].duration);
      }
      if (joins_at.empty()) continue;
      for (const std::size_t j : joins_at[v]) {
        // chains from all work to v: what lies between, nearest first
        std::uint32_t last = all_.place(v);
        for (const activity_number a : joins[j].work)
          last = Backward ? std::max(last, all_.place(a)) : std::min(last, all_.place(a));
        seen[v] = j + 1;
        rest[v] = 0;
        for (std::uint32_t at = all_.place(v);; Backward ? ++at : --at) {
          const activity_number x = order[at];
          if (seen[x] == j + 1) {
            const wide_integer from_there = x == v ? 0 : rest[x] + all_[x].duration;
            for (const auto& e : all_.before<Backward>(x)) {
              const activity_number p = order_activities::end_of<Backward>(e);
              rest[p] = seen[p] == j + 1 ? std::max(rest[p], from_there) : from_there;
              seen[p] = j + 1;
            }
          }
          if (at == last) break;
        }
        wide_integer first = most, way = most;
        for (const activity_number a : joins[j].work) {
          if (a == v || seen[a] != j + 1)
            return name + "[" + std::to_string(j) + "]: " + all_.label(a) + " does not come " +
                   (Backward ? "after " : "before ") + all_.label(v);
          first = std::min(first, head[a]);
          way = std::min(way, rest[a]);
        }
        head[v] = std::max(head[v], first + all_.sum_of(joins[j].work) + way);
        ++steps_;
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::string> conclude(wide_integer& proven) {
    if (!c_.together.empty() && c_.row) return "has together and row, expected one of them";
    if (c_.row) {
      auto wrong = order_row_bound(all_, *c_.row, c_.row->backward ? tail_ : head_).prove(proven);
      if (!wrong) ++steps_;
      return wrong;
    }
    if (c_.together.empty()) return std::nullopt;  // nothing ends before 0
    if (auto wrong = all_.complaint_about("together", c_.together)) return wrong;
    wide_integer first = most, last = most;
    for (const activity_number a : c_.together) {
      first = std::min(first, head_[a]);
      last = std::min(last, tail_[a]);
    }
    // one alone is a part of a chain
    proven = first + (c_.together.size() == 1 ? all_[c_.together.front()].duration : all_.sum_of(c_.together)) + last;
    ++steps_;
    return std::nullopt;
  }

  const order_certificate& c_;
  order_activities all_;
  std::vector<wide_integer> head_, tail_;
  std::size_t steps_ = 0;
};

}  // namespace detail

SHARDWEAVE_INLINE order_verdict check_certificate(const task_graph& g, const order_certificate& c) {
  return detail::order_checker(g, c).run();
}

}  // namespace shardweave::inline v0
