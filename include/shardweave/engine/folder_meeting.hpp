#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/engine/rank_meeting.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <ios>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

/// \file
/// Ranks that meet through files, where nothing else connects them.

namespace shardweave::inline v0 {
namespace detail {

/// One rank's view of the folder. A file is written under another name and renamed, so that it is there whole.
class folder_of_ranks {
 public:
  folder_of_ranks(std::filesystem::path folder, int rank, int size, std::chrono::nanoseconds patience)
      : folder_(std::move(folder)), rank_(rank), size_(size), patience_(patience) {
    std::error_code failed;
    std::filesystem::create_directories(folder_, failed);
    if (!std::filesystem::create_directory(folder_ / ("rank-" + std::to_string(rank)), failed))
      refuse(error_category::system, failed ? "folder " + folder_.string() + ": " + failed.message()
                                            : "folder " + folder_.string() + " has seen rank " + std::to_string(rank) +
                                                  " already, expected a folder that no other run has used");
  }

  void share(std::span<std::byte> data) {
    const std::string name = "shared-" + std::to_string(shared_++);
    if (rank_ == 0) return write(name, data);
    const auto end = clock::now() + patience_;
    while (!read(name, data)) {
      if (clock::now() > end)
        refuse(error_category::backend, "rank 0 has not come to folder " + folder_.string() + " after " +
                                            limit_text(std::chrono::duration<double>(patience_).count()));
      std::this_thread::sleep_for(nap);
    }
  }
  void listen(rank_meeting::state_on_channel state) { state_ = std::move(state); }
  /// Looks for questions now and then: that is a look at a file system.
  void answer() {
    const auto now = clock::now();
    if (now - looked_ < nap || !state_) return;
    looked_ = now;
    answered_.resize(static_cast<std::size_t>(size_));
    for (int r = 0; r < size_; ++r) {
      std::int64_t channel = 0;
      const auto from = static_cast<std::size_t>(r);
      if (r == rank_ || answered_[from]) continue;
      if (!read("question-" + std::to_string(r), std::as_writable_bytes(std::span(&channel, 1)))) continue;
      answered_[from] = true;
      const rank_state state = state_(channel);
      const std::int64_t words[] = {state.started, state.waits_task, state.waits_channel};
      std::int64_t copy[] = {words[0], words[1], words[2]};
      write("answer-" + std::to_string(r) + "-" + std::to_string(rank_), std::as_writable_bytes(std::span(copy)));
    }
  }
  [[nodiscard]] rank_meeting::all_answers ask(std::int64_t channel, std::chrono::nanoseconds patience,
                                              const std::function<void()>& meanwhile) {
    rank_meeting::all_answers states(static_cast<std::size_t>(size_));
    states[static_cast<std::size_t>(rank_)] = state_ ? state_(channel) : rank_state{};
    write("question-" + std::to_string(rank_), std::as_writable_bytes(std::span(&channel, 1)));
    // to the end, whoever has answered: others may ask a little later
    for (const auto end = clock::now() + patience; clock::now() < end;) {
      for (int r = 0; r < size_; ++r) {
        std::int64_t words[3] = {};
        std::optional<rank_state>& state = states[static_cast<std::size_t>(r)];
        if (state || !read("answer-" + std::to_string(rank_) + "-" + std::to_string(r),
                           std::as_writable_bytes(std::span(words))))
          continue;
        state = rank_state{words[0], words[1], words[2]};
      }
      answer();
      meanwhile();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return states;
  }

 private:
  using clock = std::chrono::steady_clock;
  static constexpr auto nap = std::chrono::milliseconds(5);

  void write(const std::string& name, std::span<std::byte> data) const {
    const auto target = folder_ / name;
    const auto draft = folder_ / (name + ".draft");
    std::ofstream file(draft, std::ios::binary);
    file.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
    file.close();
    std::error_code failed;
    std::filesystem::rename(draft, target, failed);
    if (!file || failed) refuse(error_category::system, target.string() + " cannot be written");
  }
  [[nodiscard]] bool read(const std::string& name, std::span<std::byte> into) const {
    std::ifstream file(folder_ / name, std::ios::binary);
    file.read(reinterpret_cast<char*>(into.data()), static_cast<std::streamsize>(into.size()));
    return file.good();
  }

  std::filesystem::path folder_;
  int rank_;
  int size_;
  std::chrono::nanoseconds patience_;
  rank_meeting::state_on_channel state_ = {};
  std::vector<bool> answered_ = {};
  clock::time_point looked_ = {};
  int shared_ = 0;
};

}  // namespace detail

/// Meets through a folder that all ranks see and that no other run has used; it is made where it is not there, and
/// stays when the run is over. Every rank calls.
/// \param patience_seconds  how long a rank waits there for rank 0
/// \throws error (input) for a rank that is none, (system) if this rank has been in the folder before
[[nodiscard]] inline rank_meeting meet_in_folder(const std::filesystem::path& folder, int rank, int size,
                                                 double patience_seconds = 60) {
  if (rank < 0 || rank >= size)
    refuse(error_category::input, "rank " + std::to_string(rank) + " of " + std::to_string(size) +
                                      " cannot meet in folder " + folder.string() +
                                      ", expected a rank from 0 on and below their number");
  const auto shared = std::make_shared<detail::folder_of_ranks>(
      folder, rank, size, std::chrono::nanoseconds(static_cast<std::int64_t>(patience_seconds * 1e9)));
  rank_meeting meeting;
  meeting.rank = rank;
  meeting.size = size;
  meeting.share = [shared](std::span<std::byte> data) { shared->share(data); };
  meeting.listen = [shared](rank_meeting::state_on_channel state) { shared->listen(std::move(state)); };
  meeting.answer = [shared] { shared->answer(); };
  meeting.ask = [shared](std::int64_t channel, std::chrono::nanoseconds patience,
                         const std::function<void()>& meanwhile) { return shared->ask(channel, patience, meanwhile); };
  return meeting;
}

}  // namespace shardweave::inline v0
