#pragma once

#include <shardweave/tasks/task_graph.hpp>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>

/// \file
/// Files of tasks that a command line names.

namespace programs {

/// TASKS of a command line, and what prices those of a trace that states no durations.
struct task_input {
  std::string file;
  std::string device;      ///< empty: only what states its duration can be read
  std::int64_t ranks = 0;  ///< of groups that a trace does not describe

  void add_to(CLI::App& app) {
    app.add_option("tasks", file, "TASKS: shardweave.tasks (.json, .json.gz), or a Chakra execution trace (.et, .json)")
        ->required();
    add_prices_to(app);
  }
  void add_prices_to(CLI::App& app) {
    app.add_option("--priced-on", device,
                   "of a Chakra trace: the device that prices what states no duration, and merged collectives: h100, "
                   "a100, ... (as plan_training --help lists them)");
    app.add_option("--group-ranks", ranks, "of a Chakra trace: ranks in groups of which it does not say who is in them")
        ->check(CLI::PositiveNumber);
  }

  /// \throws shardweave::error naming the file, or the option that goes with no such file
  [[nodiscard]] shardweave::task_graph read() const;
};

}  // namespace programs
