// The extracted problems with overlap, savings counted in form inclusive-twice: the solver for savings, and the linear
// program that counts them by rows, its relaxation by CLP with all columns and the whole by CBC after message passing.
// Seconds are the process's processor time: a backend works in a thread of its own.
#include "benchmarks/tables/table.hpp"
#include "support/backends.hpp"
#include <shardweave/io/read_placement.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/solve/ilp.hpp>
#include <shardweave/solve/lp_relaxation.hpp>
#include <shardweave/solve/overlapped.hpp>

#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace {

std::string counter(const sw::solution<double>& answer, std::string_view name) {
  for (const auto& [what, count] : answer.statistics.counters)
    if (what == name) return tables::number(count, 0);
  return {};
}

std::vector<std::string> row(const std::filesystem::path& file, double limit) {
  sw::placement_description<double> d = sw::read_placement(file);
  d.counted = sw::savings_form::inclusive_twice;
  const auto problem = sw::compile(std::make_shared<const sw::placement_description<double>>(std::move(d)));
  const auto timed = [&](const auto& solver, sw::solution<double>& answer) {
    const std::clock_t start = std::clock();
    answer = solver.solve(problem, {.seconds = limit, .seed = 1, .threads = 1});
    return tables::number(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  };
  sw::solution<double> found;
  const std::string seconds = timed(sw::overlapped{}, found);
  const double root = sw::overlapped{}.solve(problem, {.iterations = 1, .seed = 1, .threads = 1}).lower_bound;
  std::vector<std::string> cells{tables::number(found.objective), std::string(sw::name_of(found.status)),
                                 tables::number(root), counter(found, "nodes"), seconds};
#ifdef SHARDWEAVE_HAS_CLP
  sw::solution<double> relaxed;
  const std::string clp = timed(sw::lp_relaxation(sw::any_backend(sw::clp{}), 0), relaxed);
  for (std::string cell :
       {counter(relaxed, "rows"), counter(relaxed, "columns"), tables::number(relaxed.lower_bound), clp})
    cells.push_back(std::move(cell));
#endif
#ifdef SHARDWEAVE_HAS_CBC
  sw::solution<double> whole;
  const std::string cbc = timed(sw::ilp(sw::any_backend(sw::cbc{})), whole);
  cells.push_back(cbc + (whole.status == sw::solve_status::optimal ? "" : ", open"));
#endif
  return cells;
}

}  // namespace

int main(int argc, char** argv) {
  const tables::request asked(argc, argv);
  tables::table out(asked, {"problem", "value us", "status", "bound at the root us", "nodes", "CPU s", "rows",
                            "columns", "relaxation us", "CLP, s", "CBC, s"});
  for (const auto& file : asked.files("placement"))
    if (const std::string name = tables::short_name(file); name.find("overlap") != std::string::npos)
      out.row(name, [&] { return row(file, asked.limit(60)); });
}
