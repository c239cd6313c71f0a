#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/step/step_bound.hpp>
#include <shardweave/step/step_work.hpp>

#include <support/tiny_steps.hpp>

#include <utility>

namespace stated_step {

namespace sw = shardweave;

/// A tiny graph, compiled, with its work.
struct stated {
  tiny_steps::model model;
  sw::placement_problem<double> problem;
  sw::step_work work;

  explicit stated(tiny_steps::model m)
      : model(std::move(m)),
        problem(sw::compile(sw::describe(model.graph, model))),
        work(sw::describe_work(model.graph, model)) {}

  [[nodiscard]] sw::step_bounds bound(const sw::solve_control& control = {}) const {
    return sw::step_bound(problem, work, sw::exhaustive{}, {.rounds = 60, .tolerance = 1e-6, .placement_gap = 0}, {},
                          control);
  }
};

}  // namespace stated_step
