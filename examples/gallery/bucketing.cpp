// Which collectives are launched as one? On a task graph, and on any Boost graph with property maps.
#include "support/small_step.hpp"
#include <shardweave/bucketing/bucketing_policy.hpp>
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/tasks/task_maps.hpp>

#include <boost/graph/adjacency_list.hpp>
#include <boost/property_map/function_property_map.hpp>

#include <cstdio>
#include <string>

namespace sw = shardweave;

int main() {
  // [greedy]
  const sw::task_graph step = programs::small_step();
  const sw::bucketing_result buckets = sw::bucket_collectives(step, sw::greedy{.cap = sw::mebibytes(24)});
  for (const sw::bucket& b : buckets.buckets) {
    std::printf("one launch:");
    for (const sw::task_index t : b.members) std::printf(" %s", std::string(step.name_of(t)).c_str());
    std::printf(", %lld MiB in\n", static_cast<long long>(b.bytes_in.count() >> 20));
  }
  for (const sw::decision& d : buckets.decisions)
    std::printf("not %s: %s\n", std::string(step.name_of(d.subject)).c_str(),
                std::string(sw::to_string(d.reason)).c_str());
  // [greedy]

  // [maps]
  struct task {
    sw::task_kind kind;
    sw::nanoseconds duration;
    sw::transfer_size size = {};
    std::string name = {};  // for messages and pictures
  };
  boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, task> g;
  for (int i = 0; i < 2; ++i) {
    const auto gather =
        add_vertex({sw::task_kind::collective, sw::nanoseconds(40'000), {sw::bytes(1 << 16), sw::bytes(1 << 19)}}, g);
    g[gather].name = "gather " + std::to_string(i);
    const auto wait = add_vertex({sw::task_kind::wait, {}}, g);
    const auto product = add_vertex({sw::task_kind::compute, sw::nanoseconds(70'000)}, g);
    add_edge(gather, wait, g);
    add_edge(wait, product, g);
  }
  const sw::task_maps maps(
      get(&task::kind, g), get(&task::duration, g),
      boost::make_static_property_map<std::size_t>(0),  // all on channel 0
      boost::make_static_property_map<std::size_t>(sw::bucket_key{sw::collective::all_gather, "bf16"}),
      get(&task::size, g), sw::no_storages({}), sw::task_notes().with_names(get(&task::name, g)));
  const sw::duration_table table(sw::collective::all_gather, 0, {sw::bytes(1 << 16), sw::bytes(1 << 17)},
                                 {sw::nanoseconds(40'000), sw::nanoseconds(45'000)});
  const auto pairs = sw::bucket_collectives(g, sw::greedy{}, maps, {table});
  // [maps]
  std::printf("%zu bucket of %zu in the Boost graph\n", pairs.buckets.size(), pairs.buckets.at(0).members.size());
  return !buckets.buckets.empty() && pairs.buckets.size() == 1 && pairs.buckets[0].members.size() == 2 ? 0 : 1;
}
