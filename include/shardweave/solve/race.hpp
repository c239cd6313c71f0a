#pragma once

#include <shardweave/solve/detail/merge_solutions.hpp>
#include <shardweave/solve/solver.hpp>

#include <array>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>
#include <thread>
#include <tuple>
#include <utility>

/// \file
/// Several solvers at once.

namespace shardweave {
inline namespace v0 {

/// Runs every solver on a thread of its own; the first that proves an optimum, or the problem infeasible,
/// stops the others. The best assignment and the best bound of all are kept.
///
/// Which of several equally good answers comes back depends on who is faster: not deterministic. Progress
/// is reported by one thread at a time.
template <class... Solvers>
class race {
  static_assert(sizeof...(Solvers) > 0, "race needs at least one solver.");

 public:
  static constexpr std::string_view name = "race";
  static constexpr solver_abilities abilities{.budgets = (Solvers::abilities.budgets || ...)};

  std::tuple<Solvers...> solvers;

  race() = default;
  explicit race(Solvers... runners)
    requires(sizeof...(Solvers) > 0)
      : solvers(std::move(runners)...) {}

  /// \throws what the first solver in order throws, after all have ended
  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    static_assert((solver<Solvers, Cost> && ...), "Every argument of race must be a solver (shardweave::solver).");
    const deadline limit(control);
    std::stop_source over;
    const std::stop_callback forward(control.stop, [&] { over.request_stop(); });
    std::mutex reporting;
    solve_control each = control;
    each.stop = over.get_token();
    if (control.progress)
      each.progress = [&](const progress_report& report) {
        const std::scoped_lock lock(reporting);
        control.progress(report);
      };

    std::array<std::optional<solution<Cost>>, sizeof...(Solvers)> answers;
    std::array<std::exception_ptr, sizeof...(Solvers)> failures;
    std::array<std::thread, sizeof...(Solvers)> threads;
    const auto run = [&](std::size_t i, const auto& runner) {
      const auto work = [&] {
        answers[i] = runner.solve(problem, each);
        if (detail::is_settled(*answers[i])) over.request_stop();
      };
#ifdef __cpp_exceptions
      try {
        work();
      } catch (...) {
        failures[i] = std::current_exception();
        over.request_stop();
      }
#else
      work();
#endif
    };
    std::size_t started = 0;
    std::apply(
        [&](const auto&... runner) {
          ((threads[started] = std::thread([&run, i = started, &runner] { run(i, runner); }), ++started), ...);
        },
        solvers);
    for (std::thread& t : threads) t.join();
    for (const std::exception_ptr& failure : failures)
      if (failure) std::rethrow_exception(failure);

    std::optional<solution<Cost>> best;
    for (auto& answer : answers)
      best = best ? detail::merged(*std::move(best), *std::move(answer)) : *std::move(answer);
    best->statistics.seconds = limit.elapsed();
    return detail::ended(*std::move(best), limit);
  }
};

}  // namespace v0
}  // namespace shardweave
