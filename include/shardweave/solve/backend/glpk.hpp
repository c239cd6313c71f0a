#pragma once

#include <shardweave/solve/backend/backend.hpp>

#include <glpk.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

/// \file
/// GLPK as a backend: component `shardweave::glpk`. GLPK is under the GPL, version 3, and so is a program that
/// links with it; no other header of the library includes its header.

namespace shardweave::inline v0 {
namespace detail {

/// What GLPK prints, of which nothing reaches a screen: its words when it breaks down, and lines of progress, where
/// within the simplex method it calls nothing else.
struct glpk_terminal {
  std::string words = {};
  /// Asked at each line of progress; what it throws ends the work.
  std::function<void()> at_line = {};
};

/// Runs `f(terminal)` on a thread of its own, and so in a GLPK environment of its own: GLPK keeps its state per thread
/// and ends the process when objects meet another thread. What `f` throws comes out here; what GLPK refuses
/// comes out as an error (backend) with GLPK's words.
///
/// The hooks throw through C frames, which works where C code has unwind tables (the rule on x86-64 and AArch64
/// Linux): that of errors as the last defence, for what `validate` let through, that of the terminal for stops.
template <class F>
void in_glpk_environment(F f) {
  std::exception_ptr failure;
  glpk_terminal terminal;
  std::thread worker([&] {
    glp_term_hook(
        [](void* own, const char* line) {
          glpk_terminal& t = *static_cast<glpk_terminal*>(own);
          if (glp_at_error())  // GLPK switches its terminal on again to print what went wrong
            t.words += line;
          else if (t.at_line)
            t.at_line();
          return 1;
        },
        &terminal);
    glp_term_out(GLP_OFF);
    glp_error_hook(
        [](void* own) {
          std::string words = static_cast<glpk_terminal*>(own)->words;
          std::replace(words.begin(), words.end(), '\n', ' ');
          refuse(error_category::backend, "glpk: " + words);
        },
        &terminal);
    try {
      f(terminal);
    } catch (...) {
      failure = std::current_exception();
    }
    glp_free_env();
  });
  worker.join();
  if (failure) std::rethrow_exception(failure);
}

/// One run of GLPK, within its environment.
class glpk_run {
 public:
  glpk_run(const linear_model& model, const backend_limits& limits, glpk_terminal& terminal, backend_outcome& outcome)
      : model_(model),
        limits_(limits),
        terminal_(terminal),
        outcome_(outcome),
        problem_(glp_create_prob()),
        clock_(limits) {}

  void run() {
    try {
      solve();
    } catch (const left_at_work&) {
      static_cast<void>(problem_.release());  // it is given back with all of its environment
      outcome_.bound = std::min(outcome_.bound, outcome_.objective);
    }
  }

 private:
  /// Thrown where a stop comes while GLPK is at work.
  struct left_at_work {};

  void solve() {
    load();
    const int status = relax();
    if (status == 0) return;  // stopped; what is known was read off
    if (status == GLP_NOFEAS || status == GLP_INFEAS || status == GLP_UNBND) {
      outcome_.status = status == GLP_UNBND ? backend_status::unbounded : backend_status::infeasible;
      if (status != GLP_UNBND) outcome_.bound = std::numeric_limits<double>::infinity();
      return;
    }
    if (!model_.has_integers()) {
      read_relaxation();
      outcome_.status = backend_status::optimal;
      outcome_.bound = outcome_.objective;
    } else {
      outcome_.bound = objective(glp_get_obj_val(lp()));
      branch();
    }
  }

  struct deleter {
    void operator()(glp_prob* p) const { glp_delete_prob(p); }
  };

  [[nodiscard]] glp_prob* lp() const { return problem_.get(); }
  /// A time limit in GLPK's unit, at least a millisecond.
  [[nodiscard]] static int milliseconds(double seconds) {
    return static_cast<int>(std::clamp(seconds * 1000, 1.0, 1e9));
  }

  /// GLPK's word for which of two limits exist; equal ones must be called fixed.
  [[nodiscard]] static int kind_of(double low, double high) {
    if (low == high) return GLP_FX;
    if (std::isinf(low)) return std::isinf(high) ? GLP_FR : GLP_UP;
    return std::isinf(high) ? GLP_LO : GLP_DB;
  }

