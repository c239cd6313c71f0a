#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/schedule/compatibility.hpp>
#include <shardweave/schedule/overlap_settings.hpp>
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

/// Decides both at once; stands for a bucketing and for a scheduler, too.
struct named_pass {
  std::string name;
  std::string about;
  /// The last argument is the memory budget, if there is one; not every pass heeds it.
  std::function<shardweave::schedule(const shardweave::task_graph&, const shardweave::solve_control&,
                                     std::optional<shardweave::bytes>)>
      plan;
  named_bucketing bucketing;
  named_scheduler scheduler;
  std::optional<shardweave::overlap_passes> parts = std::nullopt;  ///< of passes that others know
};

/// All but the first bear the names by which other programs' users know them.
[[nodiscard]] std::vector<named_pass> passes();

/// Policies, the first of which is the default where a scheduler is named.
[[nodiscard]] std::vector<named_bucketing> bucketings();

/// Policies, the first of which is the default where a bucketing is named.
[[nodiscard]] std::vector<named_scheduler> schedulers();

/// \pre there is one of that name
template <class Named>
[[nodiscard]] const Named& by_name(const std::vector<Named>& all, const std::string& name) {
  for (const Named& one : all)
    if (one.name == name) return one;
  return all.front();
}

/// The bucketing and the scheduler that a command line asks for.
struct way {
  std::string bucketing;
  std::string scheduler;
};

/// The pass that a way is; null where it is two policies.
[[nodiscard]] const named_pass* pass_of(const way& by, const std::vector<named_pass>& all);

/// \param bucketing, scheduler  names, or nothing where none was given; the name of a pass stands for both
/// \param usual  the scheduler, or the pass, where neither was given
[[nodiscard]] way way_of(std::string bucketing, std::string scheduler, const std::string& usual);

/// Buckets and order by the names; a pass plans once, and so do `benefit` and `prefetch`, which it tries buckets with.
/// \param budget  for the peak, if there is one
/// \param aim     peak that policies keep to if there is no budget; passes have aims of their own
[[nodiscard]] shardweave::schedule planned(const way& by, const shardweave::task_graph& graph,
                                           const shardweave::solve_control& control,
                                           std::optional<shardweave::bytes> budget = std::nullopt,
                                           std::optional<shardweave::bytes> aim = std::nullopt);

/// What a command line says of the settings of exposure-driven scheduling, in its order.
using overlap_changes = std::vector<std::function<void(shardweave::overlap_settings&)>>;

/// The same with other settings of exposure-driven scheduling. Of a pass that is the scheduler alone only the settings
/// count: the buckets given are scheduled.
/// \throws error (input) if the scheduler has no such settings
[[nodiscard]] shardweave::schedule planned_with(const overlap_changes& changes, const way& by,
                                                const shardweave::task_graph& graph,
                                                const shardweave::solve_control& control,
                                                std::optional<shardweave::bytes> memory);

}  // namespace programs
