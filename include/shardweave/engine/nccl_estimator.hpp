#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/nccl_filter.hpp>
#include <shardweave/engine/nccl_communicator.hpp>
#include <shardweave/engine/nccl_handles.hpp>
#include <shardweave/engine/nccl_launch.hpp>
#include <shardweave/engine/payload.hpp>
#include <shardweave/engine/rank_meeting.hpp>

#include <nccl.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

/// \file
/// What NCCL itself expects a collective to take, on the devices at hand.

namespace shardweave::inline v0 {

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 22, 3)

/// Asks NCCL for estimates (`ncclGroupSimulateEnd`) on a communicator of all ranks of a meeting, one collective per
/// question, as NCCL estimates only the last one of a group. Another model answers where NCCL does not: for groups of
/// another size, for all-to-all, and where a tuner plugin has put its prices to zero. Nothing is launched, but NCCL may
/// connect ranks at the first question of a kind: every rank asks the same questions in the same order. Models
/// `collective_cost_model`; copies share one communicator, answers are kept, and threads take turns.
///
/// Not asked for by default: estimates of releases are formulas like those of `nccl_tuner`, which needs no device.
template <class Otherwise>
class nccl_estimator {
 public:
  /// Every rank of the meeting calls, with its device set (`cudaSetDevice`).
  /// \param largest  of the larger buffer of a rank: as much memory is held twice; larger ones are another model's
  nccl_estimator(const rank_meeting& meeting, group_shape shape, Otherwise otherwise, bytes largest = mebibytes(64))
      : shared_(std::make_shared<shared>(meeting, shape, largest)), otherwise_(std::move(otherwise)) {}

  [[nodiscard]] collective_estimate estimate(collective kind, bytes size, group_shape group) const {
    const auto told = group == shared_->shape && size > bytes(0) ? shared_->ask(kind, size) : std::nullopt;
    if (!told) return detail::estimate_by(otherwise_, kind, size, group);
    return {.time_us = *told, .bandwidth_us = *told, .quality = estimate_quality::formula};
  }
  /// What NCCL says, in microseconds; nothing where it says nothing.
  [[nodiscard]] std::optional<double> told(collective kind, bytes size) const { return shared_->ask(kind, size); }

 private:
  struct shared {
    shared(const rank_meeting& meeting, group_shape given, bytes most)
        : shape(given),
          largest(most),
          from(make_device_memory(static_cast<std::size_t>(most.count()))),
          to(make_device_memory(static_cast<std::size_t>(most.count()))),
          stream(make_stream()),
          comm(nccl_communicator::create(
              meeting, [](std::string_view, std::chrono::steady_clock::time_point) {}, nccl_calls::blocking)) {
      if (shape.ranks() != comm.size())
        refuse(error_category::input, "estimates for a group of " + std::to_string(shape.ranks()) +
                                          " ranks were asked for on a communicator of " + std::to_string(comm.size()));
    }
    std::optional<double> ask(collective kind, bytes size) {
      // a single rank's collective would not be simulated but carried out
      if (comm.size() == 1 || !nccl_operation_of(kind) || size > largest) return std::nullopt;
      const std::lock_guard guard(lock);
      if (const auto kept = answers.find({kind, size}); kept != answers.end()) return kept->second;
      const std::int64_t unit = kind == collective::all_reduce ? size.count() : size.count() / comm.size();
      const nccl_piece piece{from.data(), to.data(), unit};
      ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
      check_nccl(ncclGroupStart(), "ncclGroupStart");
      try {
        static_cast<void>(launch_on(comm, stream.get(), kind, element_type::u8, reduce_op::sum, std::span(&piece, 1)));
      } catch (...) {
        static_cast<void>(ncclGroupSimulateEnd(&info));  // closes the group
        throw;
      }
      check_nccl(ncclGroupSimulateEnd(&info), "ncclGroupSimulateEnd", comm.get());
      std::optional<double> answer;
      if (info.estimatedTime > 0) answer = static_cast<double>(info.estimatedTime);
      answers.emplace(std::pair(kind, size), answer);  // a call that was refused is no answer
      return answer;
    }

    group_shape shape;
    bytes largest;
    device_memory from, to;
    device_stream stream;
    nccl_communicator comm;
    std::mutex lock;
    std::map<std::pair<collective, bytes>, std::optional<double>> answers;
  };

  std::shared_ptr<shared> shared_;
  Otherwise otherwise_;
};

#endif

}  // namespace shardweave::inline v0
