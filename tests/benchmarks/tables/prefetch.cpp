// Captured task graphs: what AutoParallel's two passes give when their scheduler looks less far ahead, or farther, than
// the 50 computations that they look: end to end time and peak, by the number of computations.
#include "benchmarks/tables/scheduled.hpp"
#include "benchmarks/tables/table.hpp"
#include <shardweave/io/tasks.hpp>
#include <shardweave/schedule/compatibility.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <cstddef>

namespace sw = shardweave;

int main(int argc, char** argv) {
  const tables::request asked(argc, argv);
  tables::table out(asked, {"graph", "pass", "5: ms", "GiB", "10: ms", "GiB", "25: ms", "GiB", "50: ms", "GiB",
                            "100: ms", "GiB", "200: ms", "GiB"});
  for (const auto& file : asked.files("tasks"))
    for (const bool by_size : {true, false})
      out.row(tables::short_name(file), [&] {
        const sw::task_graph g = sw::read_task_graph(file);
        std::vector<std::string> cells = {by_size ? "by size" : "by span"};
        for (const std::size_t ahead : {5U, 10U, 25U, 50U, 100U, 200U}) {
          sw::overlap_passes passes =
              by_size ? sw::autoparallel_size_buckets::passes() : sw::autoparallel_span_buckets::passes();
          passes.settings.compute_ahead = ahead;
          const sw::timeline line = sw::simulate(g, passes.plan(g), {.validate = false});
          cells.push_back(tables::number(tables::ms(line.end_to_end)));
          cells.push_back(tables::number(static_cast<double>(line.peak.count()) / (1 << 30)));
        }
        return cells;
      });
}
