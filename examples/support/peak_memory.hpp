#pragma once

#include <sys/resource.h>

#include <cstdint>

/// \file
/// What a program took.

namespace programs {

/// The largest memory that the process ever had, in bytes.
[[nodiscard]] inline std::int64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace programs
