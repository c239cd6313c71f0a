#include "mpi_ranks.hpp"
#include <shardweave/engine/mpi_roll_call.hpp>
#include <shardweave/engine/mpi_session.hpp>
#include <shardweave/engine/rank_meeting.hpp>

#include <doctest/doctest.h>
#include <mpi.h>

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace sw = shardweave;

namespace mpi_roll_call_tests {
namespace {
using mpi_tests::check_ranks;
using mpi_tests::fail;
using mpi_tests::meet;
using mpi_tests::right;
using mpi_tests::same;
}  // namespace

TEST_SUITE("mpi_roll_call") {
  TEST_CASE("who asks is told by every rank how far it is on a channel, and for what it waits") {
    check_ranks("a roll call", "roll call");
  }
}

TEST_SUITE("mpi rank") {
  TEST_CASE("a roll call" * doctest::skip()) {
    const sw::mpi_session session;
    sw::mpi_roll_call calls(MPI_COMM_WORLD, [&](std::int64_t channel) {
      return sw::rank_state{10 * channel + session.rank(), session.rank() == 2 ? 77 : -1, session.rank()};
    });
    calls.answer();  // nobody asked
    if (session.rank() == 1) {
      const auto states = calls.ask(4, std::chrono::seconds(20), [] {});
      same(states.size(), std::size_t{4}, "a state for each rank");
      for (std::int64_t r = 0; r < 4; ++r) {
        const auto& state = states[static_cast<std::size_t>(r)];
        if (!state) fail("a rank did not answer");
        same(state->started, 40 + r, "what a rank has started");
        same(state->waits_task, r == 2 ? 77 : -1, "for what a rank waits");
        same(state->waits_channel, r, "on which channel a rank waits");
      }
    }
    meet([&] { calls.answer(); });
    calls.give_up();  // the run counts as failed on all ranks
    right(session, "roll call");
  }
}

}  // namespace mpi_roll_call_tests
