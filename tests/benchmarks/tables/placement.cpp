// Captured placement problems: the default solver against CLP, CBC, HiGHS and GLPK on the whole local polytope, in the
// same run. Libraries solve the polytope in memory; the command `cbc` and Python's PuLP and highspy, where they are
// there, read it from MPS files (`--mps FOLDER` keeps these). SHARDWEAVE_PYTHON names another Python.
#include "benchmarks/linear_files/mps_file.hpp"
#include "benchmarks/tables/table.hpp"
#include "support/backends.hpp"
#include <shardweave/io/placement_file.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/solve/ilp.hpp>
#include <shardweave/solve/linear/model/local_polytope.hpp>
#include <shardweave/solve/lp_relaxation.hpp>

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <variant>

namespace sw = shardweave;

namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
/// Polytopes above this are not written: files of gigabytes, and no peer that ends.
constexpr std::size_t most_columns = 1'000'000;

struct finding {
  std::string status;
  double value = unknown, bound = unknown;
  double wall = 0, cpu = 0;
  double peak = 0;  ///< of a process that was started; 0: our own
};

/// A peer finds something within a number of seconds.
struct peer {
  std::string name;
  std::function<finding(const sw::placement_problem<double>&, double, const std::filesystem::path&)> run;
};

double cpu_seconds(int whose) {
  rusage used{};
  getrusage(whose, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

std::string printed_by(const std::string& command) {
  std::string text;
  std::FILE* pipe = popen((command + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return text;
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, n);
  pclose(pipe);
  return text;
}
std::string python() {
  const char* named = std::getenv("SHARDWEAVE_PYTHON");
  return named != nullptr ? named : "python3";
}

/// One of ours, with a backend or without: medians of `times` runs.
template <class Solver>
peer our_own(std::string name, Solver solver, std::size_t times, bool whole_polytope) {
  return {std::move(name),
          [=](const sw::placement_problem<double>& problem, double limit, const std::filesystem::path&) {
            if (whole_polytope && sw::local_polytope<double>(problem.compact(), sw::presence(problem.compact()), true)
                                          .model()
                                          .columns.size() > most_columns)
              return finding{"too large"};
            sw::solution<double> answer;
            std::vector<std::pair<double, double>> runs;
            for (std::size_t run = 0; run < times; ++run) {
              const double wall = tables::wall_seconds(), cpu = cpu_seconds(RUSAGE_SELF);
              answer = solver.solve(problem, {.seconds = limit, .seed = 1, .threads = 1});
              runs.emplace_back(cpu_seconds(RUSAGE_SELF) - cpu, tables::wall_seconds() - wall);
            }
            std::sort(runs.begin(), runs.end());
            const auto [cpu, wall] = runs[runs.size() / 2];
            return finding{std::string(sw::name_of(answer.status)),
                           answer.has_assignment() ? answer.objective : unknown, answer.lower_bound, wall, cpu};
          }};
}

/// Someone else's program on the polytope as a file. It gets the file and the limit, and prints a line
/// `FOUND status value bound wall cpu`; a wall of 0 stands for the whole run of the program.
peer on_a_file(std::string name, bool whole,
               std::function<std::string(const std::string& file, double limit)> command) {
  return {std::move(name),
          [=](const sw::placement_problem<double>& problem, double limit, const std::filesystem::path& folder) {
            const sw::local_polytope<double> polytope(problem.compact(), sw::presence(problem.compact()), whole);
            if (polytope.model().columns.size() > most_columns) return finding{"too large"};
            const std::filesystem::path file = folder / (whole ? "mip.mps" : "lp.mps");
            linear_files::write_mps(file, polytope.model(), polytope.names(problem));
            const double start = tables::wall_seconds();
            const std::string said = printed_by(command(file.string(), limit));
            finding found{"failed", unknown, unknown, tables::wall_seconds() - start, cpu_seconds(RUSAGE_CHILDREN)};
            rusage used{};
            getrusage(RUSAGE_CHILDREN, &used);
            found.peak = static_cast<double>(used.ru_maxrss) / 1024;
            char status[64] = {};
            double wall = 0, cpu = 0;
            const auto at = said.find("FOUND ");
            if (at == std::string::npos || std::sscanf(said.c_str() + at, "FOUND %63s %lf %lf %lf %lf", status,
                                                       &found.value, &found.bound, &wall, &cpu) < 5)
              return finding{"failed", unknown, unknown, found.wall, found.cpu, found.peak};
            found.status = status;
            found.value = whole ? polytope.unscaled(found.value) : unknown;  // a relaxation has a bound alone
            found.bound = polytope.unscaled(found.bound);
            if (wall > 0) found.wall = wall, found.cpu = cpu;
            return found;
          }};
}

/// Times PuLP's solve() alone, which writes a file for its CBC and reads the answer, without preprocessing, as
/// AutoParallel calls it. PuLP reads no ranges: their upper limits become rows.
constexpr const char* through_pulp = R"(
import os, sys, time, pulp
head, _, rest = open(sys.argv[1]).read().partition("\nRANGES\n")
ranges, _, bounds = rest.partition("BOUNDS\n")
if rest:
  sys.argv[1] += ".pulp"
  open(sys.argv[1], "w").write(head + "\nBOUNDS\n" + bounds)
model = pulp.LpProblem.fromMPS(sys.argv[1])[1]
for line in ranges.splitlines():
  name, width = line.split()[1:]
  model += model.constraints[name].expr <= float(width)
wall, cpu = time.time(), sum(os.times()[:4])
model.solve(pulp.PULP_CBC_CMD(msg=False, timeLimit=float(sys.argv[2]), options=["preprocess off"]))
wall, cpu, value = time.time() - wall, sum(os.times()[:4]) - cpu, pulp.value(model.objective)
optimal, none = model.sol_status == pulp.LpSolutionOptimal, float("nan")
print("FOUND", "optimal" if optimal else "stopped", none if value is None else value, value if optimal else none, wall, cpu)
)";

std::vector<peer> peers() {
  std::vector<peer> all = {our_own("auto", sw::auto_solver{}, 3, false)};
#ifdef SHARDWEAVE_HAS_CLP
  all.push_back(our_own("CLP, LP", sw::lp_relaxation(sw::any_backend(sw::clp{}), 0), 1, true));
#endif
#ifdef SHARDWEAVE_HAS_CBC
  all.push_back(our_own("CBC, MIP", sw::ilp(sw::any_backend(sw::cbc{}), 0, 0), 1, true));
#endif
#ifdef SHARDWEAVE_HAS_HIGHS
  all.push_back(our_own("HiGHS, LP", sw::lp_relaxation(sw::any_backend(sw::highs{}), 0), 1, true));
  all.push_back(our_own("HiGHS, MIP", sw::ilp(sw::any_backend(sw::highs{}), 0, 0), 1, true));
#endif
#if defined(SHARDWEAVE_HAS_GLPK) && !defined(SHARDWEAVE_HAS_CLP)
  all.push_back(our_own("GLPK, LP", sw::lp_relaxation(sw::any_backend(sw::glpk{}), 0), 1, true));
  all.push_back(our_own("GLPK, MIP", sw::ilp(sw::any_backend(sw::glpk{}), 0, 0), 1, true));
#endif
  if (std::system("command -v cbc >/dev/null 2>&1") == 0)
    all.push_back(on_a_file("cbc as it comes", true, [](const std::string& file, double limit) {
      return "cbc " + file + " -sec " + std::to_string(limit) +
             " -ratio 0 -solve | awk 'BEGIN{s=\"none\"} /^Result - /{s=tolower($3)} " +
             "/^Objective value:/{v=$3} /^Lower bound:/{b=$3} END{if (v==\"\") v=\"nan\"; if (b==\"\") "
             "b=(s==\"optimal\")?v:\"nan\"; " +
             "print \"FOUND\", s, v, b, 0, 0}'";
    }));
  const auto imports = [](const std::string& package) {
    return std::system((python() + " -c 'import " + package + "' >/dev/null 2>&1").c_str()) == 0;
  };
  if (imports("pulp"))
    all.push_back(on_a_file("CBC through PuLP", true, [](const std::string& file, double limit) {
      return python() + " -c '" + through_pulp + "' " + file + " " + std::to_string(limit);
    }));
  if (imports("highspy"))
    for (const bool whole : {false, true})
      all.push_back(on_a_file(whole ? "highspy, MIP" : "highspy, LP", whole, [](const std::string& file, double limit) {
        return python() + " -c '\n" +
               "import sys, time, highspy\nh = highspy.Highs()\nh.setOptionValue(\"output_flag\", False)\n" +
               "h.setOptionValue(\"threads\", 1)\nh.setOptionValue(\"mip_rel_gap\", 0.0)\n" +
               "h.setOptionValue(\"time_limit\", float(sys.argv[2]))\nh.readModel(sys.argv[1])\n" +
               "w, c = time.time(), time.process_time()\nh.run()\nw, c = time.time() - w, time.process_time() - c\n" +
               "s, i = h.getModelStatus(), h.getInfo()\no = s == highspy.HighsModelStatus.kOptimal\n" +
               "v = i.objective_function_value if o or i.primal_solution_status == 2 else float(\"nan\")\n" +
               "print(\"FOUND\", \"optimal\" if o else str(s).split(\".\")[-1], v, v if o else i.mip_dual_bound, w, "
               "c)' " +
               file + " " + std::to_string(limit);
      }));
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  std::filesystem::path keep;
  std::vector<char*> others;
  for (int i = 0; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--mps" && i + 1 < argc) {
      keep = argv[++i];
    } else {
      others.push_back(argv[i]);
    }
  }
  const tables::request asked(static_cast<int>(others.size()), others.data());
  tables::table out(asked, {"problem", "solver", "status", "value us", "bound us", "gap %", "value / reference",
                            "wall s", "CPU s", "CPU / auto", "peak MiB"});
  const auto text = [](double value, int digits) {
    return std::isfinite(value) ? tables::number(value, digits) : std::string();
  };
  for (const auto& file : asked.files("placement")) {
    const std::string name = tables::short_name(file);
    if (name.find("overlap") != std::string::npos) continue;  // their references count savings
    const std::filesystem::path folder =
        keep.empty() ? std::filesystem::temp_directory_path() / ("table_placement-" + std::to_string(getpid()))
                     : keep / name;
    std::filesystem::create_directories(folder);
    double fastest = 0;
    for (const peer& p : peers()) {
      int channel[2] = {};  // for the seconds, from the process that makes the row
      if (pipe(channel) != 0) return 1;
      out.row(name, [&] {
        auto d = std::get<sw::placement_description<double>>(sw::read_any_placement(file));
        const double reference = d.reference ? d.reference->objective : unknown;
        const auto problem = sw::compile(std::make_shared<const sw::placement_description<double>>(std::move(d)), {});
        const finding f = p.run(problem, asked.limit(30), folder);
        if (write(channel[1], &f.cpu, sizeof f.cpu) < 0) return std::vector<std::string>{"pipe"};
        const double gap = 100 * (f.value - f.bound) / std::abs(f.value);
        return std::vector<std::string>{p.name,
                                        f.status,
                                        text(f.value, 2),
                                        text(f.bound, 2),
                                        text(gap < 0 ? 0 : gap, 4),
                                        text(f.value / reference, 6),
                                        tables::number(f.wall, 3),
                                        tables::number(f.cpu, 3),
                                        fastest > 0 ? tables::number(f.cpu / fastest, 1) : "1",
                                        f.peak > 0 ? tables::number(f.peak, 0) : "peak"};
      });
      close(channel[1]);
      double seconds = 0;
      if (read(channel[0], &seconds, sizeof seconds) == static_cast<ssize_t>(sizeof seconds) && fastest == 0)
        fastest = seconds;
      close(channel[0]);
    }
    if (keep.empty()) std::filesystem::remove_all(folder);
  }
}
