#pragma once

#include <shardweave/schedule/impl/best_known.hpp>
#include <shardweave/schedule/impl/certify_order.hpp>
#include <shardweave/schedule/impl/compatibility.hpp>
#include <shardweave/schedule/impl/exact.hpp>
#include <shardweave/schedule/impl/makespan_bound.hpp>
#include <shardweave/schedule/impl/overlap_scheduler.hpp>
#include <shardweave/schedule/impl/prefetch.hpp>

/// \file
/// The compiled part of room schedule; see `shardweave/compiled.hpp`.
