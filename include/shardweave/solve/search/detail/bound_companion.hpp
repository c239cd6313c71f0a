#pragma once

#include <shardweave/solve/search/detail/bound_cases.hpp>
#include <shardweave/solve/search/detail/bound_side.hpp>
#include <shardweave/solve/search/detail/shared_findings.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

/// \file
/// A second thread for a guided search.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// Does nothing but raise the bound of a problem and rule out labels, while another thread searches. Once neither gains
/// any more, the bound is raised case by case.
template <cost_value Cost, class Settings>
class bound_companion {
 public:
  /// \param control  its stop request ends `run`
  bound_companion(const compact_problem<Cost>& problem, const Settings& with, const solve_control& control,
                  shared_findings<Cost>& findings)
      : p_(&problem),
        with_(patient(with)),
        control_(control),
        limit_(control_),
        findings_(&findings),
        best_(control.gap),
        side_(problem, with_, control_, limit_, *this) {}
  bound_companion(const bound_companion&) = delete;  // `side_` points here
  bound_companion& operator=(const bound_companion&) = delete;

  void run() {
    while (!is_over()) {
      side_.climb(std::numeric_limits<std::size_t>::max(), std::numeric_limits<double>::infinity());
      // to rule labels out is to begin the cases anew
      with_.worthwhile = least_worthwhile_ + gain_of_cases();
      if (side_.close_in()) cases_.reset();
      side_.rest().forget_ascent_on_whole();
      // what the other thread finds may rule out more
      for (bool more = true; !side_.climbs() && !is_over() && !findings_->exchange(best_, limit_.elapsed());) {
        more = more && work_on_cases();
        if (!more) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    }
  }

  [[nodiscard]] const incumbent<Cost>& best() const { return best_; }
  void offer(std::vector<strategy> labels) {
    const Cost cost = p_->cost(labels);
    if (!best_.is_beaten_by(cost) || !p_->keeps_rows(labels)) return;
    best_.offer(cost, std::move(labels), limit_.elapsed());
    findings_->exchange(best_, limit_.elapsed());
  }
  [[nodiscard]] bool is_over() {
    findings_->raise(side_.bound());
    return limit_.expired() || best_.is_enough(findings_->bound());
  }
  void stepped() { findings_->exchange(best_, limit_.elapsed()); }
  void report() const {}

 private:
  /// \returns whether another call may gain
  bool work_on_cases() {
    remainder<Cost>& rest = side_.rest();
    if (!best_.is_known() || rest.problem().size() == 0) return false;
    if (!cases_) cases_.emplace(rest.problem(), rest.ascent().position(), rest.ascent().bound());
    const bool more = cases_->work(best_, limit_);
    rest.raise(cases_->bound(), best_);
    return more;
  }
  /// As a share of the gap that one ascent leaves.
  [[nodiscard]] double gain_of_cases() {
    if (!cases_) return 0;
    const double without = side_.rest().ascent().bound();
    return std::clamp((cases_->bound() - without) / (best_.upper() - without), 0.0, 1.0);
  }

  /// It has nothing better to do than to climb to the end.
  static Settings patient(Settings with) {
    with.least_gain = -1;
    with.worthwhile /= 10;
    with.closing_steps = std::numeric_limits<std::size_t>::max();
    with.closing_share = 1;
    return with;
  }

  const compact_problem<Cost>* p_;
  Settings with_;
  solve_control control_;
  deadline limit_;
  shared_findings<Cost>* findings_;
  incumbent<Cost> best_;
  bound_side<Cost, Settings, bound_companion> side_;
  std::optional<bound_cases<Cost>> cases_ = {};  ///< of what was left when they began: freed when labels go
  double least_worthwhile_ = with_.worthwhile;
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave
