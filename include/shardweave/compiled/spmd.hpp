#pragma once

#include <shardweave/spmd/impl/strategies.hpp>

/// \file
/// The compiled part of room spmd; see `shardweave/compiled.hpp`.
