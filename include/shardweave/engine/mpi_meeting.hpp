#pragma once

#include <shardweave/engine/mpi_roll_call.hpp>
#include <shardweave/engine/mpi_session.hpp>
#include <shardweave/engine/rank_meeting.hpp>

#include <mpi.h>

#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

/// \file
/// Ranks of an MPI run that communicate by something else and meet over MPI.

namespace shardweave::inline v0 {

/// Every rank of `world` calls. MPI ends after the meeting and its copies.
[[nodiscard]] inline rank_meeting meet_over_mpi(MPI_Comm world = MPI_COMM_WORLD) {
  struct both {
    explicit both(MPI_Comm comm)
        : communicator(mpi_communicator::duplicate(comm)),
          calls(comm, [this](std::int64_t channel) { return state ? state(channel) : rank_state{}; }) {}
    rank_meeting::state_on_channel state = {};
    mpi_communicator communicator;
    mpi_roll_call calls;
  };
  const auto shared = std::make_shared<both>(world);
  rank_meeting meeting;
  meeting.rank = shared->communicator.rank();
  meeting.size = shared->communicator.size();
  meeting.share = [shared](std::span<std::byte> data) {
    SHARDWEAVE_EXPECTS(data.size() <= INT_MAX);
    check_mpi(MPI_Bcast(data.data(), static_cast<int>(data.size()), MPI_BYTE, 0, shared->communicator.get()),
              "MPI_Bcast");
  };
  meeting.listen = [shared](rank_meeting::state_on_channel mine) { shared->state = std::move(mine); };
  meeting.answer = [shared] { shared->calls.answer(); };
  meeting.ask = [shared](std::int64_t channel, std::chrono::nanoseconds patience,
                         const std::function<void()>& meanwhile) {
    return shared->calls.ask(channel, patience, meanwhile);
  };
  return meeting;
}

}  // namespace shardweave::inline v0
