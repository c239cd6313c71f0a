#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/interning.hpp>
#include <shardweave/core/parallel.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/step/detail/is_better.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_work.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

/// \file
/// The plans that a search for the shortest step has made.

namespace shardweave::inline v0::detail {

/// How placements are told apart: by what they take, as placements that take the same mostly have plans that end at
/// once, or by their strategies.
enum class told_apart_by : std::uint8_t { work, strategies };

/// Makes plans of placements, no two of which are alike, keeps them, and tells of the best.
/// \tparam Planner  a `step_planner`
template <class Planner>
class tried_plans {
 public:
  using plan_type = decltype(std::declval<const Planner&>()(std::span<const strategy>{}, solve_control{}));
  struct tried_plan {
    assignment choice;
    double step = 0;
    plan_type plan;
  };

  /// \param work     by which placements are told apart
  /// \param planned  as `step_search_options` has it
  /// \param most     plans that will be made, for progress
  /// \param limit    of the search
  /// \pre all but the numbers outlive this
  tried_plans(const step_work& work, const Planner& planner, std::size_t planned, std::size_t most,
              const solve_control& control, const deadline& limit)
      : work_(work), planner_(planner), planned_(planned), most_(most), control_(control), limit_(limit) {}

  [[nodiscard]] std::size_t size() const { return plans_.size(); }
  [[nodiscard]] const tried_plan& operator[](std::size_t i) const { return plans_[i]; }
  /// \pre there is one
  [[nodiscard]] const tried_plan& best() const { return plans_[best_]; }
  /// Which ones are best (`is_better`), at most so many, the best one first.
  [[nodiscard]] std::vector<std::size_t> best_ones(std::size_t most) const {
    std::vector<std::size_t> ranked(plans_.size());
    for (std::size_t i = 0; i < ranked.size(); ++i) ranked[i] = i;
    std::ranges::stable_sort(ranked,
                             [&](std::size_t i, std::size_t j) { return is_better(plans_[i].plan, plans_[j].plan); });
    ranked.resize(std::min(ranked.size(), most));
    return ranked;
  }
  /// Whether another plan would not be there in time.
  [[nodiscard]] bool is_late() const {
    return limit_.expired() || (std::isfinite(control_.seconds) && limit_.remaining() < 2 * seconds_of_plan_);
  }

