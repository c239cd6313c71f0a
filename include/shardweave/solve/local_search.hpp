#pragma once

#include <shardweave/core/random.hpp>
#include <shardweave/placement/move.hpp>
#include <shardweave/solve/bound/priced_problem.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/search/detail/descent.hpp>
#include <shardweave/solve/search/detail/greedy_labels.hpp>
#include <shardweave/solve/search/detail/label_repair.hpp>
#include <shardweave/solve/search/detail/savings_descent.hpp>
#include <shardweave/solve/search/detail/savings_state.hpp>
#include <shardweave/solve/solver.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Finds good assignments fast, and improves given ones.

namespace shardweave::inline v0 {

/// A greedy labeling, repaired where it breaks constraints, then improved by moves that keep it feasible:
/// single variables, stars (a variable with the best responses of its neighbours) and random forests of up
/// to `largest_block` variables, whose best labels dynamic programming finds exactly.
///
/// Gives no bound. Budgets are kept exactly: violations are priced until they disappear. Without a limit the work is
/// about `effort` forest moves per variable and start. With a limit on time or iterations each start gets an equal
/// share of what is left, and ends with it, or when as many moves in a row gained nothing.
///
/// A given start (`solve_control::start`) is repaired if need be, and the better of two descents from it, by coordinate
/// sweeps and by steepest moves, is improved. The other starts are then the incumbent with some labels drawn anew.
///
/// With savings, moves are found under prices of the computation that hides, at first the best ones for the present
/// labels, and accepted if they lower costs less savings, computed exactly: priced costs are a lower bound on these.
/// Complexity: a forest move costs O(labels * degrees of its members + their class tables + rows touched)
class local_search {
 public:
  static constexpr std::string_view name = "local_search";
  static constexpr solver_abilities abilities{.budgets = true, .savings = true};

  std::size_t starts = 2;           ///< of which the best result counts
  std::size_t sweeps = 12;          ///< coordinate sweeps before forests; see `effort`
  std::size_t star_sweeps = 1;      ///< sweeps of stars; 0 where a large problem needs an assignment soon
  std::size_t largest_block = 400;  ///< variables in a forest; fewer where a move must be quick
  /// Random moves per variable, at least 200 in all: three of four are forest moves, the rest change a pair of
  /// variables. If this, `sweeps` and `star_sweeps` are all 0, each start ends with its first feasible assignment.
  std::size_t effort = 20;
  std::size_t attempts = 8;  ///< most starts while none is feasible; fewer where another solver is asked next

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const;
  /// The same without the moves that count savings, which a caller of this alone does not compile.
  /// \pre `problem.savings()` is null
  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve_costs(const placement_problem<Cost>& problem,
                                           const solve_control& control = {}) const;

 private:
  static constexpr std::size_t star_neighbours = 32;  ///< neighbours in a star that respond, those of highest edge cost

  template <cost_value Cost>
  class search {
   public:
    using improvement = void (search::*)(std::vector<strategy>);

    /// \param of_savings  improves a labeling of a problem with savings; null for one without
    search(const local_search& options, const placement_problem<Cost>& problem, const solve_control& control,
           improvement of_savings)
        : with_(options),
          of_savings_(of_savings),
          problem_(problem),
          p_(problem.compact()),
          control_(control),
          share_(control),
          limit_(share_),
          random_(control.seed),
          greedy_(p_),
          block_(p_) {}

    solution<Cost> run() {
      const std::size_t wanted = std::max<std::size_t>(with_.starts, 1);
      std::optional<std::vector<strategy>> given;
      if (!control_.start.empty()) given = problem_.labels_of(control_.start);
      if (given) offer(*given);
      std::size_t begun = 0;
      for (; !is_over() && begun < (best_.is_known() ? wanted : std::max(with_.attempts, wanted)); ++begun) {
        // a given start gets all the time it needs, the others equal shares of what is left
        const std::size_t to_come = given || begun >= wanted ? 1 : wanted - begun;
        share_.seconds =
            limit_.elapsed() + std::max(0.0, control_.seconds - limit_.elapsed()) / static_cast<double>(to_come);
        share_.iterations =
            statistics_.iterations + std::max<std::size_t>((control_.iterations - statistics_.iterations) / to_come, 1);
        std::optional<std::vector<strategy>> labels;
        if (given && begun == 0) {
          labels = given;
        } else if (given && best_.is_known()) {
          labels = kicked(best_.labels());
        } else {
          labels = greedy_(limit_, random_, begun == 0 ? 0.0 : 0.3);
        }
        if (!labels) continue;  // its share of the time was too short
        improve_from(*std::move(labels), given && begun == 0);
      }
      statistics_.solver = name;
      statistics_.seconds = limit_.elapsed();
      const bool stopped = is_over();
      if (stopped) statistics_.add_note("stopped after " + std::to_string(statistics_.iterations) + " moves.");
      statistics_.seconds_to_best = best_.found_at();
      statistics_.count({{"starts", static_cast<double>(begun)}});
      if (!best_.is_known()) statistics_.add_note("no assignment that keeps all constraints was found.");
      return conclude(problem_, std::span<const strategy>(best_.labels()), -std::numeric_limits<double>::infinity(),
                      stopped, std::move(statistics_), control_);
    }

