#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/engine/collective_engine.hpp>
#include <shardweave/engine/detail/nccl_channels.hpp>
#include <shardweave/engine/detail/nccl_queue.hpp>
#include <shardweave/engine/detail/nccl_timing.hpp>
#include <shardweave/engine/detail/nccl_values.hpp>
#include <shardweave/engine/detail/on_exception.hpp>
#include <shardweave/engine/nccl_copy_work.hpp>
#include <shardweave/engine/nccl_handles.hpp>
#include <shardweave/engine/payload.hpp>
#include <shardweave/engine/rank_agreement.hpp>
#include <shardweave/engine/rank_meeting.hpp>
#include <shardweave/tasks/task.hpp>

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// An engine on devices that communicate by NCCL.

namespace shardweave::inline v0 {

/// How the members of a bucket become one launch.
enum class nccl_bucket : std::uint8_t {
  packed,  ///< copied into one buffer, which one collective carries, as the simulator prices it; but for coalesced ones
  grouped  ///< left where they are: one group of collectives; packing and unpacking do nothing
};

/// Settings of `nccl_engine`.
struct nccl_engine_options {
  int device = -1;  ///< -1 = the rank modulo the devices that the process sees
  nccl_bucket buckets = nccl_bucket::packed;
  /// Whether values are written before each collective and compared after it: measure without.
  bool check = true;
  /// A collective that a device has been at for this long, without any on its channel being done, has failed.
  double timeout_seconds = 30;
  /// How long the others then have to say where they are.
  double answer_seconds = 1;
  /// Of one copy that stands in for computation; twice as much memory is held.
  bytes largest_copy = mebibytes(128);
};

/// Executes a schedule on a device for each rank; every rank replays the same schedule. Models `collective_engine`.
///
/// Computation is copies inside the device's memory on one stream, or what `compute_by` was given; each group has a
/// communicator and a stream of its own. The host only puts work on streams, some hundred commands ahead; events on the
/// streams tell when it ran, by the device's clock, counted from `connect`. A collective waits on its stream for
/// whatever computation was put before it, a wait is an event for which the compute stream waits: nothing but `finish`
/// waits on the host.
///
/// More channels than the device has hardware queues (CUDA_DEVICE_MAX_CONNECTIONS, 8 where nothing else is said)
/// wait for each other by accident.
///
/// One engine serves one thread, and one device. After an error all communicators of this rank are aborted, so that the
/// device comes to rest, and the engine is of no more use.
class nccl_engine {
 public:
  static constexpr std::string_view name = "nccl";

  /// Every rank of the meeting calls.
  /// \throws error (input) if a time limit is not positive; (backend) if there is no device, or the ranks do not meet
  explicit nccl_engine(rank_meeting meeting = meet_alone(), nccl_engine_options options = {})
      : options_(checked(options)),
        rank_(meeting.rank),
        size_(meeting.size),
        device_(use_device(rank_, options.device)),
        mark_(make_event()),
        work_(queue_.compute(), options.largest_copy),
        channels_(std::move(meeting), {options.timeout_seconds, options.answer_seconds}, queue_),
        values_(queue_, channels_, options.check) {}
  nccl_engine(const nccl_engine&) = delete;
  nccl_engine& operator=(const nccl_engine&) = delete;
  /// What is under way is ended, not waited for.
  ~nccl_engine() {
    if (!queue_.is_idle()) give_up();
  }

  /// Waits until every rank is here, so that all begin together. Communicators of groups that did not change stay.
  /// \throws error if a group does not divide the ranks, or the ranks were given different groups
  void connect(std::span<const process_group> groups) {
    const detail::on_exception guard([this] { give_up(); });
    settle_all();
    queue_.clear();
    channels_.connect(groups);
    queue_.restart();
  }

