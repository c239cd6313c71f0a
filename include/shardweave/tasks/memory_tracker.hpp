#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// \file
/// How much memory is alive while tasks run in an order: the one definition for simulator and schedulers.

namespace shardweave::inline v0 {

/// Who lists and who uses which storage; fixed for a task graph, shared by its trackers. A task uses the
/// storages that its inputs' producers list; only storages on the accelerator are kept, unless the host's are asked
/// for. Complexity: O(V + E) to build.
class storage_uses {
 public:
  /// \param where  which storages are kept; of the host's, those of inputs are alive from the start
  explicit storage_uses(const task_graph& g, storage_device where = storage_device::gpu);

  /// Storages that a task lists among its outputs.
  [[nodiscard]] std::span<const std::uint32_t> listed(task_index t) const {
    return std::span(listed_).subspan(listed_start_[t], listed_start_[t + 1] - listed_start_[t]);
  }
  /// Distinct storages that a task reads.
  [[nodiscard]] std::span<const std::uint32_t> used(task_index t) const {
    return std::span(used_).subspan(used_start_[t], used_start_[t + 1] - used_start_[t]);
  }
  [[nodiscard]] bytes size(std::uint32_t s) const { return size_[s]; }
  [[nodiscard]] std::uint32_t user_count(std::uint32_t s) const { return users_[s]; }
  /// May be freed after its last user: false for inputs whose names begin with `primals`, as in PyTorch's joint graphs.
  [[nodiscard]] bool is_releasable(std::uint32_t s) const { return releasable_[s]; }
  /// The task frees nothing: it is the output.
  [[nodiscard]] bool keeps_inputs(task_index t) const { return keeps_[t]; }
  /// Storages alive from the start, with repeats.
  [[nodiscard]] std::span<const std::uint32_t> initial() const { return initial_; }
  [[nodiscard]] bytes baseline() const { return baseline_; }
  /// The same uses, where only the storages that `counts` says take memory: what they alone hold, from the start (be
  /// the baseline stated otherwise) to the end. Trackers of parts that share no storage sum to that of the whole, but
  /// for the buffers of buckets.
  /// \param counts  `counts(std::uint32_t storage)`, convertible to bool
  template <class Counts>
  [[nodiscard]] storage_uses only(Counts counts) const {
    storage_uses part = *this;
    for (std::uint32_t s = 0; s < size_.size(); ++s)
      if (!counts(s)) part.size_[s] = bytes();
    part.baseline_ = part.size_of_initial();
    return part;
  }
  /// Of the storages alive from the start, each once.
  [[nodiscard]] bytes size_of_initial() const;

 private:
  std::vector<bytes> size_;
  std::vector<std::uint32_t> users_;
  std::vector<bool> releasable_, keeps_;
  std::vector<std::uint32_t> listed_, used_, initial_;
  std::vector<std::uint32_t> listed_start_ = {0}, used_start_ = {0};
  bytes baseline_;
};

/// Live and peak bytes of an order that is told task by task. A task allocates the storages that it is the first to
/// list; the peak is sampled; then those storages are freed whose last user in this order is this task. Never freed are
/// storages of inputs whose names begin with `primals`, storages without users, and those whose last user is the
/// output. A bucket's members are not run: `launch` takes the packing and receiving buffers and frees the members'
/// inputs; `unpack`, at the first wait for any of them, makes their own storages live and frees the buffers. A
/// coalesced bucket has no buffers: its members' own storages are live from the launch on.
///
/// A tracker is a value: a copy is a checkpoint. Complexity: O(storages listed and used) per call.
class memory_tracker {
 public:
  /// \pre `uses` outlives the tracker
  explicit memory_tracker(const storage_uses& uses, std::size_t storage_count)
      : uses_(&uses), left_(storage_count), known_(storage_count), live_(uses.baseline()), peak_(live_) {
    for (std::uint32_t s = 0; s < storage_count; ++s) left_[s] = uses.user_count(s);
    for (const std::uint32_t s : uses.initial()) known_[s] = true;
  }

  [[nodiscard]] bytes live() const { return live_; }
  [[nodiscard]] bytes peak() const { return peak_; }
  /// The peak from here on.
  void restart_peak() { peak_ = live_; }
  /// Bytes that running `t` now would make live.
  [[nodiscard]] bytes demand(task_index t) const {
    bytes sum;
    const auto listed = uses_->listed(t);
    for (std::size_t i = 0; i < listed.size(); ++i)
      if (!known_[listed[i]] && std::find(listed.begin(), listed.begin() + static_cast<std::ptrdiff_t>(i), listed[i]) ==
                                    listed.begin() + static_cast<std::ptrdiff_t>(i))
        sum += uses_->size(listed[i]);
    return sum;
  }

  void run(task_index t) {
    allocate(t);
    sample();
    release_inputs(t);
  }
  void launch(const bucket& b) {
    if (b.coalesced)
      for (const task_index t : b.members) allocate(t);
    else
      live_ += b.bytes_in + b.bytes_out;
    sample();
    for (const task_index t : b.members) release_inputs(t);
  }
  void unpack(const bucket& b) {
    if (b.coalesced) return;
    for (const task_index t : b.members) allocate(t);
    sample();
    live_ -= b.bytes_in + b.bytes_out;
  }

 private:
  void sample() { peak_ = std::max(peak_, live_); }
  void allocate(task_index t) {
    for (const std::uint32_t s : uses_->listed(t)) {
      if (known_[s]) continue;
      known_[s] = true;
      live_ += uses_->size(s);
    }
  }
  void release_inputs(task_index t) {
    const bool keeps = uses_->keeps_inputs(t);
    for (const std::uint32_t s : uses_->used(t)) {
      SHARDWEAVE_EXPECTS(left_[s] > 0);
      if (--left_[s] == 0 && !keeps && uses_->is_releasable(s)) live_ -= uses_->size(s);
    }
  }

  const storage_uses* uses_;
  std::vector<std::uint32_t> left_;  // users that have not run
  std::vector<bool> known_;          // was made live, be it freed again or not
  bytes live_;
  bytes peak_;
};

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/tasks/impl/memory_tracker.hpp>
#endif
