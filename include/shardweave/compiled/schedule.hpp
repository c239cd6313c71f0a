#pragma once

#include <shardweave/schedule/benefit.hpp>
#include <shardweave/schedule/impl/best_known.hpp>
#include <shardweave/schedule/impl/certify_order.hpp>
#include <shardweave/schedule/impl/compatibility.hpp>
#include <shardweave/schedule/impl/exact.hpp>
#include <shardweave/schedule/impl/makespan_bound.hpp>
#include <shardweave/schedule/impl/overlap_scheduler.hpp>
#include <shardweave/schedule/impl/prefetch.hpp>
#include <shardweave/schedule/search.hpp>

/// \file
/// The compiled part of room schedule; see `shardweave/compiled.hpp`.

namespace shardweave::inline v0 {

template struct benefit<prefetch>;
template struct search<prefetch>;

}  // namespace shardweave::inline v0
