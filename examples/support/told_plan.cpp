#include "told_plan.hpp"

#include "peak_memory.hpp"
#include "plan_report.hpp"
#include "plan_summary.hpp"
#include "recompute.hpp"
#include "report_file.hpp"
#include "step_text.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/io/atomic_file.hpp>
#include <shardweave/io/json_writer.hpp>
#include <shardweave/io/schedule.hpp>
#include <shardweave/io/solution.hpp>
#include <shardweave/io/tasks.hpp>
#include <shardweave/report/chrome_trace.hpp>
#include <shardweave/report/html.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <cmath>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <vector>

namespace programs {

namespace {

namespace sw = shardweave;

constexpr std::string_view memory_budget_name = "device memory";  // of `training_constraints`

void make_folder(const std::filesystem::path& folder) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure)
    sw::refuse(sw::error_category::system, "--out " + folder.string() + ": cannot be created: " + failure.message());
}

/// Four files, which take their names when all of them are whole.
void write_plan(const std::filesystem::path& folder, const sw::training_plan& plan) {
  sw::atomic_file placement(folder / "plan.json"), tasks(folder / "tasks.json"), schedule(folder / "schedule.json"),
      trace(folder / "trace.json");
  const auto json = [](sw::atomic_file& file, auto write) {
    sw::json_writer out([&](std::string_view piece) { file.write(piece); });
    write(out);
    out.flush();
  };
  const sw::task_graph& g = plan.lowered->tasks;
  json(placement, [&](sw::json_writer& out) { sw::write_solution(out, *plan.problem, plan.placement); });
  json(tasks, [&](sw::json_writer& out) { sw::write_task_graph(out, g); });
  json(schedule, [&](sw::json_writer& out) { sw::write_schedule(out, g, plan.tasks->order); });
  sw::write_chrome_trace([&](std::string_view piece) { trace.write(piece); }, g, plan.tasks->order, plan.tasks->after);
  for (sw::atomic_file* file : {&placement, &tasks, &schedule, &trace}) file->commit();
}

/// What is made again.
std::vector<char> again_of(const sw::lowered_graph& lowered) {
  std::vector<char> again;
  for (const sw::task_origin& from : lowered.origin) again.push_back(from.again ? 1 : 0);
  return again;
}

/// The plan beside that of the least sum, or, where there is no other, beside the original order, in which nothing is
/// merged.
report_file write_report(const plan_files& files, const sw::spmd_cost_model& model, const sw::training_plan& plan,
                         const sw::ordered_placement* least_sum, const sw::html_options& told) {
  if (files.report.empty()) return {files.report, files.report_is_asked_for, {}, {}};
  const sw::lowered_graph& beside = least_sum != nullptr ? *least_sum->lowered : *plan.lowered;
  const sw::schedule order = least_sum != nullptr ? least_sum->order : sw::in_order{}(beside.tasks, {});
  const sw::timeline line = sw::simulate(beside.tasks, order, {.validate = false, .memory_samples = true});
  const std::vector<char> again = again_of(*plan.lowered), again_beside = again_of(beside);
  const std::vector<sw::placed_value> placed = placed_values(model, plan.placement.choice);
  std::vector<sw::placed_value> placed_beside;
  if (least_sum != nullptr) placed_beside = placed_values(model, least_sum->choice);
  const std::vector<sw::html_plan> both = {{.name = "scheduled",
                                            .graph = &plan.lowered->tasks,
                                            .order = &plan.tasks->order,
                                            .line = &plan.tasks->after,
                                            .again = again,
                                            .placement = placed},
                                           {.name = least_sum != nullptr ? "least sum" : "in order",
                                            .graph = &beside.tasks,
                                            .order = &order,
                                            .line = &line,
                                            .again = again_beside,
                                            .placement = placed_beside}};
  return {files.report, files.report_is_asked_for, both, told};
}

double seconds_of(const std::vector<sw::stage_time>& stages, std::string_view stage) {
  double sum = 0;
  for (const sw::stage_time& s : stages)
    if (s.stage == stage) sum += s.seconds;
  return sum;
}

/// What placing counts of the memory budget, if there is one.
const sw::budget_use* memory_use(const sw::training_plan& plan) {
  for (const sw::budget_use& use : plan.priced.budgets)
    if (use.name == memory_budget_name) return &use;
  return nullptr;
}

