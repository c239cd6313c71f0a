// What each part of the default solver earns: every row leaves one part out. Contest instances, captured placement
// problems, with savings and without, and 1,000 random problems together.
#include "benchmarks/tables/solver_problems.hpp"
#include "benchmarks/tables/table.hpp"
#include <shardweave/solve/branch_and_bound.hpp>
#include <shardweave/solve/by_size.hpp>
#include <shardweave/solve/guided_search.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/overlapped.hpp>
#include <shardweave/solve/polished.hpp>
#include <shardweave/solve/reduced.hpp>
#include <shardweave/solve/trws.hpp>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <variant>

namespace sw = shardweave;

namespace {

/// What `auto_solver` is made of, for one thread.
struct composition {
  sw::branch_and_bound exact;
  sw::local_search polisher;
  sw::guided_search guided;
  sw::overlapped savings;

  composition() {
    exact.goes_on = true;
    exact.reduces_root = false;
  }

  template <class Cost>
  sw::solution<Cost> solve(const sw::placement_problem<Cost>& problem, const sw::solve_control& control) const {
    if (problem.savings() != nullptr) return savings.solve(problem, control);
    return sw::reduced(sw::by_size(sw::polished(exact, polisher, 0.9), guided, {}, 60'000)).solve(problem, control);
  }
  /// Every branch and bound of the composition.
  void each_search(const std::function<void(sw::branch_and_bound&)>& change) {
    for (sw::branch_and_bound* search :
         {&exact, &guided.finish, &guided.down.finish, static_cast<sw::branch_and_bound*>(&guided.around.inner)})
      change(*search);
  }
};

struct part {
  const char* name;
  const char* of;  ///< which problems ask it
  void (*leave_out)(composition&);
};

constexpr part parts[] = {
    {"nothing", "all", [](composition&) {}},
    {"first assignment", "large", [](composition& c) { c.guided.quick.attempts = c.guided.quick.starts = 0; }},
    {"moves in dives", "large", [](composition& c) { c.guided.down.effort = 0; }},
    {"branch and bound in dives", "large", [](composition& c) { c.guided.down.small_labels = 0; }},
    {"a share drawn anew", "large",
     [](composition& c) { c.guided.down.least_share = c.guided.down.most_share = 0.75; }},
    {"merges", "large", [](composition& c) { c.guided.merges = 0; }},
    {"windows", "large", [](composition& c) { c.guided.windows = 0; }},
    {"moves after dives", "large", [](composition& c) { c.guided.effort = 0; }},
    {"ruling out", "large", [](composition& c) { c.guided.bounding.worthwhile = 2; }},
    {"branch and bound of the rest", "large", [](composition& c) { c.guided.bounding.small_labels = 0; }},
    {"decoding while climbing", "large", [](composition& c) { c.guided.bounding.decode_every = 1 << 30; }},
    {"moves in branch and bound", "plain",
     [](composition& c) { c.each_search([](sw::branch_and_bound& b) { b.polish_moves = 0; }); }},
    {"local search", "plain",
     [](composition& c) { c.polisher.sweeps = c.polisher.star_sweeps = c.polisher.effort = 0; }},
    {"stars", "plain", [](composition& c) { c.polisher.star_sweeps = 0; }},
    {"five sweeps a step", "savings", [](composition& c) { c.savings.ascent.sweeps = 1; }},
    {"play of the game", "savings", [](composition& c) { c.savings.ascent.rounds = 10; }}};

std::vector<std::string> cells(const part& left_out, const std::string& status, double value, double bound,
                               double seconds) {
  return {left_out.name, status, tables::number(value, 2), tables::number(bound, 2), tables::number(seconds, 2)};
}

std::vector<std::string> row(const part& left_out, const tables::solver_problem& asked, double limit) {
  composition c;
  left_out.leave_out(c);
  const double start = tables::thread_seconds();
  return std::visit(
      [&](const auto& problem) {
        const auto answer = c.solve(problem, {.seconds = limit, .seed = 1});
        const double value =
            answer.has_assignment() ? static_cast<double>(answer.objective) : std::numeric_limits<double>::infinity();
        return cells(left_out, std::string(sw::name_of(answer.status)), value, answer.lower_bound,
                     tables::thread_seconds() - start);
      },
      asked);
}

/// 1,000 problems of 8 to 40 variables, with up to 8 rows: the sums of values and of bounds, and how many are proven.
std::vector<std::string> random_row(const part& left_out, double limit) {
  composition c;
  left_out.leave_out(c);
  double value = 0, bound = 0;
  int proven = 0;
  const double start = tables::thread_seconds();
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const auto answer = c.solve(tables::random_solver_problem(i), {.seconds = limit, .seed = 1});
    if (answer.has_assignment()) value += answer.objective;
    if (std::isfinite(answer.lower_bound)) bound += answer.lower_bound;
    proven += answer.status == sw::solve_status::optimal || answer.status == sw::solve_status::infeasible ? 1 : 0;
  }
  return cells(left_out, std::to_string(proven) + " proven", value, bound, tables::thread_seconds() - start);
}

bool asks(const part& p, std::string_view of) { return p.of == std::string_view("all") || p.of == of; }

}  // namespace

int main(int argc, char** argv) {
  const tables::request asked(argc, argv);
  tables::table out(asked, {"problem", "without", "status", "value", "bound", "CPU s"});
  const double limit = asked.limit(5);
  for (const auto& file : asked.files("iopddl"))
    for (const part& p : parts)
      if (asks(p, "plain") || asks(p, "large"))
        out.row(tables::short_name(file), [&] { return row(p, tables::read_problem(file), limit); });
  for (const auto& file : asked.files("placement")) {
    const bool with_savings = tables::short_name(file).find("overlap") != std::string::npos;
    for (const part& p : parts)
      if (asks(p, with_savings ? "savings" : "plain"))
        out.row(tables::short_name(file), [&] { return row(p, tables::read_problem(file), limit); });
  }
  if (asked.asks_for("random"))
    for (const part& p : parts)
      if (asks(p, "plain")) out.row("1,000 random", [&] { return random_row(p, limit / 50); });
}
