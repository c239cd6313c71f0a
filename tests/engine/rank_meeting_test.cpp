#include <shardweave/engine/rank_meeting.hpp>

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace rank_meeting_tests {
namespace {
using answers = sw::rank_meeting::all_answers;
const std::vector<std::string> channels{"data", "tensor"};
}  // namespace

TEST_SUITE("rank_meeting") {
  TEST_CASE("one rank alone keeps its bytes, and answers itself what it listens with") {
    const sw::rank_meeting meeting = sw::meet_alone();
    CHECK(meeting.rank == 0);
    CHECK(meeting.size == 1);
    std::array<std::byte, 2> bytes{std::byte{3}, std::byte{4}};
    meeting.share(bytes);
    CHECK(bytes == std::array<std::byte, 2>{std::byte{3}, std::byte{4}});
    const auto started_on = [&](std::int64_t channel) {
      return meeting.ask(channel, std::chrono::seconds(0), [] {}).at(0)->started;
    };
    CHECK(started_on(1) == 0);
    {
      sw::rank_listener listener;
      listener.begin(meeting, [](std::int64_t channel) { return sw::rank_state{.started = 10 + channel}; });
      CHECK(started_on(0) == 10);
      CHECK(started_on(1) == 11);
    }
    CHECK(started_on(1) == 0);  // nobody listens any more
  }
  TEST_CASE("who holds up a collective is named, and for what it waits itself") {
    const answers all{sw::rank_state{.started = 5}, std::nullopt,
                      sw::rank_state{.started = 4, .waits_task = 17, .waits_channel = 1}, sw::rank_state{.started = 2}};
    const std::vector<std::int64_t> group{0, 2};
    CHECK(sw::missing_ranks(all, group, 5, channels) ==
          "rank 1 does not answer; rank 2 has not started it, it waits for task 17 on tensor");
    CHECK(sw::missing_ranks(all, std::vector<std::int64_t>{3}, 5, channels) ==
          "rank 1 does not answer; rank 3 has not started it");
    CHECK(sw::missing_ranks({all[0], all[2]}, group, 4, channels) == "all ranks have started it");
    // a channel that is not known is not told
    const answers far{sw::rank_state{.started = 0, .waits_task = 1, .waits_channel = 9}};
    CHECK(sw::missing_ranks(far, std::vector<std::int64_t>{0}, 1, channels) == "rank 0 has not started it");
  }
  TEST_CASE("limits are told in seconds") {
    CHECK(sw::limit_text(0.5) == "0.5 s");
    CHECK(sw::limit_text(60) == "60 s");
  }
}

}  // namespace rank_meeting_tests
