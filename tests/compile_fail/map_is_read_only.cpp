// expect: What takes results must be a property map of the graph.s vertices or edges
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/planner.hpp>

#include <span>
#include <vector>

#ifdef SHARDWEAVE_REFUSED
using storage = const std::vector<shardweave::strategy>;
#else
using storage = std::vector<shardweave::strategy>;
#endif

void write(const shardweave::compressed_graph& g, std::span<const shardweave::strategy> choice, storage& values) {
  shardweave::write_assignment(
      g, choice,
      boost::make_iterator_property_map(values.begin(), boost::typed_identity_property_map<std::uint32_t>()));
}
