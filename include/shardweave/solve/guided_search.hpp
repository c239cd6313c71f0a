#pragma once

#include <shardweave/core/attempt.hpp>
#include <shardweave/core/parallel.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/branch_and_bound.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/large_neighbourhood.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/search/bound_effort.hpp>
#include <shardweave/solve/search/detail/bound_side.hpp>
#include <shardweave/solve/search/detail/descent.hpp>
#include <shardweave/solve/search/detail/elite.hpp>
#include <shardweave/solve/search/dive.hpp>
#include <shardweave/solve/solver.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Anytime search for problems that are too large to prove: bound and assignments improve each other.

namespace shardweave::inline v0 {

/// Starts from a quick assignment and an ascent of bound and prices. Then repeats: a dive along the bound with forest
/// moves, merges of good assignments, windows of a large neighbourhood, and more ascent, until a limit is reached, the
/// bound proves the incumbent, or `rounds` are over. Labels whose bound is no better than the incumbent are removed for
/// good (reduced-cost fixing); what is left is reduced and bounded again; once it is small, branch and bound completes
/// the proof.
///
/// Stops within milliseconds and returns the incumbent with a valid bound. Without a time limit the work is bounded by
/// `bounding.most_steps` and `rounds`. With a time limit, two threads and budgets, the second thread only raises the
/// bound and removes labels; the answer then depends on timing, and a stop request may wait for a round of removal
/// (below a second with 70,000 labels).
/// Complexity: per round a dive, `merges` smaller ones, `windows` runs of the solver of windows, steps of
/// `price_ascent` (100 without a time limit, and with one until they have had a quarter of it, then 100), and up to
/// `bounding.closing_steps` with a reduction for each removal of labels
class guided_search {
 public:
  static constexpr std::string_view name = "guided_search";
  static constexpr solver_abilities abilities{.budgets = true};

  std::size_t rounds = 12;              ///< of dives; with a time limit as many as fit
  std::size_t first_steps = 600;        ///< of the ascent before the first dive
  double effort = 1;                    ///< forest moves per variable after a dive
  local_search quick = brief_search();  ///< for the first assignment
  dive down = {};
  std::size_t merges = 3;    ///< after every dive
  std::size_t windows = 10;  ///< of the large neighbourhood between dives
  large_neighbourhood<> around = {};
  bound_effort bounding = {};
  branch_and_bound finish = thorough_search();  ///< for what is left once few labels remain

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const;

 private:
  static constexpr double ascent_share = 0.25;  ///< of the time; after a dive no longer at once than all so far
  /// Of the ascent between dives, where `ascent_share` is used up or there is no time limit: half and twice change no
  /// answer.
  static constexpr std::size_t steps_between = 100;
  static constexpr double near = 0.5;           ///< chance that a dive keeps the labels of the best assignment
  static constexpr std::size_t elite_size = 8;  ///< assignments kept for merging

  static local_search brief_search() {
    local_search brief;
    brief.starts = 1;
    brief.star_sweeps = 0;
    brief.attempts = 3;
    return brief;
  }
  template <cost_value Cost>
  [[nodiscard]] auto last_search() const {
    return [this](const placement_problem<Cost>& left, Cost known, std::size_t before, const solve_control& control) {
      branch_and_bound last = finish;
      last.nodes <<= std::min<std::size_t>(before, 10);
      return last.solve_below(left, known, control);
    };
  }
  static branch_and_bound thorough_search() {
    branch_and_bound search;
    search.nodes = 60;
    search.polish_moves = 10;
    search.trials = false;
    search.reduces_root = false;
    return search;
  }

  template <cost_value Cost>
  class search {
   public:
    search(const guided_search& with, const placement_problem<Cost>& problem, const solve_control& control)
        : with_(with),
          problem_(problem),
          p_(problem.compact()),
          control_(control),
          random_(control.seed),
          side_(p_, with.bounding, with.last_search<Cost>(), control, name, findings_),
          elite_(elite_size) {}

