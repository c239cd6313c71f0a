// Any solver with any settings, on any tiny problem from any start: what it promises is held against trying every
// assignment.
#include "chosen_problem.hpp"
#include <shardweave/placement/compile.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/solve/branch_and_bound.hpp>
#include <shardweave/solve/budgeted.hpp>
#include <shardweave/solve/by_size.hpp>
#include <shardweave/solve/certified.hpp>
#include <shardweave/solve/elimination.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/first_proven.hpp>
#include <shardweave/solve/guided_search.hpp>
#include <shardweave/solve/large_neighbourhood.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/overlapped.hpp>
#include <shardweave/solve/polished.hpp>
#include <shardweave/solve/reduced.hpp>
#include <shardweave/solve/search/dive.hpp>
#include <shardweave/solve/trws.hpp>

#include <support/judged_answer.hpp>
#include <support/sifted_with.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace sw = shardweave;

namespace solvers_fuzz {
namespace {

using fuzz::choices;

sw::branch_and_bound some_branch_and_bound(choices& from) {
  constexpr std::array<std::size_t, 5> nodes{2000, 0, 1, 2, 20}, steps{60, 0, 1, 5, 300};
  sw::branch_and_bound s;
  s.nodes = from.one_of(nodes);
  s.goes_on = from.maybe();
  s.reduces_root = !from.maybe();
  s.root_steps = from.one_of(steps);
  s.node_steps = from.one_of(steps);
  s.decode_every = 1 + from.below(20);
  s.polish_moves = from.below(8);
  return s;
}
sw::local_search some_local_search(choices& from) {
  sw::local_search s;
  s.starts = 1 + from.below(2);
  s.sweeps = from.below(4);
  s.star_sweeps = from.below(2);
  s.largest_block = 1 + from.below(6);
  s.effort = from.below(2);
  s.attempts = from.below(4);
  return s;
}
sw::dive some_dive(choices& from) {
  sw::dive s;
  s.dives = 1 + from.below(2);
  s.root_steps = from.below(80);
  s.least_share = from.maybe() ? 0.1 : 0.6;
  s.steps = from.below(40);
  s.effort = from.maybe() ? 0 : 0.5;
  s.small_labels = from.below(12);
  s.finish = some_branch_and_bound(from);
  return s;
}
sw::guided_search some_guided_search(choices& from) {
  sw::guided_search s;
  s.rounds = from.below(3);
  s.first_steps = from.below(80);
  s.merges = from.below(3);
  s.windows = from.below(3);
  s.bounding.most_steps = from.below(200);
  s.bounding.closing_steps = from.below(60);
  s.bounding.small_labels = from.below(16);
  if (from.maybe()) s.down = some_dive(from);
  if (from.maybe()) s.quick = some_local_search(from);
  s.finish = some_branch_and_bound(from);
  return s;
}
sw::overlapped some_overlapped(choices& from) {
  constexpr std::array<std::size_t, 4> nodes{20000, 0, 1, 7};
  sw::overlapped s;
  s.nodes = from.one_of(nodes);
  s.root_steps = 1 + from.below(40);
  s.node_steps = from.below(20);
  s.ascent.sweeps = 1 + from.below(5);
  s.ascent.rounds = 1 + from.below(100);
  return s;
}
sw::trws some_trws(choices& from) {
  sw::trws s;
  s.sweeps = from.below(60);
  s.patience = 1 + from.below(20);
  return s;
}
template <class S>
shardweave_test::sifted_with<S> some_sifted(choices& from, S inner) {
  constexpr std::array width{0.002, 0.0, 0.3, 5.0};
  sw::detail::sifting how;
  how.width = from.one_of(width);
  how.passes = from.below(13);
  how.least_labels = from.below(3);
  return {std::move(inner), how};
}
sw::elimination some_elimination(choices& from) {
  constexpr std::array<std::size_t, 4> widths{12, 0, 1, 2}, entries{std::size_t{1} << 20, 1, 5, 20};
  sw::elimination s;
  s.width = from.one_of(widths);
  s.entries = from.one_of(entries);
  s.work = from.maybe() ? 50 : s.work;
  return s;
}

template <class Cost>
struct asked {
  std::string name;
  sw::solution<Cost> answer;
  bool must_prove = false;
};

template <class Cost>
asked<Cost> ask(choices& from, const sw::placement_problem<Cost>& problem, const sw::solve_control& control) {
  const bool is_plain = problem.savings() == nullptr;
  const auto by = [&](const auto& solver, bool proves = false) {
    return asked<Cost>{std::string(solver.name), solver.solve(problem, control), proves};
  };
  switch (from.below(16)) {
    case 0:
      return by(sw::auto_solver{}, true);
    case 1: {
      const auto s = some_branch_and_bound(from);
      return by(s, s.nodes == 2000 && is_plain);
    }
    case 2:
      return by(sw::reduced(some_branch_and_bound(from)));
    case 3:
      return by(some_overlapped(from));
    case 4:
      return by(some_trws(from));
    case 5:
      return by(sw::budgeted{.steps = from.below(250)});
    case 6:
      return by(some_dive(from));
    case 7:
      return by(some_guided_search(from));
    case 8:
      return by(sw::reduced(some_guided_search(from)));
    case 9: {
      sw::large_neighbourhood<> around;
      around.windows = from.below(6);
      around.largest = 1 + from.below(7);
      around.first = some_local_search(from);
      return by(around);
    }
    case 10:
      return by(some_local_search(from));
    case 11:
      return by(some_sifted(from, sw::reduced(sw::exhaustive{})), true);
    case 12:
      return by(sw::first_proven(some_elimination(from), some_trws(from), sw::exhaustive{}), true);
    case 13:
      return by(sw::polished(sw::by_size(some_elimination(from), some_dive(from), {.labels = from.below(12)}),
                             some_local_search(from)));
    case 14:
      return by(sw::certified(some_local_search(from), some_sifted(from, sw::budgeted{.steps = from.below(99)})));
    default:
      return by(sw::exhaustive{}, true);
  }
}

[[noreturn]] void broken(const std::string& who, const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", who.c_str(), what.c_str());
  std::abort();
}

template <class Cost>
void try_problem(choices& from) {
  sw::solve_control control;
  std::stop_source over;
  constexpr std::array<std::size_t, 5> iterations{~std::size_t{0}, 0, 1, 3, 20};
  constexpr std::array gaps{0.0, 0.01, 0.5};
  control.iterations = from.one_of(iterations);
  control.gap = from.one_of(gaps);
  control.seed = 1 + from.below(4);
  if (from.below(8) == 7) {
    over.request_stop();
    control.stop = over.get_token();
  }
  const std::size_t start_as = from.below(3);
  fuzz::problem_chooser<Cost> chooser(from);
  const shardweave_test::judged_problem<Cost> problem(chooser.run());
  std::optional<sw::placement_problem<Cost>> compiled;
  try {
    compiled = sw::compile(problem.stated.description);
  } catch (const sw::error& e) {
    if (e.category() != sw::error_category::constraint || problem.best.objective) broken("compile", e.what());
    return;
  }
  std::optional<Cost> known;  // what the start costs
  if (start_as > 0) {
    for (const auto& v : problem.stated.description.vertices)
      control.start.push_back(static_cast<sw::strategy>(from.below(v.compute.size())));
    if (start_as == 2) control.start = problem.best.choice;
    known = problem.objective(control.start);
  }
  const bool sees_objective = problem.best.objective && compiled->savings() == nullptr;
  control.progress = [&](const sw::progress_report& r) {
    if (sees_objective && !problem.holds(r.lower_bound)) broken("progress", "a bound above the optimum");
  };
  const asked<Cost> by = ask(from, *compiled, control);
  if (const std::string what = broken_promise(problem, by.answer); !what.empty()) broken(by.name, what);
  if (known && !problem.is_no_worse(by.answer, *known)) broken(by.name, "worse than the start");
  const bool is_limited = control.iterations != iterations[0] || control.gap > 0 || control.stop.stop_requested();
  if (!by.must_prove || is_limited || chooser.kind() == fuzz::cost_kind::huge) return;
  if (by.answer.status != (problem.best.objective ? sw::solve_status::optimal : sw::solve_status::infeasible))
    broken(by.name, "not proven");
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  choices from(data, size);
  from.maybe() ? try_problem<std::int64_t>(from) : try_problem<double>(from);
  return 0;
}

}  // namespace solvers_fuzz
