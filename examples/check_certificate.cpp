// Checks a proof that no placement costs less than a bound, that no plan ends earlier, or no order of a task graph:
// against the problem as it is stated, in whole numbers, with none of the solvers' and schedulers' code.
//
//   check_certificate problem.json.gz certificate.json.gz
#include "support/program.hpp"
#include "support/task_input.hpp"
#include <shardweave/io/json_writer.hpp>
#include <shardweave/io/order_certificate.hpp>
#include <shardweave/io/placement_certificate.hpp>
#include <shardweave/io/placement_file.hpp>
#include <shardweave/io/step_problem.hpp>
#include <shardweave/placement/check_certificate.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/step/check_step_certificate.hpp>
#include <shardweave/step/step_certificate.hpp>
#include <shardweave/tasks/check_order_certificate.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace sw = shardweave;

namespace {

struct options {
  std::string problem;
  std::string certificate;
  programs::task_input prices = {};  ///< of tasks that are a trace
  bool json = false;
};

class stopwatch {
 public:
  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(clock::now() - start_).count(); }

 private:
  using clock = std::chrono::steady_clock;
  clock::time_point start_ = clock::now();
};

/// Why a proof was not accepted, on standard error.
int refuse_proof(const options& chosen, std::size_t steps, const std::string& failure) {
  std::fprintf(stderr, "check_certificate: %s: not accepted after %s: %s\n", chosen.certificate.c_str(),
               sw::count_text(steps, "step").c_str(), failure.c_str());
  return programs::no_answer;
}

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
    std::printf("accepted: %s (%s, %.3f s)\n", said.c_str(), sw::count_text(verdict.steps, "step").c_str(),
                watch.seconds());
  }
  return verdict.accepted ? programs::done : refuse_proof(chosen, verdict.steps, verdict.failure);
}

template <class Cost>
int check_placement(sw::placement_description<Cost> d, const options& chosen) {
  const auto c = sw::read_placement_certificate<Cost>(chosen.certificate);
  d.counted = c.counted;  // the file of the problem does not say how savings count
  d.windows = c.windows;
  const stopwatch watch;
  const auto verdict = programs::about(chosen.problem, [&] { return sw::check_certificate(d, c); });
  std::string what = "no assignment costs less than";
  if (c.counted != sw::savings_form::off)
    what = "with savings in form '" + std::string(sw::name_of(c.counted)) + "' " + what;
  return conclude(verdict, c, c.lower_bound, "placement", what, d.unit, watch, chosen);
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

/// All proofs of the file must hold: of the orders with any buckets, or with those that a proof lists.
int check_order(const options& chosen) {
  programs::task_input tasks = chosen.prices;
  tasks.file = chosen.problem;
  const sw::task_graph stated = tasks.read();
  const sw::order_certificates all = sw::read_order_certificates(chosen.certificate);
  if (all.proofs.empty())
    sw::refuse(sw::error_category::input, chosen.certificate + ": has no proofs, expected one at least");
  if (all.of_fused_durations && stated.fused_durations().empty())
    sw::refuse(sw::error_category::input,
               chosen.problem + ": alternatives.duration_fused is missing, which the certificate is about");
  const sw::task_graph fused =
      all.of_fused_durations ? stated.with_durations(stated.fused_durations()) : sw::task_graph();
  const sw::task_graph& g = all.of_fused_durations ? fused : stated;
  const stopwatch watch;
  std::optional<sw::nanoseconds> any, given;  // what is proven of any buckets, and of those that are listed
  std::size_t steps = 0;
  std::string failure;
  for (std::size_t i = 0; i < all.proofs.size() && failure.empty(); ++i) {
    const sw::order_verdict verdict = sw::check_certificate(g, all.proofs[i]);
    steps += verdict.steps;
    if (!verdict.accepted) failure = "proofs[" + std::to_string(i) + "]: " + verdict.failure;
    const sw::nanoseconds claimed = all.proofs[i].lower_bound;
    if (all.proofs[i].buckets)
      given = std::min(given.value_or(claimed), claimed);  // lists may differ
    else
      any = std::max(any.value_or(claimed), claimed);
  }
  const bool accepted = failure.empty();
  if (chosen.json) {
    const std::string line = sw::json_string([&](sw::json_writer& out) {
      out.begin_object().member("of", "order").member("problem", all.problem).member("accepted", accepted);
      const auto bound = [&](const char* name, const std::optional<sw::nanoseconds>& of) {
        out.key(name);
        accepted&& of ? out.value(of->count()) : out.null();
      };
      bound("bound", any);
      bound("bound_of_buckets", given);
      out.member("steps", steps).text_if_any("failure", failure);
      out.member("seconds", watch.seconds()).member("peak_rss_bytes", programs::peak_rss_bytes());
      out.end_object().line();
    });
    std::fputs(line.c_str(), stdout);
  } else if (accepted) {
    std::string said;
    if (any) said = "no order with any buckets ends before " + std::to_string(any->count()) + " ns";
    if (given)
      said += (any ? ", none" : "no order") + std::string(" with the buckets of the certificate before ") +
              std::to_string(given->count()) + " ns";
    std::printf("accepted: %s (%s, %.3f s)\n", said.c_str(), sw::count_text(steps, "step").c_str(), watch.seconds());
  }
  return accepted ? programs::done : refuse_proof(chosen, steps, failure);
}

}  // namespace

int main(int argc, char** argv) {
  options chosen;
  CLI::App app("Checks a proof that nothing costs less than a bound, in whole numbers and without any solver.",
               "check_certificate");
  app.add_option("problem", chosen.problem, "PROBLEM: IOPDDL, shardweave.placement or what schedule_tasks reads")
      ->required();
  app.add_option("certificate", chosen.certificate, "CERTIFICATE.json[.gz], as --certificate of a program writes it")
      ->required();
  chosen.prices.add_prices_to(app);
  app.add_flag("--json", chosen.json, "print one JSON object, and nothing else, on standard output");
  app.footer(
      "Exit status: 0 accepted, 1 a step of the proof does not hold (standard error names it), 2 wrong input or "
      "usage.\n");
  return programs::run(app, argc, argv, [&] {
    sw::text_input certificate(chosen.certificate);
    const std::string subject = sw::certificate_subject(certificate);
    if (subject == "step") return check_step(chosen);
    if (subject == "order") return check_order(chosen);
    sw::any_placement problem = sw::read_any_placement(chosen.problem);
    return std::visit([&](auto&& d) { return check_placement(std::move(d), chosen); }, std::move(problem));
  });
}