    solution<Cost> run(std::vector<strategy> given) {
      if (!given.empty()) side_.offer(std::move(given));
      search_with_bound();
      side_.exchange();
      if (side_.bound() == -std::numeric_limits<double>::infinity()) side_.rest().raise_without_ascent();
      statistics_.solver = name;
      statistics_.iterations = side_.iterations();
      statistics_.seconds_to_best = side_.best().found_at();
      statistics_.seconds = side_.limit().elapsed();
      const bool proven = side_.best().is_enough(side_.bound());
      const bool stopped = !proven && (side_.limit().expired() || side_.iterations() >= control_.iterations);
      if (stopped) statistics_.add_note("stopped after " + std::to_string(side_.iterations()) + " steps.");
      statistics_.count({{"ascent steps", static_cast<double>(side_.steps())},
                         {"dives", static_cast<double>(dives_)},
                         {"dives that gained", static_cast<double>(gains_)},
                         {"merges", static_cast<double>(merges_)},
                         {"merges that gained", static_cast<double>(merge_gains_)},
                         {"windows", static_cast<double>(windows_)},
                         {"windows that gained", static_cast<double>(window_gains_)},
                         {"labels ruled out", static_cast<double>(side_.ruled_out())}});
      return conclude(problem_, std::span<const strategy>(side_.best().labels()), side_.bound(), stopped,
                      std::move(statistics_), control_);
    }

   private:
    /// On two threads, if there are as many and time is limited, one only raises the bound until the other ends.
    void search_with_bound() {
      if (control_.threads < 2 || !is_timed() || p_.rows().empty()) return search_all();
      std::stop_source over;
      solve_control own = side_.limit().rest();
      own.stop = over.get_token();
      own.iterations = std::numeric_limits<std::size_t>::max();
      own.progress = {};
      side_by_side(
          2,
          [&] {
            const std::exception_ptr failure = failure_of([&] { search_all(); });
            over.request_stop();
            if (failure) std::rethrow_exception(failure);
          },
          [&] {
            detail::bound_side<Cost>(p_, detail::patient(with_.bounding), with_.template last_search<Cost>(), own, name,
                                     findings_)
                .run();
          });
    }

    void search_all() {
      start();
      side_.climb(with_.first_steps, ascent_share * control_.seconds);
      for (std::size_t round = 0; (is_timed() || round < with_.rounds) && !side_.is_over(); ++round) {
        go_down();
        for (std::size_t i = 0; i < with_.merges; ++i) merge();
        look_around();
        if (side_.exchange()) side_.report();
        const double so_far = side_.limit().elapsed();
        const double share = std::min(ascent_share * control_.seconds - side_.climbing_seconds(), so_far);
        if (is_timed() && share > 0) {
          side_.climb(std::numeric_limits<std::size_t>::max(), so_far + share);
        } else {
          side_.climb(steps_between, std::numeric_limits<double>::infinity());
        }
        take_guide();
        side_.close_in();
      }
    }

    void start() {
      if (side_.is_over() || side_.best().is_known()) return;
      solve_control brief = side_.limit().rest_for_part();
      brief.iterations = std::min<std::size_t>(control_.iterations, 500);
      brief.progress = [this](const progress_report& found) { side_.report(found.objective); };
      side_.count_iteration();
      const placement_problem<Cost> plain(problem_.shared_compact());
      const solution<Cost> first = with_.quick.solve_costs(plain, brief);
      if (first.has_assignment()) side_.offer(std::vector<strategy>(first.choice.begin(), first.choice.end()));
    }

    [[nodiscard]] bool is_timed() const { return std::isfinite(control_.seconds); }

    /// Takes the guide of the next dives from the ascent on the whole problem, as long as that is the one that goes on.
    void take_guide() {
      if (p_.size() == 0 || side_.is_over()) return;
      if (!guide_.label_bounds.empty() && (!side_.rest().is_whole() || guided_at_ == side_.steps())) return;
      guide_ = side_.rest().ascent_on_whole().guide();
      guided_at_ = side_.steps();
    }

