#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/engine/detail/mpi_operation.hpp>
#include <shardweave/engine/group_ranks.hpp>
#include <shardweave/engine/mpi_roll_call.hpp>
#include <shardweave/engine/mpi_session.hpp>
#include <shardweave/engine/payload.hpp>
#include <shardweave/engine/rank_meeting.hpp>
#include <shardweave/tasks/task.hpp>

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <thread>
#include <vector>

/// \file
/// Collectives in their order on the communicators of process groups, until they are done or someone is missing.

namespace shardweave::inline v0::detail {

/// A channel for each process group: a communicator, and the collectives that wait for their turn on it. One is under
/// way at a time. Nothing moves by itself: whoever has time calls `progress`, and `complete` drives all channels.
///
/// A collective that is not done in time has failed. Then all ranks are asked where they are, and the error says who
/// does not answer and who has not come as far.
class mpi_channels {
 public:
  struct limits {
    double timeout_seconds;  ///< without a collective of the channel being done
    double answer_seconds;   ///< for the others to say where they are
  };

  /// Every rank of `world` calls.
  mpi_channels(MPI_Comm world, limits patience)
      : limits_(patience),
        world_(mpi_communicator::duplicate(world)),
        calls_(world_.get(), [this](std::int64_t c) { return state_on(c); }) {}
  mpi_channels(const mpi_channels&) = delete;
  mpi_channels& operator=(const mpi_channels&) = delete;

  /// Waits until every rank is here. Communicators of groups that did not change stay.
  /// \pre nothing is under way
  /// \throws error if a group does not divide the ranks, or the ranks were given different groups
  void connect(std::span<const process_group> groups) {
    const std::vector<rank_layout> layouts = layouts_of(groups, world_.size());
    std::int64_t print[2] = {fingerprint_of(layouts), 0};
    print[1] = -print[0];
    meet(print);
    if (print[0] != -print[1])
      refuse(error_category::input, "the ranks of this run were given different process groups");
    channels_.resize(groups.size());
    for (std::size_t i = 0; i < groups.size(); ++i) {
      channel& c = channels_[i];
      c.label = label_of(groups[i]);
      if (c.comm.get() != MPI_COMM_NULL && c.layout == layouts[i]) continue;
      c.layout = layouts[i];
      c.started = 0;
      c.comm = mpi_communicator::split(world_.get(), static_cast<int>(c.layout.first(world_.rank())));
    }
    meet(print);
  }

  /// Each value becomes the largest of what the ranks have there. Every rank calls, with as many.
  void largest(std::span<double> values) { larger(values, MPI_DOUBLE); }

  [[nodiscard]] std::size_t size() const { return channels_.size(); }
  [[nodiscard]] const mpi_communicator& world() const { return world_; }
  /// The communicator of a channel.
  [[nodiscard]] const mpi_communicator& on(std::uint32_t at) const { return channels_[at].comm; }
  /// How messages name a collective.
  [[nodiscard]] std::string name(const mpi_operation& o) const {
    std::string text = std::string(name_of(o.shape.kind)) + " of task " + std::to_string(o.shape.tasks.front());
    if (o.bucket) text += " and " + std::to_string(o.shape.tasks.size() - 1) + " more";
    return text + " on " + channels_[o.channel].label;
  }

