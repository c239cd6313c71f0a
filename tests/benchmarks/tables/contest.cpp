// The instances of the ASPLOS 2025 contest: the first feasible assignment, and what is known after a time limit.
#include "benchmarks/tables/table.hpp"
#include "examples/support/solvers.hpp"
#include <shardweave/io/iopddl.hpp>
#include <shardweave/placement/compile.hpp>

#include <array>
#include <cmath>

namespace sw = shardweave;

namespace {

/// The best that anyone published, and the best published lower bound.
struct published {
  char instance;
  double value, bound;
};
constexpr std::array<published, 10> best{{{'A', 6548641531, 6513812172},
                                          {'B', 532843, 532843},
                                          {'C', 84102445260, 82509087987},
                                          {'G', 217039, 216931},
                                          {'K', 2242635780, 2065623588},
                                          {'M', 49928157500, 49407421919},
                                          {'N', 199470115000, 172940125420},
                                          {'P', 651833115436, 616246285730},
                                          {'S', 1511377982, 1511240136},
                                          {'V', 1617084, 1617084}}};

}  // namespace

int main(int argc, char** argv) {
  const tables::request asked(argc, argv);
  const auto solver = programs::solvers<std::int64_t>().front();
  tables::table out(asked, {"instance", "limit s", "read + compile s", "first feasible s", "best after s",
                            "stopped after s", "status", "value", "bound", "gap %", "best published value",
                            "ours / published", "published bound", "peak MiB"});
  for (const auto& file : asked.files("iopddl"))
    out.row(tables::short_name(file), [&] {
      const double begin = tables::wall_seconds();
      const auto problem =
          sw::compile(std::make_shared<const sw::placement_description<std::int64_t>>(sw::read_iopddl(file)), {});
      const double built = tables::wall_seconds() - begin;
      double first = -1;
      sw::solve_control control{.seconds = asked.limit(5)};
      const double start = tables::wall_seconds();
      control.progress = [&](const sw::progress_report& report) {
        if (first < 0 && std::isfinite(report.objective)) first = tables::wall_seconds() - start;
      };
      const auto answer = solver.solve(problem, control);
      const double taken = tables::wall_seconds() - start;
      const char instance = tables::short_name(file).back();
      const auto& known =
          *std::find_if(best.begin(), best.end(), [&](const published& p) { return p.instance == instance; });
      const bool found = answer.has_assignment();
      if (first < 0 && found) first = answer.statistics.seconds_to_best;
      return std::vector<std::string>{
          tables::number(control.seconds, 0),
          tables::number(built),
          found ? tables::number(first) : "none",
          found ? tables::number(answer.statistics.seconds_to_best) : "",
          tables::number(taken),
          std::string(sw::name_of(answer.status)),
          found ? std::to_string(answer.objective) : "none",
          tables::number(answer.lower_bound, 0),
          found ? tables::number(100 * answer.gap(), 3) : "",
          tables::number(known.value, 0),
          found ? tables::number(static_cast<double>(answer.objective) / known.value, 4) : "",
          tables::number(known.bound, 0),
          "peak"};
    });
}
