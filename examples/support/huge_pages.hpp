#pragma once

#include <cstdlib>
#include <string>

#if defined(__GLIBC__)
#include <unistd.h>
#endif

/// \file
/// Memory in pages of 2 MiB in place of 4 KiB.

namespace programs {

/// Where the C library is glibc, starts the program anew with an environment (`GLIBC_TUNABLES`) in which malloc asks
/// the system for huge pages, unless it has one that speaks of them: the library reads that before `main`. The system
/// takes long to take small pages back once a program ends, and a stop waits for that (docs/reliability.md).
/// Returns if that is so already, or cannot be. \pre nothing was read or written
inline void use_huge_pages([[maybe_unused]] char** argv) {
#if defined(__GLIBC__)
  constexpr const char* name = "GLIBC_TUNABLES";
  const char* const given = std::getenv(name);
  const std::string tunables = given == nullptr ? "" : given;
  if (tunables.find("glibc.malloc.hugetlb") != std::string::npos) return;
  // first, as some versions of the library end what others read at the first colon
  const std::string own = "glibc.malloc.hugetlb=1" + (tunables.empty() ? "" : ":" + tunables);
  if (setenv(name, own.c_str(), 1) == 0) execv("/proc/self/exe", argv);
#endif
}

}  // namespace programs
