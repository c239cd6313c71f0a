// expect: The maps of a task graph must be task_maps of the graph.s vertices: kinds .task_kind.
// doors: 2
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/tasks/task_maps.hpp>

#include <boost/property_map/property_map.hpp>

#include <cstddef>
namespace sw = shardweave;
#ifdef SHARDWEAVE_REFUSED
using kind = int;
#else
using kind = sw::task_kind;
#endif
template <class Number>
auto maps_of() {
  return sw::task_maps(
      boost::make_static_property_map<std::uint32_t>(kind{}),
      boost::make_static_property_map<std::uint32_t>(sw::nanoseconds(1)),
      boost::make_static_property_map<std::uint32_t>(Number{}),
      boost::make_static_property_map<std::uint32_t>(sw::bucket_key{sw::collective::all_gather, "bf16"}),
      boost::make_static_property_map<std::uint32_t>(sw::transfer_size{}), sw::no_storages({}));
}
auto tasks_of(const sw::compressed_graph& g) { return sw::make_task_graph(g, maps_of<std::size_t>()); }
auto buckets_of(const sw::compressed_graph& g) {
  return sw::bucket_collectives(g, sw::greedy{}, maps_of<std::uint32_t>(), {});
}
