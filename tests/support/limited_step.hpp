#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/fastest_plan.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/schedule/benefit.hpp>
#include <shardweave/solve/exhaustive.hpp>

#include <support/tiny_training.hpp>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The search for the step within a memory that is in the way, on training steps so small that it may be asked hundreds
/// of times.
namespace limited_step {

namespace sw = shardweave;

template <class Model>
struct told_work {
  const Model* m = nullptr;
  [[nodiscard]] const Model& least() const { return *m; }
  [[nodiscard]] const Model& alone() const { return *m; }
};
/// A host's own lowering. `told` is called whenever it is asked.
template <class Model>
struct own_lowering {
  static constexpr std::string_view name = "own";
  std::function<void()> told;
  [[nodiscard]] sw::lowered_graph operator()(const Model& m, std::span<const sw::strategy> choice) const {
    told();
    return m.lower_all(choice).lowered;
  }
  [[nodiscard]] told_work<Model> work(const Model& m, unsigned) const { return {&m}; }
};

/// \param told  is called whenever something of the host is asked
template <class Model>
[[nodiscard]] sw::fastest_plan_result fastest_within(
    const Model& m, sw::bytes memory, const sw::solve_control& control = {},
    const std::function<void()>& told = [] {}) {
  const sw::pipeline way(sw::exhaustive{}, sw::benefit<>{}, own_lowering<Model>{told});
  const auto held = [&] {
    told();
    return m.held_at_loss();
  };
  const auto within = [&](const sw::task_graph& g, sw::bytes room, const sw::solve_control& rest) {
    told();
    sw::benefit<> pass;
    pass.memory = pass.order.memory = room;
    return pass.plan(g, rest);
  };
  return sw::fastest_plan(
      way, m.graph, m, {},
      {.search = {.plans = 6, .around = 0}, .memory = memory, .held = held, .within = within, .changes = 100}, control);
}

/// Everything that a plan says but how long it took.
[[nodiscard]] inline std::string text_of(const sw::fastest_plan_result& found) {
  std::string text = std::to_string(found.bounds.bound) + " " + std::to_string(found.plans);
  for (const sw::strategy s : found.plan.placement.choice) text += " " + std::to_string(s);
  if (!found.plan.tasks) return text;
  text += ": " + std::to_string(found.plan.tasks->after.end_to_end.count()) + " " +
          std::to_string(found.plan.tasks->after.peak.count());
  for (const sw::task_index t : found.plan.tasks->order.order) text += " " + std::to_string(t);
  if (found.fitted) text += ", " + std::to_string(found.fitted->time.count());
  if (found.step_without_limit) text += ", " + std::to_string(found.step_without_limit->count());
  return text;
}

/// A step, and a memory within which its fastest plan makes values again.
struct tight_step {
  tiny_training::model model;
  sw::bytes memory;
};
[[nodiscard]] inline tight_step random_step(std::uint64_t seed) {
  sw::random_source random(seed);
  while (true) {
    const tiny_training::model m = tiny_training::random_model(random);
    const std::vector<std::int64_t> peaks = tiny_training::peaks_of(m);
    const sw::bytes memory(peaks[peaks.size() / 4]);
    if (fastest_within(m, memory).fitted) return {m, memory};
  }
}

}  // namespace limited_step
