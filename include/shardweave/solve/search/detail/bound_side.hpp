#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/solve/search/detail/remainder.hpp>
#include <shardweave/solve/search/detail/repair.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// \file
/// The side of a guided search that raises the bound.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// Climbs with bound and prices, rules out labels that no better assignment has, and searches what is left once it is
/// little. The bound that this gives holds for all labelings: those that were ruled out cost no less than the best.
///
/// `Settings` is a `guided_search`. `Host` is who searches: it has `best()`, an `incumbent`; `offer(labels)`, labels of
/// the whole problem that keep its rows or not; `is_over()`; `stepped()`, called once a step; and `report()`.
template <cost_value Cost, class Settings, class Host>
class bound_side {
 public:
  /// \pre all outlive this
  bound_side(const compact_problem<Cost>& problem, const Settings& with, const solve_control& control,
             const deadline& limit, Host& host)
      : with_(&with), control_(&control), limit_(&limit), host_(&host), rest_(problem) {}

  [[nodiscard]] remainder<Cost>& rest() { return rest_; }
  [[nodiscard]] double bound() const { return rest_.bound(); }
  /// Whether another step may gain.
  [[nodiscard]] bool climbs() const { return climbs_; }
  [[nodiscard]] std::size_t steps() const { return steps_; }
  [[nodiscard]] std::size_t ruled_out() const { return ruled_out_; }
  [[nodiscard]] double climbing_seconds() const { return climbing_seconds_; }

  /// \param until  seconds from the start at which it ends too
  void climb(std::size_t most, double until) {
    if (host_->is_over()) return;
    price_ascent<Cost>& ascent = rest_.ascent();
    const compact_problem<Cost>& p = rest_.problem();
    std::vector<strategy> labels(p.size());
    const double began = limit_->elapsed();
    double mark = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < most && climbs_ && (is_timed() || steps_ < with_->steps) && !host_->is_over(); ++i) {
      if (std::isfinite(until) && limit_->elapsed() > until) break;
      climbs_ = rest_.step(host_->best());
      host_->stepped();
      if (++steps_ % with_->decode_every != 0 && climbs_) continue;
      ascent.decode(labels);
      if (repair(p, std::span<strategy>(labels), 50 + p.size() / 20, *limit_)) host_->offer(rest_.lift(labels));
      host_->report();
      if (!rest_.is_whole() && ascent.bound() <= mark + with_->least_gain * std::max(host_->best().upper() - mark, 0.0))
        break;  // dives gain more now, and what they find rules out more
      // where a gap is enough, the last hundredths of it can wait
      if (control_->gap > 0 && rest_.is_whole() &&
          ascent.bound() <= mark + 0.05 * control_->gap * std::abs(ascent.bound()))
        break;
      mark = ascent.bound();
    }
    climbing_seconds_ += limit_->elapsed() - began;
  }

  /// Rules out labels as long as that helps. \returns whether any went
  bool close_in() {
    if (!host_->best().is_known() || rest_.problem().size() == 0 || host_->is_over()) return false;
    if (is_timed() && closing_seconds_ > with_->closing_share * limit_->elapsed()) return false;
    const double began = limit_->elapsed();
    bool gained = false;
    while (!host_->is_over() && rule_out()) {
      gained = true;
      if (host_->is_over()) return true;
      climb(with_->closing_steps, std::numeric_limits<double>::infinity());
    }
    if (!host_->is_over() && !rest_.is_whole() && rest_.problem().total_labels() <= with_->small_labels &&
        (gained || searches_ == 0 || searched_at_ != host_->best().cost()))
      finish();
    closing_seconds_ += limit_->elapsed() - began;
    return gained;
  }

 private:
  [[nodiscard]] bool is_timed() const { return std::isfinite(control_->seconds); }

  /// \returns whether enough labels could go
  bool rule_out() {
    if (is_timed() && limit_->remaining() < 1.5 * longest_round_) return false;  // it cannot be broken off
    const double began = limit_->elapsed();
    const solve_control rest{.seconds = limit_->rest().seconds, .stop = control_->stop};
    const std::size_t gone = rest_.rule_out(host_->best(), with_->worthwhile, rest,
                                            [&](std::vector<strategy> labels) { host_->offer(std::move(labels)); });
    longest_round_ = std::max(longest_round_, limit_->elapsed() - began);
    ruled_out_ += gone;
    climbs_ = climbs_ || gone > 0;
    return gone > 0;
  }

  void finish() {
    auto last = with_->finish;
    last.nodes <<= std::min<std::size_t>(searches_++, 10);
    searched_at_ = host_->best().cost();
    solve_control brief = limit_->rest_for_part();
    brief.gap = control_->gap;
    if (is_timed()) brief.seconds *= with_->closing_share;
    const solution<Cost> found =
        last.solve_below(placement_problem<Cost>(rest_.shared_part()), host_->best().cost(), brief);
    rest_.raise(found.lower_bound, host_->best());
    if (!found.has_assignment()) return;
    host_->offer(rest_.lift(found.choice));
    rest_.raise(found.lower_bound, host_->best());
  }

  const Settings* with_;
  const solve_control* control_;
  const deadline* limit_;
  Host* host_;
  remainder<Cost> rest_;
  bool climbs_ = true;
  std::size_t steps_ = 0, ruled_out_ = 0, searches_ = 0;
  Cost searched_at_ = forbidden<Cost>;
  double climbing_seconds_ = 0, closing_seconds_ = 0, longest_round_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave
