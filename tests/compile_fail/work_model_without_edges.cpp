// expect: The model does not tell the work of a plan
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/step/step_work.hpp>

namespace sw = shardweave;

struct my_work {
  std::size_t channel_count() const { return 2; }
  double vertex_time(std::uint32_t, sw::strategy) const { return 1; }
#ifdef SHARDWEAVE_REFUSED
  double edge_work(sw::compressed_graph::edge_descriptor, sw::strategy, sw::strategy) const { return 1; }
#else
  sw::edge_work edge_work(sw::compressed_graph::edge_descriptor, sw::strategy, sw::strategy) const {
    return {{0, 1}, 1};
  }
#endif
};

sw::step_work told(const sw::compressed_graph& g) {
  return sw::describe_work(g, my_work{}, [](std::uint32_t) { return 2; });
}
