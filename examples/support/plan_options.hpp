#pragma once

#include "around_plan.hpp"
#include "collective_models.hpp"
#include "devices.hpp"
#include "losses.hpp"
#include "option_values.hpp"
#include "overlap_form.hpp"
#include "program.hpp"
#include "recompute.hpp"
#include "report_option.hpp"
#include "schedulers.hpp"
#include "solvers.hpp"
#include <shardweave/spmd/memory_budget.hpp>
#include <shardweave/spmd/mesh.hpp>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// \file
/// What the command line of `plan_training` says.

namespace programs {

struct plan_options {
  std::string config;
  std::string mesh = "8x8";
  std::string device = "h100";
  std::string collectives = collective_models().front().name;
  std::string compute = "published";
  std::string calibration;
  std::string f8 = "off";
  std::int64_t sequence = 8192;
  std::string context_parallel;  ///< empty: by the batch, and as `for_step` says
  std::string loss = "logits";
  std::int64_t loss_chunks = 0;  ///< 0: as the loss has it
  bool reduce_f32 = false;
  std::int64_t batch = 0;  // 0: two sequences for every device of the first mesh dimension
  std::string objective;   ///< empty: as `for_step` says
  std::string solver = solvers<double>().front().name;
  std::string bucketing;  ///< empty: as `way_of` says
  std::string scheduler;
  std::string overlap = "off";
  window_options windows;
  std::string layers = "tied";
  std::optional<std::int64_t> memory;
  std::optional<std::int64_t> reserve;
  std::optional<std::int64_t> host_bandwidth;  ///< bytes per second
  std::optional<std::int64_t> memory_budget;
  double optimizer_bytes = shardweave::memory_options{}.state_per_element;
  bool propagate = false;
  std::vector<std::string> annotations;
  bool regather = false;
  std::string recompute = recomputations().front().name;
  std::uint32_t recompute_every = 1;
  unsigned pieces = 1;
  unsigned batch_parts = 1;
  bool whole_step = false;
  std::int64_t accumulate = 1;
  bool reduce_once = false;
  bool no_clip = false;
  std::string layout;  ///< empty: placements are searched
  around_options around;
  std::optional<double> gap;
  std::string out;
  std::string search;
  report_option report;
  std::string certificate;
  std::string problem;
  common_options common;

  /// For the step, unless other options speak of the sum: what it is proven to be, how it compares, what it saves; or
  /// name what decides buckets and order, whose own result is then wanted.
  [[nodiscard]] bool for_step() const {
    if (!layout.empty()) return false;  // nothing is left to search
    if (!objective.empty()) return objective == "step";
    const bool asks_of_sum = gap || around.best > 0 || around.mesh_dims > 0 || !around.wishes.empty() || propagate ||
                             !annotations.empty() || overlap_form(overlap) != shardweave::savings_form::off;
    return !asks_of_sum && bucketing.empty() && scheduler.empty();
  }

