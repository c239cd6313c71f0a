#pragma once

// IWYU pragma: begin_exports
#include <shardweave/simulate/critical_path.hpp>
#include <shardweave/simulate/hiding.hpp>
#include <shardweave/simulate/interference.hpp>
#include <shardweave/simulate/machine.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/simulate_machine.hpp>
#include <shardweave/simulate/slack.hpp>
#include <shardweave/simulate/timeline.hpp>
#include <shardweave/simulate/validate_schedule.hpp>
// IWYU pragma: end_exports

/// \file
/// Timelines to the nanosecond and to the byte.
