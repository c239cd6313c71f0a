// How much communication can hide behind computation? A free algorithm: any Boost graph, any property maps.
#include <shardweave/core/units.hpp>
#include <shardweave/graph/stable_order.hpp>
#include <shardweave/overlap/savings.hpp>

#include <boost/graph/adjacency_list.hpp>

#include <cstdio>
#include <optional>

namespace sw = shardweave;

int main() {
  // two layers whose weights are gathered just before use; a weight costs nothing to compute
  struct operation {
    sw::nanoseconds computation;
  };
  struct transfer {
    sw::nanoseconds communication;
  };
  boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, operation, transfer> g;
  const auto input = add_vertex({sw::nanoseconds(0)}, g);
  const auto weight1 = add_vertex({sw::nanoseconds(0)}, g);
  const auto layer1 = add_vertex({sw::nanoseconds(900)}, g);
  const auto weight2 = add_vertex({sw::nanoseconds(0)}, g);
  const auto layer2 = add_vertex({sw::nanoseconds(700)}, g);
  add_edge(input, layer1, {sw::nanoseconds(0)}, g);
  add_edge(weight1, layer1, {sw::nanoseconds(500)}, g);
  add_edge(layer1, layer2, {sw::nanoseconds(0)}, g);
  add_edge(weight2, layer2, {sw::nanoseconds(600)}, g);

  // [hide]
  // a gather may hide behind whatever runs before its consumer
  const auto order = sw::stable_topological_order(g);
  const auto before_consumer = [&](auto e) {
    return target(e, g) == 0 ? std::nullopt : std::optional<sw::window>({0, target(e, g) - 1});
  };
  const auto saved =
      sw::hide(g, order, get(&operation::computation, g), get(&transfer::communication, g), before_consumer);
  // [hide]

  std::printf("%lld of 1100 ns are hidden\n", static_cast<long long>(saved.total.count()));
  return saved.total == sw::nanoseconds(600) ? 0 : 1;  // the second gather hides behind the first layer
}
