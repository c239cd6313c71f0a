#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/search/bound_effort.hpp>
#include <shardweave/solve/search/detail/bound_cases.hpp>
#include <shardweave/solve/search/detail/remainder.hpp>
#include <shardweave/solve/search/detail/repair.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

/// \file
/// The part of a guided search that raises the lower bound.

namespace shardweave::inline v0::detail {

/// The bound and the incumbent that the threads of a search share. All members may be called from any thread.
template <cost_value Cost>
class shared_findings {
 public:
  void raise(double bound) {
    const std::scoped_lock lock(mutex_);
    bound_ = std::max(bound_, bound);
  }
  [[nodiscard]] double bound() const {
    const std::scoped_lock lock(mutex_);
    return bound_;
  }
  /// Afterwards both have the better labeling. \returns whether `mine` got a new one
  bool exchange(incumbent<Cost>& mine, double seconds) {
    const std::scoped_lock lock(mutex_);
    if (mine.is_known() && best_.is_beaten_by(mine.cost())) {
      best_ = mine;
      return false;
    }
    return mine.is_beaten_by(best_.cost()) && mine.offer(best_.cost(), best_.labels(), seconds);
  }

 private:
  mutable std::mutex mutex_;
  double bound_ = -std::numeric_limits<double>::infinity();
  incumbent<Cost> best_ = {};
};

/// The same for a thread that only raises the bound.
[[nodiscard]] inline bound_effort patient(bound_effort effort) {
  effort.least_gain = -1;
  effort.worthwhile /= 10;
  effort.closing_steps = std::numeric_limits<std::size_t>::max();
  effort.closing_share = 1;
  return effort;
}

/// Raises the bound, removes labels that no better assignment has (reduced-cost fixing), and solves the rest exactly
/// once it is small. The bound holds for all labelings, since those that were removed cost no less than the incumbent.
template <cost_value Cost>
class bound_side {
 public:
  /// Searches for a labeling cheaper than `known`; the effort grows with the number of searches `before`.
  using last_search = std::function<solution<Cost>(const placement_problem<Cost>& left, Cost known, std::size_t before,
                                                   const solve_control& control)>;

  /// \pre all but `effort` outlive this object
  bound_side(const compact_problem<Cost>& problem, const bound_effort& effort, last_search finish,
             const solve_control& control, std::string_view stage, shared_findings<Cost>& findings)
      : p_(&problem),
        effort_(effort),
        finish_(std::move(finish)),
        control_(&control),
        stage_(stage),
        limit_(control),
        findings_(&findings),
        best_(control.gap),
        rest_(problem) {}

  [[nodiscard]] const deadline& limit() const { return limit_; }
  [[nodiscard]] remainder<Cost>& rest() { return rest_; }
  [[nodiscard]] const incumbent<Cost>& best() const { return best_; }
  /// The best bound of all threads.
  [[nodiscard]] double bound() const { return std::max(rest_.bound(), findings_->bound()); }
  [[nodiscard]] std::size_t steps() const { return steps_; }
  [[nodiscard]] std::size_t ruled_out() const { return ruled_out_; }
  [[nodiscard]] double climbing_seconds() const { return climbing_seconds_; }
  [[nodiscard]] std::size_t iterations() const { return iterations_; }
  void count_iteration() { ++iterations_; }

  [[nodiscard]] bool is_over() {
    findings_->raise(rest_.bound());
    return rest_.is_finished() || limit_.expired() || iterations_ >= control_->iterations ||
           best_.is_enough(findings_->bound());
  }
  /// Offers labels of the whole problem, feasible or not. \returns whether they are the new incumbent
  bool offer(std::vector<strategy> labels) {
    const Cost cost = p_->cost(labels);
    if (!best_.is_beaten_by(cost) || !p_->keeps_rows(labels)) return false;
    best_.offer(cost, std::move(labels), limit_.elapsed());
    findings_->exchange(best_, limit_.elapsed());
    report();
    return true;
  }
  /// Replaces the incumbent by other labels of the same cost.
  void replace(std::vector<strategy> labels) { best_.replace(std::move(labels)); }
  /// \returns whether another thread has found better labels
  bool exchange() { return findings_->exchange(best_, limit_.elapsed()); }
  void report() const { report(best_.upper()); }
  void report(double objective) const {
    if (control_->progress)
      control_->progress(
          {.stage = stage_, .seconds = limit_.elapsed(), .objective = objective, .lower_bound = bound()});
  }

