// Checks a proof that no placement costs less than a bound: against the problem as it is stated, in whole numbers, with
// none of the solvers' code.
//
//   check_certificate problem.json.gz certificate.json.gz
#include "support/program.hpp"
#include <shardweave/io/json_writer.hpp>
#include <shardweave/io/placement_certificate.hpp>
#include <shardweave/io/placement_file.hpp>
#include <shardweave/placement/check_certificate.hpp>

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

template <class Cost>
int check(const sw::placement_description<Cost>& d, const options& chosen) {
  const auto start = std::chrono::steady_clock::now();
  const auto c = sw::read_placement_certificate<Cost>(chosen.certificate);
  const auto verdict = programs::about(chosen.problem, [&] { return sw::check_certificate(d, c); });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (chosen.json) {
    const std::string line = sw::json_string([&](sw::json_writer& out) {
      out.begin_object().member("of", "placement").member("problem", d.name).member("accepted", verdict.accepted);
      out.key("bound");
      verdict.accepted && !c.infeasible ? out.value(c.lower_bound) : out.null();
      out.member("infeasible", verdict.accepted && c.infeasible).member("steps", verdict.steps);
      out.text_if_any("failure", verdict.failure);
      out.member("seconds", seconds).member("peak_rss_bytes", programs::peak_rss_bytes()).end_object().line();
    });
    std::fputs(line.c_str(), stdout);
  } else if (verdict.accepted && c.infeasible) {
    std::printf("accepted: no assignment is feasible (%zu steps, %.3f s)\n", verdict.steps, seconds);
  } else if (verdict.accepted) {
    const std::string unit = d.unit.empty() ? "" : " " + d.unit;
    const std::string bound = sw::json_string([&](sw::json_writer& out) { out.value(c.lower_bound); });
    std::printf("accepted: no assignment costs less than %s%s (%zu steps, %.3f s)\n", bound.c_str(), unit.c_str(),
                verdict.steps, seconds);
  }
  if (verdict.accepted) return programs::done;
  std::fprintf(stderr, "check_certificate: %s: not accepted after %zu steps: %s\n", chosen.certificate.c_str(),
               verdict.steps, verdict.failure.c_str());
  return programs::no_answer;
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
    const sw::any_placement problem = sw::read_any_placement(chosen.problem);
    return std::visit([&](const auto& d) { return check(d, chosen); }, problem);
  });
}
