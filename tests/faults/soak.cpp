// soak MINUTES [SEED]: random problems through the whole pipeline, for so long. Every solver, bucketing and scheduler
// that a command line can name answers each of them; answers are held against trying everything, bounds against optima,
// certificates against their checker, files against what was written; and memory must stay flat. Random models go from
// their graph to the fastest plan (soak_steps.cpp). Prints figures, and ends with 1 if anything was wrong.
// tests/soak.sh builds and runs it.
#include "soak.hpp"

#include <shardweave/io/json_writer.hpp>
#include <shardweave/io/placement.hpp>
#include <shardweave/io/placement_certificate.hpp>
#include <shardweave/io/schedule.hpp>
#include <shardweave/io/solution.hpp>
#include <shardweave/io/tasks.hpp>
#include <shardweave/placement/check_certificate.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/report/html.hpp>
#include <shardweave/schedule/certify_order.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/solve/proof/certify_placement.hpp>
#include <shardweave/tasks/check_order_certificate.hpp>

#include <examples/support/schedulers.hpp>
#include <examples/support/solvers.hpp>
#include <malloc.h>
#include <support/judged_answer.hpp>
#include <support/random_problem.hpp>
#include <support/random_tasks.hpp>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace soak {

std::string about;

namespace {
std::size_t wrongs = 0;
}

void expect(bool holds, const std::string& what) {
  if (holds) return;
  if (++wrongs > 20) return;
  std::printf("WRONG %s: %s\n", about.c_str(), what.c_str());
  std::fflush(stdout);  // told even if the run is ended before its time
}

namespace {

/// MiB of this process that are in memory now.
double resident() {
  std::ifstream file("/proc/self/statm");
  double all = 0, here = 0;
  file >> all >> here;
  return here * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}
/// MiB that were asked for and not given back yet, of all threads where they share one arena.
double in_use() {
  const struct mallinfo2 now = mallinfo2();
  return static_cast<double>(now.uordblks + now.hblkhd) / (1 << 20);
}

struct solver_figures {
  std::size_t asked = 0, refused = 0, optimal = 0, answered = 0;
};
std::map<std::string, solver_figures> of_solver;
std::size_t problems = 0, certificates = 0, closed = 0, graphs = 0, orders = 0;

/// What is written is read again to the same.
template <class Cost>
void check_files(const sw::placement_description<Cost>& d, const sw::solution<Cost>& answer) {
  const std::string text = sw::json_string([&](sw::json_writer& out) { sw::write_solution(out, d, answer); });
  auto input = sw::text_input::of_memory("solution", text);
  const auto stored = sw::read_solution<Cost>(input);
  expect(stored.answer.choice == answer.choice, "another assignment is read than was written");
  if (answer.has_assignment())
    expect(sw::evaluate(d, stored.answer.choice).objective == answer.objective, "read again it costs something else");
}

template <class Cost>
void check_certificate(const sw::placement_problem<Cost>& problem,
                       const shardweave_test::judged_problem<Cost>& judged) {
  const auto& d = *problem.description();
  const auto& best = judged.best;
  const Cost known = best.objective ? *best.objective : sw::forbidden<Cost>;
  const auto proof = sw::certify_placement(problem, known);
  const std::string text = sw::json_string([&](sw::json_writer& out) { sw::write_certificate(out, proof); });
  auto input = sw::text_input::of_memory("certificate", text);
  const auto read = sw::read_placement_certificate<Cost>(input);
  const auto verdict = sw::check_certificate(d, read);
  ++certificates;
  expect(verdict.accepted, "its certificate is refused: " + verdict.failure);
  if (!best.objective) return;
  expect(!read.infeasible, "certified infeasible");
  expect(judged.holds(static_cast<double>(read.lower_bound)), "certified above the optimum");
  closed += sw::proves(static_cast<double>(read.lower_bound), *best.objective);
}

template <class Cost>
void try_problem(std::uint64_t seed, const std::vector<programs::named_solver<Cost>>& solvers) {
  auto features = shardweave_test::problem_features::combination(static_cast<unsigned>(seed * 37 % 128));
  features.max_vertices = 4 + seed % 6;
  const shardweave_test::judged_problem<Cost> judged(shardweave_test::draw_problem<Cost>(seed, features));
  about = "problem " + std::to_string(seed) + (sizeof(Cost) == 8 && Cost(1) / 2 == 0 ? " in whole numbers" : "");
  ++problems;
  std::optional<sw::placement_problem<Cost>> problem;
  try {
    problem = sw::compile(judged.stated.description);
  } catch (const sw::error& e) {
    expect(e.category() == sw::error_category::constraint && !judged.best.objective, e.what());
    return;
  }
  const std::string before = about;
  for (const auto& s : solvers) {
    about = before + ", " + s.name;
    solver_figures& f = of_solver[s.name];
    ++f.asked;
    try {
      // should an engine run in circles, the soak goes on
      const bool is_ilp = s.name.find("ilp") != std::string::npos;
      const auto answer =
          s.solve(*problem, {.seconds = is_ilp ? 30 : std::numeric_limits<double>::infinity(), .seed = seed});
      const std::string broken = broken_promise(judged, answer);
      expect(broken.empty(), broken);
      check_files(judged.stated.description, answer);
      f.optimal += answer.status == sw::solve_status::optimal;
      f.answered += answer.has_assignment();
    } catch (const sw::error& e) {
      expect(e.category() == sw::error_category::input, e.what());
      ++f.refused;
    }
  }
  about = before;
  check_certificate(*problem, judged);
}

void try_graph(std::uint64_t seed) {
  const sw::task_graph g = random_tasks(seed, {.blocks = 4 + seed % 16, .groups = 1 + seed % 3});
  ++graphs;
  const sw::order_certificate of_any = sw::certify_all_bucketings(g);
  const sw::nanoseconds any = of_any.lower_bound;
  expect(sw::check_certificate(g, of_any).accepted, "a bound of all bucketings is not proven");
  for (const auto& b : programs::bucketings())
    for (const auto& s : programs::schedulers()) {
      if (s.name == "exact" && g.size() > 25) continue;
      about = "graph " + std::to_string(seed) + ", " + b.name + ", " + s.name;
      const sw::solve_control control{.iterations = 50, .seed = seed};
      const sw::schedule order = s.run(g, b.run(g, control, std::nullopt), control, std::nullopt);
      const sw::timeline line = sw::simulate(g, order);  // refuses what is not valid
      ++orders;
      expect(line.end_to_end >= any, "it ends before any order can");
      const sw::order_certificate proof = sw::certify_order(g, order.buckets);
      expect(line.end_to_end >= proof.lower_bound, "it ends before its buckets allow");
      expect(sw::check_certificate(g, proof).accepted, "the bound of its buckets is not proven");
      if (seed % 5 != 0) continue;
      const std::string text = sw::json_string([&](sw::json_writer& out) { sw::write_schedule(out, g, order); });
      auto input = sw::text_input::of_memory("schedule", text);
      expect(sw::simulate(g, sw::read_schedule(input, g)) == line, "read again it is another timeline");
    }
  if (seed % 20 != 0) return;
  const sw::schedule order = programs::schedulers().front().run(g, {}, {}, std::nullopt);
  const sw::timeline line = sw::simulate(g, order, {.memory_samples = true});
  const std::vector<sw::html_plan> plans = {{.name = "one", .graph = &g, .order = &order, .line = &line}};
  expect(sw::html(plans, {}).find("</html>") != std::string::npos, "its report is cut");
}

}  // namespace
}  // namespace soak