  void add_to(CLI::App& app) {
    const auto known = solvers<double>();
    app.add_option("config", config, "CONFIG.json: the model's public config (examples/configs has some)")->required();
    CLI::Option* const mesh_option =
        app.add_option("--mesh", mesh, "shape of the device mesh: 64, 8x8, 2x4x8")->capture_default_str();
    app.add_option("--device", device, "see below")->check(one_of(names_of(devices())))->capture_default_str();
    app.add_option("--collectives", collectives, "what collectives cost: a model, see below")
        ->check(one_of(names_of(collective_models())))
        ->capture_default_str();
    app.add_option(
           "--compute", compute,
           "what kernels reach: published (shares of the peaks by shape, where the device has them) or roofline "
           "(a flat 70 %)")
        ->check(one_of({"published", "roofline"}))
        ->capture_default_str();
    app.add_option(
           "--f8", f8,
           "products of layers in 8-bit floating point, where the device has it: off, current (a tensor is scaled by "
           "its own largest element) or delayed (by that of earlier steps)")
        ->check(one_of({"off", "current", "delayed"}))
        ->capture_default_str();
    app.add_option("--calibration", calibration,
                   "device file: measurements that correct what collectives cost, and shares that kernels reach");
    app.add_option("--sequence", sequence, "tokens per sequence")
        ->check(whole_within(1, 1 << 24))
        ->capture_default_str();
    app.add_option("--batch", batch, "sequences in the global batch (default: twice the first mesh dimension)")
        ->check(whole_within(1, 1 << 20));
    CLI::Option* const context_option =
        app.add_option("--context-parallel", context_parallel,
                       "on: attention may be cut by positions, too, beside keys and values that "
                       "are gathered; rings: and where parts of keys and values go round; off: by "
                       "sequences and heads alone (default: rings where the batch has fewer "
                       "sequences than the first mesh dimension has devices, else on with "
                       "--objective step)")
            ->check(one_of({"on", "rings", "off"}));
    app.add_option("--loss", loss, "where the model's graph ends; see below")
        ->check(one_of(names_of(losses())))
        ->capture_default_str();
    app.add_option(
           "--loss-chunks", loss_chunks,
           "N: do any loss in so many chunks of each sequence, each from its logits to their gradients, so that "
           "a device has logits of one chunk at a time (default: 1; 8 with --loss chunked)")
        ->check(whole_within(1, 1024));
    app.add_flag("--reduce-f32", reduce_f32,
                 "gradients that are kept in f32 are added up in it, too: more bytes than in bf16");
    CLI::Option* const objective_option =
        app.add_option(
               "--objective", objective,
               "what is least: the step, over placements, buckets and orders, or the sum of computation and "
               "communication, as if nothing hid (default: step; sum with an option that speaks of it: --gap, --best, "
               "--what-if, --annotate, --propagate, --mesh-search, --overlap; and with --bucketing or "
               "--scheduler)")
            ->check(one_of({"step", "sum"}));
    app.add_option("--solver", solver, "see below")->check(one_of(names_of(known)))->capture_default_str();
    app.add_option("--bucketing", bucketing, "which collectives are launched as one (default: benefit)")
        ->check(one_of(names_of(bucketings())));
    app.add_option("--scheduler", scheduler,
                   "how tasks are ordered (default: prefetch); best_known decides buckets, too, and takes longer")
        ->check(one_of(names_of(schedulers())));
    app.add_option("--overlap", overlap, "what placing counts as hidden; see below")
        ->check(one_of(names_of(overlaps())))
        ->capture_default_str();
    windows.add_to(app);
    app.add_option(
           "--layers", layers,
           "repeated layers: tied (placed alike, as the model's writer says which operations correspond), found "
           "(the same, by the structure of the graph), untied (each for itself)")
        ->check(one_of({"tied", "found", "untied"}))
        ->capture_default_str();
    CLI::Option* const memory_option = add_size(
        app, "--memory", memory,
        "of a device, such as 80GiB or 500MB: the timeline's peak, inputs included, and the optimizer's state "
        "must stay "
        "within it; if no such plan is found there is no answer (default: the device's, less --reserve; a plan that "
        "needs more is told all the same, with exit status 4)");
    add_size(app, "--reserve", reserve,
             "of the device's memory that a plan may not count on, such as 5GiB: the context, what the allocator loses "
             "(default: nothing)")
        ->excludes(memory_option);
    add_size(app, "--offload", host_bandwidth,
             "per second, such as 50GB: what the backward part reads may wait in the host's memory, copied there and "
             "back at this rate each, where the plan does not fit and is faster so; takes as long as planning twice "
             "(default: nothing does)");
    CLI::Option* const budget_option =
        add_size(app, "--memory-budget", memory_budget,
                 "of a device, for placing: parameters, their optimizer state, and results while they are needed "
                 "must stay within it; buffers and gathered copies are not counted (default: no limit)");
    app.add_option("--optimizer-bytes", optimizer_bytes,
                   "BYTES of optimizer state for every element of a parameter; 8 for Adam's two moments in f32")
        ->check(within(0.0, 1024.0, "a number from 0 to 1024"))
        ->capture_default_str();
    app.add_flag("--propagate", propagate,
                 "carry the placement of inputs and results through the graph first: less to decide; tells what is "
                 "determined, and what it costs");
    app.add_option("--annotate", annotations,
                   "ANNOTATION: carry this placement too, for example \"layers.*.w1 1 S(0)\"; may be given again")
        ->allow_extra_args(false);
    app.add_option("--recompute", recompute, "what is made again in the backward part, to hold less; see below")
        ->check(one_of(names_of(recomputations())))
        ->capture_default_str();
    app.add_option("--recompute-every", recompute_every,
                   "K: of so many layers --recompute full, selective_op and selective apply to the last")
        ->check(whole_within(1, 1 << 20))
        ->capture_default_str();
    app.add_option(
           "--pieces", pieces,
           "N: do collectives between activations in so many pieces, pipelined with the products that feed or use "
           "them, if that makes the step shorter")
        ->check(whole_within(1, 64))
        ->capture_default_str();
    app.add_option("--batch-parts", batch_parts,
                   "N: do the batch in so many parts that take turns, each computing while others communicate, if that "
                   "makes the step shorter; takes as long as planning again")
        ->check(whole_within(1, 64))
        ->capture_default_str();
    CLI::Option* const layout_option =
        app.add_option(
               "--layout", layout,
               "WORDS: price this plan without searching, for example fsdp=8,tp=8, with sequence parallelism; also "
               "dp=8, zero1=8, zero2=8, hsdp=4x8 (replicas of shards), cp=2, ring=2 (the same, but keys and values "
               "go round), ep=8 (of those that see different data: they share out experts). States the mesh")
            ->excludes(mesh_option);
    CLI::Option* const whole = app.add_flag("--whole-step", whole_step,
                                            "also plan what follows the backward part, as tasks: gradient norm, "
                                            "clipping, AdamW, and what is gathered after it");
    app.add_option(
           "--accumulate", accumulate,
           "N: micro-batches of --batch sequences in a whole step, whose gradients are reduced each time and added up")
        ->check(whole_within(1, 256))
        ->capture_default_str()
        ->needs(whole);
    app.add_flag(
           "--reduce-once", reduce_once,
           "of a whole step: add up gradients of micro-batches as they are made, and reduce the sum with the last "
           "one: less communication, more memory (so it is with --layout dp and zero1)")
        ->needs(whole);
    app.add_flag("--no-clip", no_clip, "of a whole step: leave out the norm of gradients and their clipping")
        ->needs(whole);
    app.add_flag("--regather", regather,
                 "gather parameters again in the backward pass rather than keep them: less memory, more communication");
    CLI::Option* const meshes_option =
        app.add_option(
               "--mesh-search", around.mesh_dims,
               "DIMENSIONS: plan on the best shape of as many devices as --mesh has, with up to so many dimensions")
            ->check(whole_within(1, shardweave::max_mesh_rank));
    app.add_option("--best", around.best, "N: tell the N best plans that differ in where parameters lie")
        ->check(whole_within(1, 1000));
    app.add_option("--what-if", around.wishes,
                   "DEMAND: tell what it would cost, for example \"placed layers.*.wq S(0)R\"; may be given again")
        ->allow_extra_args(false);
    app.add_option("--explain", around.explained,
                   "OPERATION: tell what it costs and why, what each of its other strategies would cost, and what a "
                   "microsecond "
                   "more of each of its collectives costs the step, for example layers.0.wo.einsum; may be given again")
        ->allow_extra_args(false);
    app.add_option(
           "--gap", gap,
           "PERCENT: how far above its lower bound the cost of a placement may be; 0: prove the best one (default: "
           "0.1, and 0 with --best, --what-if, --annotate and --propagate)")
        ->check(not_negative());
    app.add_option("--certificate", certificate,
                   "file for a proof of the bound on the step, or with --objective sum of the placement's, which "
                   "check_certificate checks; takes as long as --seconds again, at most; after a stop what was checked "
                   "by then is written, if anything was");
    app.add_option(
        "--problem", problem,
        "file for the placement problem, with the work of its step: what a certificate is about (default: with "
        "--certificate FILE, FILE.problem.json.gz)");
    app.add_option("--out", out, "folder for plan.json, tasks.json, schedule.json, trace.json, report.html");
    CLI::Option* const search_option = app.add_option(
        "--search", search,
        "FILE.svg: how step and bound came together, over the seconds of the search; then the report has it, too");
    // a layout leaves nothing to search, and is kept to whatever it holds
    for (CLI::Option* const of_search : {objective_option, budget_option, meshes_option, search_option, context_option})
      layout_option->excludes(of_search);
    report.add_to(app, "report.html in the folder of --out; without it plan_report.html, or none with --json");
    app.footer(help_section("Devices", devices()) + help_section("Models of collectives", collective_models()) +
               help_section("Losses", losses()) + help_section("Solvers", known) + help_section("Overlap", overlaps()) +
               help_section("Recomputation", recomputations()) + help_section("Bucketings", bucketings()) +
               help_section("Schedulers", schedulers()));
    common.add_to(app, "placing and scheduling", false, "the device");
  }
};

}  // namespace programs
