// In which order are tasks launched? The library's schedulers, one of one's own, and the least that is possible.
#include "support/small_step.hpp"
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/schedule/scheduler.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <cstdio>
#include <queue>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace sw = shardweave;

// [own]
/// Whenever a collective can be launched it is, whatever memory that takes; the rest keeps its order.
struct eager {
  static constexpr std::string_view name = "eager";

  [[nodiscard]] sw::schedule operator()(const sw::task_graph& g, const sw::bucketing_result&,
                                        const sw::solve_control& = {}) const {
    using entry = std::tuple<int, sw::task_index>;  // inputs and collectives first, then by number
    std::priority_queue<entry, std::vector<entry>, std::greater<>> ready;
    std::vector<std::size_t> waiting(g.size());
    const auto now_ready = [&](sw::task_index t) {
      ready.emplace(g.is_collective(t) || g.kind(t) == sw::task_kind::input ? 0 : 1, t);
    };
    for (sw::task_index t = 0; t < g.size(); ++t)
      if ((waiting[t] = g.dependencies().in(t).size()) == 0) now_ready(t);
    sw::schedule result;
    while (!ready.empty()) {
      const sw::task_index t = std::get<1>(ready.top());
      ready.pop();
      result.order.push_back(t);
      for (const auto& e : g.dependencies().out(t))
        if (--waiting[e.target] == 0) now_ready(e.target);
    }
    return result;
  }
};
static_assert(sw::scheduler<eager>);
// [own]

int main() {
  const sw::task_graph g = programs::small_step(8);
  const sw::bucketing_result alone;  // no buckets
  const auto show = [&](const char* who, const sw::schedule& s) {
    const sw::timeline line = sw::simulate(g, s);  // refuses an order that breaks a dependency
    std::printf("%-22s %8.1f us, %6.1f exposed, peak %4lld MiB\n", who, sw::to_microseconds(line.end_to_end),
                sw::to_microseconds(line.exposed), static_cast<long long>(line.peak.count() >> 20));
    return line;
  };
  // [schedule]
  const auto plain = show("as given", sw::schedule_tasks(g, alone, sw::in_order{}));
  const auto fast = show("prefetch", sw::schedule_tasks(g, alone, sw::prefetch{}));
  const auto small = show("prefetch, less memory", sw::schedule_tasks(g, alone, sw::prefetch{.memory = plain.peak}));
  const auto own = show("eager", sw::schedule_tasks(g, alone, eager{}));
  const sw::nanoseconds bound = sw::makespan_bound(g, alone.buckets).value();
  // [schedule]
  std::printf("%-22s %8.1f us\n", "no order ends before", sw::to_microseconds(bound));
  const bool bounded = bound <= fast.end_to_end && bound <= own.end_to_end && bound <= small.end_to_end;
  return bounded && fast.end_to_end < plain.end_to_end && small.peak <= plain.peak ? 0 : 1;
}
