// expect: The cost model has a member strategy_labels, but not what naming strategies by vertex needs: .* a label_list
#include "plain_costs.hpp"
#include <shardweave/placement/describe.hpp>

#include <string>

struct my_costs : plain_costs {
#ifdef SHARDWEAVE_REFUSED
  std::string strategy_labels(std::uint32_t) const { return "only"; }
#else
  sw::label_list strategy_labels(std::uint32_t) const { return {"only"}; }
#endif
};

auto ask(const sw::compressed_graph& g) { return sw::describe(g, my_costs{}); }
