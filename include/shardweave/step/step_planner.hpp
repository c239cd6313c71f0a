#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/cost.hpp>

#include <concepts>
#include <cstddef>
#include <span>

/// \file
/// The concept of what makes plans for `search_step`.

namespace shardweave::inline v0 {

/// Makes a complete plan of a placement: lowers it, buckets and orders its tasks, and computes its end. `step` is that
/// end, in the unit of the work; +infinity if the plan violates a limit (memory). Of plans with equal `step` the one
/// with the lower `peak` is better, then the one with less `communication`, as far as plans have these members.
/// `improved` returns a plan of the same placement; it is used if it is better. Its `effort` is 1 for several good
/// plans and 10 for the best one.
/// Optional is a member `completed(plan, below, control)`: its `best` is the best of all plans of the same placement,
/// if that ends before `below`, and `is_all` says whether all plans that could be better were tried. It is called in
/// small problems only (`step_search_options::around`).
/// Equal arguments give equal plans, unless a time limit ends the work. If the control allows several threads, all
/// members may be called concurrently.
template <class P>
concept step_planner = requires(const P& planner, std::span<const strategy> choice, const solve_control& control) {
  { planner(choice, control).step } -> std::convertible_to<double>;
  {
    planner.improved(planner(choice, control), std::size_t{1}, control)
  } -> std::same_as<decltype(planner(choice, control))>;
};

}  // namespace shardweave::inline v0
