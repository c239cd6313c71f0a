#pragma once

#include <shardweave/simulate/impl/hiding.hpp>
#include <shardweave/simulate/impl/simulate.hpp>

/// \file
/// The compiled part of room simulate; see `shardweave/compiled.hpp`.
