#include "mpi_ranks.hpp"
#include <shardweave/engine/mpi_meeting.hpp>
#include <shardweave/engine/mpi_session.hpp>
#include <shardweave/engine/rank_meeting.hpp>

#include <doctest/doctest.h>
#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sw = shardweave;

namespace mpi_meeting_tests {
namespace {
using mpi_tests::check_ranks;
using mpi_tests::fail;
using mpi_tests::meet;
using mpi_tests::right;
using mpi_tests::same;
}  // namespace

TEST_SUITE("mpi_meeting") {
  TEST_CASE("ranks get what rank 0 shares, and answer all who ask by turns") { check_ranks("a meeting", "meeting"); }
}

TEST_SUITE("mpi rank") {
  TEST_CASE("a meeting" * doctest::skip()) {
    const sw::mpi_session session;
    const sw::rank_meeting meeting = sw::meet_over_mpi();
    same(meeting.rank, session.rank(), "the rank at a meeting");
    same(meeting.size, 4, "the size of a meeting");
    int word = 10 + session.rank();
    meeting.share(std::as_writable_bytes(std::span(&word, 1)));
    same(word, 10, "what rank 0 shares");
    if (session.rank() != 3)  // who does not listen yet has not started anything
      meeting.listen([&](std::int64_t channel) { return sw::rank_state{channel, session.rank(), -1}; });
    for (int asking = 0; asking < 4; ++asking) {  // by turns: several ranks may ask
      if (session.rank() == asking) {
        const auto states = meeting.ask(7, std::chrono::seconds(20), [] {});
        same(states.size(), std::size_t{4}, "an answer for each rank");
        for (int r = 0; r < 4; ++r) {
          const auto& state = states[static_cast<std::size_t>(r)];
          if (!state) fail("a rank did not answer at a meeting");
          same(state->started, r == 3 ? 0 : 7, "what a rank of a meeting has started");
          same(state->waits_task, r == 3 ? -1 : r, "for what a rank of a meeting waits");
        }
      }
      meet(meeting.answer);
    }
    meeting.listen({});
    right(session, "meeting");
  }
}

}  // namespace mpi_meeting_tests
