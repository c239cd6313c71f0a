#pragma once

#include <shardweave/core/number_text.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// How the ranks of a run reach each other beside what they are about to measure.

namespace shardweave::inline v0 {

/// Where a rank is, seen from one channel.
struct rank_state {
  std::int64_t started = 0;      ///< collectives started on the channel that was asked for, ever
  std::int64_t waits_task = -1;  ///< the collective for which it waits; -1 = it waits for none
  std::int64_t waits_channel = 0;
};

/// A way by which ranks meet before they have communicators, and ask each other how far they are when those no longer
/// answer: over MPI (`meet_over_mpi`), through a folder that all see (`meet_in_folder`), or alone (`meet_alone`).
struct rank_meeting {
  using state_on_channel = std::function<rank_state(std::int64_t channel)>;
  using all_answers = std::vector<std::optional<rank_state>>;

  int rank = 0;
  int size = 1;
  /// Gives every rank the bytes of rank 0. Every rank calls.
  std::function<void(std::span<std::byte>)> share = {};
  /// From now on `answer` says this of this rank.
  std::function<void(state_on_channel)> listen = {};
  /// Answers whoever asked since; cheap, and called often.
  std::function<void()> answer = {};
  /// Asks all ranks about a channel and collects answers for some time, calling `meanwhile`. By rank; nothing from
  /// those that did not answer. The run has failed afterwards.
  std::function<all_answers(std::int64_t channel, std::chrono::nanoseconds patience,
                            const std::function<void()>& meanwhile)>
      ask = {};
};

/// Says where this rank is for as long as it lives, also when what it tells of is never finished.
class rank_listener {
 public:
  rank_listener() = default;
  rank_listener(const rank_listener&) = delete;
  rank_listener& operator=(const rank_listener&) = delete;
  ~rank_listener() {
    if (meeting_ != nullptr) meeting_->listen({});
  }

  /// \pre meeting outlives this
  void begin(const rank_meeting& meeting, rank_meeting::state_on_channel mine) {
    meeting_ = &meeting;
    meeting.listen(std::move(mine));
  }

 private:
  const rank_meeting* meeting_ = nullptr;
};

/// The meeting of a run of one rank.
[[nodiscard]] inline rank_meeting meet_alone() {
  const auto state = std::make_shared<rank_meeting::state_on_channel>();
  rank_meeting meeting;
  meeting.share = [](std::span<std::byte>) {};
  meeting.listen = [state](rank_meeting::state_on_channel mine) { *state = std::move(mine); };
  meeting.answer = [] {};
  meeting.ask = [state](std::int64_t channel, std::chrono::nanoseconds, const std::function<void()>&) {
    return rank_meeting::all_answers{*state ? (*state)(channel) : rank_state{}};
  };
  return meeting;
}

/// Says which ranks hold up a collective: those that say nothing, and those of its group that have not started it.
/// \param members  the ranks of the group; empty where all ranks wait for each other outside a group
/// \param started  collectives that this rank has started on the channel
/// \param labels   of the channels
[[nodiscard]] inline std::string missing_ranks(const rank_meeting::all_answers& answers,
                                               std::span<const std::int64_t> members, std::int64_t started,
                                               std::span<const std::string> labels) {
  std::string text;
  const auto say = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  for (std::size_t r = 0; r < answers.size(); ++r) {
    const std::string who = "rank " + std::to_string(r);
    if (!answers[r]) {
      say(who + " does not answer");
      continue;
    }
    if (std::find(members.begin(), members.end(), static_cast<std::int64_t>(r)) == members.end()) continue;
    if (answers[r]->started >= started) continue;
    std::string part = who + " has not started it";
    const std::int64_t at = answers[r]->waits_channel;
    if (answers[r]->waits_task >= 0 && at >= 0 && at < static_cast<std::int64_t>(labels.size()))
      part += ", it waits for task " + std::to_string(answers[r]->waits_task) + " on " +
              labels[static_cast<std::size_t>(at)];
    say(part);
  }
  return text.empty() ? "all ranks have started it" : text;
}

/// "0.5 s" and the like, for messages about time limits.
[[nodiscard]] inline std::string limit_text(double seconds) { return number_text(seconds) + " s"; }

}  // namespace shardweave::inline v0