  /// Makes the plans of placements, on as many threads as there may be; not of those that are like one planned before,
  /// and no more than `most` in all.
  /// \returns the one whose plan is better than all before and the first of the best of them; nothing: none is
  std::optional<std::size_t> consider(std::span<const assignment> some, std::size_t most,
                                      told_apart_by by = told_apart_by::work) {
    std::vector<std::size_t> fresh;
    for (std::size_t i = 0; i < some.size(); ++i) {
      if (some[i].empty() || plans_.size() + fresh.size() >= most) continue;
      const bool has_new_work = seen_.insert(key_of(work_of(work_, some[i]))).second;
      if (!has_new_work && by == told_apart_by::work) continue;
      if (planned_choices_.insert(planned_part(some[i])).second) fresh.push_back(i);
    }
    std::vector<std::optional<plan_type>> made(fresh.size());
    std::vector<double> seconds(fresh.size());
    for_each_number(fresh.size(), control_.threads, [&] {
      return [&](std::size_t k) {
        if (!plans_.empty() && is_late()) return;
        const double before = limit_.elapsed();
        made[k] = planner_(some[fresh[k]], limit_.rest());
        seconds[k] = limit_.elapsed() - before;
      };
    });
    std::optional<std::size_t> best_one;
    for (std::size_t k = 0; k < fresh.size(); ++k) {
      if (!made[k]) continue;
      seconds_of_plan_ = seconds[k];
      const auto step = static_cast<double>(made[k]->step);
      const bool is_best = plans_.empty() || is_better(*made[k], best().plan);
      if (is_best) {
        best_ = plans_.size();
        best_one = fresh[k];
      }
      plans_.push_back({some[fresh[k]], step, *std::move(made[k])});
      if (is_best) report();
    }
    return best_one;
  }
  /// Of a placement that was planned makes the best plan, if it ends before all others, where the planner does so.
  /// \returns whether no other plan of it is left that could
  bool complete(const assignment& choice) {
    const assignment own = planned_part(choice);
    const auto at = std::ranges::find(plans_, own, [&](const tried_plan& plan) { return planned_part(plan.choice); });
    if (at == plans_.end() || limit_.expired()) return false;
    if constexpr (requires(const Planner& p, const plan_type& plan) { p.completed(plan, 0.0, solve_control{}); }) {
      auto found = planner_.completed(at->plan, best().step, limit_.rest());
      if (is_better(found.best, at->plan)) {
        at->step = static_cast<double>(found.best.step);
        at->plan = std::move(found.best);
        if (is_better(at->plan, best().plan)) {
          best_ = static_cast<std::size_t>(at - plans_.begin());
          report();
        }
      }
      return found.is_all;
    } else {
      return true;
    }
  }
  /// Looks at so many of the best plans once more, and at the best of these at length.
  void improve(std::size_t some) {
    const std::vector<std::size_t> glanced = best_ones(some);
    const auto improve_one = [&](std::size_t i, std::size_t effort) {
      if (limit_.expired() || !std::isfinite(plans_[i].step)) return;
      plan_type plan = planner_.improved(plans_[i].plan, effort, limit_.rest());
      if (!is_better(plan, plans_[i].plan)) return;
      plans_[i].step = static_cast<double>(plan.step);
      plans_[i].plan = std::move(plan);
    };
    for_each_number(glanced.size(), control_.threads, [&] {
      return [&](std::size_t i) {
        if (!is_late()) improve_one(glanced[i], 1);
      };
    });
    for (const std::size_t i : glanced)
      if (is_better(plans_[i].plan, best().plan)) best_ = i;
    if (plans_.empty()) return;
    improve_one(best_, 10);
    report();
  }

  /// Tells that no plan ends before. Beside `consider`, too: one of the two speaks at a time.
  void tell_bound(double bound) {
    tell([&] { told_.lower_bound = bound; });
  }

 private:
  /// Hashes of times and of loads.
  using work_key = std::pair<std::size_t, std::size_t>;

  [[nodiscard]] work_key key_of(taken_work taken) const {
    if (planned_ > 0) {
      taken.time.resize(std::min(planned_, taken.time.size()));
      for (std::size_t e = 0; e < work_.edges.size(); ++e)
        if (work_.edges[e].to >= planned_)
          std::fill_n(taken.load.begin() + static_cast<std::ptrdiff_t>(e * work_.channels), work_.channels, 0.0);
    }
    return {sequence_hash{}(taken.time), sequence_hash{}(taken.load)};
  }
  [[nodiscard]] assignment planned_part(const assignment& choice) const {
    const auto last = planned_ > 0 && planned_ < choice.size() ? choice.begin() + static_cast<std::ptrdiff_t>(planned_)
                                                               : choice.end();
    return {choice.begin(), last};
  }
  void report() {
    tell([&] {
      told_.objective = best().step;
      told_.done = std::min(1.0, static_cast<double>(plans_.size()) / static_cast<double>(most_));
    });
  }
  template <class Change>
  void tell(Change change) {
    if (!control_.progress) return;
    const std::lock_guard one_at_a_time(telling_);
    change();
    told_.seconds = limit_.elapsed();
    control_.progress(told_);
  }

  const step_work& work_;
  const Planner& planner_;
  std::size_t planned_, most_;
  const solve_control& control_;
  const deadline& limit_;
  std::vector<tried_plan> plans_;
  std::set<work_key> seen_;
  std::set<assignment> planned_choices_;
  std::size_t best_ = 0;
  double seconds_of_plan_ = 0;
  std::mutex telling_;
  progress_report told_{.stage = "step", .unit = "ns"};
};

}  // namespace shardweave::inline v0::detail