  void load() {
    glp_set_obj_dir(lp(), GLP_MIN);
    if (!model_.rows.empty()) glp_add_rows(lp(), static_cast<int>(model_.rows.size()));
    for (std::size_t r = 0; r < model_.rows.size(); ++r) {
      const auto [low, high] = model_.rows[r];
      glp_set_row_bnds(lp(), static_cast<int>(r) + 1, kind_of(low, high), low, high);
    }
    if (!model_.columns.empty()) glp_add_cols(lp(), static_cast<int>(model_.columns.size()));
    for (std::size_t j = 0; j < model_.columns.size(); ++j) {
      const linear_column& c = model_.columns[j];
      const int column = static_cast<int>(j) + 1;
      const double low = c.integer ? std::ceil(c.low) : c.low, high = c.integer ? std::floor(c.high) : c.high;
      glp_set_obj_coef(lp(), column, c.objective * magnifier);  // which leaves it as it was, scaled
      glp_set_col_bnds(lp(), column, kind_of(low, high), low, high);
      if (c.integer) glp_set_col_kind(lp(), column, GLP_IV);
    }
    std::vector<int> row(model_.entries.size() + 1), column(row.size());
    std::vector<double> value(row.size());
    for (std::size_t i = 0; i < model_.entries.size(); ++i) {
      row[i + 1] = static_cast<int>(model_.entries[i].row) + 1;
      column[i + 1] = static_cast<int>(model_.entries[i].column) + 1;
      value[i + 1] = model_.entries[i].value;
    }
    glp_load_matrix(lp(), static_cast<int>(model_.entries.size()), row.data(), column.data(), value.data());
    // GLPK lets a column leave its limits by 1e-7 in its scaled units, which branch and bound has no option for;
    // units of 2^-16 make that 1e-12 of a label. GLPK's own scaling magnifies rows by their smallest weights: with
    // what rounding left over among them it finds nothing where there is an optimum
    for (int r = 1; r <= glp_get_num_rows(lp()); ++r) glp_set_rii(lp(), r, magnifier);
    for (int j = 1; j <= glp_get_num_cols(lp()); ++j) glp_set_sjj(lp(), j, 1 / magnifier);
  }
  /// An objective of GLPK in the model's unit.
  [[nodiscard]] double objective(double value) const { return value / magnifier + model_.offset; }

  /// Options of both methods: a line of progress every ten milliseconds, at which a stop is looked for.
  template <class Options>
  static void tell_progress(Options& options) {
    options.msg_lev = GLP_MSG_ALL;
    options.out_frq = 10;  // milliseconds
    options.out_dly = 0;
  }
  /// Calls one of the methods, and leaves it where a stop comes.
  template <class Call>
  [[nodiscard]] int watched(const Call& call) {
    terminal_.at_line = [this] {
      if (limits_.stop.stop_requested()) throw left_at_work();
    };
    glp_term_out(GLP_ON);
    const int code = call();
    glp_term_out(GLP_OFF);
    return code;
  }

  /// Solves the relaxation. What the simplex method knows is only there between two runs of it: where a stop may come,
  /// it runs in slices, each going on from the basis of the last. Slices count iterations, about half a second of them,
  /// and not time, so that the way to the optimum does not depend on the clock; shorter ones lose time in factorizing
  /// anew.
  /// \returns GLPK's status, or 0 if a limit came first
  int relax() {
    glp_smcp options;
    glp_init_smcp(&options);
    tell_progress(options);
    options.meth = GLP_DUALP;  // costs are mostly not negative, so the first basis is dual feasible
    options.r_test = GLP_RT_FLIP;
    if (limits_.stop.stop_possible())
      options.it_lim = static_cast<int>(std::clamp<std::size_t>(slice_ / (model_.entries.size() + 1), 100, 100000));
    bool retried = false;
    for (;;) {
      if (clock_.expired()) return 0;
      options.tm_lim = milliseconds(clock_.left());
      const int code = watched([&] { return glp_simplex(lp(), &options); });
      outcome_.iterations = static_cast<std::size_t>(std::max(glp_get_it_cnt(lp()), 0));
      if (code == 0) return glp_get_status(lp());
      if (code == GLP_ETMLIM || code == GLP_EITLIM) {
        read_duals();
        continue;
      }
      if (retried) refuse(error_category::backend, "glpk: the simplex method failed with code " + std::to_string(code));
      retried = true;  // a basis that cannot be factorized: once more, by the other method, from scratch
      glp_std_basis(lp());
      options.meth = GLP_PRIMAL;
    }
  }

  void read_duals() {
    outcome_.duals.resize(model_.rows.size());
    for (std::size_t r = 0; r < model_.rows.size(); ++r)
      outcome_.duals[r] = glp_get_row_dual(lp(), static_cast<int>(r) + 1) / magnifier;
  }
  void read_relaxation() {
    outcome_.objective = objective(glp_get_obj_val(lp()));
    outcome_.primal.resize(model_.columns.size());
    for (std::size_t j = 0; j < model_.columns.size(); ++j)
      outcome_.primal[j] = glp_get_col_prim(lp(), static_cast<int>(j) + 1);
    read_duals();
  }