/// One line or two; what rests on a solver's word is said.
std::string certified_text(const certified_plan& c, const std::string& unit) {
  if (c.certificate.empty()) return "\nThe problem is in " + c.problem + ".\n";
  if (!c.why_not.empty()) return "\nThere is no certificate: " + c.why_not + ".\n";
  const auto text_of = [&](double bound) {
    if (c.of_step) return sw::time_text(sw::nanoseconds(static_cast<std::int64_t>(std::floor(bound))));
    return sw::json_string([&](sw::json_writer& out) { out.value(bound); }) + " " + unit;
  };
  std::string text = "\n" + c.certificate + " proves, for " + c.problem + ", that no " +
                     (c.of_step ? "plan ends before " : "placement costs less than ") + text_of(c.bound) + ".\n";
  if (c.bound < c.claimed - 1e-6 * std::abs(c.claimed))
    text += "That it is " + text_of(c.claimed) + " rests on the solver's word.\n";
  return text;
}

void write_certified(sw::json_writer& out, const certified_plan& c) {
  out.key("certificate").begin_object().member("of", c.of_step ? "step" : "placement");
  if (c.why_not.empty()) {
    out.member("lower_bound", c.bound);
  } else {
    out.key("lower_bound").null().member("why_not", c.why_not);
  }
  out.key("problem");
  c.problem.empty() ? out.null() : out.value(c.problem);
  out.member("seconds", c.seconds).end_object();
}

}  // namespace

std::string write_files(const told_plan& told, const plan_files& files) {
  if (!files.folder.empty()) make_folder(files.folder);
  const auto& whole = told.whole;
  const auto& fastest = told.fastest;
  const sw::training_plan& drawn = whole ? whole->plan : told.plan;
  sw::training_shape of_all = told.step.shape;
  if (whole) of_all.batch *= whole->micro_batches;
  const planned_step all{told.step.name, told.step.parameters, of_all, told.step.mesh, told.step.device};
  // what is told of other plans is told of those whose batch and collectives are whole
  const bool is_cut = (told.parts && told.parts->is_kept()) || (told.pieces && told.pieces->is_kept());
  std::optional<double> bound;
  if (whole) {
    bound = whole->bound;
  } else if (fastest && fastest->bounds.bound > 0 && !is_cut) {
    bound = fastest->bounds.bound;
  }
  sw::html_options told_of_plan = plan_report(all, told.model, drawn, fastest, bound, *told.need);
  if (!files.points.empty() && std::isfinite(files.points.back().best))
    told_of_plan.search.assign(files.points.begin(), files.points.end());
  const bool has_another = fastest && fastest->least_sum && !whole && !is_cut;
  report_file page = write_report(files, told.model, drawn, has_another ? &*fastest->least_sum : nullptr, told_of_plan);
  if (!told_of_plan.search.empty()) {
    sw::atomic_file picture(files.search);
    picture.write(sw::svg_progress(files.points, {.title = told_of_plan.title}));
    picture.commit();
  }
  if (!files.folder.empty()) write_plan(files.folder, drawn);
  return page.commit();
}

