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
#include "support/chosen_policies.hpp"
#include "support/device_memory.hpp"
#include "support/distinct_files.hpp"
#include "support/overlap_form.hpp"
#include "support/pipelined_plan.hpp"
#include "support/plan_options.hpp"
#include "support/planned_step.hpp"
#include "support/program.hpp"
#include "support/recompute.hpp"
#include "support/schedulers.hpp"
#include "support/solvers.hpp"
#include "support/stated_training.hpp"
#include "support/told_plan.hpp"
#include "support/whole_plan.hpp"
#include <shardweave/core/control.hpp>
#include <shardweave/core/timed_stop.hpp>
#include <shardweave/fastest_plan.hpp>
#include <shardweave/lowering/batch_parts_lowering.hpp>
#include <shardweave/lowering/held_values_of.hpp>
#include <shardweave/lowering/spmd_lowering.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/report/svg_progress.hpp>
#include <shardweave/solve/trws.hpp>
#include <shardweave/spmd/describe_spmd.hpp>
#include <shardweave/spmd/mesh_search.hpp>
#include <shardweave/spmd/propagation.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>

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
#include <utility>
#include <variant>
#include <vector>

namespace sw = shardweave;

namespace {

constexpr double usual_gap = 0.1;  // percent

/// One run of the program, stage by stage. What a stage finds stays for those after it; without a value is what was not
/// asked for, or is not there.
class training_run {
 public:
  /// \throws error for what is wrong with the command line and its files, before the work
  explicit training_run(const programs::plan_options& chosen)
      : chosen_(chosen),
        annotations_(annotations_of(chosen)),
        training_(chosen),
        work_("plan_training", chosen.common, "us"),
        control_(work_.control()),
        way_(new_way()),
        mesh_(training_.mesh) {
    programs::require_distinct({{"the config", chosen.config},
                                {"--calibration", chosen.calibration},
                                {"--certificate", chosen.certificate},
                                {"--problem", chosen.problem},
                                {"--search", chosen.search},
                                {"--report", chosen.report.file("")}});
    if (!chosen.search.empty() && !chosen.for_step())
      sw::refuse(
          sw::error_category::input,
          "--search draws the search for the fastest step, which these options leave out; expected --objective step");
    if (chosen.host_bandwidth && (chosen.recompute != "auto" || chosen.regather))
      sw::refuse(sw::error_category::input, "--offload makes plans fit that do not, and --recompute " +
                                                chosen.recompute + (chosen.regather ? " with --regather" : "") +
                                                " leaves them; expected --recompute auto alone");
    if (chosen.recompute_every > 1 && (chosen.recompute == "auto" || chosen.recompute == "none"))
      sw::refuse(sw::error_category::input, "--recompute-every " + std::to_string(chosen.recompute_every) +
                                                " says to which layers a recomputation applies, and --recompute is " +
                                                chosen.recompute + "; expected full, selective_op or selective");
    way_.counted = programs::overlap_form(chosen.overlap);
    way_.windows = chosen.windows.with(way_.counted);
    // what plans are compared with one another for is proven
    const bool compares =
        !chosen.around.wishes.empty() || chosen.around.best > 0 || chosen.propagate || !annotations_.empty();
    control_.gap = chosen.gap.value_or(compares ? 0 : usual_gap) / 100;
    if (!chosen.search.empty())
      control_.progress = [this, tell = control_.progress](const sw::progress_report& report) {
        if (report.stage == "step") search_.push_back({seconds(), report.objective, report.lower_bound});
        tell(report);
      };
  }

  /// \returns the exit status
  int run() {
    state_model();
    place();
    compare_with_free();
    look_around();
    try_batch_parts();
    keep_to_memory();
    try_pieces();
    explain_steps();
    bool interrupted = work_.is_interrupted();
    add_optimizer();
    const std::string refusal = refusal_of_plan();
    tell(refusal, interrupted);
    const auto complain = [&](const std::string& what) {
      std::fprintf(stderr, "plan_training: %s: %s\n", chosen_.config.c_str(), what.c_str());
    };
    if (!refusal.empty()) {
      complain(refusal);
      return programs::no_answer;
    }
    if (interrupted) return programs::interrupted;
    if (const double needed = needed_bytes(); need_ && need_->is_known() && needed > need_->capacity) {
      complain("the plan needs " + sw::size_text(needed) + ", " + sw::size_text(needed - need_->capacity) +
               " more than the " + sw::size_text(need_->capacity) + " of " + name_of_limit());
      return programs::does_not_fit;
    }
    return programs::done;
  }
  [[nodiscard]] const programs::long_work& work() const { return work_; }

