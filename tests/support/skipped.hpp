#pragma once

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <cstddef>
#include <string>

namespace shardweave_test {

/// How often tests said so far that something is left out.
inline std::size_t skips = 0;

/// Says that the present test case, or what is left of it, is left out, and why. A test case that checks nothing and
/// does not say so fails the run (main.cpp).
inline void skipped(const std::string& why) {
  ++skips;
  MESSAGE("skipped: " << why);
}

/// Whether this is a build at small scale, for what would take too long there; says so.
[[nodiscard]] inline bool skipped_at_small_scale() {
  if (is_small_scale) skipped("it is left out at small scale");
  return is_small_scale;
}

}  // namespace shardweave_test
