// expect: collective_cost_model
#include <shardweave/cost/node_table.hpp>
namespace sw = shardweave;
struct my_network {
#ifdef SHARDWEAVE_REFUSED
  double estimate(sw::collective, sw::bytes, const sw::group_shape&) const { return 1; }
#else
  sw::collective_estimate estimate(sw::collective, sw::bytes, const sw::group_shape&) const { return {}; }
#endif
};
using across_nodes = sw::node_table<my_network>;
