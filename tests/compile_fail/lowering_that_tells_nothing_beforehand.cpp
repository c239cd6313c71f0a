// expect: The lowering does not tell beforehand what its tasks take: a const member work.model, threads.
#include "plain_costs.hpp"
#include <shardweave/fastest_plan.hpp>
#include <shardweave/solve/trws.hpp>

#include <cstddef>
#include <span>
#include <string_view>

struct my_work {
  std::size_t channel_count() const { return 2; }
  double vertex_time(std::uint32_t, sw::strategy) const { return 1; }
  sw::edge_work edge_work(edge, sw::strategy, sw::strategy) const { return {{0, 1}, 1}; }
};

struct my_lowering {
  static constexpr std::string_view name = "mine";
  sw::lowered_graph operator()(const plain_costs&, std::span<const sw::strategy>) const { return {}; }
#ifndef SHARDWEAVE_REFUSED
  struct told {
    my_work least() const { return {}; }
    my_work alone() const { return {}; }
  };
  told work(const plain_costs&, unsigned) const { return {}; }
#endif
};

std::size_t plans_of(const sw::compressed_graph& g) {
  const sw::pipeline way(sw::trws{}, sw::greedy{}, sw::prefetch{}, my_lowering{});
  return sw::fastest_plan(way, g, plain_costs{}).plans;
}
