// expect: Names of vertices must be a property map or a call .vertex. that gives text
#include "plain_costs.hpp"
#include <shardweave/placement/describe.hpp>

#include <string>
#ifdef SHARDWEAVE_REFUSED
const auto names = [](std::uint32_t v) { return v; };
#else
const auto names = [](std::uint32_t v) { return std::to_string(v); };
#endif
auto stated(const sw::compressed_graph& g) { return sw::describe(g, plain_costs{}, {}, {}, names); }
