#pragma once

#include <shardweave/core/attempt.hpp>
#include <shardweave/core/parallel.hpp>
#include <shardweave/solve/detail/composed.hpp>
#include <shardweave/solve/solver.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// Several solvers in parallel.

namespace shardweave::inline v0 {

/// Runs solvers on up to `control.threads` threads, in the given order if there are fewer threads than solvers. The
/// first one that proves an optimum or infeasibility, is within `control.gap`, or throws, stops the others. Returns the
/// best assignment with the best bound.
///
/// With one thread, the default, it is deterministic, and equals `first_proven` except that it does not combine one
/// solver's bound with another one's assignment to stop early. With more, which of several equally good answers is
/// returned depends on timing. With a time limit a solver gets its share of what is left. Progress calls are
/// serialized.
template <class... Solvers>
class race {
  static_assert(sizeof...(Solvers) > 0, "race needs at least one solver.");

 public:
  static constexpr std::string_view name = "race";
  static constexpr solver_abilities abilities{.budgets = (detail::abilities_of<Solvers>.budgets || ...),
                                              .savings = (detail::abilities_of<Solvers>.savings || ...)};

  std::tuple<Solvers...> solvers;

  race() = default;
  explicit race(Solvers... runners)
    requires(sizeof...(Solvers) > 0)
      : solvers(std::move(runners)...) {}

  /// \throws what the first solver in order throws, after all have ended
  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control = {}) const {
    constexpr std::size_t count = sizeof...(Solvers);
    const std::size_t threads = std::clamp<std::size_t>(control.threads, 1, count);
    const deadline limit(control);
    std::stop_source over;
    const std::stop_callback forward(control.stop, [&] { over.request_stop(); });
    std::mutex reporting;
    std::array<std::optional<solution<Cost>>, count> answers;
    const auto work = [&](std::size_t i, const auto& runner) {
      if (i > 0 && (over.stop_requested() || limit.expired())) return;
      const std::size_t to_come = (count - i + threads - 1) / threads;  // on this thread
      solve_control own = detail::shared_time(limit, 1.0 / static_cast<double>(to_come));
      own.threads = std::max(1U, control.threads / static_cast<unsigned>(threads));
      own.stop = over.get_token();
      if (control.progress)
        own.progress = [&](const progress_report& report) {
          const std::scoped_lock lock(reporting);
          control.progress(report);
        };
      answers[i] = detail::solved_by(runner, problem, own);
      if (detail::is_settled(*answers[i], control.gap)) over.request_stop();
    };
    for_each_number(count, static_cast<unsigned>(threads), [&] {
      return [&](std::size_t mine) {
        const std::exception_ptr failure = failure_of([&] {
          std::size_t at = 0;
          std::apply([&](const auto&... runner) { ((at++ == mine ? work(mine, runner) : void()), ...); }, solvers);
        });
        if (!failure) return;
        over.request_stop();
        std::rethrow_exception(failure);
      };
    });

    std::optional<solution<Cost>> best;
    for (auto& answer : answers)
      if (answer) best = best ? merged(*std::move(best), *std::move(answer)) : *std::move(answer);
    best->statistics.seconds = limit.elapsed();
    return detail::ended(*std::move(best), problem, control, limit);
  }
};

}  // namespace shardweave::inline v0
