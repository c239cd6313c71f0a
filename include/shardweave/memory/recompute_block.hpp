#pragma once

#include <shardweave/core/units.hpp>

#include <cstdint>
#include <string>
#include <vector>

/// \file
/// A block of a model for the choice of policies: values of its forward part, and the reads of its backward part.

namespace shardweave::inline v0 {

/// What happens to a value between the forward and the backward part.
enum class retention : std::uint8_t {
  keep,       ///< stays in memory until its last use
  recompute,  ///< dropped, and recomputed just before its first use, if there is one
  offload,    ///< waits in the host's memory
};

/// A value that the forward part of a block makes or is given.
struct block_value {
  std::string name = {};
  bytes size{};
  nanoseconds time{};                      ///< of making it, without its inputs
  std::vector<std::uint32_t> inputs = {};  ///< values of the block that it is made of, each before it
  /// Further values of the same operation, each of which names this one likewise: those needed are made with it.
  std::vector<std::uint32_t> made_with = {};
  bool may_keep = true;      ///< false where the backward part does not read it itself
  bool may_drop = true;      ///< false for inputs of the block, and for what a second run would not reproduce
  bool may_offload = false;  ///< false for what is too small to be worth a copy
};

/// One step of the backward part.
struct backward_step {
  std::vector<std::uint32_t> reads = {};  ///< values that must be in memory
  bytes gradients{};  ///< live while it runs: those that it reads, writes, and those held for later steps
};

/// Forward and backward part of one block, in their orders.
struct recompute_block {
  std::string name = {};
  std::vector<block_value> values = {};
  std::vector<backward_step> backward = {};
};

/// Refuses a block that is not well formed.
/// \throws error (input) if a value is made of one that does not stand before it, or with one that does not exist or
///         does not name it; if it may neither be kept, dropped nor offloaded; if a step reads a value that does not
///         exist; or if a size or a time is negative
void validate(const recompute_block& block);

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/memory/impl/recompute_block.hpp>
#endif