 private:
  using clock = std::chrono::steady_clock;
  using whole_way = sw::pipeline<programs::chosen_solver, programs::chosen_pass, sw::spmd_lowering>;
  /// A model with the problem that it gives.
  struct stated_model {
    sw::spmd_cost_model model;
    sw::placement_description<double> stated;
  };

  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(clock::now() - start_).count(); }
  /// Does a part of the work, tells where it is, and adds the time that it took to the plan's stages.
  template <class Work>
  void stage(const char* name, Work do_it) {
    const double before = seconds();
    work_.progress.begin(name);
    do_it();
    work_.progress.clear();
    plan_.stages.push_back({name, seconds() - before});
  }

  [[nodiscard]] static std::vector<sw::annotation> annotations_of(const programs::plan_options& chosen) {
    for (const std::string& wish : chosen.around.wishes)
      programs::about("--what-if", [&] { static_cast<void>(sw::parse_demand(wish)); });
    std::vector<sw::annotation> read;
    for (const std::string& text : chosen.annotations)
      read.push_back(programs::about("--annotate", [&] { return programs::read_annotation(text); }));
    return read;
  }
  [[nodiscard]] std::optional<sw::bytes> memory() const {
    return chosen_.memory ? std::optional(sw::bytes(*chosen_.memory)) : std::nullopt;
  }
  [[nodiscard]] double host_bandwidth() const { return static_cast<double>(chosen_.host_bandwidth.value_or(0)); }
  [[nodiscard]] whole_way new_way() const {
    // the search for the step keeps plans to the memory itself
    const std::optional<sw::bytes> of_sum = chosen_.for_step() ? std::nullopt : memory();
    return whole_way(programs::chosen_solver{programs::by_name(programs::solvers<double>(), chosen_.solver)},
                     programs::chosen_pass{by_, of_sum},
                     sw::spmd_lowering{{.regather_parameters = training_.regathers()}});
  }
  /// Buckets and an order that hold no more than so much, if they can.
  [[nodiscard]] auto passes_within(sw::bytes room) const {
    return sw::pipeline(way_.solver, programs::chosen_pass{by_, room});
  }

