// expect: The model has edge_patterns or pattern_work, but not what telling work by class needs
// expect: edge_key.edge. that returns a whole number
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/step/step_work.hpp>

#include <span>

namespace sw = shardweave;
using edge = sw::compressed_graph::edge_descriptor;

struct my_work {
  std::uint32_t only = 0;
  std::size_t channel_count() const { return 2; }
  double vertex_time(std::uint32_t, sw::strategy) const { return 1; }
  std::span<const std::uint32_t> producer_classes(edge) const { return {&only, 1}; }
  std::span<const std::uint32_t> consumer_classes(edge) const { return {&only, 1}; }
  sw::work_patterns edge_patterns(edge) const { return {}; }
  sw::edge_work pattern_work(edge, std::uint32_t) const { return {{0, 1}, 1}; }
#ifndef SHARDWEAVE_REFUSED
  std::uint64_t edge_key(edge) const { return 0; }
#endif
};

sw::step_work told(const sw::compressed_graph& g) {
  return sw::describe_work(g, my_work{}, [](std::uint32_t) { return 1; });
}
