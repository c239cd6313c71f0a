#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/lowering/collective_tables.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

/// \file
/// Definitions of `table_sizes` and `collective_tables`.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE std::vector<std::int64_t> table_sizes(const lowering_options& options, double limit) {
  constexpr std::int64_t smallest = 256;  // bytes, the first grid point
  const int points = std::max(1, options.table_points_per_octave);
  std::vector<std::int64_t> sizes;
  for (int i = 0;; ++i) {
    const double size = static_cast<double>(smallest) * std::exp2(static_cast<double>(i) / points);
    sizes.push_back(static_cast<std::int64_t>(size));
    if (size >= limit) return sizes;
  }
}

SHARDWEAVE_INLINE std::vector<duration_table> collective_tables(std::span<const task_record> tasks,
                                                                const any_collectives& model,
                                                                std::span<const group_shape> shapes,
                                                                const lowering_options& options) {
  struct use {
    std::set<std::int64_t> sizes;
    std::int64_t total = 0;
  };
  std::map<std::pair<std::uint32_t, collective>, use> uses;
  for (const task_record& t : tasks) {
    if (!t.collective || t.collective->op == collective::other) continue;
    use& u = uses[{t.collective->group, t.collective->op}];
    u.sizes.insert(t.collective->bytes_in.count());
    u.total += t.collective->bytes_in.count();
  }

  std::vector<duration_table> tables;
  for (auto& [key, u] : uses) {
    const auto& [group, op] = key;
    // no buffer of a group has 2^60 bytes or more
    const std::int64_t most = (std::int64_t{1} << 60) / shapes[group].ranks();
    const double limit = static_cast<double>(std::max(std::min(options.table_limit.count(), most), u.total));
    for (const std::int64_t size : table_sizes(options, limit)) u.sizes.insert(size);
    std::vector<bytes> sizes;
    std::vector<nanoseconds> times;
    for (const std::int64_t size : u.sizes) {
      sizes.emplace_back(size);
      times.push_back(
          from_microseconds(model.estimate(op, largest_buffer(op, bytes(size), shapes[group]), shapes[group]).time_us));
    }
    tables.emplace_back(op, group, std::move(sizes), std::move(times));
  }
  return tables;
}

}  // namespace shardweave::inline v0
