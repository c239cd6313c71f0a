// What libFuzzer calls: the one target that it is built with.
#include "targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
#define TARGET(name) return name##_fuzz::run(data, size);
  SHARDWEAVE_FUZZ_TARGETS
#undef TARGET
}
