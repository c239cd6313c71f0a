#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/lowering/detail/redistribution_writer.hpp>
#include <shardweave/lowering/detail/ring_writer.hpp>
#include <shardweave/lowering/lower.hpp>
#include <shardweave/lowering/ring_tasks.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/redistributor.hpp>
#include <shardweave/spmd/rules.hpp>
#include <shardweave/spmd/sharding.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Definition of `lower`.

namespace shardweave::inline v0 {

namespace detail {

/// Visits the operations in order and keeps the results of each.
class lowering_pass {
 public:
  lowering_pass(const spmd_cost_model& model, std::span<const strategy> chosen, const lowering_options& options,
                const stop_token& stop)
      : model_(model),
        graph_(model.operations()),
        chosen_(chosen),
        redistribution_(model.new_redistributor()),
        writer_(redistribution_, options),
        options_(options),
        stop_(stop) {}

  [[nodiscard]] lowered_graph run() && {
    const std::size_t n = graph_.operations.size();
    if (chosen_.size() != n)
      refuse(error_category::input, "an assignment of " + std::to_string(chosen_.size()) + " strategies for " +
                                        std::to_string(n) + " operations");
    results_.resize(n);
    again_.resize(n);
    sources_.resize(n);
    for (std::uint32_t v = 0; v < n; ++v) {
      if (chosen_[v] >= model_.strategy_count(v))
        refuse(error_category::input, "operation '" + graph_.operations[v].name + "' is assigned strategy " +
                                          std::to_string(chosen_[v]) + " of " +
                                          std::to_string(model_.strategy_count(v)));
      if (v % 256 == 0) look_at_stop();
      sources_[v] = source_of(v);
      task_of_.push_back(lower(v, graph_.operations[v].when, {v}));
    }
    look_at_stop();
    return std::move(writer_).finish(graph_.name, std::move(task_of_));
  }

 private:
  void look_at_stop() const {
    if (stop_.stop_requested()) refuse(error_category::stopped, "the operations were not lowered before the stop");
  }
  /// Whether a value of the forward phase depends on parameters alone, and whether they were redistributed for it.
  enum class source : std::uint8_t { other, parameter, moved_parameter };

  [[nodiscard]] const mesh_strategy& strategy_of(std::uint32_t v) const {
    return model_.strategies(v).strategies[chosen_[v]];
  }
  [[nodiscard]] bool is_moved(std::uint32_t v, std::size_t a) const {
    const operation& op = graph_.operations[v];
    const std::size_t element = element_taken(op, graph_.operations[op.inputs[a]]);
    const sharding& from = strategy_of(op.inputs[a]).outputs[element];
    const sharding& to = strategy_of(v).inputs[a];
    return !from.is_none() && !to.is_none() && from != to;
  }
  [[nodiscard]] source source_of(std::uint32_t v) const {
    const operation& op = graph_.operations[v];
    if (op.kind == role::parameter) return source::parameter;
    if (op.inputs.empty() || op.when != phase::forward) return source::other;
    source all = source::parameter;
    for (std::size_t a = 0; a < op.inputs.size(); ++a) {
      if (sources_[op.inputs[a]] == source::other) return source::other;
      if (sources_[op.inputs[a]] == source::moved_parameter || is_moved(v, a)) all = source::moved_parameter;
    }
    return all;
  }

  /// The results of an operation; for the backward phase, those of its repetition, if it is regathered.
  [[nodiscard]] const std::vector<piece>& results_of(std::uint32_t v, phase wanted) {
    const auto is_again = [&](std::uint32_t u) {
      return options_.regather_parameters && wanted == phase::backward && graph_.operations[u].when == phase::forward &&
             sources_[u] == source::moved_parameter;
    };
    if (!is_again(v)) return results_[v];
    if (again_[v].empty()) {
      // what it needs first, without recursion: chains may be long
      std::set<std::uint32_t> missing{v};
      for (std::vector<std::uint32_t> open{v}; !open.empty();) {
        const std::uint32_t u = open.back();
        open.pop_back();
        for (const std::uint32_t p : graph_.operations[u].inputs)
          if (is_again(p) && again_[p].empty() && missing.insert(p).second) open.push_back(p);
      }
      for (const std::uint32_t u : missing) lower(u, wanted, {.operation = u, .again = true});
    }
    return again_[v];
  }

  /// The piece that an operation takes as an argument, redistributed if necessary.
  [[nodiscard]] piece argument(std::uint32_t v, std::uint32_t a, phase wanted, task_origin origin) {
    const operation& op = graph_.operations[v];
    const std::uint32_t p = op.inputs[a];
    const operation& producer = graph_.operations[p];
    const std::size_t element = element_taken(op, producer);
    const piece from = results_of(p, wanted)[element];
    if (!is_moved(v, a)) return from;
    origin.argument = a;
    return writer_.redistribute(op, producer.outputs[element], from, strategy_of(v).inputs[a], wanted, origin);
  }

  task_index lower(std::uint32_t v, phase wanted, task_origin origin) {
    const operation& op = graph_.operations[v];
    task_record task;
    task.name = op.name + (origin.again ? ".again" : "");
    task.op = op.op;
    task.when = wanted;
    std::uint32_t shared = no_index;  // storage of the first argument
    for (std::uint32_t a = 0; a < op.inputs.size(); ++a) {
      const piece in = argument(v, a, wanted, origin);
      task.inputs.push_back(in.task);
      if (a == 0) shared = in.storage;
    }

    if (op.outputs.empty()) {
      task.kind = task_kind::output;
    } else if (op.kind != role::none) {
      task.kind = task_kind::input;
      task.role = op.kind == role::parameter ? task_role::parameter
                  : op.kind == role::tangent ? task_role::gradient
                                             : task_role::data;
      // memory models recognize by this prefix what belongs to the caller and is never freed
      if (op.kind != role::tangent) task.name = "primals." + op.name;
    } else {
      const operator_cost& cost = model_.rules().of(op).cost;
      task.kind = cost.flops ? task_kind::compute : task_kind::other;
      if (cost.is_view && !op.inputs.empty()) task.kind = task_kind::view;
      task.duration = own_time(model_, v, chosen_[v]);
    }
    std::vector<piece>& results = (origin.again ? again_ : results_)[v];
    if (const block_ring* ring = model_.strategies(v).ring(chosen_[v]))
      return ring_writer(writer_, model_, op, strategy_of(v), *ring, origin).write(task, results);
    const std::uint32_t storage = task.kind == task_kind::view ? shared : no_index;
    for (std::size_t e = 0; e < op.outputs.size(); ++e)
      results.push_back(writer_.add_output(task, op.outputs[e], strategy_of(v).outputs[e], storage));
    const task_index made = writer_.add_task(std::move(task), origin);
    for (piece& result : results) result.task = made;
    return made;
  }

  const spmd_cost_model& model_;
  const computation& graph_;
  std::span<const strategy> chosen_;
  redistributor redistribution_;
  redistribution_writer writer_;
  lowering_options options_;
  const stop_token& stop_;
  std::vector<std::vector<piece>> results_;  // by operation and element
  std::vector<std::vector<piece>> again_;
  std::vector<source> sources_;
  std::vector<task_index> task_of_;
};

}  // namespace detail

SHARDWEAVE_INLINE lowered_graph lower(const spmd_cost_model& model, std::span<const strategy> chosen,
                                      const lowering_options& options, const stop_token& stop) {
  return detail::lowering_pass(model, chosen, options, stop).run();
}

}  // namespace shardweave::inline v0
