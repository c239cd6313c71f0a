// Solves a placement problem from a file: IOPDDL, or the library's own format with costs as numbers.
//
//   solve_placement problem.json.gz --solver trws --seconds 10 --solution solution.json
//   solve_placement contest.json --seconds 60 --answer -    prints the contest's answer and nothing else
#include "support/distinct_files.hpp"
#include "support/overlap_form.hpp"
#include "support/program.hpp"
#include "support/solvers.hpp"
#include <shardweave/io/atomic_file.hpp>
#include <shardweave/io/placement_certificate.hpp>
#include <shardweave/io/placement_file.hpp>
#include <shardweave/io/solution.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/solve/proof/certify_placement.hpp>

#include <CLI/CLI.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace sw = shardweave;

namespace {

struct options {
  std::string problem;
  std::string solver = programs::solvers<double>().front().name;
  std::string overlap = "off";
  programs::window_options windows;
  std::string solution;
  std::string answer;
  std::string certificate;
  programs::common_options common;
};

class stopwatch {
 public:
  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(clock::now() - start_).count(); }

 private:
  using clock = std::chrono::steady_clock;
  clock::time_point start_ = clock::now();
};

/// Costs as people read them: integers in full, other numbers with nine digits.
std::string text_of(std::int64_t cost) { return std::to_string(cost); }
std::string text_of(double cost) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", cost);
  return text;
}

void print_line(const std::string& name, const std::string& value) {
  std::printf("%-14s %s\n", name.c_str(), value.c_str());
}

template <class Cost>
void print_parts(const sw::evaluation<Cost>& priced, const std::string& unit) {
  const std::string suffix = unit.empty() ? "" : " " + unit;
  print_line("objective", text_of(priced.objective) + suffix);
  print_line("  compute", text_of(priced.parts.compute));
  print_line("  communication", text_of(priced.parts.communication));
  print_line("  transition", text_of(priced.parts.transition));
  if (!priced.hidden.empty()) print_line("  savings", "-" + text_of(priced.savings));
}

/// The bound, who proved it, and the gap; "none" where there is no bound.
template <class Cost>
void print_bound(const sw::solution<Cost>& answer, const std::string& unit) {
  if (answer.status == sw::solve_status::infeasible) return;
  if (!std::isfinite(answer.lower_bound)) return print_line("lower bound", "none was proven");
  std::string text = text_of(answer.lower_bound) + (unit.empty() ? "" : " " + unit);
  if (answer.has_assignment() && answer.status != sw::solve_status::optimal)
    text += "  (gap " + text_of(100 * answer.gap()) + " %)";
  if (!answer.statistics.bound_by.empty()) text += "  by " + answer.statistics.bound_by;
  print_line("lower bound", text);
}

/// What someone else found for this problem, priced by us.
template <class Cost>
void print_reference(const sw::placement_description<Cost>& d, const sw::solution<Cost>& answer) {
  const sw::reference_solution& reference = *d.reference;
  const sw::evaluation<Cost> priced = sw::evaluate(d, reference.choice);
  std::printf("\nreference      %s by %s%s", text_of(reference.objective).c_str(),
              reference.solver.empty() ? "someone else" : reference.solver.c_str(), reference.proven ? ", proven" : "");
  if (reference.without_savings) std::printf("; without savings %s", text_of(*reference.without_savings).c_str());
  std::printf("\n");
  if (!priced.is_feasible()) {
    print_line("  priced here", "infeasible: " + priced.violations.front());
    return;
  }
  print_line("  priced here", text_of(priced.objective));
  if (!answer.has_assignment()) return;
  const auto ours = static_cast<double>(answer.objective), theirs = static_cast<double>(priced.objective);
  char text[64];
  std::snprintf(text, sizeof text, "%+.3g %%", 100 * (ours - theirs) / std::max(std::abs(theirs), 1e-300));
  print_line("  we are at", text);
}

