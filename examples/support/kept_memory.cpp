#include "kept_memory.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

#if defined(__has_feature)
#define SHARDWEAVE_HAS_FEATURE(feature) __has_feature(feature)
#else
#define SHARDWEAVE_HAS_FEATURE(feature) 0
#endif
// the allocators of sanitizers cannot be replaced by halves, and others do not tell how large a piece is
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    !SHARDWEAVE_HAS_FEATURE(address_sanitizer) && !SHARDWEAVE_HAS_FEATURE(thread_sanitizer)
#include <malloc.h>

namespace {
// given back, since others need it: the next pieces would else be taken from the system, which may be slow to give some
constexpr std::size_t large = 1 << 12;
}

// The standard library's `operator new` takes from malloc.
void operator delete(void* p) noexcept {
  if (!programs::keeps_memory.load(std::memory_order_relaxed) || malloc_usable_size(p) >= large) std::free(p);
}
void operator delete(void* p, std::size_t size) noexcept {
  if (!programs::keeps_memory.load(std::memory_order_relaxed) || size >= large) std::free(p);
}
#endif
