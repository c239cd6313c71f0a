#pragma once

#include <shardweave/tasks/task.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// Tasks small enough to be read, for graphs whose figures are worked out by hand.
namespace small_tasks {

namespace sw = shardweave;

inline sw::task_record work(std::string name, std::int64_t duration, std::vector<sw::task_index> inputs = {}) {
  return {.name = std::move(name),
          .op = "mm",
          .kind = sw::task_kind::compute,
          .duration = sw::nanoseconds(duration),
          .inputs = std::move(inputs)};
}
/// An all-gather of `in` bytes to four times as many.
inline sw::task_record gather(std::string name, std::int64_t duration, std::vector<sw::task_index> inputs,
                              std::int64_t in, std::uint32_t group = 0) {
  sw::task_record t = work(std::move(name), duration, std::move(inputs));
  t.op = "all_gather";
  t.kind = sw::task_kind::collective;
  t.collective =
      sw::collective_record{sw::collective::all_gather, group, sw::bytes(in), sw::bytes(4 * in), "bf16", "none"};
  return t;
}
/// A reduce-scatter of `in` bytes to a quarter.
inline sw::task_record scatter(std::string name, std::int64_t duration, std::vector<sw::task_index> inputs,
                               std::int64_t in, std::uint32_t group = 0) {
  sw::task_record t = gather(std::move(name), duration, std::move(inputs), in, group);
  t.op = "reduce_scatter";
  t.collective =
      sw::collective_record{sw::collective::reduce_scatter, group, sw::bytes(in), sw::bytes(in / 4), "bf16", "sum"};
  return t;
}
inline sw::task_record wait_for(std::string name, sw::task_index collective) {
  sw::task_record t = work(std::move(name), 0, {collective});
  t.op = "wait";
  t.kind = sw::task_kind::wait;
  t.completes = collective;
  return t;
}

}  // namespace small_tasks
