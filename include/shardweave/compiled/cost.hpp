#pragma once

#include <shardweave/cost/impl/device.hpp>

/// \file
/// The compiled part of room cost; see `shardweave/compiled.hpp`.
