// What the settings of room solve earn: every row changes one, of the solver in which it matters, on contest instances,
// captured placement problems and random ones. Limits of time are of the processor: what else the machine does takes
// nothing from a row.
#include "benchmarks/tables/solver_problems.hpp"
#include "benchmarks/tables/table.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/solve/backend/any_backend.hpp>
#include <shardweave/solve/best_plans.hpp>
#include <shardweave/solve/branch_and_bound.hpp>
#include <shardweave/solve/budgeted.hpp>
#include <shardweave/solve/by_size.hpp>
#include <shardweave/solve/elimination.hpp>
#include <shardweave/solve/guided_search.hpp>
#include <shardweave/solve/ilp.hpp>
#include <shardweave/solve/large_neighbourhood.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/lp_relaxation.hpp>
#include <shardweave/solve/overlapped.hpp>
#include <shardweave/solve/polished.hpp>
#include <shardweave/solve/proof/certify_placement.hpp>
#include <shardweave/solve/reduced.hpp>
#include <shardweave/solve/search/dive.hpp>
#include <shardweave/solve/sifted.hpp>
#include <shardweave/solve/trws.hpp>

#include <support/random_savings.hpp>
#ifdef SHARDWEAVE_HAS_CLP
#include <shardweave/solve/backend/clp.hpp>
#endif
#ifdef SHARDWEAVE_HAS_CBC
#include <shardweave/solve/backend/cbc.hpp>
#endif

#include <sys/syscall.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// The clock of limits is that of the process's processor time, in this program.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  return static_cast<int>(
      syscall(SYS_clock_gettime, clock == CLOCK_MONOTONIC ? CLOCK_PROCESS_CPUTIME_ID : clock, time));
}

namespace sw = shardweave;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Every solver with its settings.
struct settings {
  sw::auto_solver whole;
  sw::branch_and_bound exact;
  sw::guided_search guided;
  sw::dive dives;
  sw::local_search moves;
  sw::large_neighbourhood<> windows;
  sw::trws sweeping;
  sw::budgeted priced;
  sw::elimination eliminating;
  sw::overlapped savings;
  double share = 0.9;        // of `polished`
  std::size_t sweeps = 200;  // of `lp_relaxation` and `ilp`
  sw::best_plans_options ranking;
  sw::certify_options proof;