  /// Behind what was started on its channel before. `o` stays where it is until it is done.
  void start(mpi_operation& o) {
    channels_[o.channel].queue.push_back(&o);
    progress();
  }
  /// Posts the next collective of every idle channel, takes note of those that are done, answers who asks.
  void progress() {
    for (channel& c : channels_) {
      if (c.queue.empty()) continue;
      if (!c.under_way) post_next(c);
      mpi_operation& o = *c.queue.front();
      int done = 0;
      check_mpi(MPI_Testall(static_cast<int>(o.requests.size()), o.requests.data(), &done, MPI_STATUSES_IGNORE),
                "MPI_Testall");
      if (done == 0) continue;
      o.end = c.moved = mpi_clock::now();
      o.done = true;
      c.under_way = false;
      c.queue.pop_front();
      if (!c.queue.empty()) post_next(c);
    }
    calls_.answer();
  }
  /// Now and then lets another rank have the core, if it waits for one. Not every time: on a busy machine a core
  /// that is given away does not come back before milliseconds.
  void make_way() {
    if (++polls_ % 64 == 0) std::this_thread::yield();
  }
  /// Drives communication until a collective is done.
  /// \throws error (backend) naming the collective, its group and the ranks that are missing, if that takes too long
  void complete(const mpi_operation& o) {
    const auto begin = mpi_clock::now();
    waits_for_ = &o;
    while (!o.done) {
      progress();
      if (o.done) break;
      make_way();
      const auto idle = mpi_clock::now() - std::max(begin, channels_[o.channel].moved);
      if (idle > std::chrono::duration<double>(limits_.timeout_seconds))
        refuse(error_category::backend, missing(o.channel));
    }
    waits_for_ = nullptr;
  }
  /// The run has failed: communicators stay as they are until all processes are ended.
  void give_up() {
    calls_.give_up();
    for (channel& c : channels_) c.comm.leak();
    world_.leak();
  }

 private:
  struct channel {
    mpi_communicator comm = {};
    rank_layout layout = {};
    std::string label = {};
    std::deque<mpi_operation*> queue = {};  // that are not done; the first may be under way
    bool under_way = false;
    std::int64_t started = 0;          // ever, on this communicator
    mpi_clock::time_point moved = {};  // when one was done last
  };

  void post_next(channel& c) {
    post(*c.queue.front(), c.comm.get());
    c.under_way = true;
    ++c.started;
  }
  /// Every rank's larger values; returns when every rank is here.
  template <class Number>
  void larger(std::span<Number> values, MPI_Datatype type) {
    SHARDWEAVE_EXPECTS(values.size() <= INT_MAX);
    const std::vector<Number> mine(values.begin(), values.end());
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Iallreduce(mine.data(), values.data(), static_cast<int>(mine.size()), type, MPI_MAX, world_.get(),
                             &request),
              "MPI_Iallreduce");
    const auto begin = mpi_clock::now();
    for (int done = 0; done == 0;) {
      check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      calls_.answer();
      if (done == 0) make_way();
      if (done == 0 && mpi_clock::now() - begin > std::chrono::duration<double>(limits_.timeout_seconds))
        refuse(error_category::backend, "the ranks do not meet before a replay: " + silent(-1));
    }
  }
  void meet(std::int64_t (&values)[2]) { larger(std::span<std::int64_t>(values), MPI_INT64_T); }

  [[nodiscard]] rank_state state_on(std::int64_t c) const {
    rank_state state;
    if (c >= 0 && c < static_cast<std::int64_t>(channels_.size()))
      state.started = channels_[static_cast<std::size_t>(c)].started;
    if (waits_for_) {
      state.waits_task = waits_for_->shape.tasks.front();
      state.waits_channel = waits_for_->channel;
    }
    return state;
  }
  /// Ranks that say nothing; of a channel also those of its group that have not come as far as this one.
  [[nodiscard]] std::string silent(std::int64_t at) {
    const auto answers =
        calls_.ask(at, std::chrono::nanoseconds(static_cast<std::int64_t>(limits_.answer_seconds * 1e9)), [&] {
          if (at >= 0) progress();
        });
    if (at < 0) return missing_ranks(answers, {}, 0, {});
    const channel& c = channels_[static_cast<std::size_t>(at)];
    std::vector<std::string> labels;
    for (const channel& one : channels_) labels.push_back(one.label);
    return missing_ranks(answers, c.layout.members(world_.rank()), c.started, labels);
  }
  [[nodiscard]] std::string missing(std::uint32_t at) {
    const channel& c = channels_[at];
    std::string ranks;
    for (const std::int64_t r : c.layout.members(world_.rank()))
      ranks += (ranks.empty() ? "" : ", ") + std::to_string(r);
    const std::string subject = name(*c.queue.front());
    return subject + " of ranks " + ranks + " is not done after " + limit_text(limits_.timeout_seconds) + ": " +
           silent(at);
  }

  limits limits_;
  mpi_communicator world_;
  mpi_roll_call calls_;
  std::vector<channel> channels_;
  const mpi_operation* waits_for_ = nullptr;
  std::size_t polls_ = 0;
};

}  // namespace shardweave::inline v0::detail