    void go_down() {
      if (side_.is_over()) return;
      take_guide();
      if (guide_.label_bounds.empty()) return;
      side_.rest().forget_ascent_on_whole();  // the guide is made, or will not be made again
      const bool stays_near = side_.best().is_known() && random_.chance(near);
      const double share = draw_share();
      side_.count_iteration();
      ++dives_;
      const auto kept = stays_near ? std::span<const strategy>(side_.best().labels()) : std::span<const strategy>();
      auto labels = with_.down.once(p_, guide_, share, kept, side_.best().cost(), side_.limit(), random_);
      if (!labels) return;
      const Cost reached = polish(*std::move(labels));
      if (is_forbidden(best_of_shares_) || reached < best_of_shares_) {
        best_of_shares_ = reached;
        best_share_ = share;
      }
    }

    /// The best share of labels to keep depends on the problem: half of the dives draw near the best share so far.
    [[nodiscard]] double draw_share() {
      if (is_forbidden(best_of_shares_) || random_.chance(0.5)) return with_.down.draw_share(random_);
      return std::clamp(best_share_ + 0.1 * (random_.unit() - 0.5), 0.0, 1.0);
    }

    /// A dive restricted to the labels of a few good assignments.
    void merge() {
      if (elite_.size() < 2 || side_.is_over()) return;
      std::vector<std::vector<strategy>> parents{side_.best().labels()};
      for (std::size_t i = 1 + random_.below(4); i-- > 0;) parents.push_back(elite_.draw(random_));
      side_.count_iteration();
      ++merges_;
      const Cost before = side_.best().cost();
      auto labels = with_.down.merge(p_, guide_, with_.down.most_share, std::span<const std::vector<strategy>>(parents),
                                     side_.best().cost(), side_.limit(), random_);
      if (labels) polish(*std::move(labels));
      if (side_.best().cost() < before) ++merge_gains_;
    }

    /// \returns the cost after local search
    Cost polish(std::vector<strategy> labels) {
      const std::vector<strategy> kept = labels;
      bool gained = side_.offer(kept);
      labeling_state<Cost> state(p_, std::move(labels));
      detail::forest_block<Cost> block(p_);
      detail::descent<Cost>(state, block, side_.limit()).polish(with_.effort, 400, random_);
      gained |= side_.offer(std::vector<strategy>(state.labels().begin(), state.labels().end()));
      if (gained) ++gains_;
      const Cost cost = state.cost();
      if (state.keeps_rows()) elite_.add(cost, state.labels());
      return cost;
    }

    void look_around() {
      if (!side_.best().is_known() || p_.size() == 0) return;
      std::vector<strategy> labels = side_.best().labels();
      Cost cost = side_.best().cost();
      for (std::size_t i = 0; i < with_.windows && !side_.is_over(); ++i, ++windows_)
        if (with_.around.once(p_, labels, cost, side_.limit(), random_)) {
          ++window_gains_;
          side_.offer(labels);
        }
      if (cost == side_.best().cost()) side_.replace(std::move(labels));  // of equal cost, but elsewhere
    }

    const guided_search& with_;
    const placement_problem<Cost>& problem_;
    const compact_problem<Cost>& p_;
    const solve_control& control_;
    random_source random_;
    detail::shared_findings<Cost> findings_ = {};
    detail::bound_side<Cost> side_;
    dual_guide guide_ = {};
    detail::elite<Cost> elite_;
    Cost best_of_shares_ = forbidden<Cost>;
    double best_share_ = 0;
    std::size_t guided_at_ = 0, dives_ = 0, gains_ = 0, windows_ = 0, window_gains_ = 0, merges_ = 0, merge_gains_ = 0;
    solve_statistics statistics_ = {};
  };
};

template <cost_value Cost>
solution<Cost> guided_search::solve(const placement_problem<Cost>& problem, const solve_control& control) const {
  return search<Cost>(*this, problem, control).run(detail::start_labels(problem, control));
}

#ifdef SHARDWEAVE_COMPILED
extern template solution<double> guided_search::solve(const placement_problem<double>&, const solve_control&) const;
extern template solution<std::int64_t> guided_search::solve(const placement_problem<std::int64_t>&,
                                                            const solve_control&) const;
#endif

}  // namespace shardweave::inline v0
