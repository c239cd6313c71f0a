// What a newcomer asks, and where the site answers it: one of the addresses (or what begins so) is among the first three.
"use strict";
self.questions = [
  ["which header has glpk?", ["reference/solve/backend/glpk.html"]],
  ["what is the order of a dim_strategy?", ["reference/spmd/rules.html#dim_strategy", "fields/spmd.html#dim_strategy"]],
  ["how do I switch savings on for my model?", ["questions.html#switching-on-savings", "cookbook.html#count-what-hides"]],
  ["how do I warm start?", ["questions.html#warm-start", "cookbook.html#start-from-a-known-assignment"]],
  ["how do I write my own cost model?", ["questions.html#my-own-cost-model", "guide.html#2-a-graph-and-its-costs", "cost_models.html#when-to-write"]],
  ["how do I write my own solver?", ["questions.html#my-own-solver", "rooms/solve.html#a-solver-of-your-own"]],
  ["how do I add my own operator?", ["questions.html#my-own-operator", "rooms/spmd.html#how-to-extend"]],
  ["how do I write my own bucketing policy?", ["questions.html#my-own-bucketing", "rooms/bucketing.html#how-to-extend", "reference/bucketing/bucketing_policy.html"]],
  ["how do I write my own scheduler?", ["questions.html#my-own-bucketing-policy-or-scheduler", "rooms/schedule.html#how-to-extend"]],
  ["what does exit status 3 mean?", ["questions.html#what-an-exit-status-means", "formats.html#what---json-prints"]],
  ["how do I limit the time of a solve?", ["questions.html#time-limits", "cookbook.html#limits-a-stop-progress", "fields/core.html#solve_control"]],
  ["how do I stop a solve from another thread?", ["questions.html#time-limits", "cookbook.html#limits-a-stop-progress"]],
  ["how do I set a memory budget?", ["questions.html#a-memory-budget", "rooms/spmd.html#memory", "reference/spmd/memory_budget.html"]],
  ["find_package in cmake", ["index.html#how-to-include-it", "questions.html#using-it-from-cmake", "packaging/README.html"]],
  ["can I build without exceptions?", ["index.html#how-to-include-it", "questions.html#using-it-from-cmake"]],
  ["how do I open a timeline in perfetto?", ["trace.html#opening-it"]],
  ["read a task graph from a json file", ["questions.html#reading-a-task-graph", "rooms/io.html", "reference/io/read_tasks.html"]],
  ["why was this strategy chosen?", ["questions.html#why-a-strategy-was-chosen", "reference/placement/explain.html"]],
  ["how do I calibrate collectives on my machine?", ["questions.html#calibrating-on-my-own-machine", "rooms/engine.html#on-the-ranks-of-an-mpi-run"]],
  ["what is a lower bound and a gap?", ["questions.html#what-a-bound-and-a-gap-tell", "concepts.html#words", "reference/solve/solution.html#solution"]],
  ["which licence does shardweave have?", ["index.html#licence", "questions.html#which-licence"]],
  ["keep a parameter whole on every device", ["questions.html#keeping-a-parameter-whole", "rooms/spmd.html#annotations"]],
  ["html report of a plan", ["questions.html#looking-at-a-plan", "rooms/report.html#the-report", "reference/report/html.html"]],
  ["how do I recompute activations to save memory?", ["rooms/memory.html", "reference/memory/recomputation_choices.html", "questions.html#a-memory-budget"]],
  ["local_search", ["reference/solve/local_search.html"]],
  ["sharding::parse", ["reference/spmd/sharding.html"]],
  ["replay on gpus", ["rooms/engine.html#on-gpus"]],
  ["which compilers are supported?", ["questions.html#which-compilers", "index.html#requirements-and-components"]],
  ["how do I compile faster?", ["questions.html#compiling-faster", "compile_times.html"]],
  ["do I need a GPU?", ["questions.html#do-i-need-a-gpu"]],
  ["how accurate are the predicted times?", ["questions.html#how-accurate", "measured.html"]],
  ["is the result deterministic?", ["questions.html#is-the-result-deterministic", "reliability.html#equal-bits"]],
  ["thread safety", ["questions.html#thread-safety"]],
  ["add a device that is not built in", ["questions.html#a-device-that-is-not-built-in", "rooms/cost.html#calibration"]],
  ["command line options of plan_training", ["questions.html#command-line-options"]],
  ["bash completion", ["questions.html#command-line-options"]],
  ["activation checkpointing", ["questions.html#a-memory-budget", "rooms/memory.html"]],
  ["custom solver", ["questions.html#my-own-solver", "rooms/solve.html#a-solver-of-your-own"]],
];
/** Those that are not answered, in words. */
self.unanswered = () => questions.flatMap(([question, answers]) => {
  const first = searchSite(question, searchIndex, 3).map((hit) => hit.u);
  return first.some((u) => answers.some((a) => u.startsWith(a))) ? [] : [question + " -> " + first.join(", ")];
});
