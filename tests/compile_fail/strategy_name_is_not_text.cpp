// expect: The cost model has a member strategy_name, but not what naming strategies needs: .* that returns text
#include "plain_costs.hpp"
#include <shardweave/placement/describe.hpp>

#include <string>

struct my_costs : plain_costs {
#ifdef SHARDWEAVE_REFUSED
  int strategy_name(std::uint32_t, sw::strategy s) const { return static_cast<int>(s); }
#else
  std::string strategy_name(std::uint32_t, sw::strategy s) const { return std::to_string(s); }
#endif
};

auto ask(const sw::compressed_graph& g) { return sw::describe(g, my_costs{}); }
