#pragma once

#include <shardweave/core/error.hpp>

#include <mpi.h>

#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// MPI from its beginning to its end, communicators that free themselves, and errors instead of codes.

namespace shardweave::inline v0 {

/// Turns what MPI returns into an error that names the call.
/// \throws error (backend) unless the code says success
inline void check_mpi(int code, std::string_view call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  refuse(error_category::backend, std::string(call) + ": " + std::string(text, static_cast<std::size_t>(length)));
}

/// Starts MPI and ends it, unless the host did so itself. Leaving by an exception does not wait for ranks that may
/// never come: it aborts all of them, so that no process is left behind. Whoever wants to say something first
/// catches the exception, speaks and calls `abort`.
class mpi_session {
 public:
  mpi_session() : thrown_(std::uncaught_exceptions()) {
    int begun = 0;
    MPI_Initialized(&begun);
    owner_ = begun == 0;
    if (owner_) check_mpi(MPI_Init(nullptr, nullptr), "MPI_Init");
  }
  mpi_session(const mpi_session&) = delete;
  mpi_session& operator=(const mpi_session&) = delete;
  ~mpi_session() {
    if (std::uncaught_exceptions() > thrown_) MPI_Abort(MPI_COMM_WORLD, 1);
    if (owner_) MPI_Finalize();
  }

  [[nodiscard]] int rank() const {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
  }
  [[nodiscard]] int size() const {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
  }
  /// Ends all processes of the run.
  [[noreturn]] static void abort(int status) {
    MPI_Abort(MPI_COMM_WORLD, status);
    std::terminate();  // not reached: MPI does not say so to the compiler
  }

 private:
  bool owner_ = false;
  int thrown_ = 0;
};

/// A communicator that is freed with its owner, and whose failures are returned instead of ending the process.
class mpi_communicator {
 public:
  mpi_communicator() = default;
  /// Takes over a communicator.
  explicit mpi_communicator(MPI_Comm owned) : comm_(owned) {
    check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
  }
  mpi_communicator(mpi_communicator&& other) noexcept { *this = std::move(other); }
  mpi_communicator& operator=(mpi_communicator&& other) noexcept {
    std::swap(comm_, other.comm_);
    std::swap(rank_, other.rank_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~mpi_communicator() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  /// Of all ranks of another one; every rank calls.
  [[nodiscard]] static mpi_communicator duplicate(MPI_Comm comm) {
    MPI_Comm made = MPI_COMM_NULL;
    check_mpi(MPI_Comm_dup(comm, &made), "MPI_Comm_dup");
    return mpi_communicator(made);
  }
  /// Of the ranks with the same color, in their old order; every rank calls.
  [[nodiscard]] static mpi_communicator split(MPI_Comm comm, int color) {
    MPI_Comm made = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split(comm, color, 0, &made), "MPI_Comm_split");
    return mpi_communicator(made);
  }
  /// Lets the communicator live: freeing is an agreement of all ranks, which a failed run does not reach.
  void leak() { comm_ = MPI_COMM_NULL; }

  [[nodiscard]] MPI_Comm get() const { return comm_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace shardweave::inline v0
