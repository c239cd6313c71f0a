// expect: task_maps_of
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
sw::task_graph tasks_of(const sw::compressed_graph& g) {
  return sw::make_task_graph(
      g,
      sw::task_maps(boost::make_static_property_map<std::uint32_t>(kind{}),
                    boost::make_static_property_map<std::uint32_t>(sw::nanoseconds(1)),
                    boost::make_static_property_map<std::uint32_t>(std::size_t{0}),
                    boost::make_static_property_map<std::uint32_t>(sw::bucket_key{sw::collective::all_gather, "bf16"}),
                    boost::make_static_property_map<std::uint32_t>(sw::transfer_size{}), sw::no_storages({})));
}
