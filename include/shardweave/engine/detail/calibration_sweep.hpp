#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/contention.hpp>
#include <shardweave/engine/calibration.hpp>
#include <shardweave/engine/collective_engine.hpp>
#include <shardweave/tasks/task.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardweave::inline v0::detail {

/// The middle value; of an even number the upper one.
/// \pre there is one
[[nodiscard]] inline double middle_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// What is measured through an engine, whose ranks all call alike.
template <collective_engine Engine>
class calibration_sweep {
 public:
  /// \param who      for messages
  /// \param ranks_per_node  the largest of what ranks say counts: all measure the same
  /// \param largest  the largest of what all ranks say; nobody is late afterwards. Every rank calls
  calibration_sweep(std::string_view who, Engine& engine, const calibration_options& options, std::int64_t ranks,
                    std::int64_t ranks_per_node, std::function<double(double)> largest)
      : engine_(engine), options_(options), ranks_(ranks), largest_(std::move(largest)) {
    if (options.smallest < bytes(1) || options.factor < 2 || options.repetitions < 1)
      refuse(error_category::input, std::string(who) + " was given sizes from " +
                                        std::to_string(options.smallest.count()) + " bytes by a factor of " +
                                        std::to_string(options.factor) + " and " + std::to_string(options.repetitions) +
                                        " repetitions, expected a size that is positive, a factor of 2 or more and "
                                        "one repetition or more");
    ranks_per_node_ =
        std::clamp(static_cast<std::int64_t>(largest_(static_cast<double>(ranks_per_node))), std::int64_t{1}, ranks_);
  }

  /// Collectives of every kind on groups of neighbours, alone and while ranks compute: of every size that divides the
  /// run, and whose groups all lie alike, within a node or on all of several nodes. Others have no shape to go by.
  void measure(device_calibration& found) {
    std::vector<double> slower_work, slower_collective;
    for (std::int64_t ranks = 2; ranks <= ranks_; ++ranks) {
      if (ranks_ % ranks != 0 || std::max(ranks, ranks_per_node_) % std::min(ranks, ranks_per_node_) != 0) continue;
      const process_group group{.id = 0, .name = "calibration", .size = ranks, .stride = 1};
      engine_.connect(std::span(&group, 1));
      for (const collective kind :
           {collective::all_gather, collective::reduce_scatter, collective::all_reduce, collective::all_to_all})
        for (bytes size = options_.smallest; size <= options_.largest; size *= options_.factor) {
          const double alone = median([&] { return together(kind, size, ranks, nanoseconds(0)).collective; });
          found.collectives.push_back({kind, shape(ranks), size, std::max(alone, 1e-3)});
          if (size < kibibytes(64) || ranks != ranks_) continue;
          const nanoseconds work = from_microseconds(2 * alone);
          const double busy = median([&] { return together(kind, size, ranks, work).collective; });
          const double with = median([&] { return together(kind, size, ranks, work).computation; });
          slower_collective.push_back(busy / alone);
          slower_work.push_back(1 + std::max(0.0, with - to_microseconds(work)) / alone);
        }
    }
    contention load;
    load.counts_processors = load.counts_memory = false;
    if (!slower_work.empty()) {
      load.compute_factor = std::max(1.0, middle_of(slower_work));
      load.collective_factor = std::max(1.0, middle_of(slower_collective));
    }
    found.under_load = load;
  }

  /// Of the slowest rank, the median of many.
  template <class Measure>
  [[nodiscard]] double median(Measure measure) {
    std::vector<double> times;
    for (std::size_t i = 0; i < options_.warm_up + options_.repetitions; ++i) {
      const double slowest = largest_(measure());
      if (i >= options_.warm_up) times.push_back(slowest);
    }
    return middle_of(std::move(times));
  }

 private:
  struct pair_of_times {
    double collective = 0;
    double computation = 0;
  };
  /// How a group of neighbours lies on nodes.
  [[nodiscard]] group_shape shape(std::int64_t ranks) const {
    const std::int64_t here = std::min(ranks, ranks_per_node_);
    return {.ranks_per_node = here, .nodes = ranks / here};
  }
  /// A collective, work of some duration, and a wait.
  pair_of_times together(collective kind, bytes size, std::int64_t ranks, nanoseconds work) {
    static_cast<void>(largest_(0));
    const bytes in = kind == collective::all_gather ? size / ranks : size;
    const collective_call call{0, 0, kind, "f32", "sum", in, size, {}, {}};
    const std::size_t launched = engine_.start(call);
    const std::size_t worked = engine_.run({0, work, compute_work::task, nullptr});
    engine_.wait(launched);
    engine_.finish();
    return {to_microseconds(engine_.span(launched).length()), to_microseconds(engine_.span(worked).length())};
  }

  Engine& engine_;
  calibration_options options_;
  std::int64_t ranks_;
  std::int64_t ranks_per_node_ = 1;
  std::function<double(double)> largest_;
};

}  // namespace shardweave::inline v0::detail
