#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/tasks/duration_table.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <string>
#include <utility>
#include <vector>

/// \file
/// What a bucket costs: the merged collective, and the copies into and out of its buffers.

namespace shardweave {
inline namespace v0 {

/// Times of one launched bucket. Packing and unpacking occupy the compute stream.
struct bucket_costs {
  nanoseconds pack;
  nanoseconds duration;
  nanoseconds unpack;
};

/// A bucket of these members, with its channel and sums filled in.
/// \pre members are collectives of one group, at least one
[[nodiscard]] inline bucket make_bucket(const task_graph& g, std::vector<task_index> members) {
  bucket b;
  b.channel = g.collective(members.front()).group;
  for (const task_index t : members) {
    const collective_info c = g.collective(t);
    b.bytes_in += c.bytes_in;
    b.bytes_out += c.bytes_out;
  }
  b.members = std::move(members);
  return b;
}

/// The costs of a bucket by the graph's duration tables and device figures.
/// \throws error naming the operation and group for which there is no table
[[nodiscard]] inline bucket_costs costs_of(const task_graph& g, const bucket& b) {
  const collective_info first = g.collective(b.members.front());
  const duration_table* table = g.table(first.op, first.group);
  if (table == nullptr)
    refuse(error_category::input, "no duration table prices a bucket of " + std::string(first.op) + " on group " +
                                      std::to_string(first.group) + " with " + g.label(b.members.front()));
  const double speed = g.device().dram_bytes_per_ns;
  return {copy_time(b.bytes_in, speed), (*table)(b.bytes_in), copy_time(b.bytes_out, speed)};
}

}  // namespace v0
}  // namespace shardweave