template <class Cost>
void print_summary(const sw::placement_description<Cost>& d, const sw::solution<Cost>& answer, double build_seconds) {
  std::printf("%s: %s, %s, %s\n\n", d.name.empty() ? "problem" : d.name.c_str(),
              sw::count_text(d.vertices.size(), "vertex", "vertices").c_str(),
              sw::count_text(d.edges.size(), "edge").c_str(), sw::count_text(d.tables.size(), "table").c_str());
  print_line("status", std::string(sw::name_of(answer.status)));
  if (answer.has_assignment()) {
    const sw::evaluation<Cost> priced = sw::evaluate(d, answer.choice);
    print_parts(priced, d.unit);
    print_bound(answer, d.unit);
    for (const sw::budget_use& use : priced.budgets)
      print_line("budget", use.name + ": " + text_of(use.used) + " used" +
                               (std::isfinite(use.high) ? " of " + text_of(use.high) : "") +
                               (std::isfinite(use.low) ? ", at least " + text_of(use.low) : ""));
  } else {
    print_bound(answer, d.unit);
  }
  char text[160];
  std::snprintf(text, sizeof text, "%.3f s, best after %.3f s; read and compiled in %.3f s; %.0f MiB at most",
                answer.statistics.seconds, answer.statistics.seconds_to_best, build_seconds,
                static_cast<double>(programs::peak_rss_bytes()) / (1 << 20));
  print_line("solved in", text);
  if (!answer.statistics.note.empty()) print_line("note", answer.statistics.note);
  if (d.reference) print_reference(d, answer);
}

/// What a certificate proves, and what that says of an answer.
struct certified {
  bool written = false;
  std::string why_not = {};  ///< it was not written
  bool infeasible = false;
  double bound = 0;
  bool proves_answer = false;  ///< that nothing is better than the answer, or that there is none
  std::size_t cases = 0;
  double seconds = 0;  ///< until there was a proof, or none, before it was written
  /// What the solver says where that is more than the certificate proves.
  std::optional<sw::solve_status> solver_status = std::nullopt;
  double solver_bound = 0;
};

/// Proves the answer's bound in words of the problem, and writes that, unless the time does not suffice.
/// \param problem  null where the constraints contradict each other
template <class Cost>
certified certify(const sw::placement_description<Cost>& d, const sw::placement_problem<Cost>* problem,
                  const sw::solution<Cost>& answer, const std::string& file, const sw::solve_control& control) {
  const stopwatch watch;
  std::optional<sw::placement_certificate<Cost>> c;
  if (problem != nullptr) {
    try {
      c = sw::certify_placement(*problem, answer.has_assignment() ? answer.objective : sw::forbidden<Cost>, {},
                                control);
    } catch (const sw::error& e) {  // the answer remains, without a proof
      return {.why_not = e.what(), .seconds = watch.seconds()};
    }
  } else {
    c = sw::certify_infeasible(d, control);
  }
  if (!c) return {.why_not = "what contradicts each other is more than this proof can say", .seconds = watch.seconds()};
  const double seconds = watch.seconds();
  try {
    sw::write_certificate(file, *c, control.stop);
  } catch (const sw::error& e) {
    if (e.category() != sw::error_category::stopped) throw;
    return {.why_not = e.what(), .seconds = seconds};
  }
  certified result{.written = true, .infeasible = c->infeasible, .bound = static_cast<double>(c->lower_bound)};
  result.proves_answer = answer.has_assignment() ? sw::proves(result.bound, answer.objective) : c->infeasible;
  result.cases = static_cast<std::size_t>(
      std::count_if(c->cases.begin(), c->cases.end(), [](const auto& one) { return one.multipliers.has_value(); }));
  result.seconds = seconds;
  return result;
}

/// Of an answer with a certificate is claimed what the certificate proves, no more and no less.
template <class Cost>
void claim_what_is_certified(sw::solution<Cost>& answer, certified& c) {
  if (!c.written || c.infeasible) return;
  const double own = answer.lower_bound;
  if (c.proves_answer) {
    if (answer.status == sw::solve_status::optimal) return;
    answer.status = sw::solve_status::optimal;
    answer.lower_bound = static_cast<double>(answer.objective);
  } else {
    if (own > c.bound) {
      c.solver_status = answer.status;
      c.solver_bound = own;
    }
    if (answer.status == sw::solve_status::optimal) answer.status = sw::solve_status::feasible;
    answer.lower_bound = c.bound;
  }
  if (answer.lower_bound != own) answer.statistics.bound_by = "certificate";
}

