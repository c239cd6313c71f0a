#pragma once

#include <shardweave/core/attempt.hpp>
#include <shardweave/core/error.hpp>

/// \file
/// Work that a plan can do without.

namespace programs {

/// Does what may be left out: a stop or a limit of time that comes before its end is no error.
template <class Work>
void unless_stopped(Work work) {
  shardweave::try_to(work,
                     [](const shardweave::error& e) { return e.category() == shardweave::error_category::stopped; });
}

}  // namespace programs