  /// Branch and bound from the optimal basis of the relaxation.
  void branch() {
    glp_iocp options;
    glp_init_iocp(&options);
    tell_progress(options);
    options.tm_lim = milliseconds(clock_.left());
    // nodes are cut off at this relative distance from the best solution; it is the precision of the answer,
    // and the default of 1e-7 is coarser than what callers are promised
    options.tol_obj = 1e-12;
    // a budget may be exceeded by its own tolerance, which makes a label of weight 1e-7 worth having
    options.tol_int = 1e-9;
    // no cuts: rounding loses small weights, and with them optima, as covers do; neither gains anything
    options.cb_func = [](glp_tree* tree, void* self) { static_cast<glpk_run*>(self)->visit(tree); };
    options.cb_info = this;
    const int code = watched([&] { return glp_intopt(lp(), &options); });
    if (code != 0 && code != GLP_ETMLIM && code != GLP_ESTOP && code != GLP_EMIPGAP)
      refuse(error_category::backend, "glpk: branch and bound failed with code " + std::to_string(code));
    const int status = glp_mip_status(lp());
    if (status == GLP_NOFEAS) {
      outcome_.status = backend_status::infeasible;
      outcome_.bound = std::numeric_limits<double>::infinity();
      return;
    }
    if (status == GLP_OPT || status == GLP_FEAS) read_incumbent();
    if (status == GLP_OPT && code == 0) {
      outcome_.status = backend_status::optimal;
      outcome_.bound = outcome_.objective;
    } else {
      outcome_.bound = std::min(outcome_.bound, outcome_.objective);
    }
  }

  void read_incumbent() {
    outcome_.objective = objective(glp_mip_obj_val(lp()));
    outcome_.primal.resize(model_.columns.size());
    for (std::size_t j = 0; j < model_.columns.size(); ++j)
      outcome_.primal[j] = glp_mip_col_val(lp(), static_cast<int>(j) + 1);
  }

  /// Called by GLPK between nodes.
  void visit(glp_tree* tree) {
    int known = 0;
    glp_ios_tree_size(tree, nullptr, nullptr, &known);
    outcome_.nodes = static_cast<std::size_t>(std::max(known, 0));
    if (const int best = glp_ios_best_node(tree); best != 0)
      outcome_.bound = std::max(outcome_.bound, objective(glp_ios_node_bound(tree, best)));
    if (glp_ios_reason(tree) == GLP_IBINGO) read_incumbent();
    if (clock_.expired()) return glp_ios_terminate(tree);
    if (glp_ios_reason(tree) == GLP_IHEUR && !offered_ && limits_.start.size() == model_.columns.size()) {
      offered_ = true;
      std::vector<double> values{0};
      values.insert(values.end(), limits_.start.begin(), limits_.start.end());
      glp_ios_heur_sol(tree, values.data());
    }
    if (limits_.gap > 0 && glp_mip_status(lp()) == GLP_FEAS) {
      const double found = objective(glp_mip_obj_val(lp()));
      if (found - outcome_.bound <= limits_.gap * std::abs(found)) glp_ios_terminate(tree);
    }
  }

  static constexpr double magnifier = 0x1p16;
  static constexpr std::size_t slice_ = 40'000'000;  ///< iterations times weights of the model
  const linear_model& model_;
  const backend_limits& limits_;
  glpk_terminal& terminal_;
  backend_outcome& outcome_;
  std::unique_ptr<glp_prob, deleter> problem_;
  backend_clock clock_;
  bool offered_ = false;
};

}  // namespace detail

/// The GNU Linear Programming Kit: dual simplex, branch and bound without cuts. Good for some
/// 100 000 columns; beyond that CLP or HiGHS are an order of magnitude faster.
///
/// Every call runs on a thread of its own and is silent; threads may call at once. A stop is obeyed within some 10
/// milliseconds; of a relaxation that was stopped the multipliers are those of half a second before, if there are any.
class glpk {
 public:
  static constexpr std::string_view name = "glpk";

  /// \throws error (input) for a model that `validate` refuses, error (backend) if GLPK breaks down
  [[nodiscard]] backend_outcome solve(const linear_model& model, const backend_limits& limits = {}) const {
    validate(model);
    validate(limits, name);
    backend_outcome outcome;
    detail::in_glpk_environment(
        [&](detail::glpk_terminal& terminal) { detail::glpk_run(model, limits, terminal, outcome).run(); });
    return outcome;
  }
};

static_assert(linear_backend<glpk>);

}  // namespace shardweave::inline v0