template <class Cost>
void print_certified(const certified& c, const sw::solution<Cost>& answer, const std::string& unit) {
  if (!c.written) return print_line("certificate", "none: " + c.why_not);
  std::string text = c.infeasible ? "nothing is feasible" : "no less than " + text_of(c.bound);
  if (!c.infeasible && !unit.empty()) text += " " + unit;
  text += ", by " + sw::count_text(c.cases, "case") + ", " + text_of(c.seconds) + " s";
  if (c.proves_answer) {
    text += answer.has_assignment() ? ": nothing is better" : "";
  } else if (c.solver_status) {
    text += "; that " +
            (c.solver_status == sw::solve_status::optimal ? "nothing is better" : "it is " + text_of(c.solver_bound)) +
            " rests on the solver's word";
  }
  print_line("certificate", text);
}

template <class Cost>
std::string json_line(const sw::placement_description<Cost>& d, const sw::solution<Cost>& answer, double build_seconds,
                      const std::string& solver, bool interrupted, const std::optional<certified>& proof) {
  return sw::json_string([&](sw::json_writer& out) {
    out.begin_object().member("problem", d.name).member("solver", solver).key("objective");
    answer.has_assignment() ? out.value(answer.objective) : out.null();
    out.member("lower_bound", answer.lower_bound).member("status", sw::name_of(answer.status));
    out.member("interrupted", interrupted).member("found_by", answer.statistics.solver);
    out.member("bound_by", answer.statistics.prover());
    if (answer.has_assignment()) {
      const auto priced = sw::evaluate(d, answer.choice);
      const auto& parts = priced.parts;
      out.key("parts").begin_object().member("compute", parts.compute).member("communication", parts.communication);
      out.member("transition", parts.transition);
      if (!priced.hidden.empty()) out.member("savings", priced.savings);
      out.end_object();
    }
    if (d.reference) out.member("reference", d.reference->objective);
    if (d.counted != sw::savings_form::off) out.member("overlap", sw::name_of(d.counted));
    out.member("vertices", d.vertices.size()).member("edges", d.edges.size());
    out.member("seconds", answer.statistics.seconds).member("seconds_to_best", answer.statistics.seconds_to_best);
    if (proof) {
      out.key("certificate").begin_object().key("lower_bound");
      proof->written && !proof->infeasible ? out.value(proof->bound) : out.null();
      if (!proof->written) out.member("why_not", proof->why_not);
      out.member("infeasible", proof->infeasible).member("proves_answer", proof->proves_answer);
      out.member("cases", proof->cases).member("seconds", proof->seconds);
      if (proof->solver_status)
        out.member("solver_status", sw::name_of(*proof->solver_status))
            .member("solver_lower_bound", proof->solver_bound);
      out.end_object();
    }
    out.member("build_seconds", build_seconds).member("peak_rss_bytes", programs::peak_rss_bytes());
    out.end_object().line();
  });
}

/// What IOPDDL asks for: strategy indices in one line, "[0, 2, 1]".
std::string answer_line(const sw::assignment& choice) {
  std::string text = "[";
  for (const sw::strategy s : choice) text += (text.size() > 1 ? ", " : "") + std::to_string(s);
  return text + "]\n";
}

