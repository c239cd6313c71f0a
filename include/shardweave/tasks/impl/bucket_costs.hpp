#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/tasks/bucket_costs.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// What buckets cost.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE bucket make_bucket(const task_graph& g, std::vector<task_index> members) {
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

SHARDWEAVE_INLINE bucket_costs costs_of(const task_graph& g, const bucket& b) {
  const collective_info first = g.collective(b.members.front());
  const duration_table* table = g.table(first.op, first.group);
  if (table == nullptr)
    refuse(error_category::input, "no duration table prices a bucket of " + std::string(name_of(first.op)) +
                                      " on group " + std::to_string(first.group) + " with " +
                                      g.label(b.members.front()));
  const double speed = g.device().dram_bytes_per_ns;
  if (b.coalesced) return {{}, (*table)(b.bytes_in), {}};
  return {copy_time(b.bytes_in, speed), (*table)(b.bytes_in), copy_time(b.bytes_out, speed)};
}

template <class IsCast>
std::vector<task_index> absorbed_casts(const task_graph& g, std::span<const bucket> buckets, const IsCast& is_cast) {
  std::vector<task_index> casts;
  for (const bucket& b : buckets)
    for (const task_index t : b.members) {
      const auto needs = g.dependencies().in(t);
      if (b.coalesced || g.collective(t).op != collective::all_gather || needs.size() != 1) continue;
      const task_index cast = needs.front().source;
      const bool alone = g.dependencies().in(cast).size() == 1 && g.dependencies().out(cast).size() == 1;
      if (alone && g.kind(cast) == task_kind::other && is_cast(g.op(cast))) casts.push_back(cast);
    }
  return casts;
}

SHARDWEAVE_INLINE std::vector<task_index> absorbed_casts(const task_graph& g, std::span<const bucket> buckets) {
  return absorbed_casts(g, buckets, [](std::string_view op) {
    return op.find("convert_element_type") != std::string_view::npos || op.find("_to_copy") != std::string_view::npos;
  });
}

SHARDWEAVE_INLINE task_graph with_absorbed_casts(const task_graph& g, std::span<const bucket> buckets) {
  std::vector<nanoseconds> durations;
  for (task_index t = 0; t < g.size(); ++t) durations.push_back(g.duration(t));
  for (const task_index cast : absorbed_casts(g, buckets)) {
    bytes wide;
    const task_index from = g.dependencies().in(cast).front().source;
    for (std::size_t i = 0; i < g.output_count(from); ++i) wide += g.output(from, i).size;
    const bytes narrow = g.collective(g.dependencies().out(cast).front().target).bytes_in;
    // a copy reads and writes each byte: half of it is the reading
    durations[cast] = copy_time(std::max(wide - narrow, bytes(0)), 2 * g.device().dram_bytes_per_ns);
  }
  return g.with_durations(durations);
}

}  // namespace shardweave::inline v0
