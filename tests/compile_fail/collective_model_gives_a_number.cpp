// expect: A cost model of collectives must have a const member estimate
// doors: 5
#include <shardweave/cost/accuracy.hpp>
#include <shardweave/cost/any_collectives.hpp>
#include <shardweave/cost/bucket_cost.hpp>
#include <shardweave/cost/node_table.hpp>
namespace sw = shardweave;

template <int>
struct my_network {
#ifdef SHARDWEAVE_REFUSED
  double estimate(sw::collective, sw::bytes, const sw::group_shape&) const { return 1; }
#else
  sw::collective_estimate estimate(sw::collective, sw::bytes, const sw::group_shape&) const { return {}; }
#endif
};
using measurements = std::span<const sw::collective_measurement>;

auto across_nodes(const sw::node_table<my_network<0>>& table) {
  return table.estimate(sw::collective::all_gather, sw::bytes(1), {});
}
auto corrected(measurements m) { return sw::residual(my_network<1>{}, m); }
auto errors(measurements m) { return sw::accuracy(my_network<2>{}, m); }
auto factor() {
  return sw::bucketing_factor(my_network<3>{}, sw::collective::all_gather, sw::bytes(2), sw::bytes(1), {});
}
sw::any_collectives any() { return my_network<4>{}; }
