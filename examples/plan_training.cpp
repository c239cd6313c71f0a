// Plans the training of a model: how every operation is sharded over the mesh, which collectives are merged, in which
// order everything is launched, and what the timeline of one device then looks like.
//
//   plan_training configs/llama3-8b.json --mesh 8x8 --device h100 --out plan
//   plan_training configs/llama3-8b.json --mesh 64 --mesh-search 2 --best 5 --what-if "placed layers.*.wq S(0)R"
//   plan_training configs/deepseek-v3.json --mesh 8x32 --memory-budget 80GiB --propagate
#include "support/annotated.hpp"
#include "support/around_plan.hpp"
#include "support/batch_parts_plan.hpp"
#include "support/certify_plan.hpp"
#include "support/collective_models.hpp"
#include "support/device_memory.hpp"
#include "support/devices.hpp"
#include "support/overlap_form.hpp"
#include "support/pipelined_plan.hpp"
#include "support/planned_step.hpp"
#include "support/program.hpp"
#include "support/recompute.hpp"
#include "support/report_option.hpp"
#include "support/schedulers.hpp"
#include "support/solvers.hpp"
#include "support/told_plan.hpp"
#include "support/whole_plan.hpp"
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/nccl_node.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/fastest_plan.hpp>
#include <shardweave/io/device_file.hpp>
#include <shardweave/io/model_config.hpp>
#include <shardweave/lowering/batch_parts_lowering.hpp>
#include <shardweave/lowering/held_values_of.hpp>
#include <shardweave/models/deepseek.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/models/training_layout.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/report/svg_progress.hpp>
#include <shardweave/spmd/describe_spmd.hpp>
#include <shardweave/spmd/memory_budget.hpp>
#include <shardweave/spmd/mesh_search.hpp>
#include <shardweave/spmd/propagation.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/standard_rules.hpp>
#include <shardweave/spmd/training_constraints.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sw = shardweave;

namespace {

constexpr double usual_gap = 0.1;  // percent

struct options {
  std::string config;
  std::string mesh = "8x8";
  std::string device = "h100";
  std::string collectives = programs::collective_models().front().name;
  std::string compute = "published";
  std::string calibration;
  std::int64_t sequence = 8192;
  std::int64_t batch = 0;  // 0: two sequences for every device of the first mesh dimension
  std::string objective;   ///< empty: as `for_step` says
  std::string solver = programs::solvers<double>().front().name;
  std::string bucketing;  ///< empty: as `programs::way_of` says
  std::string scheduler;
  std::string overlap = "off";
  programs::window_options windows;
  std::string layers = "tied";
  std::optional<std::int64_t> memory;
  std::optional<std::int64_t> memory_budget;
  double optimizer_bytes = sw::memory_options{}.state_per_element;
  bool propagate = false;
  std::vector<std::string> annotations;
  bool regather = false;
  std::string recompute = programs::recomputations().front().name;
  std::uint32_t recompute_every = 1;
  unsigned pieces = 1;
  unsigned batch_parts = 1;
  bool whole_step = false;
  std::int64_t accumulate = 1;
  bool no_clip = false;
  std::string layout;  ///< empty: placements are searched
  programs::around_options around;
  std::optional<double> gap;
  std::string out;
  std::string search;
  programs::report_option report;
  std::string certificate;
  std::string problem;
  programs::common_options common;
};

/// Policies that a command line chose, in the form in which a pipeline takes them.
struct chosen_solver {
  static constexpr std::string_view name = "chosen";
  static constexpr sw::solver_abilities abilities{.budgets = true};
  programs::named_solver<double> policy;
  std::optional<sw::solution<double>> given = std::nullopt;  ///< the answer, if there is one already

