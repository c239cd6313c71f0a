#pragma once

#include "examples/support/schedulers.hpp"

#include <optional>
#include <string>

/// \file
/// Task graphs scheduled by what a command line can name.

namespace tables {

inline double ms(shardweave::nanoseconds t) { return static_cast<double>(t.count()) / 1e6; }

/// \param memory  budget for the peak, if there is one
inline shardweave::schedule scheduled(const shardweave::task_graph& g, const std::string& bucketing,
                                      const std::string& scheduler,
                                      std::optional<shardweave::bytes> memory = std::nullopt,
                                      const shardweave::solve_control& control = {}) {
  return programs::planned({bucketing, scheduler}, g, control, memory);
}

}  // namespace tables
