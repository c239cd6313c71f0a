#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/memory_budget.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// \file
/// Whether a plan fits a device, and what would.

namespace programs {

/// What one device holds of a plan, in bytes. `kept`, `results` and `least` are counted as `memory_budget` counts, in
/// the order of the graph: without copies that redistributions make and without buffers of collectives, which `peak`
/// has.
struct memory_need {
  double peak = 0;      ///< of the timeline; parameters and inputs included, optimizer state not
  double state = 0;     ///< of the optimizer
  double capacity = 0;  ///< of the device; 0 where unknown
  double kept = 0;      ///< parameters with their state, inputs and constants
  double results = 0;   ///< held beside them where most is held
  double least = 0;     ///< no placement on this mesh holds less where it holds most; 0: nobody asked
  double whole = 0;     ///< the same of all devices together, on any mesh
  std::optional<double> regathered = std::nullopt;  ///< `peak` if parameters were gathered again
  std::optional<double> again = std::nullopt;       ///< no less at the peak, whatever this placement makes again

  [[nodiscard]] double all() const { return peak + state; }
  [[nodiscard]] bool is_known() const { return capacity > 0; }
  [[nodiscard]] bool fits() const { return !is_known() || all() <= capacity; }
};

namespace detail {

/// The largest sum of amounts that are held from one position to another.
class held_amounts {
 public:
  explicit held_amounts(std::size_t positions) : changes_(positions + 2, 0.0) {}
  void hold(const shardweave::budget_term& term, double amount) {
    if (!term.live) return void(always_ += amount);
    changes_[static_cast<std::size_t>(term.live->first)] += amount;
    changes_[static_cast<std::size_t>(term.live->end)] -= amount;
  }
  [[nodiscard]] double always() const { return always_; }
  /// Beside what is always held.
  [[nodiscard]] double most() const {
    double sum = 0, most = 0;
    for (const double change : changes_) most = std::max(most, sum += change);
    return most;
  }

 private:
  std::vector<double> changes_;
  double always_ = 0;
};

/// Optimizer state of the parameters as a plan places them.
template <class Model>
[[nodiscard]] double state_of(const Model& model, const shardweave::training_plan& plan, double bytes_per_element) {
  double state = 0;
  const auto& operations = model.operations().operations;
  for (std::uint32_t v = 0; v < operations.size(); ++v)
    if (operations[v].kind == shardweave::role::parameter)
      state += static_cast<double>(model.result_size(v, plan.placement.choice[v]).count()) /
               static_cast<double>(shardweave::element_size(operations[v].outputs.front().type)) * bytes_per_element;
  return state;
}

}  // namespace detail

/// \param optimizer_bytes  of state for every element of a parameter
/// \param sharers          of that state, among the devices that hold the same parameters (ZeRO-1)
/// \param is_explained     what is held is told apart where it does not fit
/// \pre the plan has a timeline
template <class Model>
[[nodiscard]] memory_need memory_need_of(const Model& model, const shardweave::training_plan& plan,
                                         const shardweave::device_profile& device, double optimizer_bytes,
                                         double sharers = 1, bool is_explained = true) {
  namespace sw = shardweave;
  const double own_bytes = optimizer_bytes / sharers;
  memory_need need{.peak = static_cast<double>(plan.tasks->after.peak.count()),
                   .state = detail::state_of(model, plan, own_bytes),
                   .capacity = static_cast<double>(device.memory)};
  if (need.fits() || !is_explained) return need;
  const auto& operations = model.operations().operations;
  std::vector<std::vector<bool>> ruled_out(operations.size());
  for (const sw::fixed_strategies& fixed : plan.problem->constraints.fixed) {
    std::vector<bool>& out = ruled_out[fixed.vertex];
    std::vector<bool> also(model.strategy_count(fixed.vertex), true);
    for (const sw::strategy s : fixed.allowed) also[s] = false;
    if (out.empty()) out.resize(also.size());
    for (std::size_t s = 0; s < out.size(); ++s) out[s] = out[s] || also[s];
  }
  const sw::budget terms = sw::memory_budget(model, sw::bytes(device.memory), {.state_per_element = own_bytes});
  detail::held_amounts planned(operations.size()), least(operations.size()), whole(operations.size());
  std::size_t output = 0;
  for (std::size_t i = 0; i < terms.terms.size(); ++i) {
    const sw::budget_term& term = terms.terms[i];
    const sw::operation& op = operations[term.vertex];
    output = i > 0 && terms.terms[i - 1].vertex == term.vertex ? output + 1 : 0;
    planned.hold(term, term.usage[plan.placement.choice[term.vertex]]);
    const std::vector<bool>& out = ruled_out[term.vertex];
    double smallest = *std::max_element(term.usage.begin(), term.usage.end());
    for (std::size_t s = 0; s < term.usage.size(); ++s)
      if (out.empty() || !out[s]) smallest = std::min(smallest, term.usage[s]);
    least.hold(term, smallest);
    const double element = static_cast<double>(sw::element_size(op.outputs[output].type));
    const double with_state = element + (op.kind == sw::role::parameter ? optimizer_bytes : 0);
    if (smallest > 0) whole.hold(term, static_cast<double>(op.outputs[output].size().count()) / element * with_state);
  }
  need.kept = planned.always();
  need.results = planned.most();
  need.least = least.always() + least.most();
  need.whole = whole.always() + whole.most();
  return need;
}

/// What does not fit, by how much, and what would help; a line on what fits where all does.
/// \param mesh, device  their names
[[nodiscard]] inline std::string memory_text(const memory_need& need, const std::string& mesh,
                                             const std::string& device, bool regathers) {
  namespace sw = shardweave;
  const auto size = [](double bytes) { return sw::size_text(bytes); };
  const std::string parts = size(need.peak) + " at the peak and " + size(need.state) + " of optimizer state";
  if (!need.is_known()) return "A device needs " + parts + ".\n";
  if (need.fits())
    return "A device needs " + parts + ", " + size(need.all()) + " of the " + size(need.capacity) + " of " + device +
           ".\n";
  std::string text = "DOES NOT FIT: a device needs " + size(need.all()) + ", " + size(need.all() - need.capacity) +
                     " more than the " + size(need.capacity) + " of " + device + "\n  " + parts + "\n";
  if (need.least == 0) return text;
  text += "  parameters, their state and inputs take " + size(need.kept) + ", results until their last use " +
          size(need.results) + "\n";
  if (need.least > need.capacity) {
    text += "  --memory-budget alone cannot help: no placement on " + mesh + " holds less than " + size(need.least) +
            "\n  fewer than " + sw::count_text(static_cast<std::int64_t>(std::ceil(need.whole / need.capacity))) +
            " such devices never hold this step\n";
  } else {
    text += "  --memory-budget may help: placements on " + mesh + " that hold as little as " + size(need.least) +
            " are not ruled out\n";
  }
  text += "  results shrink with --batch and --sequence\n";
  if (need.regathered && !regathers)
    text += "  with --regather it needs " + size(*need.regathered + need.state) +
            (*need.regathered + need.state <= need.capacity ? ", and fits\n" : "\n");
  if (need.again)
    text += "  whatever is made again in the backward part, it needs " + size(*need.again + need.state) + " at least\n";
  return text;
}

}  // namespace programs