  template <sw::cost_value Cost>
    requires std::same_as<Cost, double>
  [[nodiscard]] sw::solution<Cost> solve(const sw::placement_problem<Cost>& problem,
                                         const sw::solve_control& control) const {
    if (given) return *given;
    return policy.solve(problem, control);
  }
};
/// Nothing, where a pass decides both at once.
struct chosen_bucketing {
  static constexpr std::string_view name = "chosen";
  programs::way by;
  std::optional<sw::bytes> memory;
  [[nodiscard]] sw::bucketing_result operator()(const sw::task_graph& g, const sw::solve_control& control) const {
    const auto passes = programs::passes();
    if (programs::pass_of(by, passes) != nullptr) return {};
    return programs::by_name(programs::bucketings(), by.bucketing).run(g, control, memory);
  }
};
struct chosen_scheduler {
  static constexpr std::string_view name = "chosen";
  programs::way by;
  std::optional<sw::bytes> memory;
  [[nodiscard]] sw::schedule operator()(const sw::task_graph& g, const sw::bucketing_result& buckets,
                                        const sw::solve_control& control) const {
    const auto passes = programs::passes();
    if (const auto* pass = programs::pass_of(by, passes)) return pass->plan(g, control, memory);
    return programs::by_name(programs::schedulers(), by.scheduler).run(g, buckets, control, memory);
  }
};

/// Batch over the first mesh dimension, and over the last one, if there is another, what is left: nothing of the
/// inputs, the vocabulary of the logits.
sw::sharding batch_sharded(const sw::device_mesh& mesh, bool of_results) {
  std::string text = "S(0)";
  for (std::size_t d = 1; d < mesh.shape().size(); ++d)
    text += of_results && d + 1 == mesh.shape().size() ? "S(2)" : "R";
  return sw::sharding::parse(text);
}

sw::computation graph_of(const sw::model_config& config, sw::training_shape shape) {
  if (const auto* llama = std::get_if<sw::llama_config>(&config)) return sw::llama_training_graph(*llama, shape);
  return sw::deepseek_training_graph(std::get<sw::deepseek_config>(config), shape);
}

/// Published shares of the peaks, where there are some of the device and they are wanted.
sw::compute_profile compute_of(const sw::device_profile& device, bool published) {
  for (const sw::device_preset& preset : sw::device_presets())
    if (published && preset.profile.name == device.name) return preset.compute();
  return sw::roofline(device);
}

/// For the step, unless other options speak of the sum: what it is proven to be, how it compares, what it saves; or
/// name what decides buckets and order, whose own result is then wanted.
bool for_step(const options& chosen) {
  if (!chosen.layout.empty()) return false;  // nothing is left to search
  if (!chosen.objective.empty()) return chosen.objective == "step";
  const programs::around_options& around = chosen.around;
  const bool asks_of_sum = chosen.gap || around.best > 0 || around.mesh_dims > 0 || !around.wishes.empty() ||
                           !around.explained.empty() || chosen.propagate || !chosen.annotations.empty() ||
                           programs::overlap_form(chosen.overlap) != sw::savings_form::off;
  return !asks_of_sum && chosen.bucketing.empty() && chosen.scheduler.empty();
}

int plan(const options& chosen) {
  using clock = std::chrono::steady_clock;
  const auto start = clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(clock::now() - start).count(); };

