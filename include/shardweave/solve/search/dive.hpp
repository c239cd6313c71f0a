#pragma once

#include <shardweave/placement/restrict.hpp>
#include <shardweave/solve/bound/detail/known_prices.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/branch_and_bound.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/reduce/reduction.hpp>
#include <shardweave/solve/search/detail/descent.hpp>
#include <shardweave/solve/search/detail/label_repair.hpp>
#include <shardweave/solve/search/detail/repair.hpp>
#include <shardweave/solve/solver.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Diving: a primal heuristic guided by the bound.

namespace shardweave::inline v0 {

/// Repeatedly removes the labels with the worst bounds, many at a time, reduces the rest and continues the ascent on
/// it, until little is left for branch and bound. Each of these problems is decoded, repaired and improved by forest
/// moves; the best labels found are never removed, so once a dive has found an assignment it cannot end without one.
///
/// Finds assignments of large problems with budgets in seconds, where local search finds none. They are not polished on
/// the whole problem: use `polished` around it, or `guided_search`.
/// Source: diving heuristics of integer programming, here on Lagrangian reduced costs.
/// Complexity: per dive at most 30 rounds, each with reductions, `steps` steps of `price_ascent` and O(variables)
/// forest moves on fewer labels than the last; then `finish` on at most `small_labels`
class dive {
 public:
  static constexpr std::string_view name = "dive";
  static constexpr solver_abilities abilities{.budgets = true};

  std::size_t dives = 4;            ///< number of dives
  std::size_t root_steps = 600;     ///< of the ascent at the root
  double least_share = 0.6;         ///< share of labels that stay in a round; each dive draws its own from here ...
  double most_share = 0.88;         ///< ... to here, clamped to [0, 1]; less makes quicker dives, worse assignments
  std::size_t steps = 90;           ///< of the ascent per round
  double effort = 0.5;              ///< random moves per variable and round, three of four of them forest moves
  std::size_t small_labels = 2000;  ///< from so many labels down `finish` solves the rest
  branch_and_bound finish = brief_search();

  /// One dive. Nothing if it found no assignment.
  /// \param guide   bounds and prices of the problem
  /// \param share   of the labels that stay in a round
  /// \param around  labels that the first round keeps; empty: none
  /// \param cutoff  the dive ends when its bound reaches this cost
  template <cost_value Cost>
  [[nodiscard]] std::optional<std::vector<strategy>> once(const compact_problem<Cost>& p, const dual_guide& guide,
                                                          double share, std::span<const strategy> around, Cost cutoff,
                                                          const deadline& limit, random_source& random) const {
    return descender<Cost>(*this, p, limit, random).run(guide, share, share, around, cutoff);
  }

  /// One dive among the labels of the `parents`, of which the first one's are kept in the first round. Variables on
  /// which they agree are fixed at once, so such a dive is fast; it combines parts that are good in different parents.
  /// Source: W. Cook, P. Seymour, Tour merging via branch-decomposition, INFORMS J. Comput. 15 (2003).
  /// \pre at least one parent
  template <cost_value Cost>
  [[nodiscard]] std::optional<std::vector<strategy>> merge(const compact_problem<Cost>& p, const dual_guide& guide,
                                                           double share, std::span<const std::vector<strategy>> parents,
                                                           Cost cutoff, const deadline& limit,
                                                           random_source& random) const {
    dual_guide among = guide;
    std::fill(among.label_bounds.begin(), among.label_bounds.end(), std::numeric_limits<double>::infinity());
    for (const auto& labels : parents)
      for (std::size_t x = 0; x < p.size(); ++x) {
        const std::size_t at = p.label_start(x) + labels[x];
        among.label_bounds[at] = guide.label_bounds[at];
      }
    return descender<Cost>(*this, p, limit, random).run(among, 1, share, parents[0], cutoff);
  }

  /// Draws the share for a dive.
  [[nodiscard]] double draw_share(random_source& random) const {
    return least_share + (most_share - least_share) * random.unit();
  }

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const;

 private:
  static constexpr std::size_t decode_every = 25;  ///< steps between two decodings
  /// Rounds of removing labels in a dive. A share of 0.88 leaves a fiftieth of them; half and twice change no answer.
  static constexpr std::size_t most_rounds = 30;

  [[nodiscard]] static branch_and_bound brief_search() {
    branch_and_bound search;
    search.nodes = 30;
    search.root_steps = 200;
    search.node_steps = 60;
    search.polish_moves = 5;
    search.trials = false;
    return search;
  }

