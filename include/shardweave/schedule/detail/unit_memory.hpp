#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/memory_tracker.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstdint>
#include <vector>

/// \file
/// Live bytes while units run in sequence.

namespace shardweave::inline v0::detail {

/// A `memory_tracker` for units. A bucket is launched as a whole and unpacked at the first wait for any of its members,
/// before that wait runs; every other unit is its only task. A copy is a checkpoint.
/// Complexity: that of `memory_tracker`.
class unit_memory {
 public:
  /// \pre all arguments outlive this
  unit_memory(const task_graph& g, const launch_units& units, const storage_uses& uses)
      : g_(&g), units_(&units), tracker_(uses, g.storages().size()), unpacked_(units.size()) {}

  /// \pre all that `u` depends on has run
  void run(std::uint32_t u) {
    if (units_->is_bucket(u)) return tracker_.launch(units_->bucket_at(u));
    if (const task_index c = g_->completes(units_->first(u)); c != no_index) {
      const std::uint32_t launched = units_->unit_of(c);
      if (units_->is_bucket(launched) && !unpacked_[launched]) {
        unpacked_[launched] = true;
        tracker_.unpack(units_->bucket_at(launched));
      }
    }
    tracker_.run(units_->first(u));
  }
  /// Whether some wait for the bucket was passed; until then its result is packed.
  [[nodiscard]] bool is_unpacked(std::uint32_t bucket) const { return unpacked_[bucket]; }
  /// Bytes that running `u` now would make live.
  /// \pre `u` is not a bucket
  [[nodiscard]] bytes demand(std::uint32_t u) const { return tracker_.demand(units_->first(u)); }
  [[nodiscard]] bytes live() const { return tracker_.live(); }
  [[nodiscard]] bytes peak() const { return tracker_.peak(); }
  /// Measures the peak from here on.
  void restart_peak() { tracker_.restart_peak(); }

 private:
  const task_graph* g_;
  const launch_units* units_;
  memory_tracker tracker_;
  std::vector<bool> unpacked_;
};

}  // namespace shardweave::inline v0::detail
