// expect: The lowering of a pipeline must make a lowered_graph of the cost model
#include "plain_costs.hpp"
#include <shardweave/lowering/spmd_lowering.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/solve/trws.hpp>

#include <span>
#include <string_view>

/// A lowering of the host's own model.
struct own_lowering {
  static constexpr std::string_view name = "own";
  sw::lowered_graph operator()(const plain_costs&, std::span<const sw::strategy>) const { return {}; }
};

void plan(const sw::compressed_graph& g) {
#ifdef SHARDWEAVE_REFUSED
  // the default lowering knows computations on meshes
  static_cast<void>(sw::pipeline(sw::trws{}).run(g, plain_costs{}));
#else
  static_cast<void>(sw::pipeline(sw::trws{}, sw::greedy{}, sw::prefetch{}, own_lowering{}).run(g, plain_costs{}));
#endif
}