  template <cost_value Cost>
  class descender {
   public:
    descender(const dive& with, const compact_problem<Cost>& root, const deadline& limit, random_source& random)
        : with_(with), root_(root), limit_(limit), random_(random) {}

    std::optional<std::vector<strategy>> run(const dual_guide& guide, double first_share, double share,
                                             std::span<const strategy> around, Cost cutoff) {
      const compact_problem<Cost>* p = &root_;
      std::shared_ptr<const compact_problem<Cost>> left;
      std::vector<double> excess = guide.label_bounds;
      for (double& e : excess) e -= guide.bound;
      std::vector<double> prices = guide.prices;
      prices.resize(root_.rows().size());
      std::vector<strategy> keep(around.begin(), around.end());
      for (std::size_t round = 0; round < most_rounds && !limit_.expired(); ++round) {
        const detail::known_prices known(*p, prices);
        if (!narrow(*p, excess, round == 0 ? first_share : share, keep)) break;
        left = levels_.back()->rest.take_kernel();  // and what was left before goes
        p = left.get();
        keep.clear();
        if (p->size() == 0) {
          offer({});
          break;
        }
        price_ascent<Cost> ascent(*p);
        ascent.start(known.for_rows_of(*p));
        settle(*p, ascent, cutoff, keep);
        improve(*p, ascent, keep);
        if (limit_.expired() || is_closed(ascent.bound(), cutoff)) break;
        if (p->total_labels() <= with_.small_labels) {
          const solution<Cost> found = with_.finish.solve(placement_problem<Cost>(*p), limit_only());
          if (found.has_assignment()) offer(found.choice);
          break;
        }
        excess = ascent.label_bounds();
        prices = ascent.prices();
        for (double& e : excess) e -= ascent.bound();
      }
      if (!best_.is_known()) return std::nullopt;
      return best_.labels();
    }

   private:
    /// The problem that a round left, and how to lift its labels.
    struct level {
      level(restricted_problem<Cost> narrowed, const solve_control& control)
          : cut(std::move(narrowed)), rest(cut.problem.compact(), {}, control) {
        cut.problem = placement_problem<Cost>(compact_problem<Cost>{});  // only the way back is needed
      }
      restricted_problem<Cost> cut;
      reduction<Cost> rest;
    };

    /// Keeps about a share of the labels of finite excess, by ascending excess, the best label of every variable, and
    /// those in `keep`. If nothing feasible is left, removes fewer.
    bool narrow(const compact_problem<Cost>& p, const std::vector<double>& excess, double share,
                std::span<const strategy> keep) {
      std::vector<double> sorted = excess;
      std::erase(sorted, std::numeric_limits<double>::infinity());  // infinite ones are removed in any case
      if (sorted.empty()) return false;
      share = share > 0 ? std::min(share, 1.0) : 0;
      for (int attempt = 0; attempt < 6 && !limit_.expired(); ++attempt, share = (1 + share) / 2) {
        const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(sorted.size() - 1));
        std::nth_element(sorted.begin(), at, sorted.end());
        restriction<Cost> part(p);
        std::size_t gone = 0;
        for (std::size_t x = 0; x < p.size(); ++x) {
          const double* own = excess.data() + p.label_start(x);
          const double enough = std::max(*at, *std::min_element(own, own + p.label_count(x)));
          for (strategy l = 0; l < p.label_count(x); ++l)
            if (own[l] > enough && (keep.empty() || keep[x] != l)) {
              part.forbid(x, l);
              ++gone;
            }
        }
        if (gone == 0) {  // all are equally good: fixes a random variable
          const auto x = static_cast<std::size_t>(random_.below(p.size()));
          const double* own = excess.data() + p.label_start(x);
          part.fix(x,
                   keep.empty() ? static_cast<strategy>(std::min_element(own, own + p.label_count(x)) - own) : keep[x]);
        }
        auto rest = part.build();
        if (!rest) continue;
        auto next = std::make_unique<level>(*std::move(rest), limit_only());
        if (next->rest.is_infeasible()) continue;
        levels_.push_back(std::move(next));
        return true;
      }
      return false;
    }

