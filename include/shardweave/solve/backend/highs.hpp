#pragma once

#include <shardweave/solve/backend/backend.hpp>
#include <shardweave/solve/backend/detail/column_major.hpp>

#include <interfaces/highs_c_api.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

/// \file
/// HiGHS as a backend: component `shardweave::highs`. HiGHS is under the MIT licence; no other header of the library
/// includes its header.

namespace shardweave::inline v0 {
namespace detail {

/// One run of HiGHS.
class highs_run {
 public:
  highs_run(const linear_model& model, const backend_limits& limits, backend_outcome& outcome)
      : model_(model), limits_(limits), outcome_(outcome), clock_(limits), engine_(Highs_create()) {}

  void run() {
    if (clock_.expired()) return;
    if (model_.columns.empty()) return judge_rows();
    load();
    Highs_run(highs());
    HighsInt status = Highs_getModelStatus(highs());
    if (status == kHighsModelStatusUnboundedOrInfeasible) {  // presolve cannot tell; the simplex method can
      set("presolve", "off");
      Highs_run(highs());
      status = Highs_getModelStatus(highs());
    }
    outcome_.iterations = static_cast<std::size_t>(std::max<HighsInt>(0, iterations()));
    if (model_.has_integers()) {
      std::int64_t nodes = 0;
      Highs_getInt64InfoValue(highs(), "mip_node_count", &nodes);
      outcome_.nodes = static_cast<std::size_t>(std::max<std::int64_t>(0, nodes));
    }
    switch (status) {
      case kHighsModelStatusOptimal:
        outcome_.status = backend_status::optimal;
        break;
      case kHighsModelStatusInfeasible:
        outcome_.status = backend_status::infeasible;
        outcome_.bound = std::numeric_limits<double>::infinity();
        return;
      case kHighsModelStatusUnbounded:
        outcome_.status = backend_status::unbounded;
        return;
      case kHighsModelStatusTimeLimit:
      case kHighsModelStatusIterationLimit:
      case kHighsModelStatusInterrupt:
        break;
      default:
        refuse(error_category::backend, "highs: the run failed with model status " + std::to_string(status));
    }
    read();
  }

 private:
  struct deleter {
    void operator()(void* engine) const { Highs_destroy(engine); }
  };

  /// A model without columns, which HiGHS calls empty whatever its rows ask.
  void judge_rows() {
    const bool possible = std::all_of(model_.rows.begin(), model_.rows.end(),
                                      [](const linear_row& r) { return r.low <= 0 && 0 <= r.high; });
    outcome_.status = possible ? backend_status::optimal : backend_status::infeasible;
    outcome_.bound = possible ? model_.offset : std::numeric_limits<double>::infinity();
    outcome_.objective = outcome_.bound;
    outcome_.duals.assign(possible ? model_.rows.size() : 0, 0.0);
  }

  [[nodiscard]] void* highs() const { return engine_.get(); }
  void check(HighsInt code, const char* what) const {
    if (code == kHighsStatusError) refuse(error_category::backend, std::string("highs: ") + what + " was refused");
  }
  void set(const char* option, const char* value) const {
    check(Highs_setStringOptionValue(highs(), option, value), option);
  }
  void set(const char* option, double value) const {
    check(Highs_setDoubleOptionValue(highs(), option, value), option);
  }
  [[nodiscard]] HighsInt iterations() const {
    HighsInt count = 0;
    Highs_getIntInfoValue(highs(), "simplex_iteration_count", &count);
    return count;
  }