  /// Before there is a plan a stop leaves nothing to answer.
  void refuse_if_stopped() const {
    if (work_.is_interrupted())
      sw::refuse(sw::error_category::stopped, chosen_.config + ": the model was not built before the stop");
  }
  /// The model on its mesh, which may have to be found, and what is demanded of placements.
  void state_model() {
    auto graph = training_.graph_of(training_.shape);
    refuse_if_stopped();
    for (const std::string& name : chosen_.around.explained)
      programs::about("--explain", [&] { static_cast<void>(programs::operation_called(name, graph)); });
    std::shared_ptr<const stated_model> searched;
    if (chosen_.around.mesh_dims > 0) searched = search_meshes(graph);
    const double mesh_seconds = seconds();
    model_.emplace(searched ? searched->model : training_.model_of(graph, mesh_));
    if (!searched) refuse_if_stopped();
    for (const std::string& wish : chosen_.around.wishes)
      programs::about("--what-if", [&] { static_cast<void>(programs::wished(*model_, wish)); });
    constraints_ = training_.constraints_of(*model_);
    if (!searched) refuse_if_stopped();
    if (chosen_.propagate || !annotations_.empty()) propagate();
    if (around_.meshes) plan_.stages.push_back({"meshes", mesh_seconds});
    plan_.stages.push_back({"model", seconds() - mesh_seconds});
  }
  /// Plans on all meshes of so many devices for half of the time, and takes the best one.
  std::shared_ptr<const stated_model> search_meshes(const sw::computation& graph) {
    sw::solve_control half = control_;  // the rest is for the plan itself
    half.seconds *= 0.5;
    std::vector<std::weak_ptr<const stated_model>> models;  // which live as long as their problems do
    const auto problem_of = [&](const sw::device_mesh& on, const sw::solve_control& rest) {
      const auto model = training_.model_of(graph, on);
      const auto both =
          std::make_shared<stated_model>(model, sw::describe(model, training_.constraints_of(model), rest));
      both->stated.counted = way_.counted;
      both->stated.windows = way_.windows;
      models.push_back(both);
      return sw::compile(std::shared_ptr<const sw::placement_description<double>>(both, &both->stated), rest);
    };
    around_.meshes =
        sw::search_meshes(sw::mesh_shapes(mesh_.size(), chosen_.around.mesh_dims), problem_of, way_.solver, half);
    work_.progress.clear();
    if (around_.meshes->best == sw::mesh_ranking::nobody)
      sw::refuse(sw::error_category::constraint, chosen_.config + ": no feasible placement was found on any mesh of " +
                                                     std::to_string(mesh_.size()) + " devices");
    mesh_ = around_.meshes->shapes[around_.meshes->best].mesh;
    std::shared_ptr<const stated_model> best;
    for (const auto& held : models)
      if (const auto one = held.lock(); one && one->model.mesh() == mesh_) best = one;
    around_.meshes->problem.reset();
    if (work_.is_interrupted() && annotations_.empty() && !chosen_.propagate) {  // what was found is planned to the end
      way_.solver.given = around_.meshes->shapes[around_.meshes->best].answer;
      control_.stop = {};
    }
    return best;
  }
  void propagate() {
    if (chosen_.propagate) {
      const auto usual = programs::usual_annotations(*model_, programs::batch_sharded(*model_, false),
                                                     training_.result_placement(*model_));
      annotations_.insert(annotations_.begin(), usual.begin(), usual.end());
    }
    told_ = programs::about("--annotate", [&] { return sw::propagate(*model_, annotations_); });
    annotations_mean_ = told_->constraints;
    constraints_.fixed.insert(constraints_.fixed.end(), annotations_mean_.begin(), annotations_mean_.end());
  }

