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

/// When placements count as equal: if their work is equal, as plans of equal work mostly have the same makespan, or if
/// their strategies are.
enum class told_apart_by : std::uint8_t { work, strategies };

/// Makes plans of placements, no two of them equal, keeps them, and knows the best one (`is_better`).
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

  /// \param work     by which placements are compared
  /// \param planned  as `step_search_options` has it
  /// \param most     plans that will be made, for progress
  /// \param limit    of the search
  /// \pre all references outlive this
  tried_plans(const step_work& work, const Planner& planner, std::size_t planned, std::size_t most,
              const solve_control& control, const deadline& limit)
      : work_(work), planner_(planner), planned_(planned), most_(most), control_(control), limit_(limit) {}

  [[nodiscard]] std::size_t size() const { return plans_.size(); }
  [[nodiscard]] const tried_plan& operator[](std::size_t i) const { return plans_[i]; }
  /// \pre there is one
  [[nodiscard]] const tried_plan& best() const { return plans_[best_]; }
  /// Numbers of the best plans, at most so many, the best one first.
  [[nodiscard]] std::vector<std::size_t> best_ones(std::size_t most) const {
    std::vector<std::size_t> ranked(plans_.size());
    for (std::size_t i = 0; i < ranked.size(); ++i) ranked[i] = i;
    std::ranges::stable_sort(ranked,
                             [&](std::size_t i, std::size_t j) { return is_better(plans_[i].plan, plans_[j].plan); });
    ranked.resize(std::min(ranked.size(), most));
    return ranked;
  }
  /// Whether a limit was reached, or less time is left than twice that of the last plan.
  [[nodiscard]] bool is_late() const {
    return limit_.expired() || (std::isfinite(control_.seconds) && limit_.remaining() < 2 * seconds_of_plan_);
  }

  /// Makes the plans of placements, on up to `control.threads` threads; leaves out those that equal an earlier one, and
  /// those beyond `most` plans in all.
  /// \returns the number in `some` of the best plan, if it is better than all before; otherwise nothing
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
  /// For a placement that was planned: takes the best of all its plans, if that ends before the best so far
  /// (`completed` of the planner, if it has one).
  /// \returns whether no better plan of this placement is left
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
  /// Improves the best `some` plans with effort 1, then the best of them with effort 10.
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

  /// Reports a lower bound. May run concurrently with `consider`: progress calls are serialized.
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
