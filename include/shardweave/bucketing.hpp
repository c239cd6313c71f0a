#pragma once

// IWYU pragma: begin_exports
#include <shardweave/bucketing/after_split.hpp>
#include <shardweave/bucketing/bucket_key.hpp>
#include <shardweave/bucketing/bucketing_policy.hpp>
#include <shardweave/bucketing/duplicates.hpp>
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/bucketing/overlap_preserving.hpp>
#include <shardweave/bucketing/topological_span.hpp>
// IWYU pragma: end_exports

/// \file
/// Which collectives are launched as one.