  std::size_t run(const compute_call& work) {
    const detail::on_exception guard([this] { give_up(); });
    if (work.work == compute_work::pack) return pack(work);
    if (work.work == compute_work::unpack) return unpack(work);
    const std::int64_t pieces = computation_.pieces(work.duration);
    // many pieces fill the device's queue: then nothing that waits for others may stand in it
    make_room(pieces > detail::nccl_queue::window / 2 ? detail::nccl_queue::window : pieces);
    const std::size_t number = queue_.begin_compute(work.task);
    computation_.enqueue(queue_.compute(), work.duration);
    return queue_.end_compute(number, pieces);
  }
  /// \pre the channel is one of those of `connect`
  std::size_t start(const collective_call& call) {
    SHARDWEAVE_EXPECTS(call.channel < channels_.size());
    const detail::on_exception guard([this] { give_up(); });
    values_.inspect_some();
    const bool is_packed = packed_ && packed_->bucket == &call;
    const std::size_t number = queue_.add(is_packed ? std::move(*packed_) : made_of(call));
    packed_.reset();
    operation& o = queue_[number];
    const auto commands = static_cast<std::int64_t>(4 + 2 * o.sent.size());
    make_room(commands);
    const cudaStream_t stream = channels_.stream(call.channel);
    check_cuda(cudaStreamWaitEvent(stream, queue_.last_compute(), 0), "cudaStreamWaitEvent");
    if (!is_packed) values_.fill(o, o.sent, number, stream);
    detail::record(queue_.begin_of(number), stream);
    channels_.launch(number);
    if (!is_packed) values_.fetch(number, o.received, number, stream);
    detail::record(queue_.end_of(number), stream);
    queue_.fly(number, commands);
    channels_.follow(number);
    return number;
  }
  /// \pre `started` was returned by `start`
  std::size_t wait(std::size_t started) {
    SHARDWEAVE_EXPECTS(started < queue_.size());
    const detail::on_exception guard([this] { give_up(); });
    make_room(3);
    operation& o = queue_[started];
    const std::size_t number = queue_.begin_compute(o.task);
    queue_[number].waits_for = started;
    check_cuda(cudaStreamWaitEvent(queue_.compute(), queue_.end_of(started), 0), "cudaStreamWaitEvent");
    queue_.end_compute(number, 1);
    // whatever is started from now on waits for this wait: it may have the memory
    if (o.bucket == nullptr || o.grouped) values_.release(o);
    return number;
  }
  /// \throws error (backend) naming the collective, its group and the ranks that are missing, if one is not done in
  ///         time; or the first wrong element, if what this rank received is not what it must be
  void finish() {
    const detail::on_exception guard([this] { give_up(); });
    settle_all();
  }
  /// Waits until the compute stream has come here.
  [[nodiscard]] nanoseconds now() {
    const detail::on_exception guard([this] { give_up(); });
    detail::record(mark_.get(), queue_.compute());
    channels_.poll_until([&] { return is_reached(mark_.get()); });
    return queue_.time_of(mark_.get());
  }
  /// \pre `number` is of an operation since the last `connect`, and `finish` has returned
  [[nodiscard]] time_span span(std::size_t number) const {
    return {queue_.time_of(queue_.begin_of(number)), queue_.time_of(queue_.end_of(number))};
  }

  /// Values are checked from now on, or are not. A first replay that checks also makes the buffers of the next ones.
  void check(bool on) { values_.check(on); }
  /// From now on a collective has failed after that long: the first of a communicator, which connects ranks, may need
  /// longer than those that follow.
  /// \pre positive
  void set_timeout(double seconds) {
    SHARDWEAVE_EXPECTS(seconds > 0);
    channels_.set_timeout(seconds);
  }
  /// From now on such work stands in for computation, in place of copies (`cublas_products::stand_in`). It is of this
  /// device, and lives for as long as this.
  /// \pre both functions are there
  void compute_by(nccl_stand_in work) {
    SHARDWEAVE_EXPECTS(work.pieces && work.enqueue);
    computation_ = std::move(work);
  }
  /// Collectives and members of buckets whose values this rank has compared, since it was made.
  [[nodiscard]] std::size_t checked() const { return values_.checked(); }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int device() const { return device_; }
  /// Copies inside this device's memory, as measured: what stands in for computation unless told otherwise.
  [[nodiscard]] const nccl_copy_work& work() const { return work_; }
  /// The largest of what the ranks say. Every rank calls, and gets the same; nobody is late afterwards.
  [[nodiscard]] double largest(double mine) {
    const detail::on_exception guard([this] { give_up(); });
    double values[2] = {mine, mine};
    channels_.meet(values);
    return values[0];
  }

