// large_report FILE.html  writes the report of a step of more than 20,000 tasks, in its order and with greedy buckets.
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/report/html.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <support/random_tasks.hpp>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  namespace sw = shardweave;
  const sw::task_graph g = random_tasks(7, {.blocks = 9000, .groups = 8});
  const sw::schedule given = sw::in_order{}(g, {});
  const sw::schedule merged = sw::in_order{}(g, sw::greedy{}(g));
  const sw::timeline before = sw::simulate(g, given, {.memory_samples = true});
  const sw::timeline after = sw::simulate(g, merged, {.memory_samples = true});
  const std::vector<sw::html_plan> plans = {{.name = "in buckets", .graph = &g, .order = &merged, .line = &after},
                                            {.name = "as given", .graph = &g, .order = &given, .line = &before}};
  if (argc != 2 || !(std::ofstream(argv[1]) << sw::html(plans))) {
    std::fputs("usage: large_report FILE.html\n", stderr);
    return 2;
  }
  std::printf("%zu tasks\n", g.size());
  return g.size() >= 20'000 ? 0 : 1;
}
