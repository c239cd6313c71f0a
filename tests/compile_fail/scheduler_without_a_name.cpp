// expect: A scheduler must have a static member name and a const call .task_graph, bucketing_result,
// doors: 3
#include <shardweave/schedule/benefit.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/scheduler.hpp>
#include <shardweave/schedule/search.hpp>
namespace sw = shardweave;

template <int>
struct my_scheduler {
#ifndef SHARDWEAVE_REFUSED
  static constexpr std::string_view name = "mine";
#endif
  sw::schedule operator()(const sw::task_graph& g, const sw::bucketing_result& buckets,
                          const sw::solve_control& c) const {
    return sw::in_order{}(g, buckets, c);
  }
};
sw::schedule order(const sw::task_graph& g) { return sw::schedule_tasks(g, {}, my_scheduler<0>{}); }
sw::schedule tried(const sw::task_graph& g) { return sw::benefit<my_scheduler<1>>{}.plan(g); }
sw::schedule improved(const sw::task_graph& g) { return sw::search<my_scheduler<2>>{}(g, {}); }
