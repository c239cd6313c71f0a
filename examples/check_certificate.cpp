// Checks a proof that no placement costs less than a bound, or that no plan ends earlier: against the problem as it is
// stated, in whole numbers, with none of the solvers' code.
//
//   check_certificate problem.json.gz certificate.json.gz
#include "support/program.hpp"
#include <shardweave/io/json_writer.hpp>
#include <shardweave/io/placement_certificate.hpp>
#include <shardweave/io/placement_file.hpp>
#include <shardweave/io/step_problem.hpp>
#include <shardweave/placement/check_certificate.hpp>
#include <shardweave/step/step_certificate.hpp>

#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <variant>

namespace sw = shardweave;

namespace {

struct options {
  std::string problem;
  std::string certificate;
  bool json = false;
};

class stopwatch {
 public:
  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(clock::now() - start_).count(); }

 private:
  using clock = std::chrono::steady_clock;
  clock::time_point start_ = clock::now();
};

/// Says what was found.
/// \param claimed  the bound, if it is proven
/// \param what     "no assignment costs less than": what it is a bound of
template <class Cost>
int conclude(const sw::certificate_verdict<Cost>& verdict, const sw::placement_certificate<Cost>& c, Cost claimed,
             const std::string& subject, const std::string& what, const std::string& unit, const stopwatch& watch,
             const options& chosen) {
  const bool proves_bound = verdict.accepted && !c.infeasible;
  if (chosen.json) {
    const std::string line = sw::json_string([&](sw::json_writer& out) {
      out.begin_object().member("of", subject).member("problem", c.problem).member("accepted", verdict.accepted);
      out.key("bound");
      proves_bound ? out.value(claimed) : out.null();
      out.member("infeasible", verdict.accepted && c.infeasible).member("steps", verdict.steps);
      out.text_if_any("failure", verdict.failure);
      out.member("seconds", watch.seconds()).member("peak_rss_bytes", programs::peak_rss_bytes());
      out.end_object().line();
    });
    std::fputs(line.c_str(), stdout);
  } else if (verdict.accepted) {
    const std::string bound = sw::json_string([&](sw::json_writer& out) { out.value(claimed); });
    const std::string said =
        c.infeasible ? "no assignment is feasible" : what + " " + bound + (unit.empty() ? "" : " " + unit);
    std::printf("accepted: %s (%zu steps, %.3f s)\n", said.c_str(), verdict.steps, watch.seconds());
  }
  if (verdict.accepted) return programs::done;
  std::fprintf(stderr, "check_certificate: %s: not accepted after %zu steps: %s\n", chosen.certificate.c_str(),
               verdict.steps, verdict.failure.c_str());
  return programs::no_answer;
}

template <class Cost>
int check_placement(const sw::placement_description<Cost>& d, const options& chosen) {
  const auto c = sw::read_placement_certificate<Cost>(chosen.certificate);
  const stopwatch watch;
  const auto verdict = programs::about(chosen.problem, [&] { return sw::check_certificate(d, c); });
  return conclude(verdict, c, c.lower_bound, "placement", "no assignment costs less than", d.unit, watch, chosen);
}

int check_step(const options& chosen) {
  const sw::step_problem problem = sw::read_step_problem(chosen.problem);
  if (!problem.work)
    sw::refuse(sw::error_category::input,
               chosen.problem + ": has no field 'work', which a certificate of a step is about");
  const sw::step_certificate c = sw::read_step_certificate(chosen.certificate);
  const stopwatch watch;
  const auto verdict =
      programs::about(chosen.problem, [&] { return sw::check_certificate(problem.description, *problem.work, c); });
  const double claimed = sw::bound_of(c, *problem.work);  // less than that of the placement, by limits at their prices
  return conclude(verdict, c.placement, claimed, "step", "no plan of any placement, buckets and order ends before",
                  "ns", watch, chosen);
}

}  // namespace

int main(int argc, char** argv) {
  options chosen;
  CLI::App app("Checks a proof that nothing costs less than a bound, in whole numbers and without any solver.",
               "check_certificate");
  app.add_option("problem", chosen.problem, "PROBLEM.json[.gz]: IOPDDL or shardweave.placement")->required();
  app.add_option("certificate", chosen.certificate, "CERTIFICATE.json[.gz], as --certificate of a program writes it")
      ->required();
  app.add_flag("--json", chosen.json, "print one JSON object, and nothing else, on standard output");
  app.footer(
      "Exit status: 0 accepted, 1 a step of the proof does not hold (standard error names it), 2 wrong input or "
      "usage.\n");
  return programs::run(app, argc, argv, [&] {
    sw::text_input certificate(chosen.certificate);
    const std::string subject = sw::certificate_subject(certificate);
    if (subject == "step") return check_step(chosen);
    const sw::any_placement problem = sw::read_any_placement(chosen.problem);
    return std::visit([&](const auto& d) { return check_placement(d, chosen); }, problem);
  });
}
