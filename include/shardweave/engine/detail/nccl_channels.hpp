#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/engine/detail/nccl_exchange.hpp>
#include <shardweave/engine/detail/nccl_queue.hpp>
#include <shardweave/engine/group_ranks.hpp>
#include <shardweave/engine/nccl_communicator.hpp>
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
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

/// \file
/// Collectives on the communicators and streams of process groups, until they are done or someone is missing.

namespace shardweave::inline v0::detail {

/// A channel for each process group: a communicator, a stream, and the collectives on it that are not known to be done.
/// Whoever waits polls, which takes note of how far the device is, answers others, and ends what takes too long: then
/// all ranks are asked where they are, and the error says who does not answer and who has not come as far.
class nccl_channels {
 public:
  using clock = std::chrono::steady_clock;
  struct limits {
    double timeout_seconds;  ///< without a collective of the channel being done
    double answer_seconds;   ///< for the others to say where they are
  };

  /// Every rank of the meeting calls. \pre queue outlives this
  nccl_channels(rank_meeting meeting, limits patience, nccl_queue& queue)
      : meeting_(std::move(meeting)), limits_(patience), queue_(queue) {
    listening_.begin(meeting_, [this](std::int64_t c) { return state_on(c); });
    world_ = nccl_communicator::create(meeting_, [this](std::string_view call, clock::time_point since) {
      meeting_.answer();
      make_way();
      refuse_late(call, since);
    });
  }
  nccl_channels(const nccl_channels&) = delete;
  nccl_channels& operator=(const nccl_channels&) = delete;

  /// Waits until every rank is here. Communicators of groups that did not change stay.
  /// \pre nothing is under way
  /// \throws error if a group does not divide the ranks, or the ranks were given different groups
  void connect(std::span<const process_group> groups) {
    const std::vector<rank_layout> layouts = layouts_of(groups, world_.size());
    const auto print = static_cast<double>(fingerprint_of(layouts));
    double prints[2] = {print, -print};
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
    moved_ = clock::now();
  }

  [[nodiscard]] std::size_t size() const { return channels_.size(); }
  [[nodiscard]] const nccl_communicator& world() const { return world_; }
  [[nodiscard]] cudaStream_t stream(std::uint32_t at) const { return channels_[at].stream.get(); }
  [[nodiscard]] int position_on(std::uint32_t at) const { return channels_[at].comm.rank(); }
  [[nodiscard]] int ranks_on(std::uint32_t at) const { return channels_[at].comm.size(); }
  void set_timeout(double seconds) { limits_.timeout_seconds = seconds; }