  const sw::savings_form counted = programs::overlap_form(chosen.overlap);
  const sw::windows_form windows = chosen.windows.with(counted);
  for (const std::string& wish : chosen.around.wishes)  // wrong words are told before the work
    programs::about("--what-if", [&] { static_cast<void>(sw::parse_demand(wish)); });
  std::vector<sw::annotation> annotations;
  for (const std::string& text : chosen.annotations)
    annotations.push_back(programs::about("--annotate", [&] { return programs::read_annotation(text); }));
  const sw::model_config config = sw::read_model_config(std::filesystem::path(chosen.config));
  std::optional<sw::training_layout> layout;
  if (!chosen.layout.empty())
    layout = programs::about("--layout", [&] { return sw::training_layout::parse(chosen.layout); });
  if (layout && !std::holds_alternative<sw::llama_config>(config))
    sw::refuse(sw::error_category::input,
               "--layout: " + chosen.config + ": layouts are stated for models of the LLaMA family alone");
  const bool regathers = chosen.regather || (layout && layout->stage == sw::zero_stage::parameters);
  sw::device_mesh mesh =
      layout ? layout->mesh() : programs::about("--mesh", [&] { return sw::device_mesh::parse(chosen.mesh); });
  const sw::device_profile device = sw::find_device(chosen.device);
  const sw::training_shape shape{
      .batch = chosen.batch > 0 ? chosen.batch : 2 * (layout ? layout->data_ranks() : mesh.shape().front()),
      .sequence = chosen.sequence};
  if (shape.batch % chosen.batch_parts != 0)
    sw::refuse(sw::error_category::input, "--batch-parts: a batch of " + std::to_string(shape.batch) +
                                              " sequences has no " + std::to_string(chosen.batch_parts) +
                                              " equal parts");
  const auto graph_of_shape = [&](const sw::training_shape& of) {
    auto made = programs::about(chosen.config, [&] { return graph_of(config, of); });
    if (chosen.layers == "found")
      for (sw::operation& op : made.operations) op.site = 0;  // what is not told is found
    return made;
  };
  auto graph = graph_of_shape(shape);
  for (const std::string& name : chosen.around.explained)
    programs::about("--explain", [&] { static_cast<void>(programs::operation_called(name, graph)); });
  programs::collective_model collectives = programs::make_collective_model(
      chosen.collectives, {.device = device, .node = [&] { return sw::nccl_node_of(device); }});
  sw::compute_profile compute = compute_of(device, chosen.compute == "published");
  if (!chosen.calibration.empty())
    programs::about(chosen.calibration, [&] {
      const sw::device_calibration measured = sw::read_device(chosen.calibration);
      collectives = programs::detail::plain_model(measured.correct(collectives));
      if (measured.compute) compute = measured.compute_on(device);
    });
  const auto model_of = [&](const sw::computation& of, const sw::device_mesh& on) {
    return sw::spmd_cost_model(of, on, compute, collectives, layout ? sw::layout_rules(*layout) : sw::standard_rules(),
                               {.threads = chosen.common.control().threads});
  };
  const auto model_on = [&](const sw::device_mesh& on) { return model_of(graph, on); };
  const auto constraints_of = [&](const auto& model, const std::vector<std::uint32_t>& placed = {}) {
    return programs::about(chosen.config, [&] {
      if (layout) return sw::layout_constraints(model, *layout);
      sw::training_options usual{.inputs = batch_sharded(model.mesh(), false),
                                 .results = batch_sharded(model.mesh(), true),
                                 .tie_layers = chosen.layers != "untied",
                                 .placed = placed};
      if (chosen.memory_budget) usual.device_memory = sw::bytes(*chosen.memory_budget);
      usual.memory.state_per_element = chosen.optimizer_bytes;
      return sw::training_constraints(model, usual);
    });
  };

  const std::optional<sw::bytes> memory = chosen.memory ? std::optional(sw::bytes(*chosen.memory)) : std::nullopt;
  const auto known = programs::solvers<double>();
  chosen_solver solver{programs::by_name(known, chosen.solver)};
  const programs::way by = programs::way_of(chosen.bucketing, chosen.scheduler, "prefetch");
  if (!chosen.search.empty() && !for_step(chosen))
    sw::refuse(
        sw::error_category::input,
        "--search draws the search for the fastest step, which these options leave out; expected --objective step");
  const std::optional<sw::bytes> memory_of_sum = for_step(chosen) ? std::nullopt : memory;
  sw::pipeline way(solver, chosen_bucketing{by, memory_of_sum}, chosen_scheduler{by, memory_of_sum},
                   sw::spmd_lowering{{.regather_parameters = regathers}});
  way.counted = counted;
  way.windows = windows;
  programs::long_work work("plan_training", chosen.common, "us");
  sw::solve_control control = work.control();
  // what plans are compared with one another for is proven
  const bool compares =
      !chosen.around.wishes.empty() || chosen.around.best > 0 || chosen.propagate || !annotations.empty();
  control.gap = chosen.gap.value_or(compares ? 0 : usual_gap) / 100;
  std::vector<sw::progress_point> search;  // best and bound of the step, as they came
  if (!chosen.search.empty())
    control.progress = [&, tell = control.progress](const sw::progress_report& report) {
      if (report.stage == "step") search.push_back({seconds(), report.objective, report.lower_bound});
      tell(report);
    };
  const sw::deadline limit(control);

