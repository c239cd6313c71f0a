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
  const auto buckets = programs::by_name(programs::bucketings(), bucketing).run(g, control, memory);
  return programs::by_name(programs::schedulers(), scheduler).run(g, buckets, control, memory);
}

}  // namespace tables
