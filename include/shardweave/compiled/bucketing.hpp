#pragma once

#include <shardweave/bucketing/impl/bucket_key.hpp>
#include <shardweave/bucketing/impl/greedy.hpp>
#include <shardweave/bucketing/impl/overlap_preserving.hpp>
#include <shardweave/bucketing/impl/topological_span.hpp>

/// \file
/// The compiled part of room bucketing; see `shardweave/compiled.hpp`.