  /// Steps of the ascent, with decodings in between.
  /// \param until  another time limit, in seconds since the start
  void climb(std::size_t most, double until) {
    if (is_over()) return;
    price_ascent<Cost>& ascent = rest_.ascent();
    const compact_problem<Cost>& p = rest_.problem();
    std::vector<strategy> labels(p.size());
    const double began = limit_.elapsed();
    double mark = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < most && climbs_ && (is_timed() || steps_ < effort_.most_steps) && !is_over(); ++i) {
      if (std::isfinite(until) && limit_.elapsed() > until) break;
      climbs_ = rest_.step(best_);
      count_iteration();
      exchange();
      ++steps_;
      const bool is_time = effort_.decode_every > 0 && steps_ % effort_.decode_every == 0;
      if (!is_time && climbs_) continue;
      ascent.decode(labels);
      // the bound comes first: of the contest's M half of the decodings are far from feasible, and given up early
      if (repair(p, std::span<strategy>(labels), limit_, 0.05)) offer(rest_.lift(labels));
      report();
      if (!rest_.is_whole() && ascent.bound() <= mark + effort_.least_gain * std::max(best_.upper() - mark, 0.0)) break;
      // within a requested gap the last hundredths of it are not worth the time
      if (control_->gap > 0 && rest_.is_whole() &&
          ascent.bound() <= mark + 0.05 * control_->gap * std::abs(ascent.bound()))
        break;
      mark = ascent.bound();
    }
    climbing_seconds_ += limit_.elapsed() - began;
  }

  /// Rounds of reduced-cost fixing and ascent while they remove labels. \returns whether any were removed
  bool close_in() {
    if (!best_.is_known() || rest_.problem().size() == 0 || is_over()) return false;
    if (is_timed() && closing_seconds_ > effort_.closing_share * limit_.elapsed()) return false;
    const double began = limit_.elapsed();
    bool gained = false;
    while (!is_over() && rule_out()) {
      gained = true;
      if (is_over()) return true;
      climb(effort_.closing_steps, std::numeric_limits<double>::infinity());
    }
    if (!is_over() && !rest_.is_whole() && rest_.problem().total_labels() <= effort_.small_labels &&
        (gained || searches_ == 0 || searched_at_ != best_.cost()))
      finish();
    closing_seconds_ += limit_.elapsed() - began;
    return gained;
  }

  /// Alternates ascent and reduced-cost fixing until the search ends, on a thread of its own; once neither gains,
  /// branches (`bound_cases`).
  void run() {
    while (!is_over()) {
      climb(std::numeric_limits<std::size_t>::max(), std::numeric_limits<double>::infinity());
      close_in();
      rest_.forget_ascent_on_whole();
      // a new incumbent of the other thread may allow to remove more
      for (bool more = true; !climbs_ && !is_over() && !exchange();) {
        more = more && work_on_cases();
        if (!more) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    }
  }

 private:
  [[nodiscard]] bool is_timed() const { return std::isfinite(control_->seconds); }

  /// One round of reduced-cost fixing. \returns whether labels were removed
  bool rule_out() {
    if (is_timed() && limit_.remaining() < 1.5 * longest_round_) return false;  // a round cannot be interrupted
    const double began = limit_.elapsed();
    const solve_control rest{.seconds = limit_.rest().seconds, .stop = control_->stop};
    // the cases end with the problem that they are of, so removing labels must be worth more than they gained
    const std::size_t gone = rest_.rule_out(best_, effort_.worthwhile + gain_of_cases(), rest,
                                            [&](std::vector<strategy> labels) { offer(std::move(labels)); });
    longest_round_ = std::max(longest_round_, limit_.elapsed() - began);
    ruled_out_ += gone;
    if (gone == 0) return false;
    cases_.reset();
    climbs_ = true;
    return true;
  }

  void finish() {
    searched_at_ = best_.cost();
    solve_control brief = limit_.rest_for_part();
    brief.gap = control_->gap;
    if (is_timed()) brief.seconds *= effort_.closing_share;
    const solution<Cost> found =
        finish_(placement_problem<Cost>(rest_.shared_part()), best_.cost(), searches_++, brief);
    rest_.raise(found.lower_bound, best_);
    if (!found.has_assignment()) return;
    offer(rest_.lift(found.choice));
    rest_.raise(found.lower_bound, best_);
  }

  /// Improves the bound by branching. \returns whether another call may gain
  bool work_on_cases() {
    if (!best_.is_known() || rest_.problem().size() == 0) return false;
    if (!cases_) cases_.emplace(rest_.problem(), rest_.ascent().position(), rest_.ascent().bound(), best_, limit_);
    const bool more = cases_->work();
    rest_.raise(cases_->bound(), best_);
    return more;
  }
  /// What the cases gained, as a share of the gap that the ascent alone leaves.
  [[nodiscard]] double gain_of_cases() {
    if (!cases_) return 0;
    const double without = rest_.ascent().bound();
    return std::clamp((cases_->bound() - without) / (best_.upper() - without), 0.0, 1.0);
  }

  const compact_problem<Cost>* p_;
  bound_effort effort_;
  last_search finish_;
  const solve_control* control_;
  std::string_view stage_;
  deadline limit_;
  shared_findings<Cost>* findings_;
  incumbent<Cost> best_;
  remainder<Cost> rest_;
  std::optional<bound_cases<Cost>> cases_ = std::nullopt;  ///< of what is left
  bool climbs_ = true;                                     ///< whether another step may gain
  std::size_t steps_ = 0, ruled_out_ = 0, searches_ = 0, iterations_ = 0;
  Cost searched_at_ = forbidden<Cost>;
  double climbing_seconds_ = 0, closing_seconds_ = 0, longest_round_ = 0;
};

}  // namespace shardweave::inline v0::detail