    void improve_savings(std::vector<strategy> labels) {
      descend_with_savings(labels);
      round_by_round(std::move(labels));
      if (best_.is_known()) descend_with_savings(best_.labels());
    }

   private:
    /// Whether the whole search is over.
    [[nodiscard]] bool is_over() const {
      return control_.stop.stop_requested() || statistics_.iterations >= control_.iterations ||
             (std::isfinite(control_.seconds) && limit_.elapsed() >= control_.seconds);
    }
    /// Whether the present start is over.
    [[nodiscard]] bool is_stopped() const { return limit_.expired() || statistics_.iterations >= share_.iterations; }

    /// Perturbs a good labeling.
    [[nodiscard]] std::vector<strategy> kicked(std::vector<strategy> labels) {
      if (p_.size() == 0) return labels;
      for (std::size_t i = 2 + random_.below(1 + p_.size() / 8); i-- > 0;) {
        const std::size_t x = random_.below(p_.size());
        labels[x] = static_cast<strategy>(random_.below(p_.label_count(x)));
      }
      return labels;
    }

    /// Remembers a labeling if it is feasible and the best so far.
    void offer(std::span<const strategy> labels) {
      const Cost cost = problem_.objective(labels);
      if (!best_.is_beaten_by(cost) || !p_.keeps_rows(labels)) return;
      best_.offer(cost, {labels.begin(), labels.end()}, limit_.elapsed());
      report();
    }

    void report() const {
      if (control_.progress)
        control_.progress({.stage = name, .seconds = limit_.elapsed(), .objective = best_.upper()});
    }

    /// \param is_given  the start was given: more effort
    void improve_from(std::vector<strategy> labels, bool is_given) {
      labeling_state<Cost> state(p_, std::move(labels));
      if (state.conflicts() > 0 || !state.keeps_rows()) {
        detail::label_repair<Cost> repair(state, block_);
        if (!repair.run(1000 + 5 * p_.size(), limit_, random_)) return;
        state.refresh();
      }
      offer(state.labels());
      if (with_.sweeps + with_.star_sweeps + with_.effort == 0) return;  // only a first assignment is wanted
      if (of_savings_ != nullptr) {
        (this->*of_savings_)({state.labels().begin(), state.labels().end()});
        return;
      }
      std::optional<labeling_state<Cost>> steep;
      if (is_given && p_.total_labels() <= steep_labels && !is_stopped()) {
        ++statistics_.iterations;
        steep = state;
        detail::descent<Cost> moves(*steep, block_, limit_);
        for (std::size_t i = 0; i < 4 * p_.size() && moves.steepest_move(); ++i) {
        }
        steep->refresh();
        offer(steep->labels());
      }
      {
        detail::descent<Cost> moves(state, block_, limit_);
        for (std::size_t i = 0; i < with_.sweeps && !is_stopped(); ++i, ++statistics_.iterations)
          if (!moves.coordinate_sweep()) break;
        offer(state.labels());
      }
      if (steep && steep->cost() < state.cost()) state = *std::move(steep);
      detail::descent<Cost> moves(state, block_, limit_);
      for (std::size_t i = 0; i < with_.star_sweeps && !is_stopped(); ++i, ++statistics_.iterations)
        if (!moves.star_sweep(star_neighbours)) break;
      offer(state.labels());
      if (moves.size() > 0) forests(state, moves);
    }

    void forests(labeling_state<Cost>& state, detail::descent<Cost>& moves) {
      const std::size_t most = most_steps(moves.size());
      const bool is_limited = has_limit();
      for (std::size_t step = 0, idle = 0; idle < most && (is_limited || step < most) && !is_stopped(); ++step) {
        ++statistics_.iterations;
        const bool gained = moves.random_step(step, with_.largest_block, random_);
        idle = gained ? 0 : idle + 1;
        if (step % 4096 == 4095) {
          moves.refresh();  // so that rounding errors do not accumulate
          offer(state.labels());
        }
      }
      state.refresh();
      offer(state.labels());
    }

