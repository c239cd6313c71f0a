#pragma once

/// \file
/// The version of the library; CMake reads it from here.

#define SHARDWEAVE_VERSION_MAJOR 0
#define SHARDWEAVE_VERSION_MINOR 1
#define SHARDWEAVE_VERSION_PATCH 0
