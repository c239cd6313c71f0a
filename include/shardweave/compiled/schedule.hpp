#pragma once

#include <shardweave/schedule/bound/impl/makespan_bound.hpp>

/// \file
/// The compiled part of room schedule; see `shardweave/compiled.hpp`.
