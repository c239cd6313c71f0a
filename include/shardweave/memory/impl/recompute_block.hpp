#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/memory/recompute_block.hpp>

#include <algorithm>
#include <cstddef>

/// \file
/// Definition of `validate`.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE void validate(const recompute_block& block) {
  const auto refuse_value = [&](std::size_t v, const std::string& what) {
    refuse(error_category::input,
           "block '" + block.name + "': value " + std::to_string(v) + " '" + block.values[v].name + "' " + what);
  };
  for (std::size_t v = 0; v < block.values.size(); ++v) {
    const block_value& value = block.values[v];
    if (value.size < bytes(0))
      refuse_value(v, "has " + std::to_string(value.size.count()) + " bytes, expected none or more");
    if (value.time < nanoseconds(0))
      refuse_value(v, "takes " + std::to_string(value.time.count()) + " ns, expected 0 or more");
    if (!value.may_keep && !value.may_drop && !value.may_offload)
      refuse_value(v, "may neither be kept nor dropped nor offloaded");
    for (const std::uint32_t input : value.inputs)
      if (input >= v)
        refuse_value(v, "is made of value " + std::to_string(input) + ", expected one that stands before it");
    for (const std::uint32_t other : value.made_with) {
      if (other >= block.values.size() || other == v)
        refuse_value(v, "is made with value " + std::to_string(other) + ", expected another one of " +
                            std::to_string(block.values.size()));
      if (std::ranges::count(block.values[other].made_with, v) != 1 || std::ranges::count(value.made_with, other) != 1)
        refuse_value(v, "is made with value " + std::to_string(other) + ", expected that each names the other once");
    }
  }
  for (std::size_t s = 0; s < block.backward.size(); ++s) {
    const auto refuse_step = [&](const std::string& what) {
      refuse(error_category::input, "block '" + block.name + "': backward step " + std::to_string(s) + " " + what);
    };
    if (block.backward[s].gradients < bytes(0))
      refuse_step("holds " + std::to_string(block.backward[s].gradients.count()) +
                  " bytes of gradients, expected none or more");
    for (const std::uint32_t read : block.backward[s].reads)
      if (read >= block.values.size())
        refuse_step("reads value " + std::to_string(read) + ", expected one of " + std::to_string(block.values.size()));
  }
}

}  // namespace shardweave::inline v0
