#pragma once

#include <shardweave/engine/nccl_handles.hpp>
#include <shardweave/engine/rank_meeting.hpp>

#include <nccl.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

/// \file
/// A communicator of NCCL whose calls do not block, and which is taken down with its owner.

namespace shardweave::inline v0 {

/// Called again and again while NCCL is not done with a call that has begun at `since`; ends the waiting by an
/// exception.
using nccl_waiting = std::function<void(std::string_view call, std::chrono::steady_clock::time_point since)>;

/// What a communicator is made for.
enum class nccl_calls : int {
  blocking = 1,     ///< a call returns when it is done, with no limit: what NCCL's own estimates ask for
  non_blocking = 0  ///< a call returns at once: a rank that never comes does not hold up this thread
};

namespace detail {
/// Keeps what NCCL may still write to when nobody waits for it any more: a few bytes of a run that has failed.
inline void unclaimed(std::unique_ptr<ncclComm_t> slot) {
  static std::mutex lock;
  static std::vector<std::unique_ptr<ncclComm_t>> kept;
  const std::lock_guard guard(lock);
  kept.push_back(std::move(slot));
}
}  // namespace detail

/// Owns a communicator. Every rank makes it, splits it and lets it go alike.
class nccl_communicator {
 public:
  nccl_communicator() = default;
  nccl_communicator(nccl_communicator&& other) noexcept { *this = std::move(other); }
  nccl_communicator& operator=(nccl_communicator&& other) noexcept {
    std::swap(slot_, other.slot_);
    std::swap(rank_, other.rank_);
    std::swap(size_, other.size_);
    return *this;
  }
  /// Waits until the others let go too, but not for long; where calls block, for as long as NCCL does.
  ~nccl_communicator() { close(); }

  /// Of all ranks of a meeting, on the current device. Rank 0 makes the id that all need.
  [[nodiscard]] static nccl_communicator create(const rank_meeting& meeting, const nccl_waiting& waiting,
                                                nccl_calls calls = nccl_calls::non_blocking) {
    ncclUniqueId id = {};
    if (meeting.rank == 0) check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
    meeting.share(std::as_writable_bytes(std::span(&id, 1)));
    nccl_communicator made;
    made.rank_ = meeting.rank;
    made.size_ = meeting.size;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = static_cast<int>(calls);
    constexpr std::string_view call = "ncclCommInitRankConfig";
    const ncclResult_t code = ncclCommInitRankConfig(made.slot_.get(), meeting.size, id, meeting.rank, &config);
    made.arrive(code, call, waiting, made);
    return made;
  }
  /// Of the ranks with the same color, in their old order.
  /// \param size  how many ranks have that color
  [[nodiscard]] nccl_communicator split(int color, int position, int size, const nccl_waiting& waiting) const {
    nccl_communicator made;
    made.rank_ = position;
    made.size_ = size;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = static_cast<int>(nccl_calls::non_blocking);
    constexpr std::string_view call = "ncclCommSplit";
    const ncclResult_t code = ncclCommSplit(get(), color, rank_, made.slot_.get(), &config);
    made.arrive(code, call, waiting, *this);
    return made;
  }

  /// Waits until NCCL is done with a call that returned `code`.
  /// \throws error (backend) if the call failed, and what `waiting` throws
  void settle(ncclResult_t code, std::string_view call, const nccl_waiting& waiting) const {
    const auto since = std::chrono::steady_clock::now();
    while (code == ncclInProgress) {
      waiting(call, since);
      code = state();
    }
    check_nccl(code, call, get());
  }
  /// Whether NCCL is done with what it was last told, or what has gone wrong since.
  [[nodiscard]] ncclResult_t state() const {
    ncclResult_t code = ncclSuccess;
    check_nccl(ncclCommGetAsyncError(get(), &code), "ncclCommGetAsyncError", get());
    return code;
  }
  /// Ends whatever is under way, on the device too; the communicator is gone.
  void abort() {
    if (const ncclComm_t comm = release()) static_cast<void>(ncclCommAbort(comm));
  }

  [[nodiscard]] ncclComm_t get() const { return std::atomic_ref<ncclComm_t>(*slot_).load(std::memory_order_acquire); }
  [[nodiscard]] explicit operator bool() const { return get() != nullptr; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

 private:
  /// NCCL fills the slot from a thread of its own, possibly after the call has returned; whom it tells is `asked`. A
  /// split may be told to be done before it is (NCCL 2.28): only what stands in the slot says so.
  void arrive(ncclResult_t code, std::string_view call, const nccl_waiting& waiting, const nccl_communicator& asked) {
    try {
      const auto since = std::chrono::steady_clock::now();
      asked.settle(code, call, waiting);
      while (get() == nullptr) {
        waiting(call, since);
        asked.settle(asked.state(), call, waiting);
      }
      settle(state(), call, waiting);
    } catch (...) {
      if (get() != nullptr)
        abort();
      else  // NCCL may still write there, as long as `asked` lives
        detail::unclaimed(std::exchange(slot_, std::make_unique<ncclComm_t>(nullptr)));
      throw;
    }
  }
  ncclComm_t release() { return std::atomic_ref<ncclComm_t>(*slot_).exchange(nullptr); }
  void close() noexcept {
    const ncclComm_t comm = slot_ ? release() : nullptr;
    if (comm == nullptr) return;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    ncclResult_t code = ncclCommFinalize(comm);  // where calls block, so does this, with no limit
    while (code == ncclInProgress && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
      if (ncclCommGetAsyncError(comm, &code) != ncclSuccess) code = ncclInternalError;
    }
    static_cast<void>(code == ncclSuccess ? ncclCommDestroy(comm) : ncclCommAbort(comm));
  }

  std::unique_ptr<ncclComm_t> slot_ = std::make_unique<ncclComm_t>(nullptr);
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace shardweave::inline v0
