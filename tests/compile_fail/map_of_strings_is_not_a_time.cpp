// expect: A length of time must be nanoseconds, a signed whole number or a floating-point number
#include <shardweave/overlap/hideable.hpp>

#include <string>
#ifdef SHARDWEAVE_REFUSED
using time_value = std::string;
#else
using time_value = long;
#endif
shardweave::hideable<time_value> demand;
