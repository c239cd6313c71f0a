#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

/// \file
/// The efficiency of NCCL's trees by size.

namespace shardweave::inline v0::detail {

/// The share of its bandwidth that a tree all-reduce reaches, by protocol (LL, LL128, Simple) and the whole part of
/// log2(size / 64); 1 below 64 bytes and from 2^23 * 64 bytes on.
/// Source: the tuner of NCCL (NVIDIA, Apache 2.0 licence), unchanged from version 2.10 to 2.30.
inline constexpr std::array<std::array<double, 24>, 3> tree_corrections{
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}}};

/// \param end  the first index that is not corrected any more
[[nodiscard]] inline double tree_correction(std::size_t protocol, double size, std::size_t end = 23) {
  if (!(size >= 64)) return 1;
  const auto index = static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(size) / 64)) - 1;
  return index < end ? tree_corrections[protocol][index] : 1;
}

}  // namespace shardweave::inline v0::detail