std::string json_line(const told_plan& told, const std::optional<certified_plan>& certified, bool interrupted,
                      double total_seconds) {
  const sw::training_plan& plan = told.plan;
  const auto& fastest = told.fastest;
  const auto& pieces = told.pieces;
  return sw::json_string([&](sw::json_writer& out) {
    const bool found = plan.tasks.has_value();
    const auto figure = [&](const char* name, auto value) {
      out.key(name);
      found ? out.value(value()) : out.null();
    };
    out.begin_object().member("model", plan.problem->name).member("vertices", plan.problem->vertices.size());
    out.member("mesh", told.model.mesh().to_string());
    figure("objective_us", [&] { return plan.placement.objective; });
    out.member("lower_bound_us", plan.placement.lower_bound).key("parts").begin_object();
    figure("compute", [&] { return plan.priced.parts.compute; });
    figure("communication", [&] { return plan.priced.parts.communication; });
    figure("transition", [&] { return plan.priced.parts.transition; });
    figure("savings", [&] { return plan.priced.savings; });
    out.end_object().member("overlap", sw::name_of(plan.problem->counted));  // of the plan that was kept
    out.member("status", sw::name_of(plan.placement.status)).member("interrupted", interrupted);
    out.member("found_by", plan.placement.statistics.solver).member("bound_by", plan.placement.statistics.prover());
    figure("tasks", [&] { return plan.lowered->tasks.size(); });
    figure("collectives_before", [&] { return plan.tasks->before.collectives; });
    figure("collectives_after", [&] { return plan.tasks->after.collectives; });
    figure("end_to_end_ns", [&] { return plan.tasks->after.end_to_end.count(); });
    figure("communication_ns", [&] { return plan.tasks->after.communication.count(); });
    figure("hidden_ns", [&] { return plan.tasks->after.hidden.count(); });
    figure("exposed_ns", [&] { return plan.tasks->after.exposed.count(); });
    figure("makespan_bound_ns", [&] { return plan.tasks->makespan_bound.count(); });
    out.member("planned_for", fastest ? "step" : "sum");
    const bool is_cut = (told.parts && told.parts->is_kept()) || (pieces && pieces->is_kept());
    if (fastest) out.member("step_bound_is_of_plan", !is_cut);
    if (fastest) write_step(out, told.model, *fastest, found ? std::optional(told.step_of_wholes()) : std::nullopt);
    if (told.parts) {
      out.member("batch_parts", told.parts->parts).member("step_of_whole_batch_ns", told.parts->whole.count());
      out.key("step_of_batch_parts_ns");
      told.parts->step ? out.value(told.parts->step->count()) : out.null();
    }
    if (pieces) {
      out.member("pieces", pieces->pieces).member("collectives_in_pieces", pieces->collectives);
      out.member("step_of_wholes_ns", pieces->whole.count()).key("step_of_pieces_ns");
      pieces->step ? out.value(pieces->step->count()) : out.null();
      out.member("longer_products_ns", pieces->longer.count());
    }
    figure("recomputed_ns", [&] { return told.fitted == nullptr ? 0 : told.fitted->time.count(); });
    if (told.fitted != nullptr) {
      out.member("kept_bytes", told.fitted->chosen.chosen.kept.count());
      out.member("offloaded_bytes", told.fitted->chosen.chosen.offloaded.count())
          .member("regathers", told.fitted->regathers);
      if (fastest && fastest->step_without_limit)
        out.member("step_without_limit_ns", fastest->step_without_limit->count());
    }
    figure("peak_bytes", [&] { return plan.tasks->after.peak.count(); });
    figure("optimizer_bytes", [&] { return told.need->state; });
    figure("device_bytes", [&] { return told.need->capacity; });
    figure("fits", [&] { return told.need->fits(); });
    if (told.need && !told.need->fits() && told.need->least > 0) out.member("least_bytes", told.need->least);
    if (const sw::budget_use* memory = memory_use(plan))
      out.member("planned_bytes", memory->used).member("memory_budget_bytes", memory->high);
    out.key("seconds").begin_object();
    for (const char* stage :
         {"meshes", "model", "build", "compile", "solve", "search", "lower", "bucket", "schedule", "simulate",
          "compare", "around", "parts", "memory", "pieces", "whole", "write", "certificate"})
      out.member(stage, seconds_of(plan.stages, stage));
    out.member("total", total_seconds).end_object();
    if (told.whole) write_whole(out, *told.whole);
    if (told.annotated) write_annotated(out, told.model, *told.annotated);
    write_around(out, told.model, *plan.problem, plan.lowered ? &plan.lowered->tasks : nullptr, told.around);
    if (certified && !certified->certificate.empty()) write_certified(out, *certified);
    out.member("peak_rss_bytes", peak_rss_bytes()).end_object().line();
  });
}

std::string page_of(const told_plan& told, const std::optional<certified_plan>& certified, const std::string& device,
                    bool regathers, const std::string& folder) {
  const sw::training_plan& plan = told.plan;
  const auto& fastest = told.fastest;
  std::string memory = memory_text(*told.need, told.step.mesh.to_string(), device, regathers);
  if (told.fitted != nullptr)
    memory += recomputation_text(*told.fitted, told.step_of_wholes(),
                                 !(told.parts && told.parts->is_kept()) && fastest && fastest->fitted
                                     ? fastest->step_without_limit
                                     : std::nullopt);
  if (told.whole) memory += whole_text(*told.whole);
  std::string text =
      plan_summary(told.step, told.model, plan, fastest, told.parts, told.pieces, told.need->fits(), memory, folder);
  if (const sw::budget_use* use = memory_use(plan))
    text += "\nPlacing counts " + sw::size_text(sw::bytes(static_cast<std::int64_t>(use->used))) + " of " +
            sw::size_text(sw::bytes(static_cast<std::int64_t>(use->high))) +
            " of a device: parameters with their optimizer state, and results while they are needed.\n";
  if (told.annotated) text += annotated_text(told.model, *told.annotated);
  text += around_text(told.model, *plan.problem, plan.lowered->tasks, told.around);
  if (certified) text += certified_text(*certified, plan.problem->unit);
  return text;
}

}  // namespace programs
