#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/cost.hpp>

#include <concepts>
#include <cstddef>
#include <span>

/// \file
/// What a search over steps asks for plans.

namespace shardweave::inline v0 {

/// Makes the whole plan of a placement: lowers it, merges, orders, and tells when it ends. `step` is that end, in the
/// unit of the work; +infinity where a plan does not keep what is demanded of it (memory). Of plans that end at once
/// the one of the lower `peak` is taken, and then the one of less `communication`, where plans have such numbers.
/// `improved` makes a better plan of one that is there, with `effort` for how hard to try: 1 for a glance, 10 for the
/// plan that is kept. A planner may have a member `completed(plan, below, control)`, too: its `best` is the best of all
/// plans of the same placement if one ends before `below`, and `is_all` tells whether all were looked at that could be
/// better. It is asked where few placements are all looked at.
/// Equal arguments give equal plans, unless a limit of time came in between. Where a control allows several threads
/// all of it may be asked by several at once.
template <class P>
concept step_planner = requires(const P& planner, std::span<const strategy> choice, const solve_control& control) {
  { planner(choice, control).step } -> std::convertible_to<double>;
  {
    planner.improved(planner(choice, control), std::size_t{1}, control)
  } -> std::same_as<decltype(planner(choice, control))>;
};

}  // namespace shardweave::inline v0
