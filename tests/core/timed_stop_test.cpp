#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/timed_stop.hpp>

#include <doctest/doctest.h>

#include <stop_token>
#include <thread>

namespace sw = shardweave;

TEST_SUITE("timed stop") {
  TEST_CASE("it is requested once the time is up") {
    const sw::solve_control control{.seconds = 0.02};
    const sw::deadline limit(control);
    const sw::timed_stop stop(control);
    while (!stop.token().stop_requested()) std::this_thread::yield();
    CHECK(limit.elapsed() >= 0.02);
  }
  TEST_CASE("it is requested when the control's is, with a limit and without, before or after") {
    for (const double seconds : {1000.0, sw::solve_control{}.seconds}) {
      std::stop_source source;
      const sw::solve_control control{.seconds = seconds, .stop = source.get_token()};
      const sw::timed_stop before(control);
      CHECK_FALSE(before.token().stop_requested());
      source.request_stop();
      CHECK(before.token().stop_requested());
      const sw::timed_stop after(control);
      CHECK(after.token().stop_requested());
    }
  }
  TEST_CASE("it does not keep who has it until the time is up") {
    const sw::solve_control control{.seconds = 1000};
    const sw::deadline limit(control);
    { const sw::timed_stop stop(control); }
    CHECK(limit.elapsed() < 500);
  }
  TEST_CASE("a limit that means nothing is refused") {
    const sw::solve_control control{.seconds = -1};
    CHECK_THROWS_AS(sw::timed_stop{control}, sw::error);
  }
}
