#pragma once

#include <shardweave/bucketing/bucketing_policy.hpp>
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/bucketing/topological_span.hpp>
#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/schedule/benefit.hpp>
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
#include <vector>

/// \file
/// The bucketings and schedulers that a command line can name: a thin layer over the policy types.

namespace programs {

struct named_bucketing {
  std::string name;
  std::string about;
  std::function<shardweave::bucketing_result(const shardweave::task_graph&, const shardweave::solve_control&,
                                             std::optional<shardweave::bytes>)>
      policy;

  /// \param memory  budget for the peak, if there is one; not every policy heeds it
  [[nodiscard]] shardweave::bucketing_result run(const shardweave::task_graph& graph,
                                                 const shardweave::solve_control& control,
                                                 std::optional<shardweave::bytes> memory = std::nullopt) const {
    return policy(graph, control, memory);
  }
};

struct named_scheduler {
  std::string name;
  std::string about;
  /// The last argument is the memory budget, if there is one.
  std::function<shardweave::schedule(const shardweave::task_graph&, const shardweave::bucketing_result&,
                                     const shardweave::solve_control&, std::optional<shardweave::bytes>)>
      run;
};

/// What other programs' users know under this name, as bucketing or as scheduler.
template <class Pass>
[[nodiscard]] named_bucketing buckets_of(const std::string& about) {
  return {std::string(Pass::name), about,
          [](const auto& graph, const auto& control, auto) { return Pass{}(graph, control); }};
}
template <class Pass>
[[nodiscard]] named_scheduler order_of(const std::string& about) {
  return {std::string(Pass::name), about, [](const auto& graph, const auto& buckets, const auto& control, auto) {
            return Pass{}(graph, buckets, control);
          }};
}

/// All of them; the first is the default.
[[nodiscard]] inline std::vector<named_bucketing> bucketings() {
  return {{"benefit", "buckets of the size with which the schedule ends first, or none",
           [](const auto& graph, const auto& control, auto memory) {
             shardweave::benefit policy;
             policy.memory = policy.order.memory = memory;
             return policy(graph, control);
           }},
          {"greedy", "fills buckets in graph order, where merging gains time",
           [](const auto& graph, const auto& control, auto) { return shardweave::greedy{}(graph, control); }},
          {"topological_span", "fills buckets in graph order that do not reach far",
           [](const auto& graph, const auto& control, auto) { return shardweave::topological_span{}(graph, control); }},
          {"none", "merges nothing",
           [](const auto& graph, const auto& control, auto) { return shardweave::no_bucketing{}(graph, control); }},
          buckets_of<shardweave::torch_default>("as PyTorch, before and after scheduling"),
          buckets_of<shardweave::torch_no_prebucket>("as PyTorch, after scheduling"),
          buckets_of<shardweave::torch_overlap_only>("as PyTorch: none"),
          buckets_of<shardweave::autoparallel_span_buckets>(
              "as AutoParallel, pull request 481: by span, what stands within 1500 tasks of each other"),
          buckets_of<shardweave::autoparallel_size_buckets>("as AutoParallel, pull request 412: by size, 25 MiB each")};
}

[[nodiscard]] inline std::vector<named_scheduler> schedulers() {
  return {{"prefetch", "launches collectives early and waits late",
           [](const auto& graph, const auto& buckets, const auto& control, auto memory) {
             shardweave::prefetch policy;
             policy.memory = memory;
             return policy(graph, buckets, control);
           }},
          {"search", "begins with prefetch and tries changes, as long as --seconds says",
           [](const auto& graph, const auto& buckets, const auto& control, auto memory) {
             shardweave::search policy;
             policy.rebucket = true;
             policy.memory = policy.start.memory = memory;
             return policy(graph, buckets, control);
           }},
          {"exact", "the best order, proven, for small graphs",
           [](const auto& graph, const auto& buckets, const auto& control, auto memory) {
             return shardweave::exact{.memory = memory}(graph, buckets, control);
           }},
          {"overlap", "hides by an account of what is still exposed",
           [](const auto& graph, const auto& buckets, const auto& control, auto) {
             return shardweave::overlap_scheduler{}(graph, buckets, control);
           }},
          {"in_order", "the original order",
           [](const auto& graph, const auto& buckets, const auto& control, auto) {
             return shardweave::in_order{}(graph, buckets, control);
           }},
          order_of<shardweave::torch_default>("as PyTorch"),
          order_of<shardweave::torch_no_prebucket>("as PyTorch without buckets before scheduling"),
          order_of<shardweave::torch_overlap_only>("as PyTorch without buckets"),
          order_of<shardweave::autoparallel_span_buckets>("as AutoParallel, pull request 481"),
          order_of<shardweave::autoparallel_size_buckets>("as AutoParallel, pull request 412")};
}

template <class Named>
[[nodiscard]] std::vector<std::string> names_of(const std::vector<Named>& all) {
  std::vector<std::string> names;
  for (const Named& one : all) names.push_back(one.name);
  return names;
}

/// \pre there is one of that name
template <class Named>
[[nodiscard]] const Named& by_name(const std::vector<Named>& all, const std::string& name) {
  for (const Named& one : all)
    if (one.name == name) return one;
  return all.front();
}

}  // namespace programs
