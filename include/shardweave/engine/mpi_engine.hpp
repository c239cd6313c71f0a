#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/engine/busy_work.hpp>
#include <shardweave/engine/collective_engine.hpp>
#include <shardweave/engine/detail/bucket_copies.hpp>
#include <shardweave/engine/detail/buffer_pool.hpp>
#include <shardweave/engine/detail/mpi_channels.hpp>
#include <shardweave/engine/detail/mpi_operation.hpp>
#include <shardweave/engine/detail/on_exception.hpp>
#include <shardweave/engine/mpi_session.hpp>
#include <shardweave/engine/payload.hpp>
#include <shardweave/engine/rank_agreement.hpp>
#include <shardweave/tasks/task.hpp>

#include <mpi.h>

#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// An engine on the ranks of an MPI run.

namespace shardweave::inline v0 {

/// What stands in for computation.
enum class host_work : std::uint8_t {
  arithmetic,  ///< calibrated arithmetic on this core: the copies of communication come on top, as on a host
  time         ///< time passes while communication is driven: an accelerator that computes by itself
};

/// Settings of `mpi_engine`.
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
/// slices, and in `wait`. Buckets are packed and unpacked by real copies, which take what they take; the members of a
/// coalesced one are posted together, each with its own buffers.
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
  explicit mpi_engine(MPI_Comm world = MPI_COMM_WORLD, mpi_engine_options options = {})
      : options_(checked(options)), channels_(world, {options.timeout_seconds, options.answer_seconds}) {
    if (options.work == host_work::arithmetic) busy_.emplace();
  }
  mpi_engine(const mpi_engine&) = delete;
  mpi_engine& operator=(const mpi_engine&) = delete;
  ~mpi_engine() {
    if (failed_) channels_.give_up();
  }

  /// Waits until every rank is here, so that all begin together. Communicators of groups that did not change stay.
  /// \throws error if a group does not divide the ranks, or the ranks were given different groups
  void connect(std::span<const process_group> groups) {
    const detail::on_exception guard([this] { failed_ = true; });
    operations_.clear();
    channels_.connect(groups);
  }

  [[nodiscard]] int rank() const { return channels_.world().rank(); }
  [[nodiscard]] int size() const { return channels_.world().size(); }
  /// Each value becomes the largest of what the ranks have there. Every rank calls, with as many.
  /// \throws error (backend) if the ranks do not come in time
  void largest(std::span<double> values) {
    const detail::on_exception guard([this] { failed_ = true; });
    channels_.largest(values);
  }

  std::size_t run(const compute_call& work) {
    const detail::on_exception guard([this] { failed_ = true; });
    if (work.work == compute_work::pack) return pack(work);
    if (work.work == compute_work::unpack) return unpack(work);
    const auto begin = clock::now();
    if (busy_) {
      busy_->run(work.duration, options_.slice, [&] { channels_.progress(); });
    } else {
      const auto end = begin + std::chrono::nanoseconds(work.duration.count());
      while (clock::now() < end) {
        channels_.progress();
        channels_.make_way();
      }
    }
    return record(begin);
  }
  /// \pre the channel is one of those of `connect`
  std::size_t start(const collective_call& call) {
    SHARDWEAVE_EXPECTS(call.channel < channels_.size());
    const detail::on_exception guard([this] { failed_ = true; });
    const std::size_t number = operations_.size();
    if (packed_ && packed_->bucket == &call) {  // packing has made it
      operations_.push_back(std::move(*packed_));
      packed_.reset();
    } else {
      operations_.push_back(made_of(call));
      if (options_.check) fill(operations_.back(), operations_.back().sent);
    }
    channels_.start(operations_.back());
    return number;
  }
  /// \pre `number` was returned by `start`
  /// \throws error (backend) naming the collective, its group and the ranks that are missing, if it is not done in
  ///         time; or the first wrong element, if what this rank received is not what it must be
  std::size_t wait(std::size_t number) {
    SHARDWEAVE_EXPECTS(number < operations_.size());
    const detail::on_exception guard([this] { failed_ = true; });
    const auto begin = clock::now();
    channels_.complete(operations_[number]);
    const std::size_t span = record(begin);
    if (!operations_[number].is_packed()) inspect_in_place(operations_[number]);
    return span;
  }
  void finish() {
    const detail::on_exception guard([this] { failed_ = true; });
    for (operation& o : operations_) {
      if (!o.is_collective()) continue;
      channels_.complete(o);
      if (!o.is_packed()) inspect_in_place(o);
      release(o);
    }
  }
  [[nodiscard]] nanoseconds now() const { return since(clock::now()); }
  /// \pre `number` is of an operation since the last `connect`, and `finish` has returned
  [[nodiscard]] time_span span(std::size_t number) const {
    return {since(operations_[number].begin), since(operations_[number].end)};
  }