  settings() {
    exact.goes_on = true;
    exact.reduces_root = false;
  }
  /// What `auto_solver` is made of.
  [[nodiscard]] auto composed() const {
    return sw::sifted(sw::reduced(sw::by_size(sw::polished(exact, moves, share), guided, {}, 60'000)));
  }
};

using problem = tables::solver_problem;

struct found {
  double value = infinity, bound = -infinity, seconds = 0;
  bool proven = false;
};

template <class S>
found solved(const S& solver, const problem& asked, double seconds) {
  return std::visit(
      [&](const auto& p) {
        const double start = tables::thread_seconds();
        const auto answer = solver.solve(p, {.seconds = seconds, .seed = 1});
        return found{answer.has_assignment() ? static_cast<double>(answer.objective) : infinity, answer.lower_bound,
                     tables::thread_seconds() - start,
                     answer.status == sw::solve_status::optimal || answer.status == sw::solve_status::infeasible};
      },
      asked);
}

/// The sum of the five best plans.
found ranked(const settings& s, const problem& asked, double seconds) {
  return std::visit(
      [&](const auto& p) {
        const double start = tables::thread_seconds();
        const auto plans = sw::best_plans(p, sw::reduced(s.exact), 5, {.seconds = seconds, .seed = 1}, s.ranking);
        double value = 0;
        for (const auto& plan : plans.plans) value += static_cast<double>(plan.answer.objective);
        return found{value, plans.rest_bound, tables::thread_seconds() - start,
                     plans.status == sw::solve_status::optimal};
      },
      asked);
}

/// What is proved of the best assignment known.
found certified(const settings& s, const problem& asked, double seconds) {
  return std::visit(
      [&](const auto& p) {
        const auto best = sw::auto_solver{}.solve(p, {.seconds = seconds, .seed = 1});
        if (!best.has_assignment()) return found{};
        const auto known = best.objective;
        const double start = tables::thread_seconds();
        const auto made = sw::certify_placement(p, known, s.proof, {.seconds = seconds, .seed = 1});
        const auto value = static_cast<double>(known), bound = static_cast<double>(made.lower_bound);
        return found{value, bound, tables::thread_seconds() - start, sw::proves(bound, known)};
      },
      asked);
}

enum class drawn { none, plain, stated, savings };

/// A solver, and what it is asked: real problems by name, each with a limit of time, and random ones.
struct way {
  const char* name;
  found (*ask)(const settings&, const problem&, double seconds);
  std::vector<std::pair<const char*, double>> inputs;
  drawn random;
  double random_seconds;
  bool of_kernels = false;
};

const std::vector<way>& ways() {
  constexpr double some = 5;
  static const std::vector<way> all = {
      {"auto_solver",
       [](const settings& s, const problem& p, double t) { return solved(s.whole, p, t); },
       {{"A", some}, {"C", some}, {"P", some}, {"V", some}, {"llama3-1b-4layer-3d-2x4x8", some}},
       drawn::none,
       0.1},
      {"auto_solver, 0.2 s",
       [](const settings& s, const problem& p, double t) { return solved(s.whole, p, t); },
       {{"C", 0.2}, {"K", 0.2}, {"S", 0.2}, {"llama3-1b-4layer-3d-2x4x8", 0.2}},
       drawn::none,
       0.1},
      {"reduced(...)",
       [](const settings& s, const problem& p, double t) { return solved(s.composed(), p, t); },
       {{"A", some},
        {"C", some},
        {"P", some},
        {"llama3-1b-1d-64-memory", some},
        {"llama3-1b-2d-8x8-memory", some},
        {"llama3-1b-4layer-3d-2x4x8", some}},
       drawn::plain,
       0.1},
      {"branch_and_bound",
       [](const settings& s, const problem& p, double t) { return solved(s.exact, p, t); },
       {{"A", some},
        {"C", some},
        {"P", some},
        {"llama3-1b-1d-64-memory", some},
        {"llama3-1b-2d-8x8-memory", some},
        {"llama3-1b-4layer-3d-2x4x8", some}},
       drawn::plain,
       0.1,
       true},
      {"guided_search",
       [](const settings& s, const problem& p, double t) { return solved(s.guided, p, t); },
       {{"K", 10}, {"S", 10}, {"A", infinity}, {"P", infinity}},
       drawn::plain,
       0.03,
       true},
      {"dive",
       [](const settings& s, const problem& p, double t) { return solved(s.dives, p, t); },
       {{"A", infinity}, {"P", infinity}, {"C", infinity}, {"llama3-1b-2d-8x8-memory", infinity}},
       drawn::plain,
       infinity,
       true},
      {"local_search",
       [](const settings& s, const problem& p, double t) { return solved(s.moves, p, t); },
       {{"A", 1.0},
        {"P", 1.0},
        {"llama3-1b-1d-64-memory", 1.0},
        {"llama3-1b-2d-8x8-memory", 1.0},
        {"llama3-1b-1d-64-overlap", 1.0}},
       drawn::plain,
       1.0},
      {"large_neighbourhood",
       [](const settings& s, const problem& p, double t) { return solved(s.windows, p, t); },
       {{"A", 1.0}, {"P", 1.0}, {"llama3-1b-2d-8x8-memory", 1.0}, {"llama3-1b-1d-64-overlap", 1.0}},
       drawn::none,
       1.0},
      {"trws",
       [](const settings& s, const problem& p, double t) { return solved(s.sweeping, p, t); },
       {{"A", infinity},
        {"P", infinity},
        {"llama3-1b-1d-64", infinity},
        {"llama3-1b-2d-8x8", infinity},
        {"llama3-1b-4layer-3d-2x4x8", infinity}},
       drawn::plain,
       infinity,
       true},
      {"budgeted",
       [](const settings& s, const problem& p, double t) { return solved(s.priced, p, t); },
       {{"llama3-1b-1d-64-memory", infinity}, {"llama3-1b-2d-8x8-memory", infinity}},
       drawn::plain,
       infinity},
      {"elimination",
       [](const settings& s, const problem& p, double t) { return solved(s.eliminating, p, t); },
       {{"P", some}, {"llama3-1b-1d-64", some}, {"llama3-1b-2d-8x8", some}, {"llama3-1b-4layer-3d-2x4x8", some}},
       drawn::plain,
       infinity,
       true},
      {"overlapped",
       [](const settings& s, const problem& p, double t) { return solved(s.savings, p, t); },
       {{"llama3-1b-1d-64-overlap-gradients", some},
        {"llama3-1b-1d-64-overlap", some},
        {"llama3-1b-2layer-2d-8x8-overlap-gradients", some},
        {"tiny2-1d-8-overlap-gradients", some},
        {"tiny2-1d-8-overlap", 3}},
       drawn::savings,
       0.1},
#ifdef SHARDWEAVE_HAS_CLP
      {"lp_relaxation",
       [](const settings& s, const problem& p, double t) {
         return solved(sw::lp_relaxation(sw::any_backend(sw::clp{}), s.sweeps), p, t);
       },
       {{"tiny2-2d-4x2", some}, {"llama3-1b-1d-64", some}, {"llama3-1b-1d-64-memory", some}},
       drawn::none,
       infinity},
#endif
#ifdef SHARDWEAVE_HAS_CBC
      {"ilp",
       [](const settings& s, const problem& p, double t) {
         return solved(sw::ilp(sw::any_backend(sw::cbc{}), 0, s.sweeps), p, t);
       },
       {{"tiny2-2d-4x2", some}, {"llama3-1b-1d-64", some}, {"llama3-1b-1d-64-memory", some}},
       drawn::none,
       infinity},
#endif
      {"best_plans",
       ranked,
       {{"llama3-1b-1d-64", some}, {"llama3-1b-1d-64-memory", some}, {"tiny2-2d-4x2", some}},
       drawn::none,
       infinity},
      {"certify_placement",
       certified,
       {{"A", some}, {"C", some}, {"P", some}, {"V", some}, {"llama3-1b-2d-8x8-memory", some}},
       drawn::stated,
       0.5}};
  return all;
}

struct change {
  std::string of, name;
  std::function<void(settings&)> make;
};

std::vector<change> changes() {
  std::vector<change> all;
  for (const way& w : ways()) {  // twice: the first time nothing is in caches
    all.push_back({w.name, "", [](settings&) {}});
    all.push_back({w.name, "nothing", [](settings&) {}});
  }
  const auto set = [&](const char* of, const std::string& name, auto field, auto value) {
    all.push_back({of, name, [field, value](settings& s) { *field(s) = value; }});
  };
  const auto scale = [&](const char* of, const std::string& name, auto field) {
    all.push_back({of, name + " halved", [field](settings& s) { *field(s) /= 2; }});
    all.push_back({of, name + " doubled", [field](settings& s) { *field(s) *= 2; }});
  };
  const auto all_three = [&](const char* of, const std::string& name, auto field) {
    all.push_back({of, name + " none", [field](settings& s) { *field(s) = {}; }});
    scale(of, name, field);
  };
  for (const char* of : {"auto_solver", "auto_solver, 0.2 s"}) {
    all_three(of, "small.labels", [](settings& s) { return &s.whole.small.labels; });
    scale(of, "small.rows", [](settings& s) { return &s.whole.small.rows; });
    all_three(of, "many_labels", [](settings& s) { return &s.whole.many_labels; });
    set(
        of, "many_labels any", [](settings& s) { return &s.whole.many_labels; },
        std::numeric_limits<std::size_t>::max());
  }
  set(
      "reduced(...)", "polished::share 0.5", [](settings& s) { return &s.share; }, 0.5);
  const char* of = "branch_and_bound";
  set(
      of, "goes_on off", [](settings& s) { return &s.exact.goes_on; }, false);
  set(
      of, "reduces_root on", [](settings& s) { return &s.exact.reduces_root; }, true);
  all_three(of, "root_steps", [](settings& s) { return &s.exact.root_steps; });
  all_three(of, "node_steps", [](settings& s) { return &s.exact.node_steps; });
  all_three(of, "decode_every", [](settings& s) { return &s.exact.decode_every; });
  all_three(of, "polish_moves", [](settings& s) { return &s.exact.polish_moves; });
  set(
      of, "trials off", [](settings& s) { return &s.exact.trials; }, false);
  of = "guided_search";
  all_three(of, "rounds", [](settings& s) { return &s.guided.rounds; });
  all_three(of, "first_steps", [](settings& s) { return &s.guided.first_steps; });
  all_three(of, "effort", [](settings& s) { return &s.guided.effort; });
  all_three(of, "merges", [](settings& s) { return &s.guided.merges; });
  all_three(of, "windows", [](settings& s) { return &s.guided.windows; });
  all.push_back({of, "quick none", [](settings& s) { s.guided.quick.starts = s.guided.quick.attempts = 0; }});
  all_three(of, "quick.sweeps", [](settings& s) { return &s.guided.quick.sweeps; });
  all_three(of, "quick.effort", [](settings& s) { return &s.guided.quick.effort; });
  all_three(of, "quick.attempts", [](settings& s) { return &s.guided.quick.attempts; });
  set(
      of, "quick.star_sweeps 1", [](settings& s) { return &s.guided.quick.star_sweeps; }, std::size_t{1});
  all_three(of, "down.steps", [](settings& s) { return &s.guided.down.steps; });
  all_three(of, "down.effort", [](settings& s) { return &s.guided.down.effort; });
  all_three(of, "down.small_labels", [](settings& s) { return &s.guided.down.small_labels; });
  set(
      of, "down.least_share 0.75", [](settings& s) { return &s.guided.down.least_share; }, 0.75);
  set(
      of, "down.most_share 0.75", [](settings& s) { return &s.guided.down.most_share; }, 0.75);
  all_three(of, "down.finish.nodes", [](settings& s) { return &s.guided.down.finish.nodes; });
  scale(of, "around.largest", [](settings& s) { return &s.guided.around.largest; });
  all_three(of, "around.inner.nodes", [](settings& s) { return &s.guided.around.inner.nodes; });
  all_three(of, "bounding.most_steps", [](settings& s) { return &s.guided.bounding.most_steps; });
  all_three(of, "bounding.decode_every", [](settings& s) { return &s.guided.bounding.decode_every; });
  all_three(of, "bounding.worthwhile", [](settings& s) { return &s.guided.bounding.worthwhile; });
  set(
      of, "bounding.worthwhile never", [](settings& s) { return &s.guided.bounding.worthwhile; }, 2.0);
  all_three(of, "bounding.closing_steps", [](settings& s) { return &s.guided.bounding.closing_steps; });
  all_three(of, "bounding.least_gain", [](settings& s) { return &s.guided.bounding.least_gain; });
  all_three(of, "bounding.closing_share", [](settings& s) { return &s.guided.bounding.closing_share; });
  all_three(of, "bounding.small_labels", [](settings& s) { return &s.guided.bounding.small_labels; });
  all_three(of, "finish.nodes", [](settings& s) { return &s.guided.finish.nodes; });
  set(
      of, "finish.trials on", [](settings& s) { return &s.guided.finish.trials; }, true);
  of = "dive";
  scale(of, "dives", [](settings& s) { return &s.dives.dives; });
  all_three(of, "root_steps", [](settings& s) { return &s.dives.root_steps; });
  set(
      of, "least_share 0.75", [](settings& s) { return &s.dives.least_share; }, 0.75);
  set(
      of, "most_share 0.75", [](settings& s) { return &s.dives.most_share; }, 0.75);
  all_three(of, "steps", [](settings& s) { return &s.dives.steps; });
  all_three(of, "effort", [](settings& s) { return &s.dives.effort; });
  all_three(of, "small_labels", [](settings& s) { return &s.dives.small_labels; });
  all_three(of, "finish.nodes", [](settings& s) { return &s.dives.finish.nodes; });
  all_three(of, "finish.root_steps", [](settings& s) { return &s.dives.finish.root_steps; });
  all_three(of, "finish.node_steps", [](settings& s) { return &s.dives.finish.node_steps; });
  all_three(of, "finish.polish_moves", [](settings& s) { return &s.dives.finish.polish_moves; });
  of = "local_search";
  scale(of, "starts", [](settings& s) { return &s.moves.starts; });
  all_three(of, "sweeps", [](settings& s) { return &s.moves.sweeps; });
  set(
      of, "star_sweeps none", [](settings& s) { return &s.moves.star_sweeps; }, std::size_t{0});
  set(
      of, "star_sweeps doubled", [](settings& s) { return &s.moves.star_sweeps; }, std::size_t{2});
  scale(of, "largest_block", [](settings& s) { return &s.moves.largest_block; });
  all_three(of, "effort", [](settings& s) { return &s.moves.effort; });
  all_three(of, "attempts", [](settings& s) { return &s.moves.attempts; });
  of = "large_neighbourhood";
  scale(of, "windows", [](settings& s) { return &s.windows.windows; });
  scale(of, "largest", [](settings& s) { return &s.windows.largest; });
  all_three(of, "first.effort", [](settings& s) { return &s.windows.first.effort; });
  of = "trws";
  scale(of, "sweeps", [](settings& s) { return &s.sweeping.sweeps; });
  all_three(of, "patience", [](settings& s) { return &s.sweeping.patience; });
  scale("budgeted", "steps", [](settings& s) { return &s.priced.steps; });
  of = "elimination";
  scale(of, "width", [](settings& s) { return &s.eliminating.width; });
  scale(of, "entries", [](settings& s) { return &s.eliminating.entries; });
  scale(of, "all_entries", [](settings& s) { return &s.eliminating.all_entries; });
  scale(of, "work", [](settings& s) { return &s.eliminating.work; });
  of = "overlapped";
  scale(of, "nodes", [](settings& s) { return &s.savings.nodes; });
  all_three(of, "root_steps", [](settings& s) { return &s.savings.root_steps; });
  all_three(of, "node_steps", [](settings& s) { return &s.savings.node_steps; });
  scale(of, "patience", [](settings& s) { return &s.savings.patience; });
  scale(of, "ascent.sweeps", [](settings& s) { return &s.savings.ascent.sweeps; });
  set(
      of, "ascent.sweeps 1", [](settings& s) { return &s.savings.ascent.sweeps; }, std::size_t{1});
  scale(of, "ascent.rounds", [](settings& s) { return &s.savings.ascent.rounds; });
  set(
      of, "ascent.rounds 10", [](settings& s) { return &s.savings.ascent.rounds; }, std::size_t{10});
  scale(of, "ascent.patience", [](settings& s) { return &s.savings.ascent.patience; });
  for (const char* with : {"lp_relaxation", "ilp"}) all_three(with, "sweeps", [](settings& s) { return &s.sweeps; });
  all_three("best_plans", "bound_steps", [](settings& s) { return &s.ranking.bound_steps; });
  scale("certify_placement", "steps", [](settings& s) { return &s.proof.steps; });
  scale("certify_placement", "nodes", [](settings& s) { return &s.proof.nodes; });
  all_three("certify_placement", "work", [](settings& s) { return &s.proof.work; });
  return all;
}

/// A file of the shared data, contest instances by their letter.
problem read(const tables::request& asked, const std::string& name) {
  return tables::read_problem(name.size() == 1 ? asked.file("iopddl", "asplos-2025-iopddl-" + name)
                                               : asked.file("placement", name));
}

problem kernel_of(const problem& whole) {
  return std::visit(
      [](const auto& p) -> problem {
        sw::reduction r(p.compact());
        return sw::placement_problem(r.take_kernel());
      },
      whole);
}

/// 1,000 problems: of 8 to 40 variables with up to 8 rows, or of up to 12 vertices with savings.
std::vector<problem> draw(drawn kind) {
  std::vector<problem> all;
  for (std::uint64_t i = 0; all.size() < 1000 && kind != drawn::none; ++i) {
    try {
      if (kind == drawn::savings) {
        auto d = shardweave_test::draw_savings_problem<double>(i, 12).description;
        all.emplace_back(sw::compile(std::make_shared<const sw::placement_description<double>>(std::move(d))));
      } else {
        all.emplace_back(kind == drawn::stated ? tables::stated_solver_problem(i) : tables::random_solver_problem(i));
      }
    } catch (const sw::error&) {  // some have a budget that nothing meets
    }
  }
  return all;
}

/// Means of the relative changes, in per cent; of random problems, many of which cost about nothing, of the sums.
std::string mean_change(const std::vector<found>& now, const std::vector<found>& before, double found::*of,
                        bool of_sums, double* worst = nullptr) {
  double sum = 0, whole = 0;
  int more = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const double a = now[i].*of, b = before[i].*of;
    if (std::isfinite(a) != std::isfinite(b)) more += std::isfinite(a) ? 1 : -1;
    if (!std::isfinite(a) || !std::isfinite(b)) continue;
    const double size = std::max(std::abs(b), 1e-9);
    sum += of_sums ? a - b : (a - b) / size;
    whole += of_sums ? size : 1;
    if (worst != nullptr) *worst = std::max(*worst, 100 * (a - b) / size);
  }
  std::string text = whole > 0 ? tables::number(100 * sum / whole) : "";
  if (more != 0) text += (text.empty() ? "" : ", ") + std::to_string(std::abs(more)) + (more < 0 ? " fewer" : " more");
  return text;
}

std::string proven(const std::vector<found>& all) {
  return std::to_string(std::count_if(all.begin(), all.end(), [](const found& f) { return f.proven; }));
}

/// The geometric mean of the ratios to what no change takes; seconds of no change.
std::string time(const std::vector<found>& now, const std::vector<found>& before, bool of_sums) {
  double sum = 0, whole = 0, logs = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    sum += now[i].seconds;
    whole += before[i].seconds;
    logs += std::log(std::max(now[i].seconds, 1e-6) / std::max(before[i].seconds, 1e-6));
  }
  if (&now == &before) return tables::number(sum) + " s";
  return tables::number(of_sums ? sum / whole : std::exp(logs / static_cast<double>(now.size())));
}

}  // namespace

