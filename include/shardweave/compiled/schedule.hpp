#pragma once

#include <shardweave/schedule/bound/impl/makespan_bound.hpp>
#include <shardweave/schedule/impl/best_known.hpp>
#include <shardweave/schedule/impl/compatibility.hpp>
#include <shardweave/schedule/list/impl/prefetch.hpp>
#include <shardweave/schedule/overlap/impl/overlap_scheduler.hpp>
#include <shardweave/schedule/search/impl/exact.hpp>

/// \file
/// The compiled part of room schedule; see `shardweave/compiled.hpp`.
