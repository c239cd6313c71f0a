#pragma once

// IWYU pragma: begin_exports
#include <shardweave/core/attempt.hpp>
#include <shardweave/core/control.hpp>
#include <shardweave/core/enumerator_named.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/interning.hpp>
#include <shardweave/core/last_moment.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/core/parallel.hpp>
#include <shardweave/core/phase.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/core/range_minimum.hpp>
#include <shardweave/core/range_sums.hpp>
#include <shardweave/core/timed_stop.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/core/utf8_text.hpp>
// IWYU pragma: end_exports

/// \file
/// Exact times and sizes, errors, limits and stop.
