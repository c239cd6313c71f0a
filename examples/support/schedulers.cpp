#include "schedulers.hpp"

#include <shardweave/bucketing/after_split.hpp>
#include <shardweave/bucketing/bucketing_policy.hpp>
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/bucketing/topological_span.hpp>
#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/schedule/benefit.hpp>
#include <shardweave/schedule/best_known.hpp>
#include <shardweave/schedule/compatibility.hpp>
#include <shardweave/schedule/exact.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/overlap_scheduler.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/schedule/search.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace programs {

namespace {

/// \param make  the pass, of a memory budget
template <class Make>
named_pass pass_by(const std::string& about, Make make) {
  const std::string name(decltype(make(std::nullopt))::name);
  return {name,
          about,
          [make](const auto& graph, const auto& control, auto memory) { return make(memory).plan(graph, control); },
          {name, about,
           [make](const auto& graph, const auto& control, auto memory) { return make(memory)(graph, control); }},
          {name, about, [make](const auto& graph, const auto& buckets, const auto& control, auto memory) {
             return make(memory)(graph, buckets, control);
           }}};
}

shardweave::benefit<> benefit_within(std::optional<shardweave::bytes> memory) {
  shardweave::benefit policy;
  policy.memory = policy.order.memory = memory;
  return policy;
}

}  // namespace

std::vector<named_pass> passes() {
  const auto known = []<class Pass>(Pass pass, const std::string& about) {
    named_pass named = pass_by(about, [pass](std::optional<shardweave::bytes>) { return pass; });
    named.parts = Pass::passes();
    return named;
  };
  return {pass_by("the best of benefit with prefetch and of the passes below, made better by a short search",
                  [](auto memory) { return shardweave::best_known{.memory = memory}; }),
          known(shardweave::torch_default(), "as PyTorch, buckets before and after scheduling"),
          known(shardweave::torch_no_prebucket(), "as PyTorch, buckets after scheduling"),
          known(shardweave::torch_overlap_only(), "as PyTorch, no buckets"),
          known(shardweave::autoparallel_span_buckets(),
                "as AutoParallel, pull request 481: buckets by span, of what stands within 1500 tasks of each other"),
          known(shardweave::autoparallel_size_buckets(),
                "as AutoParallel, pull request 412: buckets by size, 25 MiB each")};
}

std::vector<named_bucketing> bucketings() {
  std::vector<named_bucketing> all = {
      {"benefit", "buckets of the size with which the schedule ends first, or none",
       [](const auto& graph, const auto& control, auto memory) { return benefit_within(memory)(graph, control); }},
      {"greedy", "a fast bucketing: in graph order, where merging gains time",
       [](const auto& graph, const auto& control, auto) { return shardweave::greedy{}(graph, control); }},
      {"topological_span", "buckets whose members stand near each other, in graph order",
       [](const auto& graph, const auto& control, auto) { return shardweave::topological_span{}(graph, control); }},
      {"after_split", "as greedy, in the forward and the backward half of a joint graph each for itself",
       [](const auto& graph, const auto& control, auto) { return shardweave::after_split<>{}(graph, control); }},
      {"none", "merges nothing, to compare with",
       [](const auto& graph, const auto& control, auto) { return shardweave::no_bucketing{}(graph, control); }}};
  for (named_pass& pass : passes()) all.push_back(std::move(pass.bucketing));
  return all;
}

std::vector<named_scheduler> schedulers() {
  std::vector<named_scheduler> all = {
      {"prefetch", "a fast order: launches collectives early and waits late",
       [](const auto& graph, const auto& buckets, const auto& control, auto memory) {
         shardweave::prefetch policy;
         policy.memory = memory;
         return policy(graph, buckets, control);
       }},
      {"search", "for time to spare: begins with prefetch and tries changes of order and buckets until --seconds",
       [](const auto& graph, const auto& buckets, const auto& control, auto memory) {
         shardweave::search policy;
         policy.rebucket = true;
         policy.memory = policy.start.memory = memory;
         return policy(graph, buckets, control);
       }},
      {"exact", "the best order, proven, of a few dozen tasks",
       [](const auto& graph, const auto& buckets, const auto& control, auto memory) {
         return shardweave::exact{.memory = memory}(graph, buckets, control);
       }},
      {"overlap", "PyTorch's way with settings of one's own: hides by an account of what is still exposed",
       [](const auto& graph, const auto& buckets, const auto& control, auto) {
         return shardweave::overlap_scheduler{}(graph, buckets, control);
       }},
      {"in_order", "the original order, to compare with",
       [](const auto& graph, const auto& buckets, const auto& control, auto) {
         return shardweave::in_order{}(graph, buckets, control);
       }}};
  for (named_pass& pass : passes()) all.push_back(std::move(pass.scheduler));
  return all;
}

const named_pass* pass_of(const way& by, const std::vector<named_pass>& all) {
  for (const named_pass& one : all)
    if (one.name == by.bucketing && one.name == by.scheduler) return &one;
  return nullptr;
}

way way_of(std::string bucketing, std::string scheduler, const std::string& usual) {
  const auto all = passes();
  if (bucketing.empty() && scheduler.empty()) scheduler = usual;
  const auto beside = [&](const std::string& given, const std::string& other) {
    return pass_of({given, given}, all) != nullptr ? given : other;
  };
  if (scheduler.empty()) scheduler = beside(bucketing, schedulers().front().name);
  if (bucketing.empty()) bucketing = beside(scheduler, bucketings().front().name);
  return {std::move(bucketing), std::move(scheduler)};
}

shardweave::schedule planned(const way& by, const shardweave::task_graph& graph,
                             const shardweave::solve_control& control, std::optional<shardweave::bytes> budget,
                             std::optional<shardweave::bytes> aim) {
  const auto all = passes();
  if (const named_pass* pass = pass_of(by, all)) return pass->plan(graph, control, budget);
  if (!budget) budget = aim;
  if (by.bucketing == shardweave::benefit<>::name && by.scheduler == shardweave::prefetch::name)
    return benefit_within(budget).plan(graph, control);
  const shardweave::deadline clock(control);
  const auto buckets = by_name(bucketings(), by.bucketing).run(graph, control, budget);
  return by_name(schedulers(), by.scheduler).run(graph, buckets, clock.rest(), budget);
}

shardweave::schedule planned_with(const overlap_changes& changes, const way& by, const shardweave::task_graph& graph,
                                  const shardweave::solve_control& control, std::optional<shardweave::bytes> memory) {
  shardweave::overlap_passes parts;
  std::string known = "overlap";
  bool has_settings = by.scheduler == known;
  for (const named_pass& one : passes()) {
    if (!one.parts) continue;
    known += ", " + one.name;
    if (one.name != by.scheduler) continue;
    parts = *one.parts;
    has_settings = true;
  }
  if (!has_settings)
    shardweave::refuse(
        shardweave::error_category::input,
        "--scheduler " + by.scheduler + " has none of the settings that were given, expected one of " + known);
  for (const auto& change : changes) change(parts.settings);
  if (by.bucketing == by.scheduler) return parts.plan(graph, control);
  parts.after.reset();
  const shardweave::deadline clock(control);
  return parts.plan(graph, by_name(bucketings(), by.bucketing).run(graph, control, memory), clock.rest());
}

}  // namespace programs
