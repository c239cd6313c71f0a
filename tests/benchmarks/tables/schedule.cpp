// Captured task graphs: bucketing and scheduling against the bound, and against what PyTorch's and AutoParallel's
// passes gave on the same durations, which each file tells.
#include "benchmarks/tables/scheduled.hpp"
#include "benchmarks/tables/table.hpp"
#include "benchmarks/tables/upstream_passes.hpp"
#include <shardweave/io/tasks.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/simulate/simulate.hpp>

namespace sw = shardweave;

int main(int argc, char** argv) {
  const tables::request asked(argc, argv);
  tables::table out(asked, {"graph", "tasks", "collectives", "pass", "launched", "end to end ms", "bound ms", "gap %",
                            "exposed ms", "peak GiB", "pass s", "best upstream", "its end to end ms", "ours / upstream",
                            "its pass s (other machine)"});
  const std::pair<const char*, const char*> ways[] = {
      {"none", "in_order"}, {"none", "prefetch"}, {"greedy", "prefetch"}};
  for (const auto& file : asked.files("tasks")) {
    const auto passes = tables::upstream_passes(file, sw::read_task_graph(file));
    const tables::upstream_pass& other = tables::first_to_end(passes, [](const auto& p) { return p.end_to_end; });
    for (const auto& [bucketing, scheduler] : ways)
      out.row(tables::short_name(file), [&] {
        const sw::task_graph g = sw::read_task_graph(file);
        sw::schedule s;
        const double seconds = tables::median_seconds(3, [&] { s = tables::scheduled(g, bucketing, scheduler); });
        const sw::timeline line = sw::simulate(g, s);
        const sw::timeline given = sw::simulate(g);
        const double end = static_cast<double>(line.end_to_end.count());
        const double bound = static_cast<double>(sw::makespan_bound(g, s.buckets).value().count());
        return std::vector<std::string>{std::to_string(g.size()),
                                        std::to_string(given.collectives),
                                        std::string(bucketing) + " + " + scheduler,
                                        std::to_string(line.collectives),
                                        tables::number(end / 1e6),
                                        tables::number(bound / 1e6),
                                        tables::number(100 * (end / bound - 1)),
                                        tables::number(static_cast<double>(line.exposed.count()) / 1e6),
                                        tables::number(static_cast<double>(line.peak.count()) / (1 << 30)),
                                        tables::number(seconds, 4),
                                        other.name,
                                        tables::number(other.end_to_end / 1e6),
                                        tables::number(end / other.end_to_end, 4),
                                        tables::number(other.seconds)};
      });
  }
}
