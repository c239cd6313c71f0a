// expect: A model without a graph beside it must state its problem by a function describe.model, constraint_set,
// solve_control. doors: 2
#include "plain_costs.hpp"
#include <shardweave/fastest_plan.hpp>
#include <shardweave/solve/trws.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

template <int Door>
struct costs_of_a_graph : plain_costs {
  const sw::compressed_graph& graph() const { return *of; }
  const sw::compressed_graph* of;
};

#ifndef SHARDWEAVE_REFUSED
template <int Door>
sw::placement_description<double> describe(const costs_of_a_graph<Door>& model, sw::constraint_set constraints,
                                           const sw::solve_control& control) {
  return sw::describe(model.graph(), model, std::move(constraints), control);
}
#endif

struct work_of_one_device {
  std::size_t channel_count() const { return 1; }
  double vertex_time(std::uint32_t, sw::strategy) const { return 1; }
  sw::edge_work edge_work(edge, sw::strategy, sw::strategy) const { return {}; }
};

struct lowering_of_a_graph {
  static constexpr std::string_view name = "own";
  struct told {
    work_of_one_device least() const { return {}; }
    work_of_one_device alone() const { return {}; }
  };
  template <int Door>
  sw::lowered_graph operator()(const costs_of_a_graph<Door>&, std::span<const sw::strategy>) const {
    return {};
  }
  template <int Door>
  told work(const costs_of_a_graph<Door>&, unsigned) const {
    return {};
  }
};

std::size_t plans_of(const costs_of_a_graph<1>& once, const costs_of_a_graph<2>& fastest) {
  const sw::pipeline way(sw::trws{}, sw::greedy{}, sw::prefetch{}, lowering_of_a_graph{});
  static_cast<void>(way.run(once, {}));
  return sw::fastest_plan(way, fastest).plans;
}
