#include <shardweave/core/control.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/scheduler.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>

#include <string_view>
#include <vector>

namespace sw = shardweave;

namespace scheduler_tests {
namespace {

/// Says what it was asked.
struct recording {
  static constexpr std::string_view name = "recording";
  const sw::task_graph** graph;
  const sw::bucketing_result** buckets;
  const sw::solve_control** control;
  sw::schedule operator()(const sw::task_graph& g, const sw::bucketing_result& b, const sw::solve_control& c) const {
    *graph = &g;
    *buckets = &b;
    *control = &c;
    return {.order = {1, 0}};
  }
};
static_assert(sw::scheduler<sw::in_order> && sw::scheduler<recording>);

struct nameless {
  sw::schedule operator()(const sw::task_graph&, const sw::bucketing_result&, const sw::solve_control&) const {
    return {};
  }
};
struct changing : nameless {
  static constexpr std::string_view name = "changing";
  sw::schedule operator()(const sw::task_graph&, const sw::bucketing_result&, const sw::solve_control&) { return {}; }
  sw::schedule operator()(const sw::task_graph&, const sw::bucketing_result&, const sw::solve_control&) const = delete;
};
struct of_order_alone {
  static constexpr std::string_view name = "of order alone";
  std::vector<sw::task_index> operator()(const sw::task_graph&, const sw::bucketing_result&,
                                         const sw::solve_control&) const {
    return {};
  }
};
struct uncontrolled {
  static constexpr std::string_view name = "uncontrolled";
  sw::schedule operator()(const sw::task_graph&, const sw::bucketing_result&) const { return {}; }
};
struct unique : recording {
  unique(const unique&) = delete;
};
static_assert(!sw::scheduler<nameless> && !sw::scheduler<changing> && !sw::scheduler<of_order_alone>);
static_assert(!sw::scheduler<uncontrolled> && !sw::scheduler<unique>);
}  // namespace

TEST_SUITE("scheduler") {
  TEST_CASE("a policy is asked with the graph, the buckets and the control that it is given, and its answer is told") {
    const sw::task_graph g = random_tasks(1);
    const sw::bucketing_result buckets;
    const sw::solve_control control;
    const sw::task_graph* graph = nullptr;
    const sw::bucketing_result* seen = nullptr;
    const sw::solve_control* by = nullptr;
    CHECK(sw::schedule_tasks(g, buckets, recording{&graph, &seen, &by}, control).order ==
          std::vector<sw::task_index>{1, 0});
    CHECK(graph == &g);
    CHECK(seen == &buckets);
    CHECK(by == &control);
  }
}

}  // namespace scheduler_tests