    [[nodiscard]] std::size_t most_steps(std::size_t variables) const {
      return std::max<std::size_t>(200, with_.effort * variables);
    }
    [[nodiscard]] bool has_limit() const {
      return std::isfinite(control_.seconds) || control_.iterations != std::numeric_limits<std::size_t>::max();
    }

    /// Coordinate descent on the exact objective.
    void descend_with_savings(std::vector<strategy> labels) {
      if (is_stopped()) return;
      ++statistics_.iterations;
      if (detail::savings_descent(p_, *problem_.savings(), labels, limit_, with_.sweeps)) offer(labels);
    }

    /// Rounds of moves at fixed prices: the best prices for the present labels, means of these and earlier ones, and
    /// mixtures of the best prices for less and for more communication, in turn.
    void round_by_round(std::vector<strategy> labels) {
      detail::savings_state<Cost> exact(p_, *problem_.savings(), std::move(labels));
      priced_problem<Cost> priced(p_, *problem_.savings());
      chain_prices<Cost> chain(*problem_.savings());
      std::size_t idle = 0;
      for (std::size_t round = 0; idle < savings_rounds && !is_stopped(); ++round) {
        next_prices(exact, round, chain.values());
        chain.update();
        const Cost before = exact.objective();
        if (!round_at(priced.with_prices(chain), exact, round)) return;
        exact.refresh();
        offer(exact.labels());
        idle = exact.objective() < before ? 0 : idle + 1;
        if (!has_limit() && round >= 4 * savings_rounds) return;
      }
    }
    void next_prices(const detail::savings_state<Cost>& exact, std::size_t round, std::vector<double>& prices) {
      if (round % 3 == 2) {
        prices = exact.prices(random_);
      } else {
        const std::vector<double> best = exact.prices();
        for (std::size_t i = 0; i < prices.size(); ++i)
          prices[i] = round % 3 == 0 ? best[i] : 0.5 * (prices[i] + best[i]);
      }
    }
    /// \returns whether there is anything to decide
    bool round_at(const compact_problem<double>& costs, detail::savings_state<Cost>& exact, std::size_t round) {
      labeling_state<double> state(costs, {exact.labels().begin(), exact.labels().end()});
      detail::forest_block<double> block(costs);
      detail::descent<double> moves(state, block, limit_, &exact);
      for (std::size_t i = 0; i < with_.sweeps && !is_stopped(); ++i, ++statistics_.iterations)
        if (!moves.coordinate_sweep()) break;
      for (std::size_t i = 0; i < with_.star_sweeps && round < 2 && !is_stopped(); ++i, ++statistics_.iterations)
        if (!moves.star_sweep(star_neighbours)) break;
      if (moves.size() == 0) return false;
      for (std::size_t step = most_steps(moves.size()) / savings_rounds; step-- > 0 && !is_stopped();) {
        ++statistics_.iterations;
        moves.random_step(step, with_.largest_block, random_);
      }
      return true;
    }
    static constexpr std::size_t savings_rounds = 6;     ///< in a row without a gain that end the search
    static constexpr std::size_t steep_labels = 20'000;  ///< largest problem whose steepest moves are searched

    const local_search& with_;
    improvement of_savings_;
    const placement_problem<Cost>& problem_;
    const compact_problem<Cost>& p_;
    const solve_control& control_;
    solve_control share_;  ///< limits of one start, in time and moves of the whole
    deadline limit_;
    random_source random_;
    detail::greedy_labels<Cost> greedy_;
    detail::forest_block<Cost> block_;
    detail::incumbent<Cost> best_ = {};
    solve_statistics statistics_;
  };
};

template <cost_value Cost>
solution<Cost> local_search::solve(const placement_problem<Cost>& problem, const solve_control& control) const {
  return search<Cost>(*this, problem, control, problem.savings() == nullptr ? nullptr : &search<Cost>::improve_savings)
      .run();
}

template <cost_value Cost>
solution<Cost> local_search::solve_costs(const placement_problem<Cost>& problem, const solve_control& control) const {
  return search<Cost>(*this, problem, control, nullptr).run();
}

#ifdef SHARDWEAVE_COMPILED
extern template solution<double> local_search::solve(const placement_problem<double>&, const solve_control&) const;
extern template solution<std::int64_t> local_search::solve(const placement_problem<std::int64_t>&,
                                                           const solve_control&) const;
extern template solution<double> local_search::solve_costs(const placement_problem<double>&,
                                                           const solve_control&) const;
extern template solution<std::int64_t> local_search::solve_costs(const placement_problem<std::int64_t>&,
                                                                 const solve_control&) const;
#endif

}  // namespace shardweave::inline v0
