#pragma once

#include <shardweave/core/attempt.hpp>
#include <shardweave/placement/compile_costs.hpp>
#include <shardweave/placement/cost_model.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/placement/evaluation.hpp>
#include <shardweave/solve/solver.hpp>

#include <concepts>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

/// \file
/// A graph, a cost model and a solver policy, bound to one another.

namespace shardweave::inline v0 {

struct auto_solver;

/// The policy of a planner for which none is named; who uses it includes `shardweave/solve/auto_solver.hpp`.
using default_solver = auto_solver;

namespace detail {

/// What planners over one problem share: the problem is built once, by whoever needs it first.
template <class Graph, class CostModel>
class planned {
 public:
  using cost_type = typename cost_of<CostModel>::type;

  planned(const Graph& g, CostModel costs, constraint_set constraints, savings_form counted = savings_form::off,
          windows_form windows = {})
      : graph_(&g),
        costs_(std::move(costs)),
        constraints_(std::move(constraints)),
        counted_(counted),
        windows_(windows) {}

  [[nodiscard]] std::shared_ptr<planned> counting(savings_form form, windows_form windows) const {
    return std::make_shared<planned>(*graph_, costs_, constraints_, form, windows);
  }
  [[nodiscard]] const Graph& graph() const { return *graph_; }
  [[nodiscard]] const CostModel& costs() const { return costs_; }
  [[nodiscard]] placement_problem<cost_type> problem(const solve_control& control) {
    const std::scoped_lock lock(mutex_);
    if (!problem_) {
      const deadline limit(control);
      auto stated = describe(*graph_, costs_, constraints_, control);
      stated.counted = counted_;
      stated.windows = windows_;
      auto shared = std::make_shared<const placement_description<cost_type>>(std::move(stated));
      if constexpr (overlap_cost_model<CostModel, Graph>) {
        problem_.emplace(compile(std::move(shared), limit.rest()));  // of <shardweave/placement/compile.hpp>
      } else {  // of no model that `counting` takes: nothing is saved
        problem_.emplace(compile_costs<cost_type>(std::move(shared), limit.rest()));
      }
    }
    return *problem_;
  }

 private:
  const Graph* graph_;
  CostModel costs_;
  constraint_set constraints_;
  savings_form counted_;
  windows_form windows_;
  std::mutex mutex_;
  std::optional<placement_problem<cost_type>> problem_;
};

}  // namespace detail

/// Plans a graph: prices it by the model, compiles the problem once, and solves it by the policy.
///
///     const planner p{graph, my_costs{}, trws{.sweeps = 200}};
///     const auto quick = p.solve();
///     const auto sure = p.with(exhaustive{}).solve({.seconds = 10});  // the same compiled problem
///
/// A model that says what hides (`overlap_cost_model`) needs <shardweave/placement/compile.hpp> beside this header:
/// what counts savings is read only where something is saved.
///
/// The graph is held by reference, model, policy and constraints by value. A copy, and what `with` returns,
/// share the compiled problem. Several threads may use one planner.
template <class Graph, class CostModel, class Solver = default_solver>
class planner {
  static_assert(planning_graph<Graph>,
                "The first argument of planner must be a directed graph of Boost.Graph whose vertices, edges and "
                "out-edges can be listed (shardweave::planning_graph).");
  static_assert(cost_model<CostModel, Graph>,
                "The second argument of planner must be a cost model for the graph: it needs a cost_type (a "
                "floating-point type or std::int64_t), and const members strategy_count(vertex), vertex_cost(vertex, "
                "strategy) and edge_cost(edge, producer_strategy, "
                "consumer_strategy) that return it (shardweave::cost_model).");
  static_assert(!overlap_cost_model<CostModel, Graph> ||
                    detail::defined<savings_terms<typename detail::cost_of<CostModel>::type>>,
                "The cost model of a planner says what hides (member hides), so that savings can be counted: include "
                "<shardweave/placement/compile.hpp>, which counts them.");
  static_assert(detail::defined<Solver>,
                "The solver of a planner is only declared: the default one is defined in "
                "<shardweave/solve/auto_solver.hpp>.");
  static_assert(detail::solves_if_defined<Solver, typename detail::cost_of<CostModel>::type>,
                "The solver of a planner must have static members name and abilities, and a const member "
                "solve(placement_problem, solve_control) that returns a solution with the model's cost_type "
                "(shardweave::solver).");

 public:
  using cost_type = typename detail::cost_of<CostModel>::type;

