// expect: What smallest_conflict asks must be called with the numbers of some demands
#include <shardweave/spmd/smallest_conflict.hpp>
namespace sw = shardweave;
#ifdef SHARDWEAVE_REFUSED
using asked = std::size_t;
#else
using asked = std::span<const std::size_t>;
#endif
auto conflict() {
  return sw::smallest_conflict(3, [](asked) { return true; });
}