  void load() {
    check(Highs_setBoolOptionValue(highs(), "output_flag", 0), "output_flag");
    check(Highs_setIntOptionValue(highs(), "threads", 1), "threads");
    set("parallel", "off");
    // a budget may be exceeded by the tolerance, which makes a label of that weight worth having
    set("primal_feasibility_tolerance", 1e-9);
    set("dual_feasibility_tolerance", 1e-9);
    set("mip_feasibility_tolerance", 1e-9);
    set("mip_rel_gap", limits_.gap);
    set("mip_abs_gap", 0.0);
    if (std::isfinite(limits_.seconds)) set("time_limit", std::max(0.0, clock_.left()));
    const column_major<HighsInt> m(model_, Highs_getInfinity(highs()));
    std::vector<HighsInt> kind;
    for (const linear_column& c : model_.columns)
      kind.push_back(c.integer ? kHighsVarTypeInteger : kHighsVarTypeContinuous);
    const auto count = [](std::size_t n) { return static_cast<HighsInt>(n); };
    check(Highs_passMip(highs(), count(model_.columns.size()), count(model_.rows.size()), count(model_.entries.size()),
                        kHighsMatrixFormatColwise, kHighsObjSenseMinimize, model_.offset, m.objective.data(),
                        m.low.data(), m.high.data(), m.row_low.data(), m.row_high.data(), m.start.data(), m.row.data(),
                        m.weight.data(), kind.data()),
          "the model");
    check(Highs_setCallback(
              highs(),
              [](int, const char*, const HighsCallbackDataOut*, HighsCallbackDataIn* answer, void* clock) {
                if (answer != nullptr) answer->user_interrupt = static_cast<const backend_clock*>(clock)->expired();
              },
              &clock_),
          "the callback");
    for (const HighsInt event :
         {kHighsCallbackSimplexInterrupt, kHighsCallbackIpmInterrupt, kHighsCallbackMipInterrupt})
      check(Highs_startCallback(highs(), static_cast<int>(event)), "the callback");
    if (model_.has_integers() && limits_.start.size() == model_.columns.size())
      check(Highs_setSolution(highs(), limits_.start.data(), nullptr, nullptr, nullptr), "the known solution");
  }

  void read() {
    HighsInt primal = kHighsSolutionStatusNone, dual = kHighsSolutionStatusNone;
    Highs_getIntInfoValue(highs(), "primal_solution_status", &primal);
    Highs_getIntInfoValue(highs(), "dual_solution_status", &dual);
    const bool whole = model_.has_integers(), optimal = outcome_.status == backend_status::optimal;
    std::vector<double> value(model_.columns.size()), row_dual(model_.rows.size());
    Highs_getSolution(highs(), value.data(), nullptr, nullptr, row_dual.data());
    if (primal == kHighsSolutionStatusFeasible && (whole || optimal)) {
      outcome_.objective = model_.objective_of(value);
      outcome_.primal = std::move(value);
    }
    if (!whole) {
      if (dual != kHighsSolutionStatusNone) outcome_.duals = std::move(row_dual);
      if (optimal) outcome_.bound = outcome_.objective;
      return;
    }
    double bound = -std::numeric_limits<double>::infinity();
    Highs_getDoubleInfoValue(highs(), "mip_dual_bound", &bound);
    outcome_.bound = std::min(bound, outcome_.objective);
    if (optimal && limits_.gap <= 0) outcome_.bound = outcome_.objective;
    if (optimal && outcome_.bound < outcome_.objective) outcome_.status = backend_status::stopped;  // within the gap
  }

  const linear_model& model_;
  const backend_limits& limits_;
  backend_outcome& outcome_;
  backend_clock clock_;
  std::unique_ptr<void, deleter> engine_;
};

}  // namespace detail

/// HiGHS: dual simplex with presolve, branch and cut; for LPs and MIPs of some million columns the strongest of the
/// free engines.
///
/// One thread, silent. Every call runs on a thread of its own, because HiGHS keeps its scheduler per thread; threads
/// may call at once. A stop is obeyed where HiGHS asks for one: every few iterations, and within branch and bound.
class highs {
 public:
  static constexpr std::string_view name = "highs";

  /// \throws error (input) for a model that `validate` refuses, error (backend) if HiGHS breaks down
  [[nodiscard]] backend_outcome solve(const linear_model& model, const backend_limits& limits = {}) const {
    validate(model);
    validate(limits, name);
    backend_outcome outcome;
    std::exception_ptr failure;
    std::thread([&] {
      try {
        detail::highs_run(model, limits, outcome).run();
      } catch (...) {
        failure = std::current_exception();
      }
    }).join();
    if (failure) std::rethrow_exception(failure);
    return outcome;
  }
};

static_assert(linear_backend<highs>);

}  // namespace shardweave::inline v0