  programs::around_plan around;
  struct stated_model {
    sw::spmd_cost_model model;
    sw::placement_description<double> stated;
  };
  std::shared_ptr<const stated_model> searched;  // of the best mesh
  if (chosen.around.mesh_dims > 0) {
    sw::solve_control half = control;  // the rest is for the plan itself
    half.seconds *= 0.5;
    std::vector<std::weak_ptr<const stated_model>> models;  // which live as long as their problems do
    const auto problem_of = [&](const sw::device_mesh& on, const sw::solve_control& rest) {
      const auto model = model_on(on);
      const auto both = std::make_shared<stated_model>(model, sw::describe(model, constraints_of(model), rest));
      both->stated.counted = way.counted;
      both->stated.windows = way.windows;
      models.push_back(both);
      return sw::compile(std::shared_ptr<const sw::placement_description<double>>(both, &both->stated), rest);
    };
    around.meshes = sw::search_meshes(sw::mesh_shapes(mesh.size(), chosen.around.mesh_dims), problem_of, solver, half);
    work.progress.clear();
    if (around.meshes->best == sw::mesh_ranking::nobody)
      sw::refuse(sw::error_category::constraint, chosen.config + ": no feasible placement was found on any mesh of " +
                                                     std::to_string(mesh.size()) + " devices");
    mesh = around.meshes->shapes[around.meshes->best].mesh;
    for (const auto& held : models)
      if (const auto one = held.lock(); one && one->model.mesh() == mesh) searched = one;
    around.meshes->problem.reset();
    if (work.is_interrupted() && annotations.empty() && !chosen.propagate) {  // what was found is planned to the end
      way.solver.given = around.meshes->shapes[around.meshes->best].answer;
      control.stop = {};
    }
  }
  const double mesh_seconds = seconds();
  sw::spmd_cost_model model = searched ? searched->model : model_on(mesh);
  searched.reset();
  graph = {};  // the model has its own
  for (const std::string& wish : chosen.around.wishes)
    programs::about("--what-if", [&] { static_cast<void>(programs::wished(model, wish)); });
  auto constraints = constraints_of(model);
  std::optional<sw::propagation> told;
  if (chosen.propagate || !annotations.empty()) {
    if (chosen.propagate) {
      const auto usual = programs::usual_annotations(model, batch_sharded(mesh, false), batch_sharded(mesh, true));
      annotations.insert(annotations.begin(), usual.begin(), usual.end());
    }
    told = programs::about("--annotate", [&] { return sw::propagate(model, annotations); });
    constraints.fixed.insert(constraints.fixed.end(), told->constraints.begin(), told->constraints.end());
  }
  const std::vector<sw::fixed_strategies> annotations_mean =
      told ? told->constraints : std::vector<sw::fixed_strategies>{};
  const double model_seconds = seconds() - mesh_seconds;
  std::optional<sw::fastest_plan_result> fastest;
  sw::fastest_plan_options how;
  sw::training_plan plan = programs::about(chosen.config, [&] {
    if (!for_step(chosen)) return way.run(model, constraints, limit.rest());
    if (memory || (chosen.recompute == "auto" && !chosen.regather && device.memory > 0)) {
      how.memory = memory ? *memory : sw::bytes(static_cast<std::int64_t>(device.memory));
      how.within = [&](const sw::task_graph& g, sw::bytes room, const sw::solve_control& rest) {
        return sw::pipeline(solver, chosen_bucketing{by, room}, chosen_scheduler{by, room}).pass.plan(g, rest);
      };
      how.beside = sw::optimizer_state_of(model, chosen.optimizer_bytes);
      if (chosen.recompute == "auto" && !chosen.regather)
        how.held = [&] { return sw::held_values_of(model, constraints, chosen.optimizer_bytes); };
    }
    // what a plan takes grows with the graph
    how.search.plans = std::clamp<std::size_t>(500'000 / std::max<std::size_t>(model.graph().all_edges().size(), 1), 8,
                                               how.search.plans);
    if (!chosen.bucketing.empty() || !chosen.scheduler.empty()) how.search.improved = 0;  // as they were named
    fastest = sw::fastest_plan(way, model, constraints, how, limit.rest());
    if (!search.empty()) search.push_back({seconds(), search.back().best, search.back().bound});
    return std::move(fastest->plan);
  });
  work.progress.clear();
  plan.stages.insert(plan.stages.begin(), {"model", model_seconds});
  if (around.meshes) plan.stages.insert(plan.stages.begin(), {"meshes", mesh_seconds});
  std::optional<programs::annotated_plan> annotated;
  if (told && plan.placement.has_assignment()) {
    const double before = seconds();
    work.progress.begin("compare");
    annotated = programs::compare_with_free(std::move(*told), plan, solver, limit.rest());
    work.progress.clear();
    plan.stages.push_back({"compare", seconds() - before});
  }
  if (plan.placement.has_assignment() &&
      (chosen.around.best > 0 || !chosen.around.wishes.empty() || !chosen.around.explained.empty())) {
    const double before = seconds();
    work.progress.begin("around");
    const auto usual = [&](const std::vector<std::uint32_t>& placed) {
      sw::constraint_set all = constraints_of(model, placed);
      all.fixed.insert(all.fixed.end(), annotations_mean.begin(), annotations_mean.end());
      return all;
    };
    programs::about("--what-if",
                    [&] { programs::look_around(around, model, plan, chosen.around, usual, solver, limit.rest()); });
    work.progress.clear();
    plan.stages.push_back({"around", seconds() - before});
  }