  /// Puts the calls of a collective on its channel's stream. \pre its beginning is recorded
  void launch(std::size_t number) {
    const queued_operation& o = queue_[number];
    channel& c = channels_[o.channel];
    launching_ = number;
    pieces_.clear();
    for (std::size_t i = 0; i < o.sent.size(); ++i)
      pieces_.push_back({o.sent[i].data(), o.received[i].data(), o.units()[i]});
    const ncclResult_t code = launch_on(c.comm, c.stream.get(), o.shape.kind, o.shape.type, o.shape.reduce, pieces_);
    if (code != ncclSuccess) c.comm.settle(code, name(o) + ": " + std::string(nccl_call_of(o.shape.kind)), waiting());
    launching_.reset();
  }
  /// From now on polls look for its end. \pre that is recorded
  void follow(std::size_t number) { channels_[queue_[number].channel].queue.push_back(number); }
  /// \throws error (backend) naming what is not done in time, or what has failed
  template <class Done>
  void poll_until(Done done) {
    const auto begin = clock::now();
    while (!done()) {
      look();
      make_way();
      judge(begin);
    }
  }
  /// Takes note of how far the device is, and answers others.
  void look() {
    meeting_.answer();
    const auto now = clock::now();
    for (std::uint32_t i = 0; i < channels_.size(); ++i) {
      channel& c = channels_[i];
      if (!c.comm) continue;
      for (; !c.queue.empty() && is_reached(queue_.end_of(c.queue.front())); c.queue.pop_front()) {
        ++c.done;
        c.begun = false;
        c.moved = moved_ = now;
      }
      if (!c.begun && !c.queue.empty() && is_reached(queue_.begin_of(c.queue.front()))) {
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
    if (queue_.advance()) moved_ = now;
  }
  /// Every rank's larger values; returns when every rank is here.
  void meet(double (&values)[2]) {
    exchange_.larger(values, world_, queue_.compute(), [this](std::string_view, clock::time_point since) {
      meeting_.answer();
      make_way();
      if (is_late(since)) refuse(error_category::backend, "the ranks do not meet before a replay: " + silent(-1));
    });
  }
  /// The kernels of what is under way end: then streams and memory can be freed, which would wait for them.
  void give_up() {
    for (channel& c : channels_) c.comm.abort();
    world_.abort();
  }

  /// How messages name a collective.
  [[nodiscard]] std::string name(const queued_operation& o) const {
    std::string text = std::string(name_of(o.shape.kind)) + " of task " + std::to_string(o.shape.tasks.front());
    if (o.bucket != nullptr) text += " and " + std::to_string(o.shape.tasks.size() - 1) + " more";
    return text + " on " + channels_[o.channel].label;
  }

 private:
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

  /// Now and then lets another process have the core.
  void make_way() {
    if (++polls_ % 64 == 0) std::this_thread::yield();
  }
  [[nodiscard]] bool is_late(clock::time_point since, clock::time_point now = clock::now()) const {
    return now - since > std::chrono::duration<double>(limits_.timeout_seconds);
  }
  void refuse_late(std::string_view call, clock::time_point since) {
    if (is_late(since))
      refuse(error_category::backend,
             std::string(call) + " is not done after " + limit_text(limits_.timeout_seconds) + ": " + silent(-1));
  }
  /// For calls of NCCL that are not done when they return.
  [[nodiscard]] nccl_waiting waiting() {
    return [this](std::string_view call, clock::time_point since) {
      look();
      make_way();
      if (launching_ && is_late(since)) refuse(error_category::backend, missing(queue_[*launching_].channel));
      refuse_late(call, since);
    };
  }
  /// Ends what takes too long. One look at the clock: a collective that was begun last is late no later than the
  /// device.
  void judge(clock::time_point begin) {
    const auto now = clock::now();
    for (std::uint32_t i = 0; i < channels_.size(); ++i)
      if (channels_[i].begun && is_late(std::max(begin, channels_[i].moved), now))
        refuse(error_category::backend, missing(i));
    if (!is_late(std::max(begin, moved_), now)) return;
    std::string text = "nothing was done on the device of rank " + std::to_string(world_.rank()) + " for " +
                       limit_text(limits_.timeout_seconds);
    if (queue_.computing() != nullptr) text += ", it is at task " + std::to_string(queue_.computing()->task);
    refuse(error_category::backend, text);
  }

  // --- who is missing
  [[nodiscard]] bool is_launching(std::int64_t at) const { return launching_ && queue_[*launching_].channel == at; }
  /// What a channel is at.
  [[nodiscard]] std::string subject(std::uint32_t at) const {
    const channel& c = channels_[at];
    std::string ranks;
    for (const std::int64_t r : c.layout.members(world_.rank()))
      ranks += (ranks.empty() ? "" : ", ") + std::to_string(r);
    const std::string what = !c.queue.empty()   ? name(queue_[c.queue.front()])
                             : is_launching(at) ? name(queue_[*launching_])
                                                : "communication on " + c.label;
    return what + " of ranks " + ranks;
  }
  [[nodiscard]] std::string missing(std::uint32_t at) {
    return subject(at) + " is not done after " + limit_text(limits_.timeout_seconds) + ": " + silent(at);
  }
  [[nodiscard]] rank_state state_on(std::int64_t at) const {
    rank_state state;
    const std::size_t awaited = launching_ ? *launching_ : queue_.awaited();
    if (awaited != queued_operation::none) {
      state.waits_task = queue_[awaited].task;
      state.waits_channel = queue_[awaited].channel;
    }
    if (at < 0 || at >= static_cast<std::int64_t>(channels_.size())) return state;
    const channel& c = channels_[static_cast<std::size_t>(at)];
    state.started = c.done;
    if (c.begun || (is_launching(at) && c.queue.empty())) ++state.started;
    return state;
  }
  /// Ranks that say nothing; of a channel also those of its group that have not come as far as this one.
  [[nodiscard]] std::string silent(std::int64_t at) {
    const auto patience = std::chrono::nanoseconds(static_cast<std::int64_t>(limits_.answer_seconds * 1e9));
    const auto answers = meeting_.ask(at, patience, [] {});
    if (at < 0) return missing_ranks(answers, {}, 0, {});
    std::vector<std::string> labels;
    for (const channel& c : channels_) labels.push_back(c.label);
    const channel& c = channels_[static_cast<std::size_t>(at)];
    return missing_ranks(answers, c.layout.members(world_.rank()), state_on(at).started, labels);
  }

  rank_meeting meeting_;
  limits limits_;
  nccl_queue& queue_;
  nccl_exchange exchange_;
  nccl_communicator world_;
  std::deque<channel> channels_;
  std::vector<nccl_piece> pieces_;
  std::optional<std::size_t> launching_;
  clock::time_point moved_ = {};  // when anything on the device was begun or done last
  std::size_t polls_ = 0;
  rank_listener listening_;  // goes first: it tells of all the others
};

}  // namespace shardweave::inline v0::detail
