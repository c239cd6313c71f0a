#include <shardweave/core/error.hpp>
#include <shardweave/engine/folder_meeting.hpp>

#include <doctest/doctest.h>
#include <support/temporary_folder.hpp>

#include <chrono>
#include <cstdint>
#include <future>
#include <span>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace folder_meeting_tests {
namespace {
struct heard {
  std::vector<std::int64_t> shared;
  sw::rank_meeting::all_answers answers;
};

/// What a rank of three hears; the last one answers nobody.
heard attend(const std::filesystem::path& folder, int rank) {
  const sw::rank_meeting meeting = sw::meet_in_folder(folder, rank, 3);
  heard all;
  for (std::int64_t round = 0; round < 4; ++round) {
    std::int64_t word = rank == 0 ? 100 + round : -1;
    meeting.share(std::as_writable_bytes(std::span(&word, 1)));
    all.shared.push_back(word);
  }
  if (rank == 2) return all;
  meeting.listen([rank](std::int64_t channel) { return sw::rank_state{10 * rank + channel, 7, channel}; });
  all.answers = meeting.ask(rank + 4, std::chrono::milliseconds(600), [] {});
  return all;
}
}  // namespace

TEST_SUITE("folder_meeting") {
  TEST_CASE("every rank gets what rank 0 shares, in turn, and the answers of all who answer") {
    const temporary_folder folder;
    std::vector<std::future<heard>> ranks;
    for (int r = 0; r < 3; ++r) ranks.push_back(std::async(std::launch::async, attend, folder / "meeting", r));
    for (int r = 0; r < 3; ++r) {
      const heard all = ranks[static_cast<std::size_t>(r)].get();
      CHECK(all.shared == std::vector<std::int64_t>{100, 101, 102, 103});
      if (r == 2) continue;
      REQUIRE(all.answers.size() == 3);
      for (int other = 0; other < 2; ++other) {
        const auto& state = all.answers[static_cast<std::size_t>(other)];
        REQUIRE(state);
        CHECK(state->started == 10 * other + r + 4);
        CHECK(state->waits_task == 7);
        CHECK(state->waits_channel == r + 4);
      }
      CHECK_FALSE(all.answers[2]);
    }
  }
  TEST_CASE("a folder that a rank has been in, ranks that are none, and a rank 0 that does not come are refused") {
    const temporary_folder folder;
    for (const int none : {-1, 3})
      CHECK_THROWS_WITH_AS((void)sw::meet_in_folder(folder.path(), none, 3),
                           ("rank " + std::to_string(none) + " of 3 cannot meet in folder " + folder.path().string() +
                            ", expected a rank from 0 on and below their number")
                               .c_str(),
                           sw::error);
    const sw::rank_meeting late = sw::meet_in_folder(folder.path(), 1, 2, 0.05);
    std::int64_t word = 0;
    CHECK_THROWS_WITH_AS(late.share(std::as_writable_bytes(std::span(&word, 1))),
                         ("rank 0 has not come to folder " + folder.path().string() + " after 0.05 s").c_str(),
                         sw::error);
    CHECK_THROWS_WITH_AS(
        (void)sw::meet_in_folder(folder.path(), 1, 2),
        ("folder " + folder.path().string() + " has seen rank 1 already, expected a folder that no other run has used")
            .c_str(),
        sw::error);
  }
}

}  // namespace folder_meeting_tests
