#pragma once

/// \file
/// The format `shardweave.tasks`, version 1.

#include <shardweave/io/read_tasks.hpp>   // IWYU pragma: export
#include <shardweave/io/write_tasks.hpp>  // IWYU pragma: export
