#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/tasks/task.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

/// \file
/// What executes a schedule for real: one compute stream, and a channel for each process group.
///
/// Four engines are here: `virtual_engine`, whose clock is moved by the durations that it is told, `thread_engine`,
/// which lets them pass on threads of this process, `mpi_engine` (component mpi), which communicates between hosts, and
/// `nccl_engine` (component nccl), which does so between devices.

namespace shardweave::inline v0 {

/// From when to when something ran, by the clock of its engine.
struct time_span {
  nanoseconds start;
  nanoseconds end;
  [[nodiscard]] constexpr nanoseconds length() const { return end - start; }
  friend bool operator==(const time_span&, const time_span&) = default;
};

/// One collective of a bucket: whose it is, and how large.
struct bucket_part {
  task_index task = no_index;
  bytes bytes_in = {};  ///< this rank's
};

/// A collective to be launched. The views live until `finish` has returned.
struct collective_call {
  task_index task = no_index;  ///< the collective, or the first member of a bucket
  std::uint32_t channel = 0;   ///< position of its group among those of `connect`
  collective op = collective::other;
  std::string_view dtype = {};
  std::string_view reduce = {};
  bytes bytes_in = {};        ///< this rank's; of a bucket: the sum over its members
  bytes bytes_out = {};       ///< this rank's
  nanoseconds duration = {};  ///< how long it takes by the task graph; for engines that do not communicate
  std::span<const bucket_part> parts = {};  ///< of a bucket: its members, as they are packed; else empty
  /// Of a bucket: a group of collectives on the members' own buffers (`bucket::coalesced`). It is neither packed nor
  /// unpacked: `run` is not told of it.
  bool coalesced = false;
};

/// What work on the compute stream does: a task's own, or a bucket's copies.
enum class compute_work : std::uint8_t {
  task,   ///< whatever the task does
  pack,   ///< members' inputs into the buffer of a bucket that is started next
  unpack  ///< the buffer of a bucket that is done into members' outputs
};

/// Work for the compute stream.
struct compute_call {
  task_index task = no_index;  ///< whose it is; of packing and unpacking: the bucket's first member
  nanoseconds duration = {};   ///< how long it takes by the task graph
  compute_work work = compute_work::task;
  /// Of packing and unpacking: the bucket's collective, at the same address both times and when it is started.
  const collective_call* bucket = nullptr;
};

/// Executes what a schedule launches, in the order in which it is told.
///
/// `replay` calls from one thread: `connect` first, `finish` last, in between any of the others. The compiler
/// checks the calls; an engine also promises that
///  - the compute stream does one thing at a time, in the order of `run` and `wait`;
///  - a channel does one collective at a time, in the order of `start`, and none before the compute stream has come
///    to the place at which it was started;
///  - `start` never waits for the collective, `wait` holds the compute stream until the collective is done;
///  - `run`, `start` and `wait` may return before what they ask for is done (a device has a queue of its own):
///    `span` is asked only after `finish`, which returns when everything is done;
///  - the operations of one `connect` are numbered 0, 1, 2, ... in the order of the calls;
///  - what the backend refuses leaves as `error` of category `backend`.
///
/// | expression | result | meaning |
/// |---|---|---|
/// | `E::name` | text | for messages and reports |
/// | `e.connect(groups)` | | one communicator for each group; forgets the operations so far |
/// | `e.run(compute_call)` | a number | work on the compute stream |
/// | `e.start(collective_call)` | a number | launches a collective on its channel |
/// | `e.wait(number)` | a number | the compute stream waits for that collective; the span is its stall |
/// | `e.finish()` | | returns when everything is done |
/// | `e.now()` | `nanoseconds` | the clock: of the compute stream, or of the wall |
/// | `e.span(number)` | `time_span` | when that operation ran |
template <class E>
concept collective_engine = requires(E& engine, std::span<const process_group> groups, const compute_call& work,
                                     const collective_call& communication, std::size_t operation) {
  { E::name } -> std::convertible_to<std::string_view>;
  engine.connect(groups);
  { engine.run(work) } -> std::same_as<std::size_t>;
  { engine.start(communication) } -> std::same_as<std::size_t>;
  { engine.wait(operation) } -> std::same_as<std::size_t>;
  engine.finish();
  { engine.now() } -> std::same_as<nanoseconds>;
  { engine.span(operation) } -> std::same_as<time_span>;
};

}  // namespace shardweave::inline v0
