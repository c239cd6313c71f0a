#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/engine/collective_engine.hpp>
#include <shardweave/engine/detail/block_pool.hpp>
#include <shardweave/engine/group_ranks.hpp>
#include <shardweave/engine/nccl_communicator.hpp>
#include <shardweave/engine/nccl_copy_work.hpp>
#include <shardweave/engine/nccl_handles.hpp>
#include <shardweave/engine/nccl_launch.hpp>
#include <shardweave/engine/payload.hpp>
#include <shardweave/engine/rank_meeting.hpp>
#include <shardweave/tasks/task.hpp>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

/// \file
/// An engine on devices that communicate by NCCL.

namespace shardweave {
inline namespace v0 {

/// How the members of a bucket become one launch.
enum class nccl_bucket : std::uint8_t {
  packed,  ///< copied into one buffer, which one collective carries, as the simulator prices it
  grouped  ///< left where they are: one group of collectives; packing and unpacking do nothing
};

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
/// Computation is copies inside the device's memory on one stream; each group has a communicator and a stream of its
/// own. The host only puts work on streams, some hundred commands ahead; events on the streams tell when it ran, by the
/// device's clock, counted from `connect`. A collective waits on its stream for whatever computation was put before
/// it, a wait is an event for which the compute stream waits: nothing but `finish` waits on the host.
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
      : options_(options), meeting_(std::move(meeting)) {
    if (!(options.timeout_seconds > 0) || !(options.answer_seconds > 0) || options.largest_copy < bytes(2))
      refuse(
          error_category::input,
          "the timeout and the time for answers of nccl_engine must be positive, and the largest copy 2 bytes or more");
    const int count = device_count();
    const int device = options.device < 0 && count > 0 ? meeting_.rank % count : options.device;
    if (device < 0 || device >= count)
      refuse(error_category::backend, "rank " + std::to_string(meeting_.rank) + " cannot work on device " +
                                          std::to_string(device) + ", this process sees " + std::to_string(count));
    check_cuda(cudaSetDevice(device), "cudaSetDevice");
    compute_ = make_stream();
    base_ = make_event();
    mark_ = make_event();
    work_.emplace(compute_.get(), options.largest_copy);
    small_ = make_device_memory(2 * sizeof(double));
    words_ = make_pinned_memory(2 * sizeof(double));
    meeting_.listen([this](std::int64_t c) { return state_on(c); });
    world_ = nccl_communicator::create(meeting_, [this](std::string_view call, clock::time_point since) {
      meeting_.answer();
      make_way();
      if (clock::now() - since > limit())
        refuse(error_category::backend,
               std::string(call) + " is not done after " + limit_text(options_.timeout_seconds) + ": " + silent(-1));
    });
  }
  nccl_engine(const nccl_engine&) = delete;
  nccl_engine& operator=(const nccl_engine&) = delete;
  /// What is under way is ended, not waited for.
  ~nccl_engine() {
    if (!flight_.empty()) give_up();
    meeting_.listen({});
  }

  /// Waits until every rank is here, so that all begin together. Communicators of groups that did not change stay.
  /// \throws error if a group does not divide the ranks, or the ranks were given different groups
  void connect(std::span<const process_group> groups) {
    const watch guard(*this);
    settle_all();
    operations_.clear();
    std::vector<rank_layout> layouts;
    std::int64_t print = static_cast<std::int64_t>(groups.size());
    for (const process_group& group : groups) {
      layouts.push_back(layout_of(group, world_.size()));
      print = (print * 1'000'003 + layouts.back().size * 4099 + layouts.back().stride) % 1'000'000'007;
    }
    double prints[2] = {static_cast<double>(print), -static_cast<double>(print)};
    meet(prints);
    if (prints[0] != -prints[1])
      refuse(error_category::input, "the ranks of this run were given different process groups");
    while (channels_.size() > groups.size()) channels_.pop_back();
    while (channels_.size() < groups.size()) channels_.emplace_back();
    for (std::size_t i = 0; i < groups.size(); ++i) {
      channel& c = channels_[i];
      c.label = label_of(groups[i]);
      if (c.comm && c.layout == layouts[i]) continue;
      c.layout = layouts[i];
      c.done = 0;
      if (c.stream.get() == nullptr) c.stream = make_stream();
      const int rank = world_.rank();
      c.comm = world_.split(static_cast<int>(c.layout.first(rank)), static_cast<int>(c.layout.position(rank)),
                            static_cast<int>(c.layout.size), waiting());
    }
    meet(prints);
    check_cuda(cudaEventRecord(base_.get(), compute_.get()), "cudaEventRecord");
    last_compute_ = base_.get();
    moved_ = clock::now();
  }

  std::size_t run(const compute_call& work) {
    const watch guard(*this);
    if (work.work == compute_work::pack) return pack(work);
    if (work.work == compute_work::unpack) return unpack(work);
    const std::int64_t copies = work_->copies(work.duration);
    // many copies fill the device's queue: then nothing that waits for others may stand in it
    make_room(copies > window / 2 ? window : copies);
    const std::size_t number = begin_compute(work.task);
    work_->enqueue(compute_.get(), work.duration);
    return end_compute(number, copies);
  }
  /// \pre the channel is one of those of `connect`
  std::size_t start(const collective_call& call) {
    SHARDWEAVE_EXPECTS(call.channel < channels_.size());
    const watch guard(*this);
    inspect_down_to(pending_limit);
    channel& c = channels_[call.channel];
    const std::size_t number = operations_.size();
    const bool is_packed = packed_ && packed_->bucket == &call;
    operations_.push_back(is_packed ? std::move(*packed_) : made_of(call));
    packed_.reset();
    operation& o = operations_.back();
    need_events();
    const auto commands = static_cast<std::int64_t>(4 + 2 * o.sent.size());
    make_room(commands);
    check_cuda(cudaStreamWaitEvent(c.stream.get(), last_compute_, 0), "cudaStreamWaitEvent");
    if (!is_packed)
      for (std::size_t m = 0; m < o.sent.size(); ++m) fill(o, m, o.sent[m], number, c.stream.get());
    record(begin_of(number), c.stream.get());
    launch(c, number);
    if (!is_packed)
      for (std::size_t m = 0; m < o.received.size(); ++m) fetch(number, m, o.received[m], number, c.stream.get());
    record(end_of(number), c.stream.get());
    c.queue.push_back(number);
    fly(number, commands);
    return number;
  }
  /// \pre `started` was returned by `start`
  std::size_t wait(std::size_t started) {
    SHARDWEAVE_EXPECTS(started < operations_.size());
    const watch guard(*this);
    make_room(3);
    const std::size_t number = begin_compute(operations_[started].task);
    operations_[number].waits_for = started;
    check_cuda(cudaStreamWaitEvent(compute_.get(), end_of(started), 0), "cudaStreamWaitEvent");
    end_compute(number, 1);
    // whatever is started from now on waits for this wait: it may have the memory
    if (operations_[started].bucket == nullptr) release(operations_[started]);
    return number;
  }
  /// \throws error (backend) naming the collective, its group and the ranks that are missing, if one is not done in
  ///         time; or the first wrong element, if what this rank received is not what it must be
  void finish() {
    const watch guard(*this);
    settle_all();
  }
  /// Waits until the compute stream has come here.
  [[nodiscard]] nanoseconds now() {
    const watch guard(*this);
    record(mark_.get(), compute_.get());
    poll_until([&] { return is_reached(mark_.get()); });
    return elapsed(base_.get(), mark_.get());
  }
  /// \pre `number` is of an operation since the last `connect`, and `finish` has returned
  [[nodiscard]] time_span span(std::size_t number) const {
    return {elapsed(base_.get(), begin_of(number)), elapsed(base_.get(), end_of(number))};
  }

  /// Values are checked from now on, or are not. A first replay that checks also makes the buffers of the next ones.
  void check(bool on) { options_.check = on; }
  /// From now on a collective has failed after that long: the first of a communicator, which connects ranks, may need
  /// longer than those that follow.
  /// \pre positive
  void limit(double timeout_seconds) {
    SHARDWEAVE_EXPECTS(timeout_seconds > 0);
    options_.timeout_seconds = timeout_seconds;
  }
  /// Collectives and members of buckets whose values this rank has compared, since it was made.
  [[nodiscard]] std::size_t checked() const { return checked_; }
  [[nodiscard]] int rank() const { return meeting_.rank; }
  [[nodiscard]] int size() const { return meeting_.size; }
  /// What stands in for computation, as measured on this device.
  [[nodiscard]] const nccl_copy_work& work() const { return *work_; }
  /// The largest of what the ranks say. Every rank calls, and gets the same; nobody is late afterwards.
  [[nodiscard]] double largest(double mine) {
    const watch guard(*this);
    double values[2] = {mine, mine};
    meet(values);
    return values[0];
  }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr auto none = static_cast<std::size_t>(-1);
  /// Commands on all streams that the host is ahead: the driver holds some thousand, and blocks where they are full.
  static constexpr std::int64_t window = 400;
  static constexpr std::size_t pending_limit = std::size_t{1} << 28U;  // bytes that wait for being compared

  struct operation {
    task_index task = no_index;
    std::uint32_t channel = no_index;  // of collectives
    const collective_call* bucket = nullptr;
    std::size_t waits_for = none;  // of waits
    payload_shape shape = {};
    std::vector<device_memory> sent = {}, received = {};  // of members that are grouped, or one
  };
  struct channel {
    device_stream stream = {};
    nccl_communicator comm = {};
    rank_layout layout = {};
    std::string label = {};
    std::deque<std::size_t> queue = {};  // operations that are not known to be done
    std::int64_t done = 0;               // ever, on this communicator
    bool begun = false;                  // the device is at the first of the queue
    clock::time_point moved = {};        // when it began that, or was done with the one before
  };
  /// Host memory that the device reads or writes until an operation is done.
  struct staged {
    std::size_t ready = 0;  // with the end of this operation
    pinned_memory host = {};
    std::size_t collective = none;  // whose result this is, to be compared
    std::size_t member = 0;
  };
  /// What leaves by an exception leaves a run that cannot go on.
  class watch {
   public:
    explicit watch(nccl_engine& engine) : engine_(engine), before_(std::uncaught_exceptions()) {}
    watch(const watch&) = delete;
    watch& operator=(const watch&) = delete;
    ~watch() {
      if (std::uncaught_exceptions() > before_) engine_.give_up();
    }

   private:
    nccl_engine& engine_;
    int before_;
  };
  /// The kernels of what is under way end: then streams and memory can be freed, which would wait for them.
  void give_up() {
    for (channel& c : channels_) c.comm.abort();
    world_.abort();
    flight_.clear();
  }

  // --- streams and events
  [[nodiscard]] cudaEvent_t begin_of(std::size_t number) const { return events_[2 * number].get(); }
  [[nodiscard]] cudaEvent_t end_of(std::size_t number) const { return events_[2 * number + 1].get(); }
  static void record(cudaEvent_t event, cudaStream_t stream) {
    check_cuda(cudaEventRecord(event, stream), "cudaEventRecord");
  }
  void need_events() {
    while (events_.size() < 2 * operations_.size()) events_.push_back(make_event());
  }
  std::size_t begin_compute(task_index task) {
    const std::size_t number = operations_.size();
    operations_.emplace_back();
    operations_.back().task = task;
    need_events();
    record(begin_of(number), compute_.get());
    return number;
  }
  std::size_t end_compute(std::size_t number, std::int64_t commands) {
    record(end_of(number), compute_.get());
    last_compute_ = end_of(number);
    computing_.push_back(number);
    fly(number, commands + 2);
    return number;
  }
  void fly(std::size_t number, std::int64_t commands) {
    flight_.emplace_back(number, commands);
    in_flight_ += commands;
  }
  void land() {
    for (; !flight_.empty() && is_reached(end_of(flight_.front().first)); flight_.pop_front())
      in_flight_ -= flight_.front().second;
  }
  /// Lets the device catch up until it may be given as many commands more. What is done first was begun first here:
  /// nothing waits for what comes after it, on no rank.
  void make_room(std::int64_t commands) {
    const auto there = [&] { return flight_.empty() || in_flight_ + commands <= window; };
    if (there()) return;
    poll_until([&] { return land(), there(); });
  }
  void settle_all() {
    poll_until([&] { return land(), flight_.empty(); });
    look();
    inspect_down_to(0);
    for (operation& o : operations_) release(o);
  }
  /// Now and then lets another process have the core.
  void make_way() {
    if (++polls_ % 64 == 0) std::this_thread::yield();
  }
  template <class Done>
  void poll_until(Done done) {
    const auto begin = clock::now();
    while (!done()) {
      look();
      make_way();
      judge(begin);
    }
  }
  [[nodiscard]] std::chrono::duration<double> limit() const {
    return std::chrono::duration<double>(options_.timeout_seconds);
  }
  /// Takes note of how far the device is, and answers others.
  void look() {
    meeting_.answer();
    const auto now = clock::now();
    for (std::uint32_t i = 0; i < channels_.size(); ++i) {
      channel& c = channels_[i];
      if (!c.comm) continue;
      for (; !c.queue.empty() && is_reached(end_of(c.queue.front())); c.queue.pop_front()) {
        ++c.done;
        c.begun = false;
        c.moved = moved_ = now;
      }
      if (!c.begun && !c.queue.empty() && is_reached(begin_of(c.queue.front()))) {
        c.begun = true;
        c.moved = moved_ = now;
      }
      const ncclResult_t state = c.comm.state();
      if (state == ncclSuccess || state == ncclInProgress) continue;
      const char* last = ncclGetLastError(c.comm.get());
      refuse(error_category::backend, subject(i) + " has failed: " + ncclGetErrorString(state) +
                                          (last != nullptr && *last != '\0' ? " (" + std::string(last) + "): " : ": ") +
                                          silent(i));
    }
    for (; !computing_.empty() && is_reached(end_of(computing_.front())); computing_.pop_front()) moved_ = now;
  }
  /// Ends what takes too long.
  void judge(clock::time_point begin) {
    const auto now = clock::now();
    for (std::uint32_t i = 0; i < channels_.size(); ++i)
      if (channels_[i].begun && now - std::max(begin, channels_[i].moved) > limit())
        refuse(error_category::backend, missing(i));
    if (now - std::max(begin, moved_) <= limit()) return;
    std::string text = "nothing was done on the device of rank " + std::to_string(rank()) + " for " +
                       limit_text(options_.timeout_seconds);
    if (!computing_.empty()) text += ", it is at task " + std::to_string(operations_[computing_.front()].task);
    refuse(error_category::backend, text);
  }
  /// For calls of NCCL that are not done when they return.
  [[nodiscard]] nccl_waiting waiting() {
    return [this](std::string_view call, clock::time_point since) {
      look();
      make_way();
      if (clock::now() - since <= limit()) return;
      if (launching_) refuse(error_category::backend, missing(operations_[*launching_].channel));
      refuse(error_category::backend,
             std::string(call) + " is not done after " + limit_text(options_.timeout_seconds) + ": " + silent(-1));
    };
  }
  /// Every rank's larger values; returns when every rank is here.
  void meet(double (&values)[2]) {
    std::copy_n(values, 2, reinterpret_cast<double*>(words_.data()));
    const std::size_t size = 2 * sizeof(double);
    check_cuda(cudaMemcpyAsync(small_.data(), words_.data(), size, cudaMemcpyHostToDevice, compute_.get()),
               "cudaMemcpyAsync");
    const nccl_piece piece{small_.data(), small_.data(), 2};
    const ncclResult_t code = launch_on(world_, compute_.get(), collective::all_reduce, element_type::f64,
                                        reduce_op::max, std::span(&piece, 1));
    const auto late = [&](std::string_view, clock::time_point since) {
      meeting_.answer();
      make_way();
      if (clock::now() - since > limit())
        refuse(error_category::backend, "the ranks do not meet before a replay: " + silent(-1));
    };
    world_.settle(code, "ncclAllReduce", late);
    check_cuda(cudaMemcpyAsync(words_.data(), small_.data(), size, cudaMemcpyDeviceToHost, compute_.get()),
               "cudaMemcpyAsync");
    record(mark_.get(), compute_.get());
    for (const auto since = clock::now(); !is_reached(mark_.get());) late({}, since);
    std::copy_n(reinterpret_cast<const double*>(words_.data()), 2, values);
  }

  // --- collectives
  [[nodiscard]] device_memory take(bytes size) {
    return memory_.take(static_cast<std::size_t>(size.count()), make_device_memory);
  }
  void release(operation& o) {
    for (device_memory& m : o.sent) memory_.give(std::move(m));
    for (device_memory& m : o.received) memory_.give(std::move(m));
    o.sent.clear();
    o.received.clear();
  }
  [[nodiscard]] operation made_of(const collective_call& call) {
    operation o;
    o.task = call.task;
    o.channel = call.channel;
    o.bucket = call.parts.empty() ? nullptr : &call;
    o.shape = payload_of(call, channels_[call.channel].comm.size(), device_element_of(call.dtype));
    for (std::size_t i = 0; i < pieces_of(o); ++i) {
      const std::int64_t unit = unit_of(o, i) * width_of(o.shape.type);
      o.sent.push_back(take(bytes(o.shape.send_blocks() * unit)));
      o.received.push_back(take(bytes(o.shape.receive_blocks() * unit)));
    }
    return o;
  }
  [[nodiscard]] std::size_t pieces_of(const operation& o) const {
    return options_.buckets == nccl_bucket::grouped ? o.shape.units.size() : 1;
  }
  [[nodiscard]] std::int64_t unit_of(const operation& o, std::size_t piece) const {
    return options_.buckets == nccl_bucket::grouped ? o.shape.units[piece] : o.shape.unit;
  }
  void launch(channel& c, std::size_t number) {
    operation& o = operations_[number];
    launching_ = number;
    pieces_.clear();
    for (std::size_t i = 0; i < o.sent.size(); ++i)
      pieces_.push_back({o.sent[i].data(), o.received[i].data(), unit_of(o, i)});
    const ncclResult_t code = launch_on(c.comm, c.stream.get(), o.shape.kind, o.shape.type, o.shape.reduce, pieces_);
    if (code != ncclSuccess) c.comm.settle(code, what(o) + ": " + std::string(nccl_call_of(o.shape.kind)), waiting());
    launching_.reset();
  }

  // --- who is missing
  [[nodiscard]] std::string what(const operation& o) const {
    std::string text = std::string(name_of(o.shape.kind)) + " of task " + std::to_string(o.shape.tasks.front());
    if (o.bucket != nullptr) text += " and " + std::to_string(o.shape.tasks.size() - 1) + " more";
    return text + " on " + channels_[o.channel].label;
  }
  /// What a channel is at.
  [[nodiscard]] std::string subject(std::uint32_t at) const {
    const channel& c = channels_[at];
    std::string ranks;
    for (const std::int64_t r : c.layout.members(world_.rank()))
      ranks += (ranks.empty() ? "" : ", ") + std::to_string(r);
    const bool is_launching = launching_ && operations_[*launching_].channel == at;
    const std::string what_it_is = !c.queue.empty() ? what(operations_[c.queue.front()])
                                   : is_launching   ? what(operations_[*launching_])
                                                    : "communication on " + c.label;
    return what_it_is + " of ranks " + ranks;
  }
  [[nodiscard]] std::string missing(std::uint32_t at) {
    return subject(at) + " is not done after " + limit_text(options_.timeout_seconds) + ": " + silent(at);
  }
  [[nodiscard]] rank_state state_on(std::int64_t at) const {
    rank_state state;
    std::size_t awaited = none;
    if (!computing_.empty() && is_reached(begin_of(computing_.front())))
      awaited = operations_[computing_.front()].waits_for;
    if (launching_) awaited = *launching_;
    if (awaited != none) {
      state.waits_task = operations_[awaited].task;
      state.waits_channel = operations_[awaited].channel;
    }
    if (at < 0 || at >= static_cast<std::int64_t>(channels_.size())) return state;
    const channel& c = channels_[static_cast<std::size_t>(at)];
    state.started = c.done;
    const bool is_launching = launching_ && operations_[*launching_].channel == at;
    if (c.begun || (is_launching && c.queue.empty())) ++state.started;
    return state;
  }
  /// Ranks that say nothing; of a channel also those of its group that have not come as far as this one.
  [[nodiscard]] std::string silent(std::int64_t at) {
    const auto patience = std::chrono::nanoseconds(static_cast<std::int64_t>(options_.answer_seconds * 1e9));
    const auto answers = meeting_.ask(at, patience, [] {});
    if (at < 0) return missing_ranks(answers, {}, 0, {});
    std::vector<std::string> labels;
    for (const channel& c : channels_) labels.push_back(c.label);
    const channel& c = channels_[static_cast<std::size_t>(at)];
    return missing_ranks(answers, c.layout.members(world_.rank()), state_on(at).started, labels);
  }

  // --- buckets and values
  std::size_t pack(const compute_call& work) {
    inspect_down_to(pending_limit);
    if (options_.buckets == nccl_bucket::grouped) {
      make_room(0);
      return end_compute(begin_compute(work.task), 0);
    }
    operation o = made_of(*work.bucket);
    std::vector<device_memory> parts = parts_of(o, o.shape.send_blocks());
    const auto members = static_cast<std::int64_t>(parts.size());
    make_room(2 * members);
    for (std::size_t m = 0; m < parts.size(); ++m) fill(o, m, parts[m], operations_.size(), compute_.get());
    const std::size_t number = begin_compute(work.task);
    copy_units(
        o.shape, o.shape.send_blocks(), [&](std::size_t m) { return parts[m].data(); }, o.sent[0].data(), true);
    end_compute(number, 2 * members);
    for (device_memory& part : parts) memory_.give(std::move(part));
    packed_ = std::move(o);
    return number;
  }
  std::size_t unpack(const compute_call& work) {
    std::size_t launched = operations_.size();
    while (launched-- > 0)
      if (operations_[launched].bucket == work.bucket) break;
    operation& o = operations_[launched];  // a deque: it stays where it is
    if (options_.buckets == nccl_bucket::grouped) {
      make_room(0);
      const std::size_t number = end_compute(begin_compute(work.task), 0);
      release(o);
      return number;
    }
    std::vector<device_memory> parts = parts_of(o, o.shape.receive_blocks());
    const auto members = static_cast<std::int64_t>(parts.size());
    make_room(2 * members);
    const std::size_t number = begin_compute(work.task);
    copy_units(
        o.shape, o.shape.receive_blocks(), [&](std::size_t m) { return parts[m].data(); }, o.received[0].data(), false);
    for (std::size_t m = 0; m < parts.size(); ++m) fetch(launched, m, parts[m], number, compute_.get());
    end_compute(number, 2 * members);
    for (device_memory& part : parts) memory_.give(std::move(part));
    release(o);
    return number;
  }
  [[nodiscard]] std::vector<device_memory> parts_of(const operation& o, std::int64_t blocks) {
    std::vector<device_memory> parts;
    for (const std::int64_t unit : o.shape.units) parts.push_back(take(bytes(blocks * unit * width_of(o.shape.type))));
    return parts;
  }
  /// Between the members' buffers and the bucket's, whose blocks hold the units of all members: a copy for each member.
  template <class PartOf>
  void copy_units(const payload_shape& shape, std::int64_t blocks, PartOf part_of, std::byte* bucket, bool into) {
    const std::int64_t width = width_of(shape.type);
    const auto row = static_cast<std::size_t>(shape.unit * width);
    std::size_t at = 0;
    for (std::size_t m = 0; m < shape.units.size(); ++m) {
      const auto unit = static_cast<std::size_t>(shape.units[m] * width);
      std::byte* const in_bucket = bucket + at;
      at += unit;
      if (unit == 0) continue;
      const auto rows = static_cast<std::size_t>(blocks);
      check_cuda(into ? cudaMemcpy2DAsync(in_bucket, row, part_of(m), unit, unit, rows, cudaMemcpyDeviceToDevice,
                                          compute_.get())
                      : cudaMemcpy2DAsync(part_of(m), unit, in_bucket, row, unit, rows, cudaMemcpyDeviceToDevice,
                                          compute_.get()),
                 "cudaMemcpy2DAsync");
    }
  }
  [[nodiscard]] pinned_memory take_pinned(std::size_t size) {
    pinned_memory host = pinned_.take(size, make_pinned_memory);
    staged_bytes_ += host.size();
    return host;
  }
  /// Writes what this rank sends for a member, before the operation `ready`.
  void fill(const operation& o, std::size_t member, const device_memory& into, std::size_t ready, cudaStream_t stream) {
    if (!options_.check) return;
    const auto size = static_cast<std::size_t>(o.shape.send_blocks() * o.shape.units[member] * width_of(o.shape.type));
    pinned_memory host = take_pinned(size);
    fill_payload(o.shape, member, channels_[o.channel].comm.rank(), {host.data(), size});
    check_cuda(cudaMemcpyAsync(into.data(), host.data(), size, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
    staged_.push_back({ready, std::move(host), none, 0});
  }
  /// Gets what this rank received for a member, before the end of the operation `ready`.
  void fetch(std::size_t number, std::size_t member, const device_memory& from, std::size_t ready,
             cudaStream_t stream) {
    if (!options_.check) return;
    const payload_shape& shape = operations_[number].shape;
    const auto size = static_cast<std::size_t>(shape.receive_blocks() * shape.units[member] * width_of(shape.type));
    pinned_memory host = take_pinned(size);
    check_cuda(cudaMemcpyAsync(host.data(), from.data(), size, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
    staged_.push_back({ready, std::move(host), number, member});
  }
  /// Compares results, the oldest first, until no more than some bytes wait for it.
  void inspect_down_to(std::size_t size) {
    while (staged_bytes_ > size && !staged_.empty()) {
      staged& s = staged_.front();
      poll_until([&] { return is_reached(end_of(s.ready)); });
      if (s.collective != none) inspect(operations_[s.collective], s.member, s.host);
      staged_bytes_ -= s.host.size();
      pinned_.give(std::move(s.host));
      staged_.pop_front();
    }
  }
  void inspect(const operation& o, std::size_t member, const pinned_memory& host) {
    const std::string fault =
        payload_fault(o.shape, member, channels_[o.channel].comm.rank(), {host.data(), host.size()});
    if (!fault.empty())
      refuse(error_category::backend, what(o) + ", task " + std::to_string(o.shape.tasks[member]) + ": rank " +
                                          std::to_string(rank()) + " " + fault);
    ++checked_;
  }

  nccl_engine_options options_;
  rank_meeting meeting_;
  device_stream compute_;
  device_event base_, mark_;
  std::optional<nccl_copy_work> work_;
  device_memory small_;
  pinned_memory words_;
  std::vector<device_event> events_;  // two for each operation
  detail::block_pool<device_memory> memory_;
  detail::block_pool<pinned_memory> pinned_;
  nccl_communicator world_;
  std::deque<channel> channels_;
  std::deque<operation> operations_;  // stays where it is while it grows
  std::optional<operation> packed_;   // a bucket that is packed and not started
  std::deque<staged> staged_;
  std::size_t staged_bytes_ = 0;
  std::deque<std::pair<std::size_t, std::int64_t>> flight_;  // operations the device may be at, and their commands
  std::int64_t in_flight_ = 0;
  std::deque<std::size_t> computing_;  // operations of the compute stream that are not known to be done
  std::vector<nccl_piece> pieces_;
  std::optional<std::size_t> launching_;
  cudaEvent_t last_compute_ = nullptr;
  clock::time_point moved_ = {};  // when anything on the device was begun or done last
  std::size_t polls_ = 0;
  std::size_t checked_ = 0;
};

static_assert(collective_engine<nccl_engine>);

}  // namespace v0
}  // namespace shardweave
