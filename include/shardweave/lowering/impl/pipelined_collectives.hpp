#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/graph/stable_order.hpp>
#include <shardweave/lowering/pipelined_collectives.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/rules.hpp>
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/strategy_list.hpp>
#include <shardweave/spmd/tensor.hpp>
#include <shardweave/tasks/pieces.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

/// \file
/// Definition of `with_pipelined_collectives`.

namespace shardweave::inline v0 {

namespace detail {

/// Times of the pieces of operations under their strategies.
class piece_prices {
 public:
  piece_prices(const spmd_cost_model& model, std::span<const strategy> choice, unsigned pieces)
      : model_(model), choice_(choice), pieces_(pieces) {}

  /// The time of one piece of a product, in microseconds.
  /// \param is_cut  by argument: whether it is in pieces
  /// \param gives_pieces  whether readers take its result in pieces
  [[nodiscard]] double product(std::uint32_t v, const std::vector<bool>& is_cut, bool gives_pieces) const {
    const computation& graph = model_.operations();
    const operation& op = graph.operations[v];
    const mesh_strategy& placed = model_.strategies(v).strategies[choice_[v]];
    std::vector<tensor> whole, inputs, outputs;
    for (std::size_t a = 0; a < op.inputs.size(); ++a) {
      const operation& from = graph.operations[op.inputs[a]];
      whole.push_back(from.outputs[element_taken(op, from)]);
      inputs.push_back(local(whole.back(), placed.inputs[a]));
    }
    for (std::size_t k = 0; k < op.outputs.size(); ++k) outputs.push_back(local(op.outputs[k], placed.outputs[k]));
    const operator_cost& cost = model_.rules().of(op).cost;
    device_work work = work_of_operation(cost, operation_view{op, whole, inputs, outputs});
    // of rows, columns and the dimension that is summed over one is cut, so one of the three operands is not
    bytes uncut;
    for (std::size_t a = 0; a < inputs.size(); ++a)
      if (!is_cut[a]) uncut = std::max(uncut, inputs[a].size());
    if (!gives_pieces)
      for (const tensor& t : outputs) uncut = std::max(uncut, t.size());
    work.flops /= pieces_;
    work.moved = bytes((work.moved - uncut).count() / pieces_) + uncut;
    return model_.compute().compute_time(work, cost.kernel);
  }

 private:
  [[nodiscard]] tensor local(tensor t, const sharding& where) const {
    if (!where.is_none()) t.shape = local_shape(t.shape, where, model_.mesh());
    return t;
  }

  const spmd_cost_model& model_;
  std::span<const strategy> choice_;
  unsigned pieces_;
};

/// Whether a task leads one to one to the output.
[[nodiscard]] inline std::vector<char> returned_alone(const task_graph& g) {
  std::vector<char> is_returned(g.size());
  const std::vector<task_index> order = stable_topological_order(g.dependencies());
  for (std::size_t i = order.size(); i-- > 0;) {
    const auto users = g.dependencies().out(order[i]);
    is_returned[order[i]] =
        !users.empty() && std::ranges::all_of(users,
                                              [&](const auto& e) {
                                                return g.kind(e.target) == task_kind::output ||
                                                       (g.inputs(e.target).size() == 1 && is_returned[e.target] != 0);
                                              })
            ? 1
            : 0;
  }
  return is_returned;
}

}  // namespace detail

SHARDWEAVE_INLINE pipelined_graph with_pipelined_collectives(const lowered_graph& g, const spmd_cost_model& model,
                                                             std::span<const strategy> choice, unsigned pieces,
                                                             std::span<const char> wanted) {
  const task_graph& tasks = g.tasks;
  if (!wanted.empty() && wanted.size() != tasks.size())
    refuse(error_category::input, "pieces: " + std::to_string(wanted.size()) + " tasks are told of, the graph has " +
                                      std::to_string(tasks.size()));
  std::vector<piecewise> how(tasks.size(), piecewise::no);
  std::vector<char> may(tasks.size());
  const std::vector<char> is_returned =
      detail::returned_alone(tasks);  // in the backward phase: gradients of parameters
  for (task_index t = 0; t < tasks.size(); ++t) {
    const task_origin& from = g.origin[t];
    const operation& op = model.operations().operations[from.operation];
    if (tasks.kind(t) == task_kind::collective) {
      const collective what = tasks.collective(t).op;
      const bool is_of_parameters = tasks.role(t) == task_role::parameter || tasks.is_fsdp(t).value_or(false) ||
                                    (op.when == phase::backward && is_returned[t] != 0);
      may[t] = !is_of_parameters && is_mergeable(what) && (wanted.empty() || wanted[t] != 0) ? 1 : 0;
    } else if (from.is_redistribution() || tasks.kind(t) == task_kind::view) {
      how[t] = piecewise::passes_on;
    } else if (model.strategies(from.operation).ring(choice[from.operation]) != nullptr) {
      continue;  // in pieces already
    } else if (tasks.kind(t) == task_kind::compute) {
      const kernel_kind kernel = model.rules().of(op).cost.kernel;
      if (kernel == kernel_kind::matrix_product) how[t] = piecewise::product;
      if (kernel == kernel_kind::attention || kernel == kernel_kind::attention_backward) how[t] = piecewise::sum;
    }
  }
  std::vector<piecewise> cut = tasks_in_pieces(tasks, how, may);
  const detail::piece_prices price(model, choice, pieces);
  const auto time_of = [&](task_index t) {
    const nanoseconds whole = tasks.duration(t);
    if (how[t] == piecewise::product || how[t] == piecewise::sum) {
      std::vector<bool> is_cut;
      for (const task_index p : tasks.inputs(t)) is_cut.push_back(cut[p] != piecewise::no);
      const auto readers = tasks.dependencies().out(t);
      const bool gives = std::ranges::any_of(readers, [&](const auto& e) { return cut[e.target] != piecewise::no; });
      // readers of a sum need all of it
      return from_microseconds(price.product(g.origin[t].operation, is_cut, gives && how[t] == piecewise::product));
    }
    if (tasks.kind(t) == task_kind::collective) {
      const collective_info c = tasks.collective(t);
      const duration_table* table = tasks.table(c.op, c.group);
      const bytes size((c.bytes_in.count() + pieces - 1) / pieces);
      return table == nullptr ? whole : std::min(whole, (*table)(size));
    }
    const nanoseconds floor = std::min(whole, from_microseconds(model.compute().launch_us));
    return std::max(floor, nanoseconds((whole.count() + pieces - 1) / pieces));
  };
  graph_in_pieces made = with_pieces(tasks, cut, pieces, time_of);
  pipelined_graph result{.lowered = {}, .cut = {}, .collectives = 0, .longer = made.longer};
  std::vector<task_index> now(tasks.size(), no_index);
  for (task_index t = 0; t < made.tasks.size(); ++t) {
    const task_index from = made.original[t];
    result.lowered.origin.push_back(g.origin[from]);
    if (now[from] == no_index) now[from] = t;
  }
  for (task_index t = 0; t < tasks.size(); ++t)
    if (cut[t] != piecewise::no && tasks.kind(t) == task_kind::collective) ++result.collectives;
  for (const task_index t : g.task_of) result.lowered.task_of.push_back(now[t]);
  result.lowered.tasks = std::move(made.tasks);
  result.cut = std::move(cut);
  return result;
}

}  // namespace shardweave::inline v0
