// expect: The model has a member share_key, but not what telling shared work needs: a const member share_key.edge.
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/step/step_work.hpp>

#include <string>
namespace sw = shardweave;
using edge = sw::compressed_graph::edge_descriptor;

struct my_work {
  std::size_t channel_count() const { return 2; }
  double vertex_time(std::uint32_t, sw::strategy) const { return 1; }
  sw::edge_work edge_work(edge, sw::strategy, sw::strategy) const { return {{0, 1}, 1}; }
#ifdef SHARDWEAVE_REFUSED
  std::string share_key(edge e) const { return std::to_string(e.source); }
#else
  std::uint64_t share_key(edge e) const { return e.source; }
#endif
};

sw::step_work told(const sw::compressed_graph& g) {
  return sw::describe_work(g, my_work{}, [](std::uint32_t) { return 2; });
}