  std::optional<programs::parts_tried> parts;
  if (plan.tasks && chosen.batch_parts > 1 && !work.is_interrupted()) {
    const double before = seconds();
    work.progress.begin("parts");
    sw::training_shape of_part = shape;
    of_part.batch /= chosen.batch_parts;
    const sw::spmd_cost_model model_of_part = model_of(graph_of_shape(of_part), mesh);
    const sw::pipeline way_in_parts(solver, way.pass, sw::batch_parts_lowering{chosen.batch_parts, way.lowering});
    parts = programs::try_batch_parts(plan, way_in_parts, model_of_part, constraints_of(model_of_part),
                                      for_step(chosen) ? std::optional(how) : std::nullopt, limit.rest());
    if (parts->is_kept()) model = model_of_part;
    work.progress.clear();
    plan.stages.push_back({"parts", seconds() - before});
  }
  const bool in_parts = parts && parts->is_kept();
  std::optional<programs::memory_need> need;
  std::optional<programs::recomputed_plan> again;
  sw::device_profile held = device;
  if (memory) held.memory = memory->count();
  const auto room_of_timeline = [&] {
    return sw::bytes(static_cast<std::int64_t>(std::max(0.0, need->capacity - need->state)));
  };
  const auto run_within = [&](const sw::task_graph& g, sw::bytes room) {
    return sw::pipeline(solver, chosen_bucketing{by, room}, chosen_scheduler{by, room}).run(g, limit.rest());
  };
  if (plan.tasks) {
    const double before = seconds();
    need = programs::memory_need_of(model, plan, held, chosen.optimizer_bytes);
    const sw::bytes room = room_of_timeline();
    if (!chosen.regather && !work.is_interrupted()) {
      work.progress.begin("memory");
      programs::about("--recompute " + chosen.recompute, [&] {
        const sw::computation& operations = model.operations();
        const auto rule = programs::rule_of(chosen.recompute);
        if (rule && *rule != sw::recompute_rule::none) {
          const auto run = [&](const sw::task_graph& g) { return way.run(g, limit.rest()); };
          again = in_parts
                      ? programs::parts_by_rule(model, plan.placement.choice,
                                                sw::batch_parts_lowering{chosen.batch_parts, way.lowering}, *rule,
                                                chosen.recompute_every, run)
                      : programs::recomputed_by_rule(*plan.lowered, operations, *rule, chosen.recompute_every, run);
        }
        if (chosen.recompute == "auto" && !need->fits() && (in_parts || !(fastest && fastest->fitted)))
          again = programs::fit_by_recomputation(
              *plan.lowered, operations, room, [&](const sw::task_graph& g) { return run_within(g, room); },
              limit.rest());
      });
      if (again) {
        plan.lowered = std::move(again->fitted.lowered);
        plan.tasks = std::move(again->tasks);
        need = programs::memory_need_of(model, plan, held, chosen.optimizer_bytes);
      } else if (!need->fits()) {
        auto gathered = sw::lower(model, plan.placement.choice, {.regather_parameters = true});
        if (in_parts) gathered = sw::with_batch_parts(gathered, model, chosen.batch_parts);
        need->regathered = static_cast<double>(way.run(gathered.tasks, limit.rest()).after.peak.count());
      }
      work.progress.clear();
    }
    plan.stages.push_back({"memory", seconds() - before});
  }
  std::optional<programs::pieces_tried> pieces;
  if (plan.tasks && chosen.pieces > 1 && !work.is_interrupted()) {
    const double before = seconds();
    work.progress.begin("pieces");
    const sw::bytes room = need->is_known() ? room_of_timeline() : sw::bytes(0);
    const sw::bytes limit_of_pieces = std::max(room, plan.tasks->after.peak);
    pieces = programs::try_pieces(
        plan, model, chosen.pieces, [&](const sw::task_graph& g) { return run_within(g, limit_of_pieces); },
        limit_of_pieces, limit.rest());
    if (pieces->is_kept()) need = programs::memory_need_of(model, plan, held, chosen.optimizer_bytes);
    work.progress.clear();
    plan.stages.push_back({"pieces", seconds() - before});
  }
  const bool interrupted = work.is_interrupted();
  const sw::fitted_plan* fitted = again ? &again->fitted : nullptr;
  if (fitted == nullptr && !in_parts && fastest && fastest->fitted) fitted = &*fastest->fitted;

