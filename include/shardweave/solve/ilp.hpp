#pragma once

#include <shardweave/placement/constraints.hpp>
#include <shardweave/solve/linear/detail/relaxation.hpp>
#include <shardweave/solve/linear/detail/savings_relaxation.hpp>
#include <shardweave/solve/solver.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// The problem as an integer program, solved to proven optimality.

namespace shardweave::inline v0 {

/// Solves the local polytope of the problem with its rows and integer labels, exactly.
///
/// First the linear relaxation: on most placement problems its solution is integral, and the optimum is proven from its
/// multipliers without trust in the backend. Otherwise labels and pairs are removed by their reduced costs, and the
/// rest is solved by the backend's branch and bound. A bound proven there relies on the backend: `statistics.note` says
/// "certificate: " and its name. Solutions are always evaluated anew; those that violate a budget within the backend's
/// tolerance are cut off by a cover inequality, and the backend runs again.
/// Source: E. Balas, Facets of the knapsack polytope, Math. Programming 8 (1975).
///
/// Savings are columns too, and the chains of computation behind them rows (`budget_chains`).
/// Complexity: exponential; that of an integer program with one column per label and pair of classes that is left
template <class Backend>
struct ilp {
  static_assert(integer_backend<Backend>,
                "The backend of ilp must take whole numbers, and have a member name and a const member "
                "solve(linear_model, backend_limits) that returns a backend_outcome (shardweave::integer_backend).");
  static constexpr std::string_view name = "ilp";
  static constexpr solver_abilities abilities{.budgets = true, .savings = true};

  Backend backend;
  double mip_gap;      ///< relative distance of objective and bound at which branch and bound may stop
  std::size_t sweeps;  ///< of message passing before the LP, which drop most columns at little cost; 0: all columns

  explicit ilp(Backend engine = {}, double gap = 0, std::size_t sweeps_before = 200)
      : backend(std::move(engine)), mip_gap(gap), sweeps(sweeps_before) {}

  /// \throws error (input) for costs that are not numbers; error (backend) if the backend breaks down
  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    if (problem.savings() != nullptr)
      return prove(detail::savings_relaxation<Cost, Backend>(problem, backend, control, name));
    return prove(detail::relaxation<Cost, Backend>(problem, backend, control, name));
  }

  /// A backend computes in floating point, so its bound may be off by this share of the objective, which is subtracted:
  /// integer optima above about 1e10 are found but not called proven.
  static constexpr double trust = 1e-10;

 private:
  struct cover {
    std::vector<std::size_t> labels;
    std::size_t most;
  };

  template <class Work>
  [[nodiscard]] auto prove(Work work) const {
    work.start(sweeps);
    work.solve_relaxation();
    const double certified = work.bound;
    std::size_t nodes = 0, cuts = 0;
    branch(work, nodes, cuts);
    work.statistics.counters.emplace_back("certified_bound", certified);
    work.statistics.counters.emplace_back("nodes", static_cast<double>(nodes));
    work.statistics.counters.emplace_back("cover_rows", static_cast<double>(cuts));
    return work.finish();
  }

  template <class Work>
  void branch(Work& work, std::size_t& nodes, std::size_t& cuts) const {
    const double gap = std::max(mip_gap, work.control.gap);
    std::vector<cover> covers;
    for (std::size_t round = 0; !work.closed() && !work.stopped; ++round) {
      if (work.limit.expired() || round >= work.control.iterations) {
        work.stopped = true;
        return;
      }
      auto polytope = work.polytope(true);
      for (const cover& c : covers) polytope.add_cover(c.labels, c.most);
      work.tell(polytope.model());
      backend_limits limits = work.limits();
      limits.gap = gap;
      if (work.best.is_known()) limits.start = polytope.primal_of(work.best.labels());
      const backend_outcome outcome = backend.solve(polytope.model(), limits);
      nodes += outcome.nodes;
      work.statistics.iterations += outcome.iterations;
      if (outcome.status == backend_status::infeasible) return work.fail("the integer program", backend.name);
      double claim = polytope.unscaled(outcome.bound - polytope.resolution());
      claim -= trust * std::abs(claim);
      const bool had_best = work.best.is_known();
      const double before = had_best ? work.upper() : 0;
      bool again = false;
      if (!outcome.primal.empty()) {
        const std::vector<strategy> labels = polytope.labels_of(outcome.primal);
        again = !work.offer(labels) && add_covers(work.p, labels, covers);
      }
      if (std::isfinite(claim)) work.raise(claim, backend.name);
      cuts = covers.size();
      work.report();
      if (outcome.status != backend_status::optimal) {
        work.stopped = gap <= 0 || work.limit.expired();
        return;
      }
      if (work.closed()) return;
      // a much better incumbent removes the largest costs, so the rescaled model has smaller tolerances in their unit
      if (work.best.is_known() && (!had_best || work.upper() < before - work.margin())) {
        work.drop();
        again = true;
      }
      if (!again) return;
    }
  }

  /// For every violated row: of the labels of the same variables that use no less (no more, if usage is below the lower
  /// limit), not all can be taken.
  /// \returns whether there is one
  template <cost_value Cost>
  static bool add_covers(const compact_problem<Cost>& p, const std::vector<strategy>& labels,
                         std::vector<cover>& covers) {
    const std::size_t known = covers.size();
    const std::vector<double> used = p.usage(labels);
    for (std::size_t r = 0; r < used.size(); ++r) {
      const bool above = used[r] > p.rows()[r].high + budget_tolerance,
                 below = used[r] < p.rows()[r].low - budget_tolerance;
      if (!above && !below) continue;
      cover c{{}, 0};
      for (std::size_t x = 0; x < p.size(); ++x) {
        std::vector<double> usage(p.label_count(x));
        for (const usage_segment& s : p.segments(x))
          if (s.begin <= r && r < s.end)
            for (std::size_t l = 0; l < usage.size(); ++l) usage[l] += s.usage[l];
        const double own = usage[labels[x]];
        std::size_t members = 0;
        for (const double u : usage) members += (above ? u >= own : u <= own) ? 1 : 0;
        if (members == usage.size()) continue;  // holds for all its labels: the cover is valid without it
        for (std::size_t l = 0; l < usage.size(); ++l)
          if (above ? usage[l] >= own : usage[l] <= own) c.labels.push_back(p.label_start(x) + l);
        ++c.most;
      }
      if (c.most == 0) continue;
      --c.most;
      covers.push_back(std::move(c));
    }
    return covers.size() > known;
  }
};

}  // namespace shardweave::inline v0
