#pragma once

#include <shardweave/solve/backend/backend.hpp>
#include <shardweave/solve/detail/multiplier_sweeps.hpp>
#include <shardweave/solve/detail/rounding.hpp>
#include <shardweave/solve/local_polytope.hpp>
#include <shardweave/solve/solution.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardweave {
inline namespace v0 {
namespace detail {

/// What `lp_relaxation` and `ilp` have in common: an incumbent, a bound, what is still worth a column, and
/// one solve of the linear relaxation.
template <cost_value Cost, class Backend>
class relaxation {
 public:
  relaxation(const compact_problem<Cost>& problem, const Backend& engine, const solve_control& c,
             std::string_view solver)
      : p(problem), backend(engine), control(c), limit(c), present(problem) {
    statistics.solver = std::string(solver);
    check_numbers();
  }

  /// A first incumbent and a first bound, from so many sweeps of cheap multipliers; drops what the incumbent
  /// beats.
  void start(std::size_t sweeps) {
    for (std::size_t r = 0; r < p.rows().size(); ++r)
      if (p.rows()[r].low > p.rows()[r].high + 2e-6) {
        statistics.note += "row " + std::to_string(r) + " demands more than it allows. ";
        return raise(std::numeric_limits<double>::infinity(), "limits");
      }
    offer(improved({}));
    raise(reparametrization<Cost>(p, {}, present).bound(), "multipliers");
    drop();
    multiplier_sweeps<Cost> cheap(p);
    double last = -std::numeric_limits<double>::infinity();
    for (std::size_t sweep = 0; sweep < sweeps && !closed() && !limit.expired(); ++sweep) {
      cheap.forward(present);
      cheap.backward(present);
      if ((sweep + 1) % 20 != 0 && sweep + 1 != sweeps) continue;
      dual = cheap.values();
      const double now = reparametrization<Cost>(p, dual, present).bound();
      raise(now, "multipliers");
      std::vector<strategy> labels = cheap.decode(present);
      offer(labels);
      repair(p, labels, limit, 30);
      offer(labels);
      drop();
      // the incumbent counts: without one there is nothing to drop, and the LP may as well begin
      if (now <= last + 1e-7 * std::abs(last)) break;
      last = now;
    }
    report();
  }

  /// Solves the relaxation. Its multipliers prove a bound and drop labels and pairs; its weights are rounded.
  void solve_relaxation() {
    if (closed()) return;
    if (limit.expired() || control.iterations == 0) {
      stopped = true;
      return;
    }
    const local_polytope<Cost> polytope(p, present, false);
    tell(polytope.model());
    const backend_outcome outcome = backend.solve(polytope.model(), limits());
    statistics.iterations += outcome.iterations;
    if (outcome.status == backend_status::infeasible) return fail("the linear relaxation");
    if (outcome.status == backend_status::unbounded)
      refuse(error_category::backend, std::string(backend.name) + " calls a model without negative costs unbounded");
    stopped = outcome.status == backend_status::stopped;
    if (outcome.duals.size() == polytope.model().rows.size()) {
      dual = polytope.duals_of(outcome.duals);
      raise(reparametrization<Cost>(p, dual, present).bound(), "multipliers");
    }
    if (!outcome.primal.empty()) {
      std::vector<double> weight;
      for (std::size_t x = 0; x < p.size(); ++x) {
        double most = 0;
        for (strategy l = 0; l < p.label_count(x); ++l) {
          weight.push_back(polytope.weight(x, l, outcome.primal));
          most = std::max(most, weight.back());
        }
        fractional += most < 1 - 1e-6 ? 1 : 0;
      }
      offer(polytope.labels_of(outcome.primal));
      if (!closed()) offer(improved(weight));
    }
    drop();
    report();
  }

  /// Labels from weights, then single changes.
  [[nodiscard]] std::vector<strategy> improved(std::span<const double> weight) const {
    std::vector<strategy> labels = decode(p, weight);
    repair(p, labels, limit, 30);
    return labels;
  }

  /// Keeps labels that are feasible and better than the incumbent.
  /// \returns whether they are feasible
  bool offer(const std::vector<strategy>& labels) {
    const Cost cost = p.cost(labels);
    if (is_forbidden(cost) || !p.keeps_rows(labels)) return false;
    if (!has_best || cost < best_cost) {
      has_best = true;
      best = labels;
      best_cost = cost;
      statistics.seconds_to_best = limit.elapsed();
    }
    return true;
  }

  /// Takes a bound for assignments that are better than the incumbent; the incumbent bounds the others.
  void raise(double value, std::string_view proof) {
    if (has_best) value = std::min(value, upper());
    if (value > bound) {
      bound = value;
      certificate = proof;
    }
  }

  /// Drops what no assignment as good as the incumbent needs.
  void drop() {
    if (has_best) reparametrization<Cost>(p, dual, present).drop_above(upper() + margin(), present);
    if (!tighten(p, present)) {
      // the incumbent survives all drops, so there is none, and only forbidden pairs were propagated
      raise(std::numeric_limits<double>::infinity(), "propagation");
    }
  }

  /// The backend says that nothing is feasible.
  void fail(std::string_view what) {
    if (has_best) {
      statistics.note +=
          std::string(backend.name) + " calls " + std::string(what) + " infeasible, but a solution of it is known. ";
    } else {
      statistics.note += std::string(what) + " is infeasible, says " + std::string(backend.name) + ". ";
      raise(std::numeric_limits<double>::infinity(), backend.name);
    }
  }

  [[nodiscard]] double upper() const { return static_cast<double>(best_cost); }
  /// Above rounding errors of sums of costs, below what tells solutions apart.
  [[nodiscard]] double margin() const { return 1e-10 * std::max(1.0, std::abs(upper())); }
  [[nodiscard]] bool closed() const {
    return bound == std::numeric_limits<double>::infinity() || (has_best && proves(bound, best_cost));
  }
  [[nodiscard]] backend_limits limits() const {
    return {.seconds = std::max(0.0, limit.remaining()), .stop = control.stop};
  }
  void tell(const linear_model& model) {
    const std::pair<std::string, double> sizes[] = {{"columns", static_cast<double>(model.columns.size())},
                                                    {"rows", static_cast<double>(model.rows.size())},
                                                    {"weights", static_cast<double>(model.entries.size())}};
    // the first model is the largest
    if (statistics.counters.empty()) statistics.counters.assign(std::begin(sizes), std::end(sizes));
  }
  void report() const {
    if (!control.progress) return;
    control.progress({.stage = statistics.solver,
                      .seconds = limit.elapsed(),
                      .objective = has_best ? upper() : std::numeric_limits<double>::infinity(),
                      .lower_bound = bound});
  }

  [[nodiscard]] solution<Cost> finish(const placement_problem<Cost>& problem) {
    statistics.seconds = limit.elapsed();
    statistics.counters.emplace_back("fractional_variables", static_cast<double>(fractional));
    if (stopped) statistics.note += "stopped by a limit or a request. ";
    if (std::isfinite(bound)) statistics.note += "certificate: " + std::string(certificate) + ". ";
    return conclude(problem, std::span<const strategy>(best), bound, stopped, std::move(statistics));
  }

  const compact_problem<Cost>& p;
  const Backend& backend;
  const solve_control& control;
  deadline limit;
  presence present;
  dual_values dual;
  std::vector<strategy> best;
  Cost best_cost{};
  bool has_best = false;
  bool stopped = false;
  double bound = -std::numeric_limits<double>::infinity();
  std::string_view certificate = "none";  ///< what proves the bound
  std::size_t fractional = 0;             ///< variables without a label of weight one
  solve_statistics statistics;

 private:
  void check_numbers() const {
    for (std::size_t x = 0; x < p.size(); ++x)
      for (std::size_t l = 0; l < p.label_count(x); ++l)
        if (const auto c = static_cast<double>(p.unary(x)[l]); !std::isfinite(c))
          refuse(error_category::input, "variable " + std::to_string(x) + " has cost " + std::to_string(c) +
                                            " at label " + std::to_string(l) + ", expected a finite number");
    for (std::size_t t = 0; t < p.tables().size(); ++t)
      for (std::size_t i = 0; i < p.tables()[t]->row_classes(); ++i)
        for (std::size_t j = 0; j < p.tables()[t]->column_classes(); ++j)
          if (const auto c = static_cast<double>(p.tables()[t]->class_cost(i, j));
              std::isnan(c) || c == -std::numeric_limits<double>::infinity())
            refuse(error_category::input, "table " + std::to_string(t) + " has cost " + std::to_string(c) +
                                              " between row class " + std::to_string(i) + " and column class " +
                                              std::to_string(j) + ", expected a number or +infinity");
  }
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave
