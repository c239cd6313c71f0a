#pragma once

// IWYU pragma: begin_exports
#include <shardweave/engine/busy_work.hpp>
#include <shardweave/engine/calibration.hpp>
#include <shardweave/engine/collective_engine.hpp>
#include <shardweave/engine/compare.hpp>
#include <shardweave/engine/folder_meeting.hpp>
#include <shardweave/engine/group_ranks.hpp>
#include <shardweave/engine/half_number.hpp>
#include <shardweave/engine/payload.hpp>
#include <shardweave/engine/rank_agreement.hpp>
#include <shardweave/engine/rank_correlation.hpp>
#include <shardweave/engine/rank_meeting.hpp>
#include <shardweave/engine/replay.hpp>
#include <shardweave/engine/reprice.hpp>
#include <shardweave/engine/thread_engine.hpp>
#include <shardweave/engine/virtual_engine.hpp>
// IWYU pragma: end_exports

/// \file
/// Replay of a schedule; engines of components are included by name.
