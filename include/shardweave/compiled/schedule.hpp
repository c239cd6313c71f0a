#pragma once

#include <shardweave/schedule/bound/impl/makespan_bound.hpp>
#include <shardweave/schedule/list/impl/prefetch.hpp>

/// \file
/// The compiled part of room schedule; see `shardweave/compiled.hpp`.