  std::string refusal;
  if (!plan.placement.has_assignment()) {
    refusal = "no feasible placement was found (" + std::string(sw::name_of(plan.placement.status)) + ")" +
              (plan.placement.statistics.note.empty() ? "" : ": " + plan.placement.statistics.note);
  } else if (memory && need->all() > static_cast<double>(memory->count())) {
    refusal = "no plan within the " + sw::size_text(*memory) + " of --memory was found: the best one needs " +
              sw::size_text(need->all()) + ", " + sw::size_text(need->all() - static_cast<double>(memory->count())) +
              " more (" + sw::size_text(need->peak) + " at the peak of its timeline, " + sw::size_text(need->state) +
              " of optimizer state)";
  }
  std::optional<programs::whole_plan> whole;
  if (chosen.whole_step && plan.tasks && refusal.empty()) {
    const double before = seconds();
    sw::whole_step_options asked{.micro_batches = chosen.accumulate};
    asked.optimizer.clips = !chosen.no_clip;
    asked.optimizer.state_bytes = chosen.optimizer_bytes;
    whole = programs::whole_of(model, plan, fastest, asked);
    // it is one of steps whose batch and collectives are whole
    if (in_parts || (pieces && pieces->is_kept())) whole->bound.reset();
    plan.stages.push_back({"whole", seconds() - before});
    const sw::bytes peak = whole->plan.tasks->after.peak;
    if (memory && peak > *memory)
      refusal = "the plan within the " + sw::size_text(*memory) + " of --memory needs " + sw::size_text(peak) +
                " with --whole-step, " + sw::size_text(peak - *memory) + " more";
  }
  const auto [name, parameters] =
      std::visit([](const auto& figures) { return std::pair(figures.name, figures.parameter_count()); }, config);
  const programs::planned_step step{name, parameters, shape, mesh, device};
  const programs::told_plan told_of{step, model, plan, fastest, parts, pieces, need, fitted, annotated, around, whole};
  std::string report;
  if (refusal.empty()) {
    const double before = seconds();
    programs::plan_files files{.folder = chosen.out, .search = chosen.search, .points = search};
    const std::filesystem::path usual = !chosen.out.empty()  ? files.folder / "report.html"
                                        : chosen.common.json ? std::filesystem::path()
                                                             : "plan_report.html";
    files.report = chosen.report.file(usual);
    files.report_is_asked_for = chosen.report.told || !chosen.out.empty();
    report = programs::write_files(told_of, files);
    plan.stages.push_back({"write", seconds() - before});
  }
  std::optional<programs::certified_plan> certified;
  if (refusal.empty() && !(chosen.certificate.empty() && chosen.problem.empty())) {
    const double before = seconds();
    work.progress.begin("certificate");
    certified = programs::certify_plan(plan, fastest, chosen.certificate, chosen.problem, work.control());
    work.progress.clear();
    plan.stages.push_back({"certificate", seconds() - before});
  }
  if (chosen.common.json) {
    std::fputs(programs::json_line(told_of, certified, interrupted, seconds()).c_str(), stdout);
  } else if (plan.tasks) {
    const std::string page = programs::page_of(told_of, certified, memory ? "--memory" : std::string(device.name),
                                               chosen.regather, refusal.empty() ? chosen.out : "");
    std::fputs((page + report).c_str(), stdout);
  }
  if (refusal.empty()) return interrupted ? programs::interrupted : programs::done;
  std::fprintf(stderr, "plan_training: %s: %s\n", chosen.config.c_str(), refusal.c_str());
  return programs::no_answer;
}

}  // namespace