  /// Values are checked from now on, or are not. A first replay that checks also makes the buffers of the next ones.
  void check(bool on) { options_.check = on; }
  /// Collectives and members of buckets whose values this rank has compared, since it was made.
  [[nodiscard]] std::size_t checked() const { return checked_; }
  [[nodiscard]] const mpi_communicator& world() const { return channels_.world(); }

 private:
  using clock = detail::mpi_clock;
  using operation = detail::mpi_operation;

  [[nodiscard]] static const mpi_engine_options& checked(const mpi_engine_options& options) {
    if (!(options.timeout_seconds > 0) || !(options.answer_seconds > 0) || options.slice <= nanoseconds(0))
      refuse(error_category::input, "the timeout, the time for answers and the slice of mpi_engine must be positive");
    return options;
  }
  [[nodiscard]] nanoseconds since(clock::time_point t) const {
    return nanoseconds(std::chrono::duration_cast<std::chrono::nanoseconds>(t - birth_).count());
  }
  std::size_t record(clock::time_point begin) {
    operations_.push_back({.begin = begin, .end = clock::now(), .done = true});
    return operations_.size() - 1;
  }
  [[nodiscard]] int position_on(std::uint32_t channel) const { return channels_.on(channel).rank(); }
  [[nodiscard]] operation made_of(const collective_call& call) {
    operation o;
    o.channel = call.channel;
    o.bucket = call.parts.empty() ? nullptr : &call;
    o.shape = payload_of(call, channels_.on(call.channel).size());
    for (const std::int64_t unit : o.units()) {
      if (unit > INT_MAX / o.shape.ranks)
        refuse(error_category::input, channels_.name(o) + " has more elements than MPI counts");
      const std::int64_t block = unit * width_of(o.shape.type);
      o.sent.push_back(buffers_.take(bytes(o.shape.send_blocks() * block)));
      o.received.push_back(buffers_.take(bytes(o.shape.receive_blocks() * block)));
    }
    return o;
  }
  void release(operation& o) {
    for (detail::byte_buffer& buffer : o.sent) buffers_.release(buffer);
    for (detail::byte_buffer& buffer : o.received) buffers_.release(buffer);
  }

  // --- buckets: copies drive communication too, as often as other work
  std::size_t pack(const compute_call& work) {
    packed_ = made_of(*work.bucket);
    operation& o = *packed_;
    const std::span<detail::byte_buffer> members = copies_.open(o.shape, o.shape.send_blocks());
    if (options_.check) fill(o, members);
    const auto begin = clock::now();
    copies_.pack(o.sent[0], [&] { channels_.progress(); });
    copies_.close();
    return record(begin);
  }
  std::size_t unpack(const compute_call& work) {
    std::size_t number = operations_.size();
    while (number-- > 0)
      if (operations_[number].bucket == work.bucket) break;
    operation& o = operations_[number];  // a deque: it stays where it is
    const std::span<detail::byte_buffer> members = copies_.open(o.shape, o.shape.receive_blocks());
    const auto begin = clock::now();
    copies_.unpack(o.received[0], [&] { channels_.progress(); });
    const std::size_t span = record(begin);
    for (std::size_t m = 0; m < members.size(); ++m) inspect(o, m, members[m]);
    copies_.close();
    release(o);
    return span;
  }

  // --- values
  void fill(const operation& o, std::span<detail::byte_buffer> members) const {
    for (std::size_t m = 0; m < members.size(); ++m) fill_payload(o.shape, m, position_on(o.channel), members[m]);
  }
  void inspect(const operation& o, std::size_t member, std::span<const std::byte> received) {
    if (!options_.check) return;
    const std::string fault = payload_fault(o.shape, member, position_on(o.channel), received);
    if (!fault.empty())
      refuse(error_category::backend, channels_.name(o) + ", task " + std::to_string(o.shape.tasks[member]) +
                                          ": rank " + std::to_string(world().rank()) + " " + fault);
    ++checked_;
  }
  void inspect_in_place(operation& o) {
    if (o.inspected) return;
    o.inspected = true;
    for (std::size_t m = 0; m < o.received.size(); ++m) inspect(o, m, o.received[m]);
    release(o);
  }

  mpi_engine_options options_;
  clock::time_point birth_ = clock::now();
  detail::mpi_channels channels_;
  std::optional<busy_work> busy_;
  std::deque<operation> operations_;  // stays where it is while it grows
  std::optional<operation> packed_;   // a bucket that is packed and not started
  detail::buffer_pool buffers_;
  detail::bucket_copies copies_{buffers_};
  std::size_t checked_ = 0;
  bool failed_ = false;  // what leaves by an exception leaves a run that cannot go on
};

static_assert(ranked_engine<mpi_engine>);

}  // namespace shardweave::inline v0
