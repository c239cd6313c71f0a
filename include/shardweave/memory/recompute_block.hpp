#pragma once

#include <shardweave/core/units.hpp>

#include <cstdint>
#include <string>
#include <vector>

/// \file
/// A block of a model as memory sees it: the values that its forward part makes, and when its backward part wants them.

namespace shardweave::inline v0 {

/// What becomes of a value between the forward and the backward part.
enum class retention : std::uint8_t {
  keep,       ///< stays in memory until its last use
  recompute,  ///< is dropped, and made again just before its first use if there is one
  offload,    ///< waits in the host's memory
};

/// One value that the forward part of a block makes, or is given.
struct block_value {
  std::string name = {};
  bytes size{};
  nanoseconds time{};                      ///< to make it, once what it is made of is there
  std::vector<std::uint32_t> inputs = {};  ///< the values of the block that it is made of, each before it
  bool may_keep = true;                    ///< not: what nothing in the backward part reads itself
  bool may_drop = true;      ///< not: what the block is given, or what comes out differently a second time
  bool may_offload = false;  ///< not: what is too small to be worth a copy
};

/// One step of the backward part.
struct backward_step {
  std::vector<std::uint32_t> reads = {};  ///< values that must be there
  bytes gradients{};  ///< that are live while it runs: those that it takes, makes, and those that wait
};

/// Forward and backward part of one block, in their orders.
struct recompute_block {
  std::string name = {};
  std::vector<block_value> values = {};
  std::vector<backward_step> backward = {};
};

/// \throws error (input) if a value is made of one that does not stand before it, a step reads one that there is not,
/// or
///         a size or a time is negative
void validate(const recompute_block& block);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/memory/impl/recompute_block.hpp>
#endif
