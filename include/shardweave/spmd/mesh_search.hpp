#pragma once

#include <shardweave/core/attempt.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/solution.hpp>
#include <shardweave/solve/solver.hpp>
#include <shardweave/spmd/mesh.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Which shape of the mesh is best for so many devices.

namespace shardweave::inline v0 {

class trws;  // looks at problems where nothing else is named; who leaves it at that includes
             // <shardweave/solve/trws.hpp>

/// All meshes of so many devices with at most so many dimensions, each of extent 2 or more (but for one device). The
/// order of extents counts: the last dimension lies within a node, and constraints may treat dimensions differently.
/// Fewer dimensions come first, then smaller extents.
/// \throws error (input) for less than one device, and for no dimensions or more than a mesh may have
/// Complexity: O(meshes * devices)
[[nodiscard]] inline std::vector<device_mesh> mesh_shapes(std::int64_t devices, std::size_t most_dims = 2) {
  if (devices < 1)
    refuse(error_category::input,
           "meshes of " + std::to_string(devices) + " devices are asked for, expected 1 or more");
  if (most_dims < 1 || most_dims > max_mesh_rank)
    refuse(error_category::input, "meshes of up to " + std::to_string(most_dims) +
                                      " dimensions are asked for, expected 1 to " + std::to_string(max_mesh_rank));
  std::vector<device_mesh> meshes;
  std::vector<std::vector<std::int64_t>> begun{{}};  // extents but for the last one
  for (std::size_t dims = 1; dims <= most_dims; ++dims) {
    std::vector<std::vector<std::int64_t>> longer;
    for (const std::vector<std::int64_t>& extents : begun) {
      std::int64_t rest = devices;
      for (const std::int64_t extent : extents) rest /= extent;
      std::vector<std::int64_t> whole = extents;
      whole.push_back(rest);
      meshes.emplace_back(std::move(whole));
      for (std::int64_t extent = 2; extent <= rest / 2; ++extent) {
        if (rest % extent != 0) continue;
        longer.push_back(extents);
        longer.back().push_back(extent);
      }
    }
    begun = std::move(longer);
  }
  return meshes;
}

/// A shape and what came of it.
struct mesh_candidate {
  device_mesh mesh;
  solution<double> answer;  ///< of status `infeasible` too where the constraints contradict each other on this mesh
  bool is_pruned = false;   ///< given up, as its bound is no better than what another shape costs
};

/// Shapes in the order in which they were given.
struct mesh_ranking {
  static constexpr std::size_t nobody = std::numeric_limits<std::size_t>::max();
  std::vector<mesh_candidate> shapes = {};
  std::size_t best = nobody;                                     ///< the first one of least objective
  double lower_bound = std::numeric_limits<double>::infinity();  ///< no shape that was given does better
  /// `optimal`: no other shape does better, proven; `infeasible`: none is feasible.
  solve_status status = solve_status::infeasible;
  std::optional<placement_problem<double>> problem = std::nullopt;  ///< of the best, as it was built
};

namespace detail {

/// Solves until the bound shows that there is nothing to win.
template <class S>
class mesh_contest {
 public:
  mesh_contest(const S& policy, const deadline& limit, double to_beat)
      : policy_(policy), control_(limit.rest()), users_(control_), to_beat_(to_beat) {
    control_.stop = enough_.get_token();
    control_.start.clear();  // it is for one mesh
    control_.progress = [this](const progress_report& report) {
      if (users_.progress) users_.progress(report);
      if (to_beat_ < std::numeric_limits<double>::infinity() && proves(report.lower_bound - savings_, to_beat_))
        enough_.request_stop();
    };
  }
  [[nodiscard]] solution<double> run(const placement_problem<double>& problem) {
    if (problem.savings() != nullptr) savings_ = static_cast<double>(problem.most_saved());
    if (users_.progress) users_.progress({.stage = "mesh", .is_new = true});
    const std::stop_callback forwarded(users_.stop, [this] { enough_.request_stop(); });
    return solved_by(policy_, problem, control_);
  }

