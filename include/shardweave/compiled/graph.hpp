#pragma once

#include <shardweave/graph/impl/repeated_layers.hpp>

/// \file
/// The compiled part of room graph; see `shardweave/compiled.hpp`.
