#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/engine/busy_work.hpp>
#include <shardweave/engine/collective_engine.hpp>
#include <shardweave/engine/group_ranks.hpp>
#include <shardweave/engine/mpi_roll_call.hpp>
#include <shardweave/engine/mpi_session.hpp>
#include <shardweave/engine/payload.hpp>
#include <shardweave/tasks/task.hpp>

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

/// \file
/// An engine on the ranks of an MPI run.

namespace shardweave {
inline namespace v0 {

/// What stands in for computation.
enum class host_work : std::uint8_t {
  arithmetic,  ///< calibrated arithmetic on this core: the copies of communication come on top, as on a host
  time         ///< time passes while communication is driven: an accelerator that computes by itself
};

struct mpi_engine_options {
  host_work work = host_work::arithmetic;
  /// Whether values are written before each collective and compared after it. That takes time, which lies between
  /// the operations and so shows in the whole: measure without.
  bool check = true;
  /// A collective that a rank has waited for this long without any on its channel being done has failed.
  double timeout_seconds = 30;
  /// How long the others then have to say where they are.
  double answer_seconds = 1;
  /// Between two looks at communication while computing.
  nanoseconds slice = nanoseconds(20'000);
};

/// Executes collectives as non-blocking MPI collectives, one communicator for each group; every rank replays the same
/// schedule. Models `collective_engine`. One thread drives everything: communication makes progress in `run`, in
/// slices, and in `wait`. Buckets are packed and unpacked by real copies, which take what they take.
///
/// Collectives of a channel are posted one at a time, in their order. Any schedule that is the same on all ranks
/// ends: whoever waits drives all channels.
///
/// After an error the communicators are left as they are, and the run can only be aborted (`mpi_session`).
class mpi_engine {
 public:
  static constexpr std::string_view name = "mpi";

  /// Every rank of `world` calls.
  /// \throws error if a time limit or the slice is not positive
  explicit mpi_engine(MPI_Comm world = MPI_COMM_WORLD, mpi_engine_options options = {}) : options_(options) {
    if (!(options.timeout_seconds > 0) || !(options.answer_seconds > 0) || options.slice <= nanoseconds(0))
      refuse(error_category::input, "the timeout, the time for answers and the slice of mpi_engine must be positive");
    world_ = mpi_communicator::duplicate(world);
    calls_.emplace(world_.get(), [this](std::int64_t c) { return state_on(c); });
    if (options.work == host_work::arithmetic) busy_.emplace();
  }
  mpi_engine(const mpi_engine&) = delete;
  mpi_engine& operator=(const mpi_engine&) = delete;
  ~mpi_engine() {
    if (!failed_) return;
    if (calls_) calls_->give_up();
    for (channel& c : channels_) c.comm.leak();
    world_.leak();
  }

  /// Waits until every rank is here, so that all begin together. Communicators of groups that did not change stay.
  /// \throws error if a group does not divide the ranks, or the ranks were given different groups
  void connect(std::span<const process_group> groups) {
    const watch guard(*this);
    operations_.clear();
    std::vector<rank_layout> layouts;
    std::int64_t print[2] = {static_cast<std::int64_t>(groups.size()), 0};
    for (const process_group& group : groups) {
      layouts.push_back(layout_of(group, world_.size()));
      print[0] = (print[0] * 1'000'003 + layouts.back().size * 4099 + layouts.back().stride) % 1'000'000'007;
    }
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

  std::size_t run(const compute_call& work) {
    const watch guard(*this);
    if (work.work == compute_work::pack) return pack(work);
    if (work.work == compute_work::unpack) return unpack(work);
    const auto begin = clock::now();
    if (busy_) {
      busy_->run(work.duration, options_.slice, [&] { progress(); });
    } else {
      const auto end = begin + std::chrono::nanoseconds(work.duration.count());
      while (clock::now() < end) {
        progress();
        make_way();
      }
    }
    return record(begin);
  }
  /// \pre the channel is one of those of `connect`
  std::size_t start(const collective_call& call) {
    SHARDWEAVE_EXPECTS(call.channel < channels_.size());
    const watch guard(*this);
    channel& c = channels_[call.channel];
    std::size_t number = operations_.size();
    if (packed_ && packed_->bucket == &call) {  // packing has made it
      operations_.push_back(std::move(*packed_));
      packed_.reset();
    } else {
      operations_.push_back(made_of(call));
      operation& o = operations_.back();
      if (options_.check) fill_payload(o.shape, 0, c.comm.rank(), o.sent);
    }
    c.queue.push_back(number);
    progress();
    return number;
  }
  /// \pre `operation` was returned by `start`
  /// \throws error (backend) naming the collective, its group and the ranks that are missing, if it is not done in
  ///         time; or the first wrong element, if what this rank received is not what it must be
  std::size_t wait(std::size_t number) {
    SHARDWEAVE_EXPECTS(number < operations_.size());
    const watch guard(*this);
    const auto begin = clock::now();
    complete(number);
    const std::size_t span = record(begin);
    if (!operations_[number].bucket) inspect_alone(operations_[number]);
    return span;
  }
  void finish() {
    const watch guard(*this);
    for (std::size_t i = 0; i < operations_.size(); ++i) {
      operation& o = operations_[i];
      if (o.channel == no_index) continue;
      complete(i);
      if (!o.bucket) inspect_alone(o);
      release(o.sent);
      release(o.received);
    }
  }
  [[nodiscard]] nanoseconds now() const { return since(clock::now()); }
  /// \pre `operation` is one since the last `connect`, and `finish` has returned
  [[nodiscard]] time_span span(std::size_t number) const {
    return {since(operations_[number].begin), since(operations_[number].end)};
  }

  /// Values are checked from now on, or are not. A first replay that checks also makes the buffers of the next ones.
  void check(bool on) { options_.check = on; }
  /// Collectives and members of buckets whose values this rank has compared, since it was made.
  [[nodiscard]] std::size_t checked() const { return checked_; }
  [[nodiscard]] const mpi_communicator& world() const { return world_; }

 private:
  using clock = std::chrono::steady_clock;
  using buffer = std::vector<std::byte>;
  struct operation {
    clock::time_point begin = {};
    clock::time_point end = {};
    std::uint32_t channel = no_index;  // of collectives
    const collective_call* bucket = nullptr;
    payload_shape shape = {};
    buffer sent = {}, received = {};
    MPI_Request request = MPI_REQUEST_NULL;
    bool done = false;
    bool inspected = false;
  };
  struct channel {
    mpi_communicator comm = {};
    rank_layout layout = {};
    std::string label = {};
    std::deque<std::size_t> queue = {};  // operations that are not done; the first may be under way
    bool under_way = false;
    std::int64_t started = 0;      // ever, on this communicator
    clock::time_point moved = {};  // when one was done last
  };

  [[nodiscard]] nanoseconds since(clock::time_point t) const {
    return nanoseconds(std::chrono::duration_cast<std::chrono::nanoseconds>(t - birth_).count());
  }
  std::size_t record(clock::time_point begin) {
    operations_.push_back({.begin = begin, .end = clock::now(), .done = true});
    return operations_.size() - 1;
  }
  /// What leaves by an exception leaves a run that cannot go on.
  class watch {
   public:
    explicit watch(mpi_engine& engine) : engine_(engine), before_(std::uncaught_exceptions()) {}
    watch(const watch&) = delete;
    watch& operator=(const watch&) = delete;
    ~watch() {
      if (std::uncaught_exceptions() > before_) engine_.failed_ = true;
    }

   private:
    mpi_engine& engine_;
    int before_;
  };

  // --- buffers: kept, because fresh memory is slow on first touch
  [[nodiscard]] buffer take(bytes size) {
    const auto wanted = static_cast<std::size_t>(size.count());
    auto best = spare_.end();
    for (auto it = spare_.begin(); it != spare_.end(); ++it)
      if (it->capacity() >= wanted && (best == spare_.end() || it->capacity() < best->capacity())) best = it;
    buffer found;
    if (best != spare_.end()) {
      found = std::move(*best);
      *best = std::move(spare_.back());
      spare_.pop_back();
    }
    found.resize(wanted);
    return found;
  }
  void release(buffer& b) {
    if (b.capacity() > 0) spare_.push_back(std::move(b));
    b = {};
  }

  // --- collectives
  [[nodiscard]] operation made_of(const collective_call& call) {
    operation o;
    o.channel = call.channel;
    o.bucket = call.parts.empty() ? nullptr : &call;
    o.shape = payload_of(call, channels_[call.channel].comm.size());
    if (o.shape.unit > INT_MAX / o.shape.ranks)
      refuse(error_category::input, what(o) + " has more elements than MPI counts");
    o.sent = take(o.shape.send_size());
    o.received = take(o.shape.receive_size());
    return o;
  }
  [[nodiscard]] std::string what(const operation& o) const {
    std::string text = std::string(name_of(o.shape.kind)) + " of task " + std::to_string(o.shape.tasks.front());
    if (o.bucket) text += " and " + std::to_string(o.shape.tasks.size() - 1) + " more";
    return text + " on " + channels_[o.channel].label;
  }
  static MPI_Datatype type_of(element_type type) {
    const MPI_Datatype types[] = {MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T, MPI_FLOAT, MPI_DOUBLE};
    return types[static_cast<std::size_t>(type)];
  }
  void post(channel& c, operation& o) {
    const MPI_Datatype type = type_of(o.shape.type);
    const MPI_Op reduce = o.shape.reduce == reduce_op::sum   ? MPI_SUM
                          : o.shape.reduce == reduce_op::max ? MPI_MAX
                                                             : MPI_MIN;
    const int unit = static_cast<int>(o.shape.unit);
    o.begin = clock::now();
    switch (o.shape.kind) {
      case collective::all_gather:
        check_mpi(MPI_Iallgather(o.sent.data(), unit, type, o.received.data(), unit, type, c.comm.get(), &o.request),
                  "MPI_Iallgather");
        break;
      case collective::reduce_scatter:
        check_mpi(
            MPI_Ireduce_scatter_block(o.sent.data(), o.received.data(), unit, type, reduce, c.comm.get(), &o.request),
            "MPI_Ireduce_scatter_block");
        break;
      case collective::all_reduce:
        check_mpi(MPI_Iallreduce(o.sent.data(), o.received.data(), unit, type, reduce, c.comm.get(), &o.request),
                  "MPI_Iallreduce");
        break;
      case collective::all_to_all:
        check_mpi(MPI_Ialltoall(o.sent.data(), unit, type, o.received.data(), unit, type, c.comm.get(), &o.request),
                  "MPI_Ialltoall");
    }
    c.under_way = true;
    ++c.started;
  }
  /// Drives every channel: posts the next collective of an idle one, takes note of those that are done.
  void progress() {
    for (channel& c : channels_) {
      if (c.queue.empty()) continue;
      if (!c.under_way) post(c, operations_[c.queue.front()]);
      operation& o = operations_[c.queue.front()];
      int done = 0;
      check_mpi(MPI_Test(&o.request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      if (done == 0) continue;
      o.end = c.moved = clock::now();
      o.done = true;
      c.under_way = false;
      c.queue.pop_front();
      if (!c.queue.empty()) post(c, operations_[c.queue.front()]);
    }
    calls_->answer();
  }
  /// Now and then lets another rank have the core, if it waits for one. Not every time: on a busy machine a core
  /// that is given away does not come back before milliseconds.
  void make_way() {
    if (++polls_ % 64 == 0) std::this_thread::yield();
  }
  /// Drives communication until a collective is done.
  void complete(std::size_t number) {
    const auto begin = clock::now();
    const std::uint32_t at = operations_[number].channel;
    waits_for_ = number;
    while (!operations_[number].done) {
      progress();
      if (operations_[number].done) break;
      make_way();
      const auto idle = clock::now() - std::max(begin, channels_[at].moved);
      if (idle > std::chrono::duration<double>(options_.timeout_seconds)) refuse(error_category::backend, missing(at));
    }
    waits_for_.reset();
  }
  /// Every rank's larger values; returns when every rank is here.
  void meet(std::int64_t (&values)[2]) {
    const std::int64_t mine[2] = {values[0], values[1]};
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Iallreduce(mine, values, 2, MPI_INT64_T, MPI_MAX, world_.get(), &request), "MPI_Iallreduce");
    const auto begin = clock::now();
    for (int done = 0; done == 0;) {
      check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      calls_->answer();
      if (done == 0) make_way();
      if (done == 0 && clock::now() - begin > std::chrono::duration<double>(options_.timeout_seconds))
        refuse(error_category::backend, "the ranks do not meet before a replay: " + silent(-1));
    }
  }

  // --- who is missing
  [[nodiscard]] rank_state state_on(std::int64_t c) const {
    rank_state state;
    if (c >= 0 && c < static_cast<std::int64_t>(channels_.size()))
      state.started = channels_[static_cast<std::size_t>(c)].started;
    if (waits_for_) {
      state.waits_task = operations_[*waits_for_].shape.tasks.front();
      state.waits_channel = operations_[*waits_for_].channel;
    }
    return state;
  }
  /// Ranks that say nothing; of a channel also those of its group that have not come as far as this one.
  [[nodiscard]] std::string silent(std::int64_t at) {
    const auto answers =
        calls_->ask(at, std::chrono::nanoseconds(static_cast<std::int64_t>(options_.answer_seconds * 1e9)), [&] {
          if (at >= 0) progress();
        });
    std::string text;
    const auto say = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
    std::vector<std::int64_t> members;
    if (at >= 0) members = channels_[static_cast<std::size_t>(at)].layout.members(world_.rank());
    for (std::size_t r = 0; r < answers.size(); ++r) {
      const std::string who = "rank " + std::to_string(r);
      if (!answers[r]) {
        say(who + " does not answer");
        continue;
      }
      if (std::find(members.begin(), members.end(), static_cast<std::int64_t>(r)) == members.end()) continue;
      if (answers[r]->started >= channels_[static_cast<std::size_t>(at)].started) continue;
      std::string part = who + " has not started it";
      if (answers[r]->waits_task >= 0 && answers[r]->waits_channel < static_cast<std::int64_t>(channels_.size()))
        part += ", it waits for task " + std::to_string(answers[r]->waits_task) + " on " +
                channels_[static_cast<std::size_t>(answers[r]->waits_channel)].label;
      say(part);
    }
    return text.empty() ? "all ranks have started it" : text;
  }
  [[nodiscard]] std::string missing(std::uint32_t at) {
    const channel& c = channels_[at];
    std::string ranks;
    for (const std::int64_t r : c.layout.members(world_.rank()))
      ranks += (ranks.empty() ? "" : ", ") + std::to_string(r);
    std::string limit = std::to_string(options_.timeout_seconds);
    limit.erase(limit.find_last_not_of('0') + 1);
    if (limit.ends_with('.')) limit.pop_back();
    const std::string subject = what(operations_[c.queue.front()]);
    return subject + " of ranks " + ranks + " is not done after " + limit + " s: " + silent(at);
  }

  // --- buckets and values
  std::size_t pack(const compute_call& work) {
    packed_ = made_of(*work.bucket);
    operation& o = *packed_;
    const std::int64_t width = width_of(o.shape.type);
    parts_.clear();
    for (std::size_t m = 0; m < o.shape.tasks.size(); ++m) {
      parts_.push_back(take(bytes(o.shape.send_blocks() * o.shape.units[m] * width)));
      if (options_.check) fill_payload(o.shape, m, channels_[o.channel].comm.rank(), parts_.back());
    }
    const auto begin = clock::now();
    for_each_unit(o.shape, o.shape.send_blocks(),
                  [&](std::size_t in_bucket, std::size_t in_part, std::size_t m, std::size_t n) {
                    if (n > 0) std::memcpy(o.sent.data() + in_bucket, parts_[m].data() + in_part, n);
                    progress_between(n);
                  });
    for (buffer& part : parts_) release(part);
    return record(begin);
  }
  std::size_t unpack(const compute_call& work) {
    std::size_t number = operations_.size();
    while (number-- > 0)
      if (operations_[number].bucket == work.bucket) break;
    operation& o = operations_[number];  // a deque: it stays where it is
    const std::int64_t width = width_of(o.shape.type);
    parts_.clear();
    for (const std::int64_t unit : o.shape.units)
      parts_.push_back(take(bytes(o.shape.receive_blocks() * unit * width)));
    const auto begin = clock::now();
    for_each_unit(o.shape, o.shape.receive_blocks(),
                  [&](std::size_t in_bucket, std::size_t in_part, std::size_t m, std::size_t n) {
                    if (n > 0) std::memcpy(parts_[m].data() + in_part, o.received.data() + in_bucket, n);
                    progress_between(n);
                  });
    const std::size_t span = record(begin);
    for (std::size_t m = 0; m < parts_.size(); ++m) inspect(o, m, parts_[m]);
    for (buffer& part : parts_) release(part);
    release(o.sent);
    release(o.received);
    return span;
  }
  /// Copies drive communication too, as often as other work.
  void progress_between(std::size_t copied) {
    copied_ += copied;
    if (copied_ < (std::size_t{1} << 17U)) return;  // some 20 us
    copied_ = 0;
    progress();
  }
  void inspect(const operation& o, std::size_t member, std::span<const std::byte> received) {
    if (!options_.check) return;
    const std::string fault = payload_fault(o.shape, member, channels_[o.channel].comm.rank(), received);
    if (!fault.empty())
      refuse(error_category::backend, what(o) + ", task " + std::to_string(o.shape.tasks[member]) + ": rank " +
                                          std::to_string(world_.rank()) + " " + fault);
    ++checked_;
  }
  void inspect_alone(operation& o) {
    if (o.inspected) return;
    o.inspected = true;
    inspect(o, 0, o.received);
    release(o.sent);
    release(o.received);
  }

  mpi_engine_options options_;
  clock::time_point birth_ = clock::now();
  mpi_communicator world_;
  std::optional<mpi_roll_call> calls_;
  std::optional<busy_work> busy_;
  std::vector<channel> channels_;
  std::deque<operation> operations_;  // stays where it is while it grows
  std::optional<operation> packed_;   // a bucket that is packed and not started
  std::vector<buffer> parts_, spare_;
  std::optional<std::size_t> waits_for_;
  std::size_t copied_ = 0;
  std::size_t polls_ = 0;
  std::size_t checked_ = 0;
  bool failed_ = false;
};

static_assert(collective_engine<mpi_engine>);

}  // namespace v0
}  // namespace shardweave
