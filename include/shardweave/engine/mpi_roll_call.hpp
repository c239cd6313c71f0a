#pragma once

#include <shardweave/engine/mpi_session.hpp>
#include <shardweave/engine/rank_meeting.hpp>

#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

/// \file
/// Ranks that ask each other how far they are.

namespace shardweave::inline v0 {

/// Every rank answers questions while it drives its communication; who stopped, hangs or died does not. Nothing is
/// sent as long as nobody asks.
class mpi_roll_call {
 public:
  /// Every rank calls.
  /// \param state  of this rank, on a channel
  mpi_roll_call(MPI_Comm comm, std::function<rank_state(std::int64_t channel)> state)
      : comm_(mpi_communicator::duplicate(comm)), state_(std::move(state)) {
    listen();
  }
  mpi_roll_call(const mpi_roll_call&) = delete;
  mpi_roll_call& operator=(const mpi_roll_call&) = delete;
  ~mpi_roll_call() {
    if (failed_) {
      comm_.leak();
      return;
    }
    if (question_ == MPI_REQUEST_NULL) return;
    MPI_Cancel(&question_);
    MPI_Wait(&question_, MPI_STATUS_IGNORE);
  }

  /// Answers whoever asked since.
  void answer() {
    for (;;) {
      int asked = 0;
      MPI_Status from;
      check_mpi(MPI_Test(&question_, &asked, &from), "MPI_Test");
      if (asked == 0) return;
      const rank_state mine = state_(channel_);
      const std::int64_t words[] = {mine.started, mine.waits_task, mine.waits_channel};
      check_mpi(MPI_Send(words, 3, MPI_INT64_T, from.MPI_SOURCE, answers, comm_.get()), "MPI_Send");
      listen();
    }
  }

  /// Asks all ranks about a channel and collects answers for some time, calling `meanwhile` and answering others.
  /// Afterwards the run has failed: communicators stay as they are until all processes are ended.
  /// \returns by rank; nothing from those that did not answer
  [[nodiscard]] std::vector<std::optional<rank_state>> ask(std::int64_t channel, std::chrono::nanoseconds patience,
                                                           const std::function<void()>& meanwhile) {
    failed_ = true;
    const auto count = static_cast<std::size_t>(comm_.size());
    std::vector<std::optional<rank_state>> states(count);
    std::vector<MPI_Request> asked(count, MPI_REQUEST_NULL);
    states[static_cast<std::size_t>(comm_.rank())] = state_(channel);
    question_sent_ = channel;
    for (int r = 0; r < comm_.size(); ++r)
      if (r != comm_.rank())
        check_mpi(
            MPI_Isend(&question_sent_, 1, MPI_INT64_T, r, questions, comm_.get(), &asked[static_cast<std::size_t>(r)]),
            "MPI_Isend");
    std::size_t missing = count - 1;
    const auto end = std::chrono::steady_clock::now() + patience;
    while (missing > 0 && std::chrono::steady_clock::now() < end) {
      int there = 0;
      MPI_Status from;
      check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, answers, comm_.get(), &there, &from), "MPI_Iprobe");
      if (there != 0) {
        std::int64_t words[3] = {};
        check_mpi(MPI_Recv(words, 3, MPI_INT64_T, from.MPI_SOURCE, answers, comm_.get(), MPI_STATUS_IGNORE),
                  "MPI_Recv");
        states[static_cast<std::size_t>(from.MPI_SOURCE)] = rank_state{words[0], words[1], words[2]};
        --missing;
      }
      answer();
      meanwhile();
      std::this_thread::yield();
    }
    for (MPI_Request& request : asked)
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    return states;
  }
  /// The run has failed: nothing is taken down.
  void give_up() { failed_ = true; }

 private:
  static constexpr int questions = 1, answers = 2;
  void listen() {
    check_mpi(MPI_Irecv(&channel_, 1, MPI_INT64_T, MPI_ANY_SOURCE, questions, comm_.get(), &question_), "MPI_Irecv");
  }

  mpi_communicator comm_;
  std::function<rank_state(std::int64_t)> state_;
  std::int64_t channel_ = 0;        // written by MPI
  std::int64_t question_sent_ = 0;  // read by MPI
  MPI_Request question_ = MPI_REQUEST_NULL;
  bool failed_ = false;
};

}  // namespace shardweave::inline v0