  /// The same of each of several values. Every rank calls, with as many.
  void largest(std::span<double> values) {
    const detail::on_exception guard([this] { give_up(); });
    for (std::size_t i = 0; i < values.size(); i += 2) {
      double two[2] = {values[i], values[std::min(i + 1, values.size() - 1)]};
      channels_.meet(two);
      values[i] = two[0];
      if (i + 1 < values.size()) values[i + 1] = two[1];
    }
  }

 private:
  using operation = detail::queued_operation;

  [[nodiscard]] static const nccl_engine_options& checked(const nccl_engine_options& options) {
    if (!(options.timeout_seconds > 0) || !(options.answer_seconds > 0) || options.largest_copy < bytes(2))
      refuse(
          error_category::input,
          "the timeout and the time for answers of nccl_engine must be positive, and the largest copy 2 bytes or more");
    return options;
  }
  /// What leaves by an exception leaves a run that cannot go on.
  void give_up() {
    channels_.give_up();
    queue_.give_up();
  }

  /// Lets the device catch up until it may be given as many commands more.
  void make_room(std::int64_t commands) {
    if (queue_.has_room(commands)) return;
    channels_.poll_until([&] { return queue_.land(), queue_.has_room(commands); });
  }
  void settle_all() {
    channels_.poll_until([&] { return queue_.land(), queue_.is_idle(); });
    channels_.look();
    values_.inspect_all();
    for (std::size_t i = 0; i < queue_.size(); ++i) values_.release(queue_[i]);
  }

  // --- buckets
  [[nodiscard]] bool is_grouped(const collective_call& bucket) const {
    return bucket.coalesced || options_.buckets == nccl_bucket::grouped;
  }
  [[nodiscard]] operation made_of(const collective_call& call) {
    operation o;
    o.task = call.task;
    o.channel = call.channel;
    o.bucket = call.parts.empty() ? nullptr : &call;
    o.grouped = o.bucket != nullptr && is_grouped(call);
    o.shape = payload_of(call, channels_.ranks_on(call.channel), device_element_of(call.dtype));
    values_.lend(o);
    return o;
  }
  /// What a bucket that is left where it is does instead of a copy.
  std::size_t nothing(const compute_call& work) {
    make_room(0);
    return queue_.end_compute(queue_.begin_compute(work.task), 0);
  }
  std::size_t pack(const compute_call& work) {
    values_.inspect_some();
    if (is_grouped(*work.bucket)) return nothing(work);
    operation o = made_of(*work.bucket);
    std::vector<device_memory> parts = values_.lend_parts(o.shape, o.shape.send_blocks());
    const auto members = static_cast<std::int64_t>(parts.size());
    make_room(2 * members);
    values_.fill(o, parts, queue_.size(), queue_.compute());
    const std::size_t number = queue_.begin_compute(work.task);
    values_.copy(o.shape, o.shape.send_blocks(), parts, o.sent[0].data(), true);
    queue_.end_compute(number, 2 * members);
    values_.give(parts);
    packed_ = std::move(o);
    return number;
  }
  std::size_t unpack(const compute_call& work) {
    if (is_grouped(*work.bucket)) return nothing(work);
    std::size_t launched = queue_.size();
    while (launched-- > 0)
      if (queue_[launched].bucket == work.bucket) break;
    operation& o = queue_[launched];
    std::vector<device_memory> parts = values_.lend_parts(o.shape, o.shape.receive_blocks());
    const auto members = static_cast<std::int64_t>(parts.size());
    make_room(2 * members);
    const std::size_t number = queue_.begin_compute(work.task);
    values_.copy(o.shape, o.shape.receive_blocks(), parts, o.received[0].data(), false);
    values_.fetch(launched, parts, number, queue_.compute());
    queue_.end_compute(number, 2 * members);
    values_.give(parts);
    values_.release(o);
    return number;
  }

  nccl_engine_options options_;
  int rank_, size_;
  int device_;  // chosen before anything is made on it
  detail::nccl_queue queue_;
  device_event mark_;
  nccl_copy_work work_;
  nccl_stand_in computation_ = {[this](nanoseconds duration) { return work_.copies(duration); },
                                [this](cudaStream_t stream, nanoseconds d) { work_.enqueue(stream, d); }};
  detail::nccl_channels channels_;
  detail::nccl_values values_;
  std::optional<operation> packed_;  // a bucket that is packed and not started
};

static_assert(ranked_engine<nccl_engine>);

}  // namespace shardweave::inline v0