int main(int argc, char** argv) {
  using namespace soak;
  using clock = std::chrono::steady_clock;
  const double minutes = argc > 1 ? std::atof(argv[1]) : 1;
  std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const auto start = clock::now();
  const auto share = [&] { return std::chrono::duration<double>(clock::now() - start).count() / (60 * minutes); };
  const auto solvers = programs::solvers<double>();
  const auto exact = programs::solvers<std::int64_t>();
  mallopt(M_ARENA_MAX, 1);
  double early = 0, most = 0, peak = 0;
  for (; share() < 1; ++seed) {
    try_problem<double>(seed, solvers);
    try_problem<std::int64_t>(seed, exact);
    try_graph(seed);
    try_step(seed);
    if (share() < 0.3) early = std::max(early, in_use());
    most = std::max(most, in_use());
    peak = std::max(peak, resident());
  }
  about = "memory";
  expect(most < 1.1 * early + 0.5, "it grows: " + std::to_string(early) + " MiB, then " + std::to_string(most));
  std::printf(
      "%zu problems, %zu certificates, of which %zu prove the optimum; %zu graphs, %zu orders; %.2f MiB "
      "between problems in the first third, then %.2f; %.1f at most\n",
      problems, certificates, closed, graphs, orders, early, most, peak);
  for (const auto& [name, f] : of_solver)
    std::printf("  %-18s %8zu asked, %8zu refused, %8zu answered, %8zu proven\n", name.c_str(), f.asked, f.refused,
                f.answered, f.optimal);
  const step_figures& steps = of_steps;
  std::printf(
      "%zu models, %zu that cannot be placed; %zu answers, %zu placements tried, %zu timelines; %zu graphs with copies "
      "to the host, %zu collectives in pieces, %zu choices within a memory; %zu searches, %zu within a memory, of "
      "which %zu make values again and "
      "%zu copy some; %zu proofs; a bound is at most %.4f of an end\n",
      steps.models, steps.unplaceable, steps.answers, steps.tried, steps.ends, steps.copies, steps.pieces,
      steps.choices, steps.searches, steps.limited, steps.fitted, steps.copied, steps.proofs, steps.nearest);
  std::printf("%zu wrong\n", wrongs);
  return wrongs == 0 ? 0 : 1;
}
