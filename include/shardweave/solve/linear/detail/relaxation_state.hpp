#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/solve/backend/backend.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/linear/model/linear_model.hpp>
#include <shardweave/solve/solution.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// The state of a solve by linear programs: incumbent, bound and certificate.

namespace shardweave::inline v0::detail {

/// The incumbent and the bound of `relaxation` and `savings_relaxation`.
template <cost_value Cost>
class relaxation_state {
 public:
  relaxation_state(const placement_problem<Cost>& of, const solve_control& c, std::string_view solver)
      : problem(of), control(c), limit(c), best(c.gap) {
    statistics.solver = std::string(solver);
    check_numbers(of.compact());
    if (const std::vector<strategy> start = start_labels(of, c); !start.empty()) offer(start);
  }

  /// Makes feasible labels the incumbent if they are better.
  /// \returns whether they are feasible
  bool offer(const std::vector<strategy>& labels) {
    const Cost objective = problem.objective(labels);
    if (is_forbidden(objective) || !problem.compact().keeps_rows(labels)) return false;
    if (best.is_beaten_by(objective)) best.offer(objective, labels, limit.elapsed());
    return true;
  }

  /// Raises the bound by one on all assignments better than the incumbent; the incumbent bounds the others.
  void raise(double value, std::string_view proof) {
    value = std::min(value, upper());
    if (value > bound) {
      bound = value;
      certificate = proof;
    }
  }

  /// Called if a backend claims that nothing is feasible.
  void fail(std::string_view what, std::string_view backend) {
    if (best.is_known()) {
      statistics.add_note(std::string(backend) + " calls " + std::string(what) +
                          " infeasible, but a solution of it is known.");
    } else {
      statistics.add_note(std::string(what) + " is infeasible, says " + std::string(backend) + ".");
      raise(std::numeric_limits<double>::infinity(), backend);
    }
  }

  /// Whether a row contradicts itself, which proves infeasibility.
  [[nodiscard]] bool has_contradiction() {
    const auto rows = problem.compact().rows();
    for (std::size_t r = 0; r < rows.size(); ++r)
      if (rows[r].low > rows[r].high + 2e-6) {
        statistics.add_note("row " + std::to_string(r) + " demands more than it allows.");
        raise(std::numeric_limits<double>::infinity(), "limits");
        return true;
      }
    return false;
  }

  /// Infinite if nothing is known.
  [[nodiscard]] double upper() const { return best.upper(); }
  /// Larger than rounding errors of cost sums, smaller than differences between solutions that matter.
  /// \pre something is known
  [[nodiscard]] double margin() const { return 1e-10 * std::max(1.0, std::abs(upper())); }
  [[nodiscard]] bool closed() const {
    return bound == std::numeric_limits<double>::infinity() || best.is_enough(bound);
  }
  [[nodiscard]] backend_limits limits() const {
    return {.seconds = std::max(0.0, limit.remaining()), .stop = control.stop};
  }
  /// Whether a limit was reached, which is then noted.
  [[nodiscard]] bool is_cut() {
    if (!limit.expired() && control.iterations > 0) return false;
    stopped = true;
    return true;
  }
  /// Solves a linear relaxation; nothing if the backend finds it infeasible.
  /// \throws error (backend) if it is called unbounded: costs are not negative
  template <class Backend>
  [[nodiscard]] std::optional<backend_outcome> ask(const Backend& backend, const linear_model& model) {
    tell(model);
    backend_outcome outcome = backend.solve(model, limits());
    statistics.iterations += outcome.iterations;
    if (outcome.status == backend_status::infeasible) {
      fail("the linear relaxation", backend.name);
      return std::nullopt;
    }
    if (outcome.status == backend_status::unbounded)
      refuse(error_category::backend, std::string(backend.name) + " calls a model without negative costs unbounded");
    stopped = outcome.status == backend_status::stopped;
    return outcome;
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
    control.progress(
        {.stage = statistics.solver, .seconds = limit.elapsed(), .objective = upper(), .lower_bound = bound});
  }

  [[nodiscard]] solution<Cost> finish() {
    statistics.seconds = limit.elapsed();
    statistics.seconds_to_best = best.found_at();
    statistics.counters.emplace_back("fractional_variables", static_cast<double>(fractional));
    if (stopped) statistics.add_note("stopped by a limit or a request.");
    if (std::isfinite(bound)) statistics.add_note("certificate: " + std::string(certificate) + ".");
    return conclude(problem, std::span<const strategy>(best.labels()), bound, stopped, std::move(statistics), control,
                    bound_on::objective);
  }

  const placement_problem<Cost>& problem;
  const solve_control& control;
  deadline limit;
  incumbent<Cost> best;
  bool stopped = false;
  double bound = -std::numeric_limits<double>::infinity();
  std::string_view certificate = "none";  ///< what proves the bound
  std::size_t fractional = 0;             ///< variables without a label of weight one
  solve_statistics statistics;

 protected:
  /// Counts variables without an integral label. \returns the weight of every label
  template <class Polytope>
  [[nodiscard]] std::vector<double> read_weights(const Polytope& polytope, std::span<const double> primal) {
    const compact_problem<Cost>& p = problem.compact();
    std::vector<double> weight;
    for (std::size_t x = 0; x < p.size(); ++x) {
      double most = 0;
      for (strategy l = 0; l < p.label_count(x); ++l) {
        weight.push_back(polytope.weight(x, l, primal));
        most = std::max(most, weight.back());
      }
      fractional += most < 1 - 1e-6 ? 1 : 0;
    }
    return weight;
  }

 private:
  static void check_numbers(const compact_problem<Cost>& p) {
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

}  // namespace shardweave::inline v0::detail
