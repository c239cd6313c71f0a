// expect: A form must be called with an edge_site and give a window
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/overlap/forms.hpp>

#include <cstdint>
#include <optional>
#include <vector>
namespace sw = shardweave;
struct own_form {
#ifdef SHARDWEAVE_REFUSED
  double operator()(const sw::edge_site&) const { return 1; }
#else
  std::optional<sw::window> operator()(const sw::edge_site& site) const { return sw::window{0, site.consumer}; }
#endif
};
auto places(const sw::compressed_graph& g, const std::vector<std::uint32_t>& order) {
  return sw::hiding_places(
      g, order, [](std::uint32_t) { return true; },
      [](sw::compressed_graph::edge_descriptor) { return sw::hiding::both; }, own_form{});
}
