#pragma once

#include <cstddef>
#include <cstdint>

/// \file
/// The fuzz targets of this build by name: `SHARDWEAVE_FUZZ_TARGETS` is a list of TARGET(name), name_fuzz.cpp having
/// each.

#define TARGET(name)                                     \
  namespace name##_fuzz {                                \
    int run(const std::uint8_t* data, std::size_t size); \
  }
SHARDWEAVE_FUZZ_TARGETS
#undef TARGET
