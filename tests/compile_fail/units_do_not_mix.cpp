// expect: byte_unit
#include <shardweave/core/units.hpp>

#ifdef SHARDWEAVE_REFUSED
auto sum(shardweave::nanoseconds a, shardweave::bytes b) { return a + b; }
#else
auto sum(shardweave::nanoseconds a, shardweave::nanoseconds b) { return a + b; }
#endif
