// Which collectives are launched as one? On a task graph, by the library's policy and by one of one's own, and on any
// Boost graph with property maps.
#include "support/small_step.hpp"
#include <shardweave/bucketing/bucket_key.hpp>
#include <shardweave/bucketing/bucketing_policy.hpp>
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/graph/augmented_graph.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/schedule/scheduler.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/task_maps.hpp>

#include <boost/graph/adjacency_list.hpp>
#include <boost/property_map/function_property_map.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sw = shardweave;

// [own]
/// Gathers in the order of the graph: few bytes in the first launch, which the first layer waits for, more in each
/// after it. Everything else is launched alone.
struct small_first {
  static constexpr std::string_view name = "small first";
  sw::bytes first = sw::mebibytes(1), later = sw::mebibytes(4);  // at most, of what a rank sends

  [[nodiscard]] sw::bucketing_result operator()(const sw::task_graph& g, const sw::solve_control& = {}) const {
    sw::bucketing_result result;
    const auto keys = sw::bucket_keys(g);          // equal: may be launched as one
    const auto unfit = sw::refused_as_members(g);  // may be in no bucket, and why
    sw::augmented_graph merged(g.dependencies());  // refuses what would close a cycle
    std::map<std::uint32_t, std::vector<sw::bucket>> of_key;
    for (sw::task_index t = 0; t < g.size(); ++t) {
      if (!g.is_collective(t)) continue;
      const sw::collective_info c = g.collective(t);
      if (unfit[t] || c.op != sw::collective::all_gather) {
        const sw::decision gathers_only{.reason = sw::decision_reason::other_role, .subject = t};
        result.decisions.push_back(unfit[t].value_or(gathers_only));
        continue;
      }
      std::vector<sw::bucket>& filled = of_key[keys[t]];
      if (!filled.empty()) {
        sw::bucket& b = filled.back();
        const sw::bytes size = b.bytes_in + c.bytes_in, cap = filled.size() == 1 ? first : later;
        if (size <= cap && merged.merge(b.members.front(), t)) {
          b.members.push_back(t);
          b.bytes_in = size;
          b.bytes_out += c.bytes_out;
          continue;
        }
        sw::decision no{.reason = sw::decision_reason::cycle, .subject = t, .other = b.members.front()};
        if (size > cap) no = {sw::decision_reason::byte_cap, t, no.other, size.count(), cap.count()};
        result.decisions.push_back(no);
      }
      filled.push_back({.members = {t}, .channel = c.group, .bytes_in = c.bytes_in, .bytes_out = c.bytes_out});
    }
    for (auto& [key, filled] : of_key)
      for (sw::bucket& b : filled)
        if (b.members.size() > 1)
          result.buckets.push_back(std::move(b));
        else
          result.decisions.push_back({.reason = sw::decision_reason::alone, .subject = b.members.front()});
    return result;
  }
};
static_assert(sw::bucketing_policy<small_first>);
// [own]

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

  // [policies]
  const sw::task_graph deep = programs::small_step(16);
  const auto ends = [&](const auto& bucketing, const auto& order) {
    const sw::bucketing_result merged = sw::bucket_collectives(deep, bucketing);
    return sw::simulate(deep, sw::schedule_tasks(deep, merged, order));  // refuses a schedule that is not valid
  };
  const auto show = [&](const auto& bucketing) {
    const auto given = ends(bucketing, sw::in_order{}), early = ends(bucketing, sw::prefetch{});
    std::printf("%-11s %2zu launches, %6.1f us in the order of the graph, %6.1f us by prefetch\n",
                std::string(bucketing.name).c_str(), early.collectives, sw::to_microseconds(given.end_to_end),
                sw::to_microseconds(early.end_to_end));
    return std::pair(given, early);
  };
  const auto [alone_given, alone] = show(sw::no_bucketing{});
  const auto [large_given, large] = show(sw::greedy{});
  const auto [own_given, own] = show(small_first{});
  // [policies]
  const sw::bucketing_result told = sw::bucket_collectives(deep, small_first{});
  std::vector<int> named(deep.size());  // each collective is in one bucket, or it is said why not
  for (const sw::bucket& b : told.buckets)
    for (const sw::task_index t : b.members) ++named[t];
  for (sw::task_index t = 0; t < deep.size(); ++t) {
    const auto about_t = [&](const sw::decision& d) { return d.subject == t; };
    if (named[t] == 0 && std::any_of(told.decisions.begin(), told.decisions.end(), about_t)) named[t] = 1;
    if (named[t] != (deep.is_collective(t) ? 1 : 0)) return 1;
  }
  if (own.collectives >= alone.collectives || own_given.end_to_end >= alone_given.end_to_end) return 1;
  if (own.end_to_end >= large.end_to_end || own.exposed >= large.exposed) return 1;

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
