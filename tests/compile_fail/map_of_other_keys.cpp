// expect: What holds data of a graph must be a property map that takes its vertices or edges
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/overlap/savings.hpp>

#include <map>
#include <string>
#include <vector>
namespace sw = shardweave;
#ifdef SHARDWEAVE_REFUSED
using key = std::string;
#else
using key = std::uint32_t;
#endif
auto saved(const sw::compressed_graph& g, const std::vector<std::uint32_t>& order, const std::map<key, double>& times) {
  return sw::hide(g, order, boost::make_assoc_property_map(times),
                  boost::make_static_property_map<sw::compressed_graph::edge_descriptor>(1.0),
                  [](sw::compressed_graph::edge_descriptor) {
                    return sw::window{0, 1};
                  });
}
