// Captured task graphs: how near the best some seconds of search come, within the peak memory of the original order:
// above the bound that holds for every bucketing, and above that for the buckets chosen. Beside it the search that
// keeps the buckets of `benefit`, and one that may change them in a third of the time.
#include "benchmarks/tables/scheduled.hpp"
#include "benchmarks/tables/table.hpp"
#include <shardweave/io/tasks.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/schedule/search.hpp>
#include <shardweave/simulate/simulate.hpp>

namespace sw = shardweave;

int main(int argc, char** argv) {
  const tables::request asked(argc, argv);
  const double seconds = asked.limit(30);
  tables::table out(asked, {"graph", "end to end ms", "gap %", "limited by", "gap to the bound of these buckets %",
                            "order only ms", "in a third of the time ms"});
  for (const auto& file : asked.files("tasks")) {
    const std::string name = tables::short_name(file);
    if (name.find("derived") != std::string::npos) continue;
    out.row(name, [&] {
      const sw::task_graph g = sw::read_task_graph(file);
      const sw::bytes memory = sw::simulate(g).peak;
      const auto end_of = [&](const sw::schedule& s) {
        return tables::number(tables::ms(sw::simulate(g, s).end_to_end));
      };
      const auto searched = [&](double limit) {
        return tables::scheduled(g, "benefit", "search", memory, {.seconds = limit});
      };
      const sw::schedule best = searched(seconds);
      const double end = tables::ms(sw::simulate(g, best).end_to_end);
      const auto gap = [&](const sw::makespan_bounds& bounds) {
        return tables::number(100 * (end / tables::ms(bounds.value()) - 1));
      };
      const sw::makespan_bounds bounds = sw::bound_of_all_bucketings(g);
      const auto buckets = programs::by_name(programs::bucketings(), "benefit").run(g, {.seconds = seconds}, memory);
      const sw::search<> order_only{.start = {.memory = memory}, .memory = memory};
      return std::vector<std::string>{tables::number(end),
                                      gap(bounds),
                                      std::string(bounds.limited_by()),
                                      gap(sw::makespan_bound(g, best.buckets)),
                                      end_of(order_only(g, buckets, {.seconds = seconds})),
                                      end_of(searched(seconds / 3))};
    });
  }
}