    /// Steps of the ascent; the best repaired decoding is left in `labels`.
    void settle(const compact_problem<Cost>& p, price_ascent<Cost>& ascent, Cost cutoff,
                std::vector<strategy>& labels) {
      std::vector<strategy> decoded(p.size());
      Cost least = forbidden<Cost>;
      for (std::size_t i = 0; i < with_.steps && !limit_.expired(); ++i) {
        const bool more = ascent.step(std::min(in_double(cutoff), best_.upper()));
        if (is_closed(ascent.bound(), cutoff)) break;
        if (i % decode_every + 1 == decode_every || !more) {
          ascent.decode(decoded);
          const bool keeps_rows = detail::repair(p, std::span<strategy>(decoded), limit_);
          if (const Cost cost = p.cost(decoded); keeps_rows && cost < least) {
            least = cost;
            labels = decoded;
          }
        }
        if (!more) return;
      }
    }

    /// Forest moves from a feasible labeling, or from a decoded one that `label_repair` makes feasible.
    void improve(const compact_problem<Cost>& p, price_ascent<Cost>& ascent, std::vector<strategy>& labels) {
      if (limit_.expired()) return;
      const bool known = !labels.empty();
      if (!known) {
        labels.resize(p.size());
        ascent.decode(labels);
      }
      labeling_state<Cost> state(p, labels);
      detail::forest_block<Cost> block(p);
      if (!known) {
        detail::label_repair<Cost> repair(state, block);
        const bool mended = repair.run(1000, limit_, random_);
        state.refresh();
        labels.clear();
        if (!mended || state.conflicts() > 0 || !state.keeps_rows()) return;
      }
      detail::descent<Cost>(state, block, limit_).polish(with_.effort, 400, random_);
      labels.assign(state.labels().begin(), state.labels().end());
      offer(labels);
    }

    /// Lifts labels of the last level to the root.
    void offer(std::vector<strategy> labels) {
      for (auto at = levels_.rbegin(); at != levels_.rend(); ++at) labels = (*at)->cut.lift((*at)->rest.lift(labels));
      const Cost cost = root_.cost(labels);
      if (best_.is_beaten_by(cost) && root_.keeps_rows(labels)) best_.offer(cost, std::move(labels), 0);
    }

    [[nodiscard]] bool is_closed(double bound, Cost cutoff) const {
      return (!is_forbidden(cutoff) && proves(bound, cutoff)) || best_.is_enough(bound);
    }
    [[nodiscard]] solve_control limit_only() const { return limit_.rest_for_part(); }

    const dive& with_;
    const compact_problem<Cost>& root_;
    const deadline& limit_;
    random_source& random_;
    std::vector<std::unique_ptr<level>> levels_ = {};
    detail::incumbent<Cost> best_ = {};
  };
};

template <cost_value Cost>
solution<Cost> dive::solve(const placement_problem<Cost>& problem, const solve_control& control) const {
  const compact_problem<Cost>& p = problem.compact();
  const deadline limit(control);
  random_source random(control.seed);
  detail::incumbent<Cost> best(control.gap);
  if (std::vector<strategy> start = detail::start_labels(problem, control); !start.empty())
    best.offer(p.cost(start), start, 0);
  solve_statistics statistics{.solver = std::string(name)};
  price_ascent<Cost> ascent(p);
  for (std::size_t i = 0; i < root_steps && !limit.expired(); ++i)
    if (!ascent.step(best.upper())) break;
  bool stopped = limit.expired() || control.iterations < dives;
  if (!limit.expired()) {
    const dual_guide guide = ascent.guide();
    for (; statistics.iterations < std::min(dives, control.iterations); ++statistics.iterations) {
      if (limit.expired() || best.is_enough(guide.bound)) break;
      const bool near = best.is_known() && random.chance(0.5);
      auto labels = once(p, guide, draw_share(random),
                         near ? std::span<const strategy>(best.labels()) : std::span<const strategy>(), best.cost(),
                         limit, random);
      if (!labels || !best.offer(p.cost(*labels), *labels, limit.elapsed())) continue;
      if (control.progress)
        control.progress(
            {.stage = name, .seconds = limit.elapsed(), .objective = best.upper(), .lower_bound = ascent.bound()});
    }
    stopped = stopped || limit.expired();
  }
  statistics.seconds = limit.elapsed();
  statistics.seconds_to_best = best.found_at();
  if (stopped) statistics.add_note("stopped after " + std::to_string(statistics.iterations) + " dives.");
  return conclude(problem, std::span<const strategy>(best.labels()), ascent.bound(), stopped, std::move(statistics),
                  control);
}

#ifdef SHARDWEAVE_COMPILED
extern template solution<double> dive::solve(const placement_problem<double>&, const solve_control&) const;
extern template solution<std::int64_t> dive::solve(const placement_problem<std::int64_t>&, const solve_control&) const;
#endif

}  // namespace shardweave::inline v0