template <class Cost>
int solve(sw::placement_description<Cost> described, const stopwatch& watch, const options& chosen) {
  const auto d = std::make_shared<const sw::placement_description<Cost>>(std::move(described));
  programs::long_work work("solve_placement", chosen.common, d->unit);
  const sw::solve_control& control = work.control();

  sw::solution<Cost> answer;
  double build_seconds = 0;
  std::optional<sw::placement_problem<Cost>> compiled;
  try {
    sw::solve_control building = control;
    building.seconds = std::numeric_limits<double>::infinity();
    const auto problem = programs::about(chosen.problem, [&] { return sw::compile(d, building); });
    build_seconds = watch.seconds();
    if (!chosen.certificate.empty()) compiled = problem;
    const auto known = programs::solvers<Cost>();
    const auto solver =
        std::find_if(known.begin(), known.end(), [&](const auto& s) { return s.name == chosen.solver; });
    const stopwatch solving;
    answer = solver->solve(problem, control);
    answer.statistics.seconds = solving.seconds();
  } catch (const sw::error& e) {
    if (e.category() != sw::error_category::constraint) throw;
    answer.status = sw::solve_status::infeasible;
    answer.statistics.note = e.what();
  }
  std::optional<certified> proof;
  if (!chosen.certificate.empty())
    proof = certify<Cost>(*d, compiled ? &*compiled : nullptr, answer, chosen.certificate, control);
  if (proof) claim_what_is_certified(answer, *proof);
  work.progress.clear();
  const bool interrupted = work.is_interrupted();

  if (!chosen.solution.empty()) sw::write_solution(chosen.solution, *d, answer);
  const bool to_output = chosen.answer == "-";
  if (answer.has_assignment() && !chosen.answer.empty() && !to_output) {
    sw::atomic_file file(chosen.answer);
    file.write(answer_line(answer.choice));
    file.commit();
  }
  if (to_output) {
    if (answer.has_assignment()) std::fputs(answer_line(answer.choice).c_str(), stdout);
  } else if (chosen.common.json) {
    std::fputs(json_line(*d, answer, build_seconds, chosen.solver, interrupted, proof).c_str(), stdout);
  } else {
    print_summary(*d, answer, build_seconds);
    if (proof) print_certified(*proof, answer, d->unit);
  }
  if (answer.has_assignment()) return programs::ended(interrupted ? programs::interrupted : programs::done, work);
  std::string why = answer.statistics.note;
  if (answer.status != sw::solve_status::infeasible) why = "no feasible assignment was found. " + why;
  std::fprintf(stderr, "solve_placement: %s%s\n",
               why.starts_with(chosen.problem) ? "" : (chosen.problem + ": ").c_str(), why.c_str());
  return programs::no_answer;
}

}  // namespace

int main(int argc, char** argv) {
  options chosen;
  CLI::App app("Finds the strategies of least cost for a placement problem.", "solve_placement");
  app.add_option("problem", chosen.problem, "PROBLEM.json[.gz]: IOPDDL or shardweave.placement, told apart by content")
      ->required();
  const auto known = programs::solvers<double>();
  app.add_option("--solver", chosen.solver, "see below")
      ->check(programs::one_of(programs::names_of(known)))
      ->capture_default_str();
  app.add_option("--overlap", chosen.overlap, "what may hide, of the communication that the problem lists; see below")
      ->check(programs::one_of(programs::names_of(programs::overlaps())))
      ->capture_default_str();
  chosen.windows.add_to(app);
  app.add_option("--solution", chosen.solution, "file for the assignment, its price and its bound");
  app.add_option("--answer", chosen.answer,
                 "file for the assignment alone, one line [0, 2, 1]; - prints that line and no summary");
  app.add_option("--certificate", chosen.certificate,
                 "file for a proof of the lower bound, which check_certificate checks; what it proves is what is "
                 "claimed; takes as "
                 "long as --seconds again, at most; after a stop what was checked by then is written, if anything was");
  app.footer(programs::help_section("Solvers", known) + programs::help_section("Overlap", programs::overlaps()));
  chosen.common.add_to(app, "solving");
  return programs::run(app, argc, argv, [&] {
    if (chosen.answer == "-" && chosen.common.json)
      sw::refuse(sw::error_category::input, "--answer - and --json both claim standard output, expected one of them");
    programs::require_distinct({{"the problem", chosen.problem},
                                {"--solution", chosen.solution},
                                {"--answer", chosen.answer},
                                {"--certificate", chosen.certificate}});
    const stopwatch watch;
    sw::any_placement problem = programs::about(chosen.problem, [&] { return sw::read_any_placement(chosen.problem); });
    return std::visit(
        [&](auto&& d) {
          d.counted = programs::overlap_form(chosen.overlap);
          d.windows = chosen.windows.with(d.counted);
          return solve(std::move(d), watch, chosen);
        },
        std::move(problem));
  });
}
