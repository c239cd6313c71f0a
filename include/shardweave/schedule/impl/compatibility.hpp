#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/schedule/compatibility.hpp>
#include <shardweave/simulate/hiding.hpp>
#include <shardweave/simulate/simulate.hpp>

/// \file
/// Definitions of the named passes.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE schedule overlap_passes::plan(const task_graph& g, const solve_control& control) const {
  return plan(g, before ? (*before)(g, control) : bucketing_result{}, control);
}

SHARDWEAVE_INLINE schedule overlap_passes::plan(const task_graph& g, const bucketing_result& buckets,
                                                const solve_control&) const {
  schedule s = account_of_overlap(g, buckets, settings);
  if (after) s = merge_preserving_overlap(g, s, *after);
  inputs_first(g, s.order);
  s.hides = hiding_records(g, s, simulate(g, s, {.validate = false}));
  if (keep_hidden) s.after = hiding_dependencies(g, s);
  return s;
}

}  // namespace shardweave::inline v0
