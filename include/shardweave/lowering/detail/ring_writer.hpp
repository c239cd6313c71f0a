#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/lowering/detail/redistribution_writer.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/lowering/ring_tasks.hpp>
#include <shardweave/spmd/block_ring.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/rules.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/tasks/task.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Writes the tasks of an operation that is computed in blocks.

namespace shardweave::inline v0::detail {

/// Blocks in sequence, each of which accumulates on the one before; the exchange for the next block is launched before
/// a block. An exchange shares its storage with its wait, and so do the sums of results that stay on the device.
class ring_writer {
 public:
  /// \param placed  the strategy whose ring it is
  ring_writer(redistribution_writer& to, const spmd_cost_model& model, const operation& op, const mesh_strategy& placed,
              const block_ring& ring, task_origin origin)
      : to_(to),
        op_(op),
        placed_(placed),
        ring_(ring),
        round_(*model.rules().of(op).cost.ring),
        times_(ring, model),
        dim_(model.mesh().name(ring.mesh_dim)),
        origin_(origin) {}

  /// \param whole    the operation as a task: its name, operator, kind, phase and inputs
  /// \param results  receives the operation's results
  /// \returns the last block
  task_index write(const task_record& whole, std::vector<piece>& results) {
    when_ = whole.when;
    results.resize(op_.outputs.size());
    const auto first = whole.inputs.begin() + static_cast<std::ptrdiff_t>(round_.first);
    std::vector<task_index> arrived(first, first + static_cast<std::ptrdiff_t>(round_.count));
    const output_record stays = in_f32(ring_.stays);
    task_index block = no_index;
    launched sent, sent_sums;
    for (std::int64_t k = 0; k < ring_.blocks; ++k) {
      const bool is_last = k + 1 == ring_.blocks;
      const std::string name = whole.name + "." + std::to_string(k + 1);
      if (!is_last) sent = launch(name + ".part", arrived, part(), times_.part);
      task_record task = whole;
      task.name = name + "of" + std::to_string(ring_.blocks);
      task.duration = k == 0 ? times_.block : times_.later_block;
      for (std::size_t a = 0; a < round_.count; ++a)
        task.inputs[round_.first + a] = arrived[a < arrived.size() ? a : 0];
      if (block != no_index) task.inputs.push_back(block);
      if (is_last)
        give(task, results, false);
      else
        task.outputs.push_back(stays);
      if (ring_.sums == bytes(0)) {
        block = to_.add_task(std::move(task), origin_);
      } else {
        const output_record of_block = in_f32(ring_.sums);
        task.outputs.push_back(of_block);
        block = to_.add_task(std::move(task), origin_);
        const task_index sum = k == 0 ? block : add(name + ".add", block, wait_for(sent_sums), of_block);
        sent_sums = launch(name + ".sums", {sum}, in_f32(ring_.sums), times_.sums);
      }
      if (is_last)
        take(results, block, false);
      else
        arrived = {wait_for(sent)};
    }
    if (ring_.sums > bytes(0)) {
      task_record task = computing(whole.name + ".finish", "cast", {wait_for(sent_sums)}, times_.finish);
      give(task, results, true);
      take(results, to_.add_task(std::move(task), origin_), true);
    }
    return block;
  }

 private:
  /// A new storage of so many bytes.
  [[nodiscard]] output_record memory(bytes size, dtype type) {
    return {.size = size,
            .storage = to_.new_storage(size),
            .dtype = std::string(name_of(type)),
            .shape = {size.count() / element_size(type)}};
  }
  [[nodiscard]] output_record in_f32(bytes size) { return memory(size, dtype::f32); }
  [[nodiscard]] output_record part() { return memory(ring_.part, op_.outputs.front().type); }

  [[nodiscard]] bool goes_round(std::size_t result) const {
    return result >= round_.first_sum && result < round_.first_sum + round_.sums;
  }
  /// Adds to a task the operation's results that travel around the ring, or those that stay.
  void give(task_record& task, std::vector<piece>& results, bool that_go_round) {
    for (std::size_t k = 0; k < results.size(); ++k)
      if (goes_round(k) == that_go_round) results[k] = to_.add_output(task, op_.outputs[k], placed_.outputs[k]);
  }
  void take(std::vector<piece>& results, task_index from, bool that_go_round) const {
    for (std::size_t k = 0; k < results.size(); ++k)
      if (goes_round(k) == that_go_round) results[k].task = from;
  }

  [[nodiscard]] task_record computing(std::string name, std::string op, std::vector<task_index> inputs,
                                      nanoseconds time) const {
    return {.name = std::move(name),
            .op = std::move(op),
            .kind = task_kind::other,
            .duration = time,
            .inputs = std::move(inputs),
            .when = when_};
  }
  task_index add(std::string name, task_index block, task_index there, const output_record& sum) {
    task_record task = computing(std::move(name), "add", {block, there}, times_.add);
    task.outputs = {sum};
    return to_.add_task(std::move(task), origin_);
  }
  [[nodiscard]] task_origin exchanging() const {
    task_origin from = origin_;
    from.argument = static_cast<std::uint32_t>(round_.first);
    return from;
  }
  /// An exchange that was launched, and what its wait needs.
  struct launched {
    task_index task = no_index;
    std::string name = {};
    output_record moved = {};
  };
  launched launch(const std::string& name, std::vector<task_index> inputs, const output_record& moved,
                  nanoseconds time) {
    const std::string op(name_of(collective::shift));
    task_record task{.name = name + "." + op + "." + dim_,
                     .op = op,
                     .kind = task_kind::collective,
                     .duration = time,
                     .inputs = std::move(inputs),
                     .when = when_};
    task.collective = collective_record{.op = collective::shift,
                                        .group = static_cast<std::uint32_t>(ring_.mesh_dim),
                                        .bytes_in = moved.size,
                                        .bytes_out = moved.size,
                                        .dtype = moved.dtype};
    task.outputs = {moved};
    return {to_.add_task(std::move(task), exchanging()), name + ".wait." + dim_, moved};
  }
  task_index wait_for(const launched& sent) {
    task_record task{.name = sent.name, .op = "wait", .kind = task_kind::wait, .inputs = {sent.task}, .when = when_};
    task.completes = sent.task;
    task.outputs = {sent.moved};
    return to_.add_task(std::move(task), exchanging());
  }

  redistribution_writer& to_;
  const operation& op_;
  const mesh_strategy& placed_;
  const block_ring& ring_;
  const ring_arguments& round_;
  ring_tasks times_;
  std::string dim_;
  task_origin origin_;
  std::optional<phase> when_;
};

}  // namespace shardweave::inline v0::detail