int main(int argc, char** argv) {
  options chosen;
  CLI::App app("Plans the training of a LLaMA-family or DeepSeek-style model on a mesh of devices.", "plan_training");
  app.add_option("config", chosen.config, "CONFIG.json: the model's public config (examples/configs has some)")
      ->required();
  CLI::Option* const mesh_option =
      app.add_option("--mesh", chosen.mesh, "shape of the device mesh: 64, 8x8, 2x4x8")->capture_default_str();
  const auto known_solvers = programs::solvers<double>();
  app.add_option("--device", chosen.device, "see below")
      ->check(programs::one_of(programs::names_of(programs::devices())))
      ->capture_default_str();
  app.add_option("--collectives", chosen.collectives, "what collectives cost: a model, see below")
      ->check(programs::one_of(programs::names_of(programs::collective_models())))
      ->capture_default_str();
  app.add_option("--compute", chosen.compute,
                 "what kernels reach: published (shares of the peaks by shape, where the device has them) or roofline "
                 "(a flat 70 %)")
      ->check(programs::one_of({"published", "roofline"}))
      ->capture_default_str();
  app.add_option("--calibration", chosen.calibration,
                 "device file: measurements that correct what collectives cost, and shares that kernels reach");
  app.add_option("--sequence", chosen.sequence, "tokens per sequence")
      ->check(programs::whole_within(1, 1 << 24))
      ->capture_default_str();
  app.add_option("--batch", chosen.batch, "sequences in the global batch (default: twice the first mesh dimension)")
      ->check(programs::whole_within(1, 1 << 20));
  app.add_option(
         "--objective", chosen.objective,
         "what is least: the step, over placements, buckets and orders, or the sum of computation and "
         "communication, as if nothing hid (default: step; sum with an option that speaks of it: --gap, --best, "
         "--what-if, --explain, --annotate, --propagate, --mesh-search, --overlap; and with --bucketing or "
         "--scheduler)")
      ->check(programs::one_of({"step", "sum"}));
  app.add_option("--solver", chosen.solver, "see below")
      ->check(programs::one_of(programs::names_of(known_solvers)))
      ->capture_default_str();
  app.add_option("--bucketing", chosen.bucketing, "which collectives are launched as one (default: benefit)")
      ->check(programs::one_of(programs::names_of(programs::bucketings())));
  app.add_option("--scheduler", chosen.scheduler,
                 "how tasks are ordered (default: prefetch); best_known decides buckets, too, and takes longer")
      ->check(programs::one_of(programs::names_of(programs::schedulers())));
  app.add_option("--overlap", chosen.overlap, "what placing counts as hidden; see below")
      ->check(programs::one_of(programs::names_of(programs::overlaps())))
      ->capture_default_str();
  chosen.windows.add_to(app);
  app.add_option("--layers", chosen.layers,
                 "repeated layers: tied (placed alike, as the model's writer says which operations correspond), found "
                 "(the same, by the structure of the graph), untied (each for itself)")
      ->check(programs::one_of({"tied", "found", "untied"}))
      ->capture_default_str();
  programs::add_size(
      app, "--memory", chosen.memory,
      "of a device, such as 80GiB or 500MB: the timeline's peak, inputs included, and the optimizer's state must stay "
      "within it; if no such plan is found there is no answer (default: the device's, which a plan may exceed)");
  programs::add_size(app, "--memory-budget", chosen.memory_budget,
                     "of a device, for placing: parameters, their optimizer state, and results while they are needed "
                     "must stay within it; buffers and gathered copies are not counted (default: no limit)");
  app.add_option("--optimizer-bytes", chosen.optimizer_bytes,
                 "BYTES of optimizer state for every element of a parameter; 8 for Adam's two moments in f32")
      ->check(programs::not_negative())
      ->capture_default_str();
  app.add_flag("--propagate", chosen.propagate,
               "carry the placement of inputs and results through the graph first: less to decide; tells what is "
               "determined, and what it costs");
  app.add_option("--annotate", chosen.annotations,
                 "ANNOTATION: carry this placement too, for example \"layers.*.w1 1 S(0)\"; may be given again")
      ->allow_extra_args(false);
  app.add_option("--recompute", chosen.recompute, "what is made again in the backward part, to hold less; see below")
      ->check(programs::one_of(programs::names_of(programs::recomputations())))
      ->capture_default_str();
  app.add_option("--recompute-every", chosen.recompute_every,
                 "K: of so many layers --recompute full, selective_op and selective apply to the first")
      ->check(programs::whole_within(1, 1 << 20))
      ->capture_default_str();
  app.add_option(
         "--pieces", chosen.pieces,
         "N: do collectives between activations in so many pieces, pipelined with the products that feed or use "
         "them, if that makes the step shorter")
      ->check(programs::whole_within(1, 64))
      ->capture_default_str();
  app.add_option("--batch-parts", chosen.batch_parts,
                 "N: do the batch in so many parts that take turns, each computing while others communicate, if that "
                 "makes the step shorter; takes as long as planning again")
      ->check(programs::whole_within(1, 64))
      ->capture_default_str();
  app.add_option("--layout", chosen.layout,
                 "WORDS: price this plan without searching, for example fsdp=8,tp=8, with sequence parallelism; also "
                 "dp=8, zero1=8, hsdp=4x8 (replicas of shards), cp=2. States the mesh")
      ->excludes(mesh_option);
  CLI::Option* const whole = app.add_flag("--whole-step", chosen.whole_step,
                                          "also plan what follows the backward part, as tasks: gradient norm, "
                                          "clipping, AdamW, and what is gathered after it");
  app.add_option(
         "--accumulate", chosen.accumulate,
         "N: micro-batches of --batch sequences in a whole step, whose gradients are reduced each time and added up")
      ->check(programs::whole_within(1, 256))
      ->capture_default_str()
      ->needs(whole);
  app.add_flag("--no-clip", chosen.no_clip, "of a whole step: leave out the norm of gradients and their clipping")
      ->needs(whole);
  app.add_flag("--regather", chosen.regather,
               "gather parameters again in the backward pass rather than keep them: less memory, more communication");
  app.add_option("--mesh-search", chosen.around.mesh_dims,
                 "DIMENSIONS: plan on the best shape of as many devices as --mesh has, with up to so many dimensions")
      ->check(programs::whole_within(1, sw::max_mesh_rank));
  app.add_option("--best", chosen.around.best, "N: tell the N best plans that differ in where parameters lie")
      ->check(programs::whole_within(1, 1000));
  app.add_option("--what-if", chosen.around.wishes,
                 "DEMAND: tell what it would cost, for example \"placed layers.*.wq S(0)R\"; may be given again")
      ->allow_extra_args(false);
  app.add_option("--explain", chosen.around.explained,
                 "OPERATION: tell what it costs and why, and what each of its other strategies would cost, for example "
                 "layers.0.wo.einsum; may be given again")
      ->allow_extra_args(false);
  app.add_option(
         "--gap", chosen.gap,
         "PERCENT: how far above its lower bound the cost of a placement may be; 0: prove the best one (default: "
         "0.1, and 0 with --best, --what-if, --annotate and --propagate)")
      ->check(programs::not_negative());
  app.add_option("--certificate", chosen.certificate,
                 "file for a proof of the bound on the step, or with --objective sum of the placement's, which "
                 "check_certificate checks; takes as long as --seconds again, at most");
  app.add_option(
      "--problem", chosen.problem,
      "file for the placement problem, with the work of its step: what a certificate is about (default: with "
      "--certificate FILE, FILE.problem.json.gz)");
  app.add_option("--out", chosen.out, "folder for plan.json, tasks.json, schedule.json, trace.json, report.html");
  app.add_option(
      "--search", chosen.search,
      "FILE.svg: how step and bound came together, over the seconds of the search; then the report has it, too");
  chosen.report.add_to(app, "report.html in the folder of --out; without it plan_report.html, or none with --json");
  app.footer(programs::help_section("Devices", programs::devices()) +
             programs::help_section("Models of collectives", programs::collective_models()) +
             programs::help_section("Solvers", known_solvers) +
             programs::help_section("Overlap", programs::overlaps()) +
             programs::help_section("Recomputation", programs::recomputations()) +
             programs::help_section("Bucketings", programs::bucketings()) +
             programs::help_section("Schedulers", programs::schedulers()));
  chosen.common.add_to(app, "placing and scheduling");
  return programs::run(app, argc, argv, [&] { return plan(chosen); });
}
