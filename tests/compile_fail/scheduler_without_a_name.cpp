// expect: A scheduler must have a static member name and a const call .task_graph, bucketing_result,
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/scheduler.hpp>
namespace sw = shardweave;
struct my_scheduler {
#ifndef SHARDWEAVE_REFUSED
  static constexpr std::string_view name = "mine";
#endif
  sw::schedule operator()(const sw::task_graph& g, const sw::bucketing_result& buckets,
                          const sw::solve_control& c) const {
    return sw::in_order{}(g, buckets, c);
  }
};
sw::schedule order(const sw::task_graph& g) { return sw::schedule_tasks(g, {}, my_scheduler{}); }
