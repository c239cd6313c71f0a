// What a schedule takes: the order as given, and the same with a bucket and a better order, written by hand.
#include "support/small_step.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/simulate/critical_path.hpp>
#include <shardweave/simulate/hiding.hpp>
#include <shardweave/simulate/machine.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/simulate_machine.hpp>
#include <shardweave/simulate/slack.hpp>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

int main() {
  const sw::task_graph g = programs::small_step(2);
  const auto find = [&](const char* name) {
    sw::task_index t = 0;
    while (g.name_of(t) != name) ++t;
    return t;
  };
  const sw::timeline before = sw::simulate(g);

  // [by_hand]
  sw::schedule s;
  for (sw::task_index t = 0; t < g.size(); ++t) s.order.push_back(t);
  // the second gather is launched right after the first one
  const auto second = std::find(s.order.begin(), s.order.end(), find("gather1"));
  const auto place = std::find(s.order.begin(), s.order.end(), find("gather0")) + 1;
  std::rotate(place, second, second + 1);
  const sw::timeline after = sw::simulate(g, s);
  // [by_hand]
  std::printf("exposed: %.1f us as given, %.1f us with the second gather early\n", sw::to_microseconds(before.exposed),
              sw::to_microseconds(after.exposed));

  // [hiding]
  for (const sw::hiding_record& r : sw::hiding_records(g, s, after))
    std::printf("%-9s %6.1f us hidden, %6.1f us exposed\n", std::string(g.name_of(r.collective)).c_str(),
                sw::to_microseconds(r.hidden), sw::to_microseconds(r.exposed));
  // [hiding]

  // [critical_path]
  for (const sw::critical_step& step : sw::critical_path(g, s, after))
    std::printf("%7.1f us of %-13s %-10s %s\n", sw::to_microseconds(step.end - step.start),
                std::string(to_string(step.work)).c_str(), std::string(g.name_of(step.task)).c_str(),
                std::string(to_string(step.reason)).c_str());
  // [critical_path]

  // [slack]
  const std::vector<sw::nanoseconds> slack = sw::slacks_of(g, s, after);
  std::printf("gather1 may take %.1f us longer\n", sw::to_microseconds(slack[find("gather1")]));
  // [slack]

  // [machine]
  // 6 us of the host for each launch, 10 us until data move, and both slow each other down as measured
  const sw::launch_costs costs = sw::launch_costs::each(sw::nanoseconds(6'000), sw::nanoseconds(10'000));
  const sw::machine real(costs, sw::uniform_interference{.compute = {1.2}, .collective = 1.1});
  const sw::machine_timeline run = sw::simulate(g, s, real);
  std::printf("%.1f us instead of %.1f: %.1f us for the host, %.1f us by interference\n",
              sw::to_microseconds(run.line.end_to_end), sw::to_microseconds(after.end_to_end),
              sw::to_microseconds(run.starved), sw::to_microseconds(run.compute_slowed + run.communication_slowed));
  // [machine]
  sw::nanoseconds chain;
  for (const sw::critical_step& step : sw::critical_path(g, s, run)) chain += step.end - step.start;
  if (chain != run.line.end_to_end || run.line.end_to_end <= after.end_to_end) return 1;

  std::swap(s.order.front(), s.order.back());
  try {
    (void)sw::simulate(g, s);
    return 1;
  } catch (const sw::error& e) {
    std::printf("refused: %s\n", e.what());
  }
  // the second gather lies whole beside forward0
  return before.exposed - after.exposed == g.duration(find("gather1")) && before.compute == after.compute ? 0 : 1;
}