 private:
  const S& policy_;
  solve_control control_, users_;
  double to_beat_;
  double savings_ = 0;  ///< at most: bounds that are reported on the way may be on costs alone
  std::stop_source enough_;
};

}  // namespace detail

/// Plans a computation on every shape, and finishes only those that may win.
///
/// First every problem is built and looked at by `quick`, for a bound and, with luck, an assignment. Then the shape of
/// least bound is solved, and so on: whoever's bound is no better than the best objective is pruned, if need be in the
/// middle of the work. Where computations differ from shape to shape, so do objectives: state the same one.
///
/// \param problem_of  `problem_of(mesh, control)` gives the placement problem on a mesh; what it refuses as a
///                    contradiction of constraints is infeasible on that mesh
/// \param policy      solves what is left; asked at most once a shape
/// \param control     limits the whole; after a stop no problem is built
/// \param quick       the default one is only declared here: who does not name another includes
///                    `shardweave/solve/trws.hpp`
/// Deterministic: as the solvers are.
/// Complexity: builds every problem once and keeps those that are not proven; see there for building
template <class ProblemOf, class S, class Quick = trws>
[[nodiscard]] mesh_ranking search_meshes(std::span<const device_mesh> shapes, ProblemOf problem_of, const S& policy,
                                         const solve_control& control = {}, const Quick& quick = Quick{}) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const deadline limit(control);
  mesh_ranking result;
  std::vector<std::optional<placement_problem<double>>> problems(shapes.size());
  double best = infinity;
  const auto learn = [&](std::size_t i) {
    const solution<double>& answer = result.shapes[i].answer;
    if (!answer.has_assignment() || answer.objective > best || (answer.objective == best && i > result.best)) return;
    best = answer.objective;
    result.best = i;
    result.problem = problems[i];
  };
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    mesh_candidate& shape = result.shapes.emplace_back(mesh_candidate{shapes[i], {}});
    if (control.stop.stop_requested()) continue;
    try_to(
        [&] {
          problems[i].emplace(problem_of(shapes[i], limit.rest()));
          shape.answer = detail::mesh_contest<Quick>(quick, limit, best).run(*problems[i]);
        },
        [&](const error& e) {
          auto known = outcome_of<double>(e);
          if (known) shape.answer = *std::move(known);
          return known.has_value();
        });
    learn(i);
    const solve_status status = shape.answer.status;
    if (status == solve_status::optimal || status == solve_status::infeasible) problems[i].reset();
  }

  std::vector<std::size_t> order(shapes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return result.shapes[i].answer.lower_bound; });
  for (const std::size_t i : order) {
    solution<double>& answer = result.shapes[i].answer;
    if (!problems[i] || (best < infinity && proves(answer.lower_bound, best))) continue;
    if (limit.expired()) {
      answer.status = solve_status::stopped;
      continue;
    }
    answer = merged(std::move(answer), detail::mesh_contest<S>(policy, limit, best).run(*problems[i]));
    learn(i);
    problems[i].reset();
  }

  bool stopped = false;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    mesh_candidate& shape = result.shapes[i];
    const solution<double>& answer = shape.answer;
    result.lower_bound = std::min(result.lower_bound, answer.lower_bound);
    const bool is_open = answer.status != solve_status::optimal && answer.status != solve_status::infeasible;
    shape.is_pruned = is_open && best < infinity && answer.objective > best && proves(answer.lower_bound, best);
    stopped = stopped || (!shape.is_pruned && answer.status == solve_status::stopped);
  }
  if (best < infinity && proves(result.lower_bound, best)) {
    result.lower_bound = std::min(result.lower_bound, best);
    result.status = solve_status::optimal;
  } else if (result.lower_bound < infinity) {
    result.status = stopped || best == infinity ? solve_status::stopped : solve_status::feasible;
  }
  return result;
}

}  // namespace shardweave::inline v0
