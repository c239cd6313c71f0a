// How much communication can hide behind computation? Free algorithms: any Boost graph, any property maps.
#include <shardweave/core/units.hpp>
#include <shardweave/graph/stable_order.hpp>
#include <shardweave/overlap/budget_chains.hpp>
#include <shardweave/overlap/eligibility.hpp>
#include <shardweave/overlap/forms.hpp>
#include <shardweave/overlap/prices.hpp>
#include <shardweave/overlap/savings.hpp>
#include <shardweave/overlap/savings_tracker.hpp>

#include <boost/graph/adjacency_list.hpp>

#include <cstddef>
#include <cstdio>
#include <optional>
#include <vector>

namespace sw = shardweave;

int main() {
  // two layers whose weights are gathered just before use, and the gradient of the first, summed over devices
  struct operation {
    sw::nanoseconds computation;
    bool is_parameter = false;
    bool is_gradient = false;
  };
  struct transfer {
    sw::nanoseconds communication;
  };
  boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, operation, transfer> g;
  const auto input = add_vertex({sw::nanoseconds(0)}, g);
  const auto weight1 = add_vertex({sw::nanoseconds(0), true}, g);
  const auto layer1 = add_vertex({sw::nanoseconds(900)}, g);
  const auto weight2 = add_vertex({sw::nanoseconds(0), true}, g);
  const auto layer2 = add_vertex({sw::nanoseconds(700)}, g);
  const auto backward = add_vertex({sw::nanoseconds(400)}, g);
  const auto gradient = add_vertex({sw::nanoseconds(0), false, true}, g);
  const auto rest = add_vertex({sw::nanoseconds(500)}, g);
  add_edge(input, layer1, {sw::nanoseconds(0)}, g);
  add_edge(weight1, layer1, {sw::nanoseconds(500)}, g);
  add_edge(layer1, layer2, {sw::nanoseconds(0)}, g);
  add_edge(weight2, layer2, {sw::nanoseconds(600)}, g);
  add_edge(layer2, backward, {sw::nanoseconds(0)}, g);
  add_edge(backward, gradient, {sw::nanoseconds(800)}, g);
  add_edge(backward, rest, {sw::nanoseconds(0)}, g);

  // [hide]
  // a gather may hide behind whatever runs before its consumer
  const auto order = sw::stable_topological_order(g);
  const auto before_consumer = [&](auto e) {
    return target(e, g) == 0 ? std::nullopt : std::optional<sw::window>({0, target(e, g) - 1});
  };
  const auto saved =
      sw::hide(g, order, get(&operation::computation, g), get(&transfer::communication, g), before_consumer);
  // [hide]
  std::printf("behind what runs before: %lld of 1900 ns\n", static_cast<long long>(saved.total.count()));

  // [forms]
  // what comes from parameters alone may come early, what only gradients wait for may come late
  const auto derived = sw::derived_from(g, [&](auto v) { return g[v].is_parameter; });
  const auto feeding = sw::feeding_only(g, [&](auto v) { return g[v].is_gradient; });
  const auto direction = [&](auto e) {
    return (derived[source(e, g)] ? sw::hiding::earlier : sw::hiding::none) |
           (feeding[target(e, g)] ? sw::hiding::later : sw::hiding::none);
  };
  const auto computes = [&](auto v) { return g[v].computation > sw::nanoseconds(0); };

  std::vector<sw::nanoseconds> computation;
  for (const auto v : order) computation.push_back(g[v].computation);
  std::vector<sw::nanoseconds> amounts;
  for (auto [e, last] = edges(g); e != last; ++e) amounts.push_back(g[*e].communication);

  const auto total = [&](const auto& form) {
    const auto places = sw::hiding_places(g, order, computes, direction, form);
    return sw::hide(computation, sw::demands_of(places, [&](std::size_t e) { return amounts[e]; })).total;
  };
  const auto honest = total(sw::windows_form{}), chains = total(sw::inclusive_form{});
  const auto own = total([](const sw::edge_site& s) { return sw::window{s.available, s.consumer}; });
  // [forms]
  std::printf("windows %lld, inclusive %lld, own policy %lld ns\n", static_cast<long long>(honest.count()),
              static_cast<long long>(chains.count()), static_cast<long long>(own.count()));

  // [prices]
  const auto places = sw::hiding_places(g, order, computes, direction, sw::windows_form{});
  const auto demands = sw::demands_of(places, [&](std::size_t e) { return amounts[e]; });
  const auto prices = sw::best_prices(computation, demands);
  // any prices bound the savings of any computation and amounts; the best ones equal them
  const bool is_proven = sw::savings_bound(prices, computation, demands) == sw::as_double(honest);
  // computation at q counts 1 - total_price(q), communication in a window counts 1 - relief(window)
  const double rest_counts = 1 - prices.total_price(rest);
  // [prices]

  // [tracker]
  sw::savings_tracker tracker(computation, demands);
  tracker.set_computation(rest, sw::nanoseconds(900));  // another strategy: more to hide behind
  const auto after = tracker.total();
  // [tracker]

  // [rows]
  const auto rows = sw::budget_chains_of(places, order.size());
  // rows.chains: a share and a budget per segment; rows.claims: what a chain pays of a place's communication
  // [rows]
  std::printf("proven: %s, the last step counts %.0f; then %lld ns; %zu chains, %zu claims\n", is_proven ? "yes" : "no",
              rest_counts, static_cast<long long>(after.count()), rows.chains.size(), rows.claims.size());

  const bool is_right = saved.total == sw::nanoseconds(1400) && honest == sw::nanoseconds(1100) && is_proven &&
                        chains == sw::nanoseconds(1600) && after == sw::nanoseconds(1400) && rest_counts == 0;
  return is_right ? 0 : 1;
}