  /// The plan: the fastest one, or that of the least sum.
  void place() {
    const auto before = std::move(plan_.stages);
    sw::solve_control own = limit_.rest();
    if (chosen_.batch_parts > 1) own.seconds /= 2;  // the rest is for the plan in parts
    // what a search of meshes had found when a stop came is planned to the end, and not searched on
    const bool is_searched = chosen_.for_step() && !work_.is_interrupted();
    if (chosen_.for_step() && !is_searched) way_.pass.memory = memory();
    plan_ = programs::about(chosen_.config, [&] {
      if (!is_searched) return way_.run(*model_, constraints_, own);
      ask_for_step();
      fastest_ = sw::fastest_plan(way_, *model_, constraints_, how_, own);
      if (!search_.empty()) search_.push_back({seconds(), search_.back().best, search_.back().bound});
      return std::move(fastest_->plan);
    });
    work_.progress.clear();
    plan_.stages.insert(plan_.stages.begin(), before.begin(), before.end());
  }
  /// How the fastest plan is searched.
  void ask_for_step() {
    const std::int64_t capacity = training_.device.memory;
    const bool may_recompute = chosen_.recompute == "auto" && !chosen_.regather;
    if (memory() || (may_recompute && capacity > 0)) {
      how_.memory = memory().value_or(sw::bytes(capacity));
      how_.within = [this](const sw::task_graph& g, sw::bytes room, const sw::solve_control& rest) {
        return passes_within(room).pass.plan(g, rest);
      };
      how_.beside = sw::optimizer_state_of(*model_, chosen_.optimizer_bytes);
      how_.host_bandwidth = host_bandwidth();
      if (may_recompute)
        how_.held = [this] { return sw::held_values_of(*model_, constraints_, chosen_.optimizer_bytes); };
    }
    // what a plan takes grows with the graph
    const std::size_t edges = std::max<std::size_t>(model_->graph().all_edges().size(), 1);
    how_.search.plans = std::clamp<std::size_t>(500'000 / edges, 8, how_.search.plans);
    if (!chosen_.bucketing.empty() || !chosen_.scheduler.empty()) how_.search.improved = 0;  // as they were named
  }

  void compare_with_free() {
    if (!told_ || !plan_.placement.has_assignment()) return;
    stage("compare",
          [&] { annotated_ = programs::compare_with_free(std::move(*told_), plan_, way_.solver, limit_.rest()); });
  }
  void look_around() {
    const programs::around_options& asked = chosen_.around;
    if (!plan_.placement.has_assignment() || (asked.best == 0 && asked.wishes.empty() && asked.explained.empty()))
      return;
    const auto usual = [&](const std::vector<std::uint32_t>& placed) {
      sw::constraint_set all = training_.constraints_of(*model_, placed);
      all.fixed.insert(all.fixed.end(), annotations_mean_.begin(), annotations_mean_.end());
      return all;
    };
    stage("around", [&] {
      programs::about("--what-if", [&] {
        programs::look_around(around_, *model_, plan_, asked, usual, way_.solver, limit_.rest());
      });
    });
  }

  [[nodiscard]] sw::batch_parts_lowering lowering_in_parts() const { return {chosen_.batch_parts, way_.lowering}; }
  void try_batch_parts() {
    if (!plan_.tasks || chosen_.batch_parts == 1 || work_.is_interrupted()) return;
    stage("parts", [&] {
      sw::training_shape of_part = training_.shape;
      of_part.batch /= chosen_.batch_parts;
      const sw::computation graph = training_.graph_of(of_part);
      if (work_.is_interrupted()) return;
      const sw::spmd_cost_model model = training_.model_of(graph, mesh_);
      if (work_.is_interrupted()) return;
      const sw::pipeline in_parts(way_.solver, way_.pass, lowering_in_parts());
      parts_ = programs::try_batch_parts(plan_, in_parts, model, training_.constraints_of(model),
                                         chosen_.for_step() ? std::optional(how_) : std::nullopt, limit_.rest());
      if (parts_->is_kept()) model_ = model;
    });
  }
  [[nodiscard]] bool is_in_parts() const { return parts_ && parts_->is_kept(); }

  [[nodiscard]] programs::memory_need need_of_plan() const {
    sw::device_profile held = training_.device;
    if (chosen_.memory) held.memory = *chosen_.memory;
    const bool is_explained =
        !chosen_.memory || !work_.is_interrupted();  // after a stop that it does not fit is enough
    return programs::memory_need_of(*model_, plan_, held, chosen_.optimizer_bytes, training_.state_sharers(),
                                    is_explained);
  }
  /// What a timeline may hold.
  [[nodiscard]] sw::bytes room() const {
    return sw::bytes(static_cast<std::int64_t>(std::max(0.0, need_->capacity - need_->state)));
  }
  /// Makes values again: as a rule says, or where the plan does not fit.
  void keep_to_memory() {
    if (!plan_.tasks) return;
    stage("memory", [&] {
      need_ = need_of_plan();
      if ((chosen_.regather && chosen_.recompute == "auto") || work_.is_interrupted()) return;
      programs::about("--recompute " + chosen_.recompute, [&] { recompute(); });
      if (again_) {
        plan_.lowered = std::move(again_->fitted.lowered);
        plan_.tasks = std::move(again_->tasks);
        need_ = need_of_plan();
      } else if (!need_->fits() && !training_.regathers()) {
        auto gathered = sw::lower(*model_, plan_.placement.choice, {.regather_parameters = true});
        if (is_in_parts()) gathered = sw::with_batch_parts(gathered, *model_, chosen_.batch_parts);
        need_->regathered = static_cast<double>(way_.run(gathered.tasks, limit_.rest()).after.peak.count());
      }
      if (!again_ && !need_->fits() && chosen_.recompute == "auto" && !is_in_parts())
        if (const auto least =
                programs::least_memory_of(without_regathering(), model_->operations(), host_bandwidth(), limit_.rest()))
          need_->again = static_cast<double>(least->count());
    });
  }
  /// The plan before anything is made or gathered again.
  [[nodiscard]] sw::lowered_graph without_regathering() const {
    return training_.regathers() ? sw::lower(*model_, plan_.placement.choice) : *plan_.lowered;
  }
  /// Buckets and an order as they are asked for; if these do not fit, those that hold less.
  [[nodiscard]] sw::task_plan ordered_for_room(const sw::task_graph& g) const {
    sw::task_plan plan = way_.run(g, limit_.rest());
    if (!need_->is_known() || plan.after.peak <= room()) return plan;
    sw::task_plan within = passes_within(room()).run(g, limit_.rest());
    return within.after.peak < plan.after.peak ? within : plan;
  }
  void recompute() {
    const sw::computation& operations = model_->operations();
    if (const auto rule = programs::rule_of(chosen_.recompute); rule && *rule != sw::recompute_rule::none) {
      const auto run = [&](const sw::task_graph& g) { return ordered_for_room(g); };
      again_ = is_in_parts() ? programs::parts_by_rule(*model_, plan_.placement.choice, {chosen_.batch_parts, {}},
                                                       *rule, chosen_.recompute_every, training_.regathers(), run)
                             : programs::recomputed_by_rule(without_regathering(), operations, *rule,
                                                            chosen_.recompute_every, training_.regathers(), run);
    }
    const bool was_fitted = !is_in_parts() && fastest_ && fastest_->fitted;
    if (chosen_.recompute == "auto" && !need_->fits() && !was_fitted)
      again_ = programs::fit_by_recomputation(
          without_regathering(), operations, room(), host_bandwidth(),
          training_.regathers() ? std::optional(true) : std::nullopt,
          [&](const sw::task_graph& g) { return passes_within(room()).run(g, limit_.rest()); }, limit_.rest());
  }

  void try_pieces() {
    if (!plan_.tasks || chosen_.pieces == 1 || limit_.expired()) return;
    stage("pieces", [&] {
      sw::solve_control rest = limit_.rest();
      const sw::timed_stop stop(rest);
      rest.stop = stop.token();
      const sw::bytes most = std::max(need_->is_known() ? room() : sw::bytes(0), plan_.tasks->after.peak);
      const auto run = [&](const sw::task_graph& g) { return passes_within(most).run(g, rest); };
      pieces_ = programs::try_pieces(plan_, *model_, chosen_.pieces, run, most, rest);
      need_ = need_of_plan();
    });
  }

  /// Whether bounds on plans whose batch and collectives are whole are bounds on plans like the one that was kept.
  [[nodiscard]] bool is_whole() const { return !is_in_parts() && !(pieces_ && pieces_->is_kept()); }
  void explain_steps() {
    if (plan_.tasks) programs::explain_steps(around_, plan_, is_whole() && fastest_ ? &*fastest_ : nullptr);
  }

  /// Whether the plan holds more than --memory says.
  [[nodiscard]] bool is_too_large() const {
    return chosen_.memory && need_->all() > static_cast<double>(*chosen_.memory);
  }
  void add_optimizer() {
    if (!chosen_.whole_step || !plan_.tasks || is_too_large()) return;
    stage("whole", [&] {
      sw::whole_step_options asked{.micro_batches = chosen_.accumulate,
                                   .reduces_once = chosen_.reduce_once || training_.reduces_once()};
      asked.optimizer.clips = !chosen_.no_clip;
      asked.optimizer.state_bytes = chosen_.optimizer_bytes;
      whole_ = programs::whole_of(*model_, plan_, fastest_, asked, control_.stop);
      if (!is_whole()) whole_->bound.reset();
    });
  }

  [[nodiscard]] std::string name_of_limit() const {
    return chosen_.memory ? "--memory"
                          : std::string(training_.device.name) + (chosen_.reserve ? " less --reserve" : "");
  }
  /// Of a device, by the plan and the whole step.
  [[nodiscard]] double needed_bytes() const {
    return std::max(need_ ? need_->all() : 0.0,
                    whole_ ? static_cast<double>(whole_->plan.tasks->after.peak.count()) : 0.0);
  }
  /// Why there is no answer; empty if there is one.
  [[nodiscard]] std::string refusal_of_plan() const {
    if (!plan_.placement.has_assignment())
      return "no feasible placement was found (" + std::string(sw::name_of(plan_.placement.status)) + ")" +
             (plan_.placement.statistics.note.empty() ? "" : ": " + plan_.placement.statistics.note);
    if (is_too_large())
      return "no plan within the " + sw::size_text(*memory()) + " of --memory was found: the best one needs " +
             sw::size_text(need_->all()) + ", " + sw::size_text(need_->all() - static_cast<double>(memory()->count())) +
             " more (" + sw::size_text(need_->peak) + " at the peak of its timeline, " + sw::size_text(need_->state) +
             " of optimizer state)" +
             (need_->again
                  ? "; whatever it makes again, it needs " + sw::size_text(*need_->again + need_->state) + " at least"
                  : "");
    if (whole_ && memory() && whole_->plan.tasks->after.peak > *memory())
      return "the plan within the " + sw::size_text(*memory()) + " of --memory needs " +
             sw::size_text(whole_->plan.tasks->after.peak) + " with --whole-step, " +
             sw::size_text(whole_->plan.tasks->after.peak - *memory()) + " more";
    return {};
  }

  /// Files, certificate, and what is printed.
  /// \param interrupted  is told whether a stop came while a certificate was looked for
  void tell(const std::string& refusal, bool& interrupted) {
    const auto [name, parameters] = std::visit(
        [](const auto& figures) { return std::pair(figures.name, figures.parameter_count()); }, training_.config);
    const programs::planned_step step{name, parameters, training_.shape, mesh_, training_.device};
    const sw::fitted_plan* fitted = again_ ? &again_->fitted : nullptr;
    if (fitted == nullptr && !is_in_parts() && fastest_ && fastest_->fitted) fitted = &*fastest_->fitted;
    const programs::told_plan told{step,  *model_, plan_,      fastest_, parts_, pieces_,
                                   need_, fitted,  annotated_, around_,  whole_};
    std::string report;
    std::optional<programs::certified_plan> certified;
    if (refusal.empty()) {
      stage("write", [&] {
        report = programs::write_files(told, files());
        if (!chosen_.certificate.empty() || !chosen_.problem.empty())
          certified =
              programs::state_problem(plan_, fastest_, chosen_.certificate, chosen_.problem, work_.control().stop);
      });
      if (!chosen_.certificate.empty()) {
        stage("certificate", [&] { programs::certify_plan(*certified, plan_, fastest_, work_.control()); });
        interrupted = work_.is_interrupted();
      }
    }
    if (chosen_.common.json) {
      std::fputs(programs::json_line(told, certified, interrupted, seconds()).c_str(), stdout);
    } else if (plan_.tasks) {
      const std::string page = programs::page_of(told, certified, name_of_limit(), training_.regathers(),
                                                 refusal.empty() ? chosen_.out : "");
      std::fputs((page + report).c_str(), stdout);
    }
  }
  [[nodiscard]] programs::plan_files files() const {
    programs::plan_files files{.folder = chosen_.out, .search = chosen_.search, .points = search_};
    const std::filesystem::path usual = !chosen_.out.empty()  ? files.folder / "report.html"
                                        : chosen_.common.json ? std::filesystem::path()
                                                              : "plan_report.html";
    files.report = chosen_.report.file(usual);
    files.report_is_asked_for = chosen_.report.told || !chosen_.out.empty();
    return files;
  }

  const clock::time_point start_ = clock::now();
  const programs::plan_options& chosen_;
  std::vector<sw::annotation> annotations_;
  const programs::stated_training training_;
  programs::long_work work_;
  sw::solve_control control_;
  const sw::deadline limit_{control_};
  const programs::way by_ = programs::way_of(chosen_.bucketing, chosen_.scheduler, "prefetch");
  whole_way way_;
  std::vector<sw::progress_point> search_;  ///< best and bound of the step, as they came

  sw::device_mesh mesh_;
  std::optional<sw::spmd_cost_model> model_;  ///< of one part where the batch is in parts
  sw::constraint_set constraints_;
  std::optional<sw::propagation> told_;
  std::vector<sw::fixed_strategies> annotations_mean_;
  sw::training_plan plan_;
  sw::fastest_plan_options how_;
  std::optional<sw::fastest_plan_result> fastest_;
  std::optional<programs::annotated_plan> annotated_;
  programs::around_plan around_;
  std::optional<programs::parts_tried> parts_;
  std::optional<programs::memory_need> need_;
  std::optional<programs::recomputed_plan> again_;
  std::optional<programs::pieces_tried> pieces_;
  std::optional<programs::whole_plan> whole_;
};

}  // namespace

int main(int argc, char** argv) {
  programs::plan_options chosen;
  CLI::App app("Plans the training of a LLaMA-family or DeepSeek-style model on a mesh of devices.", "plan_training");
  chosen.add_to(app);
  std::optional<training_run> planned;  // outlives what stops it, so that nothing is given back piece by piece
  const int status = programs::run(app, argc, argv, [&] { return planned.emplace(chosen).run(); });
  return planned ? programs::ended(status, planned->work()) : status;
}
