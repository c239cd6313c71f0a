#pragma once

#include <shardweave/solve/detail/descent.hpp>
#include <shardweave/solve/detail/repair.hpp>
#include <shardweave/solve/dive.hpp>
#include <shardweave/solve/dual_guide.hpp>
#include <shardweave/solve/large_neighbourhood.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/price_ascent.hpp>
#include <shardweave/solve/solver.hpp>
#include <shardweave/solve/trws.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// For problems that are too large to prove: bound and assignments, each helping the other.

namespace shardweave {
inline namespace v0 {

/// A quick assignment first; then an ascent of bound and prices; then, in turn, dives along the bound, forest moves
/// from what they find, and more ascent, until the limit comes, the bound proves the best assignment, or `rounds` are
/// over.
///
/// Anytime: stops within milliseconds and returns the best so far with a valid bound. Without a time limit the work is
/// bounded by `steps` and `rounds`.
class guided_search {
 public:
  static constexpr std::string_view name = "guided_search";
  static constexpr solver_abilities abilities{.budgets = true};

  std::size_t rounds = 12;              ///< of dives; with a time limit as many as fit
  std::size_t first_steps = 600;        ///< of the ascent before the first dive
  std::size_t steps_between = 100;      ///< of the ascent between dives
  std::size_t steps = 3000;             ///< of the ascent in all
  double ascent_share = 0.25;           ///< of the time, at most, before the first dive
  std::size_t decode_every = 50;        ///< steps between two attempts at an assignment
  double effort = 1;                    ///< forest moves per variable after a dive
  double near = 0.5;                    ///< chance that a dive keeps the labels of the best assignment
  local_search quick = brief_search();  ///< for the first assignment
  dive down = {};
  std::size_t elite = 8;     ///< assignments that are kept to be merged
  std::size_t merges = 3;    ///< after every dive
  std::size_t windows = 10;  ///< of the large neighbourhood between dives
  large_neighbourhood<> around = {};

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    return search<Cost>(*this, problem, control).run({});
  }
  /// Starts from an assignment.
  template <cost_value Cost>
  [[nodiscard]] solution<Cost> improve(const placement_problem<Cost>& problem, std::span<const strategy> choice,
                                       const solve_control& control = {}) const {
    return search<Cost>(*this, problem, control).run(problem.labels_of(choice).value_or(std::vector<strategy>()));
  }

 private:
  static local_search brief_search() {
    local_search brief;
    brief.starts = 1;
    brief.star_sweeps = 0;
    brief.attempts = 3;
    return brief;
  }

  template <cost_value Cost>
  class search {
   public:
    search(const guided_search& with, const placement_problem<Cost>& problem, const solve_control& control)
        : with_(with),
          problem_(problem),
          p_(problem.compact()),
          control_(control),
          limit_(control),
          random_(control.seed),
          ascent_(p_, trws{}) {}

    solution<Cost> run(std::vector<strategy> given) {
      if (!given.empty()) offer(std::move(given));
      start();
      climb(with_.first_steps, with_.ascent_share * control_.seconds);
      const bool is_timed = std::isfinite(control_.seconds);
      for (std::size_t round = 0; (is_timed || round < with_.rounds) && !is_over(); ++round) {
        go_down();
        for (std::size_t i = 0; i < with_.merges; ++i) merge();
        look_around();
        climb(with_.steps_between, std::numeric_limits<double>::infinity());
      }
      statistics_.solver = name;
      statistics_.seconds = limit_.elapsed();
      const bool proven = found_ && proves(ascent_.bound(), best_cost_);
      const bool stopped = !proven && (limit_.expired() || statistics_.iterations >= control_.iterations);
      if (stopped) statistics_.note = "stopped after " + std::to_string(statistics_.iterations) + " steps. ";
      statistics_.counters = {{"ascent steps", static_cast<double>(climbed_)},
                              {"dives", static_cast<double>(dives_)},
                              {"dives that gained", static_cast<double>(gains_)},
                              {"merges", static_cast<double>(merges_)},
                              {"merges that gained", static_cast<double>(merge_gains_)},
                              {"windows", static_cast<double>(windows_)},
                              {"windows that gained", static_cast<double>(window_gains_)}};
      return conclude(problem_, std::span<const strategy>(best_), ascent_.bound(), stopped, std::move(statistics_));
    }

   private:
    [[nodiscard]] bool is_over() const {
      return limit_.expired() || statistics_.iterations >= control_.iterations ||
             (found_ && proves(ascent_.bound(), best_cost_));
    }

    bool offer(std::vector<strategy> labels) {
      const Cost cost = p_.cost(labels);
      if (is_forbidden(cost) || (found_ && !(cost < best_cost_)) || !p_.keeps_rows(labels)) return false;
      best_ = std::move(labels);
      best_cost_ = cost;
      found_ = true;
      statistics_.seconds_to_best = limit_.elapsed();
      report();
      return true;
    }

    void report() const {
      if (control_.progress)
        control_.progress(
            {.stage = name, .seconds = limit_.elapsed(), .objective = target(), .lower_bound = ascent_.bound()});
    }

    [[nodiscard]] double target() const {
      return found_ ? static_cast<double>(best_cost_) : std::numeric_limits<double>::infinity();
    }

    void start() {
      if (is_over() || found_) return;
      solve_control brief = limit_.rest();
      brief.iterations = std::min<std::size_t>(control_.iterations, 500);
      brief.progress = {};
      ++statistics_.iterations;
      const placement_problem<Cost> plain(p_);
      const solution<Cost> first = with_.quick.solve(plain, brief);
      if (first.has_assignment()) offer(std::vector<strategy>(first.choice.begin(), first.choice.end()));
    }

    /// \param until  seconds from the start at which it ends too
    void climb(std::size_t most, double until) {
      std::vector<strategy> labels(p_.size());
      for (std::size_t i = 0; i < most && climbs_ && climbed_ < with_.steps && !is_over(); ++i) {
        if (std::isfinite(until) && limit_.elapsed() > until) return;
        climbs_ = ascent_.step(target());
        ++statistics_.iterations;
        if (++climbed_ % with_.decode_every != 0 && climbs_) continue;
        ascent_.decode(labels);
        if (detail::repair(p_, std::span<strategy>(labels), 50 + p_.size() / 20, limit_)) offer(labels);
        report();
      }
    }

    void go_down() {
      if (is_over() || p_.size() == 0) return;
      if (guided_at_ != climbed_ || guide_.label_bounds.empty()) guide_ = guide_of(ascent_);
      guided_at_ = climbed_;
      const bool stays_near = found_ && random_.chance(with_.near);
      const double share = draw_share();
      ++statistics_.iterations;
      ++dives_;
      const auto kept = stays_near ? std::span<const strategy>(best_) : std::span<const strategy>();
      auto labels = with_.down.once(p_, guide_, share, kept, found_ ? best_cost_ : forbidden<Cost>, limit_, random_);
      if (!labels) return;
      const Cost reached = polish(*std::move(labels));
      if (is_forbidden(best_of_shares_) || reached < best_of_shares_) {
        best_of_shares_ = reached;
        best_share_ = share;
      }
    }

    /// How boldly to dive depends on the problem: half of the dives do about what the best one did.
    [[nodiscard]] double draw_share() {
      if (is_forbidden(best_of_shares_) || random_.chance(0.5)) return with_.down.draw_share(random_);
      return std::clamp(best_share_ + 0.1 * (random_.unit() - 0.5), 0.0, 1.0);
    }

    /// Dives among the labels of a few assignments that were good.
    void merge() {
      if (elite_.size() < 2 || is_over()) return;
      std::vector<std::vector<strategy>> parents{best_};
      for (std::size_t i = 1 + random_.below(4); i-- > 0;)
        parents.push_back(elite_[random_.below(elite_.size())].second);
      ++statistics_.iterations;
      ++merges_;
      const Cost before = best_cost_;
      auto labels = with_.down.merge(p_, guide_, with_.down.most_share, std::span<const std::vector<strategy>>(parents),
                                     best_cost_, limit_, random_);
      if (labels) polish(*std::move(labels));
      if (best_cost_ < before) ++merge_gains_;
    }

    /// Remembers an assignment among the best few.
    void remember(Cost cost, std::span<const strategy> labels) {
      for (const auto& [known, same] : elite_)
        if (known == cost && std::equal(same.begin(), same.end(), labels.begin(), labels.end())) return;
      elite_.emplace_back(cost, std::vector<strategy>(labels.begin(), labels.end()));
      std::stable_sort(elite_.begin(), elite_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      if (elite_.size() > with_.elite) elite_.pop_back();
    }

    /// \returns the cost after local search
    Cost polish(std::vector<strategy> labels) {
      const std::vector<strategy> kept = labels;
      bool gained = offer(kept);
      labeling_state<Cost> state(p_, std::move(labels));
      detail::forest_block<Cost> block(p_);
      detail::descent<Cost> moves(state, block, limit_);
      moves.coordinate_sweep();
      if (moves.size() > 0) {
        const auto most = static_cast<std::size_t>(with_.effort * static_cast<double>(moves.size()));
        for (std::size_t i = 0; i < most && !limit_.expired(); ++i)
          i % 4 == 3 ? moves.pair_step(random_) : moves.forest_step(400, random_);
      }
      state.refresh();
      gained |= offer(std::vector<strategy>(state.labels().begin(), state.labels().end()));
      if (gained) ++gains_;
      const Cost cost = state.cost();
      if (state.keeps_rows()) remember(cost, state.labels());
      return cost;
    }

    void look_around() {
      if (!found_ || p_.size() == 0) return;
      std::vector<strategy> labels = best_;
      Cost cost = best_cost_;
      for (std::size_t i = 0; i < with_.windows && !is_over(); ++i, ++windows_)
        if (with_.around.once(p_, labels, cost, limit_, random_)) {
          ++window_gains_;
          offer(labels);
        }
      if (cost == best_cost_) best_ = std::move(labels);  // as good, and somewhere else
    }

    const guided_search& with_;
    const placement_problem<Cost>& problem_;
    const compact_problem<Cost>& p_;
    const solve_control& control_;
    deadline limit_;
    random_source random_;
    price_ascent<Cost> ascent_;
    dual_guide guide_ = {};
    std::vector<strategy> best_ = {};
    Cost best_cost_ = forbidden<Cost>;
    std::vector<std::pair<Cost, std::vector<strategy>>> elite_ = {};
    Cost best_of_shares_ = forbidden<Cost>;
    double best_share_ = 0;
    bool found_ = false, climbs_ = true;
    std::size_t climbed_ = 0, guided_at_ = 0, dives_ = 0, gains_ = 0, windows_ = 0, window_gains_ = 0, merges_ = 0,
                merge_gains_ = 0;
    solve_statistics statistics_ = {};
  };
};

}  // namespace v0
}  // namespace shardweave