int main(int argc, char** argv) {
  const tables::request asked(argc, argv);
  tables::table out(asked, {"solver", "changed", "value %", "worst %", "bound %", "proven", "CPU", "random: value %",
                            "bound %", "proven", "CPU"});
  const std::vector<change> all = changes();
  for (const way& w : ways()) {
    if (!asked.asks_for(w.name)) continue;
    std::vector<problem> real, random = draw(w.random);
    try {
      for (const auto& [name, seconds] : w.inputs) real.push_back(read(asked, name));
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s\n", e.what());
      continue;
    }
    if (w.of_kernels) std::transform(real.begin(), real.end(), real.begin(), kernel_of);
    std::vector<found> plain, plain_random;
    for (const change& c : all) {
      if (c.of != w.name) continue;
      settings s;
      c.make(s);
      std::vector<found> now, now_random;
      for (std::size_t i = 0; i < real.size(); ++i) now.push_back(w.ask(s, real[i], asked.limit(w.inputs[i].second)));
      for (const problem& p : random) now_random.push_back(w.ask(s, p, w.random_seconds));
      if (c.name.empty()) continue;
      const bool is_first = plain.empty();
      if (is_first) {
        plain = now;
        plain_random = now_random;
      }
      const auto& shown = is_first ? plain : now;
      const auto& shown_random = is_first ? plain_random : now_random;
      out.row(w.name, [&]() -> std::vector<std::string> {
        double worst = 0;
        const std::string value = mean_change(shown, plain, &found::value, false, &worst);
        std::vector<std::string> cells{c.name,
                                       value,
                                       tables::number(worst),
                                       mean_change(shown, plain, &found::bound, false),
                                       proven(shown),
                                       time(shown, plain, false)};
        if (random.empty()) return cells.insert(cells.end(), 4, ""), cells;
        cells.insert(cells.end(), {mean_change(shown_random, plain_random, &found::value, true),
                                   mean_change(shown_random, plain_random, &found::bound, true), proven(shown_random),
                                   time(shown_random, plain_random, true)});
        return cells;
      });
    }
  }
}
