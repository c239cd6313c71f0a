#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/engine/collective_engine.hpp>
#include <shardweave/engine/detail/nccl_timing.hpp>
#include <shardweave/engine/nccl_handles.hpp>
#include <shardweave/engine/payload.hpp>
#include <shardweave/tasks/task.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

/// \file
/// What an engine on a device was told, and how far the device is with it.

namespace shardweave::inline v0::detail {

/// One thing that an engine was told. Of a collective, or of a bucket of them, also its channel, its shape and the
/// buffers of its calls: one call, or one for each member of a bucket that is grouped.
struct queued_operation {
  static constexpr auto none = static_cast<std::size_t>(-1);

  task_index task = no_index;
  std::uint32_t channel = no_index;         ///< of collectives
  const collective_call* bucket = nullptr;  ///< the call, if it has parts
  bool grouped = false;                     ///< a bucket whose members stay in buffers of their own
  std::size_t waits_for = none;             ///< of waits
  payload_shape shape = {};
  std::vector<device_memory> sent = {}, received = {};

  /// Elements in a block, of each call.
  [[nodiscard]] std::span<const std::int64_t> units() const {
    return grouped ? std::span(shape.units) : std::span(&shape.unit, 1);
  }
};

/// The operations since the last `restart`, with two events for each, and the compute stream. Knows which ones the
/// device may still be at, and by how many commands the host is ahead.
class nccl_queue {
 public:
  /// Commands on all streams that the host is ahead: the driver holds some thousand, and blocks where they are full.
  static constexpr std::int64_t window = 400;

  nccl_queue() : compute_(make_stream()), base_(make_event()) {}

  [[nodiscard]] cudaStream_t compute() const { return compute_.get(); }
  [[nodiscard]] std::size_t size() const { return operations_.size(); }
  /// They stay where they are while more are added.
  [[nodiscard]] queued_operation& operator[](std::size_t number) { return operations_[number]; }
  [[nodiscard]] const queued_operation& operator[](std::size_t number) const { return operations_[number]; }
  [[nodiscard]] cudaEvent_t begin_of(std::size_t number) const { return events_[2 * number].get(); }
  [[nodiscard]] cudaEvent_t end_of(std::size_t number) const { return events_[2 * number + 1].get(); }
  /// The end of what was put on the compute stream last.
  [[nodiscard]] cudaEvent_t last_compute() const { return last_compute_; }

  /// \returns its number
  std::size_t add(queued_operation o) {
    operations_.push_back(std::move(o));
    while (events_.size() < 2 * operations_.size()) events_.push_back(make_event());
    return operations_.size() - 1;
  }
  /// What comes next on the compute stream, up to `end_compute`, is a new operation.
  std::size_t begin_compute(task_index task) {
    const std::size_t number = add({.task = task});
    record(begin_of(number), compute());
    return number;
  }
  std::size_t end_compute(std::size_t number, std::int64_t commands) {
    record(end_of(number), compute());
    last_compute_ = end_of(number);
    computing_.push_back(number);
    fly(number, commands + 2);
    return number;
  }
  /// All commands of an operation are on its stream.
  void fly(std::size_t number, std::int64_t commands) {
    flight_.emplace_back(number, commands);
    in_flight_ += commands;
  }

  /// Takes note of what is done. What is done first was begun first here: nothing waits for what comes after it, on
  /// no rank.
  void land() {
    for (; !flight_.empty() && is_reached(end_of(flight_.front().first)); flight_.pop_front())
      in_flight_ -= flight_.front().second;
  }
  [[nodiscard]] bool is_idle() const { return flight_.empty(); }
  [[nodiscard]] bool has_room(std::int64_t commands) const { return is_idle() || in_flight_ + commands <= window; }
  /// Whether the compute stream has done anything since it was asked last.
  bool advance() {
    const std::size_t before = computing_.size();
    while (!computing_.empty() && is_reached(end_of(computing_.front()))) computing_.pop_front();
    return computing_.size() < before;
  }
  /// What the compute stream is at, or comes to next; nothing if it is done with all.
  [[nodiscard]] const queued_operation* computing() const {
    return computing_.empty() ? nullptr : &operations_[computing_.front()];
  }
  /// What the compute stream waits for.
  [[nodiscard]] std::size_t awaited() const {
    return !computing_.empty() && is_reached(begin_of(computing_.front())) ? operations_[computing_.front()].waits_for
                                                                           : queued_operation::none;
  }

  /// Forgets the operations. \pre the device is done with them
  void clear() { operations_.clear(); }
  /// The clock begins here.
  void restart() {
    record(base_.get(), compute());
    last_compute_ = base_.get();
  }
  /// The device has been stopped: nothing is under way.
  void give_up() { flight_.clear(); }
  /// By the device's clock, since the last `restart`. \pre it is reached
  [[nodiscard]] nanoseconds time_of(cudaEvent_t event) const { return elapsed(base_.get(), event); }

 private:
  device_stream compute_;
  device_event base_;
  std::vector<device_event> events_;  // two for each operation
  std::deque<queued_operation> operations_;
  std::deque<std::pair<std::size_t, std::int64_t>> flight_;  // operations the device may be at, and their commands
  std::int64_t in_flight_ = 0;
  std::deque<std::size_t> computing_;  // operations of the compute stream that are not known to be done
  cudaEvent_t last_compute_ = nullptr;
};

}  // namespace shardweave::inline v0::detail
