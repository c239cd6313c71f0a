#pragma once

/// \file
/// The format `shardweave.placement`, version 1.

#include <shardweave/io/read_placement.hpp>   // IWYU pragma: export
#include <shardweave/io/write_placement.hpp>  // IWYU pragma: export