  /// \param graph        outlives the planner
  /// \param constraints  vertices by their position in `vertices(graph)`; before or behind the solver
  planner(const Graph& graph, CostModel costs, Solver solver = {}, constraint_set constraints = {})
      : shared_(std::make_shared<detail::planned<Graph, CostModel>>(graph, std::move(costs), std::move(constraints))),
        solver_(std::move(solver)) {}
  planner(const Graph& graph, CostModel costs, constraint_set constraints)
      : planner(graph, std::move(costs), Solver{}, std::move(constraints)) {}
  template <std::same_as<constraint_set> Constraints>
  planner(const Graph& graph, CostModel costs, Constraints constraints, Solver solver)
      : planner(graph, std::move(costs), std::move(solver), std::move(constraints)) {}
  /// A temporary graph is refused: the planner would outlive it.
  planner(const Graph&& graph, CostModel costs, Solver solver = {}, constraint_set constraints = {}) = delete;
  planner(const Graph&& graph, CostModel costs, constraint_set constraints) = delete;
  template <std::same_as<constraint_set> Constraints>
  planner(const Graph&& graph, CostModel costs, Constraints constraints, Solver solver) = delete;

  /// The same problem under another policy.
  template <class Other>
  [[nodiscard]] planner<Graph, CostModel, Other> with(Other other) const {
    return planner<Graph, CostModel, Other>(shared_, std::move(other));
  }

  /// The same with savings: communication that the model says `hides` counts only so far as computation cannot hide it.
  /// A problem of its own, with the same graph, prices, constraints and policy; see `layout_of` for what each form
  /// means, and for the order that it goes by where the graph's is not topological.
  ///
  ///     const auto honest = planner{graph, my_costs{}}.counting(savings_form::windows).solve();
  ///
  /// \param windows  form `windows` only: how early communication may start, whether every edge may hide
  [[nodiscard]] planner counting(savings_form form, windows_form windows = {}) const {
    static_assert(overlap_cost_model<CostModel, Graph>,
                  "To count savings a cost model must say what may hide: it needs const members edge_parts(edge, "
                  "producer_strategy, consumer_strategy) and hides(edge), which returns a shardweave::hiding "
                  "(shardweave::overlap_cost_model).");
    return planner(shared_->counting(form, windows), solver_);
  }

  /// The compiled problem; built on first use.
  /// \throws error (input) for wrong data, (constraint) if no assignment can be feasible, (stopped) if
  ///         `control` ends the work first; the next call then starts anew
  [[nodiscard]] placement_problem<cost_type> problem(const solve_control& control = {}) const {
    return shared_->problem(control);
  }

  /// Builds the problem if that was not done yet, and solves it, all within the limits of `control`.
  /// Contradictory constraints give status `infeasible` here, a stop during building `stopped`; the note
  /// tells what happened.
  /// \throws error (input) for wrong data
  [[nodiscard]] solution<cost_type> solve(const solve_control& control = {}) const {
    const deadline limit(control);
    std::optional<solution<cost_type>> answer;
    try_to([&] { answer = solve_within(limit, control); },
           [&](const error& e) {
             answer = outcome_of<cost_type>(e);
             if (answer) answer->statistics.seconds = limit.elapsed();
             return answer.has_value();
           });
    return *std::move(answer);
  }

  /// Prices an assignment and lists the constraints that it breaks. Builds the problem if that was not done yet.
  /// \throws error as `problem`; (input) for an assignment of the wrong length or with a strategy that does not exist
  [[nodiscard]] evaluation<cost_type> evaluate(std::span<const strategy> choice) const {
    return shardweave::evaluate(problem(), choice);
  }

  [[nodiscard]] const Graph& graph() const { return shared_->graph(); }
  [[nodiscard]] const CostModel& costs() const { return shared_->costs(); }
  [[nodiscard]] const Solver& policy() const { return solver_; }

 private:
  template <class, class, class>
  friend class planner;
  using shared = std::shared_ptr<detail::planned<Graph, CostModel>>;
  planner(shared problem, Solver solver) : shared_(std::move(problem)), solver_(std::move(solver)) {}

  [[nodiscard]] solution<cost_type> solve_within(const deadline& limit, const solve_control& control) const {
    const placement_problem<cost_type> built = problem(control);
    if constexpr (overlap_cost_model<CostModel, Graph>) {
      return solver_.solve(built, limit.rest());
    } else {
      return detail::solved_costs_by(solver_, built, limit.rest());
    }
  }

  shared shared_;
  [[no_unique_address]] Solver solver_;
};

/// Writes the strategy of every vertex into a property map, for graphs whose vertices are not numbers.
/// \pre one strategy per vertex
template <class G, class Map>
void write_assignment(const G& g, std::span<const strategy> choice, Map map) {
  if constexpr (detail::is_graph<G>())
    if constexpr (detail::is_writable_map<Map, vertex_t<G>, strategy>()) {
      std::size_t i = 0;
      for (auto [v, last] = vertices(g); v != last; ++v) put(map, *v, choice[i++]);
    }
}

}  // namespace shardweave::inline v0
