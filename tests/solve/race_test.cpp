// What solvers do that race on several threads, which test `threads` looks at under the thread sanitizer.
#include "solve/composed_solvers.hpp"
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/race.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <stop_token>
#include <thread>

namespace race_tests {
namespace {

using namespace composed_solvers;

static_assert(sw::solver<sw::race<all_first, sw::exhaustive>, double>);

}  // namespace

TEST_SUITE("race") {
  TEST_CASE("who proves first stops the others") {
    std::atomic<int> asked = 0;
    const auto answer = sw::race{waits{&asked}, sw::exhaustive{}, waits{&asked}}.solve(small(), {.threads = 3});
    CHECK(answer.status == sw::solve_status::optimal);
    CHECK(answer.objective == 3);
    CHECK(asked >= 1);  // the last may not have started yet
    CHECK(asked <= 2);
  }
  TEST_CASE("with one thread it runs one after another, and the same way every time") {
    std::atomic<int> asked = 0;
    const auto answer = sw::race{all_first{.bound = 1}, sw::exhaustive{}, waits{&asked}}.solve(small());
    CHECK(answer.status == sw::solve_status::optimal);
    CHECK(answer.statistics.solver == "exhaustive");
    CHECK(asked == 0);
    const auto again = sw::race{all_first{.bound = 1}, sw::exhaustive{}, waits{&asked}}.solve(small());
    CHECK(again.choice == answer.choice);
    CHECK(again.lower_bound == answer.lower_bound);
    CHECK(again.statistics.iterations == answer.statistics.iterations);
  }
  TEST_CASE("with fewer threads than solvers the next in order starts where one has ended") {
    std::atomic<int> asked = 0;
    const auto answer = sw::race{waits{&asked}, all_first{.bound = 2}, all_first{.bound = 2.5}, sw::exhaustive{}}.solve(
        small(), {.threads = 2});
    CHECK(answer.status == sw::solve_status::optimal);
    CHECK(asked == 1);
  }
  TEST_CASE("with a time limit and one thread every runner has its share") {
    const auto answer = sw::race{waits{}, waits{}, sw::exhaustive{}}.solve(small(), {.seconds = 0.3});
    CHECK(answer.status == sw::solve_status::optimal);
    CHECK(answer.statistics.seconds < 2);
  }
  TEST_CASE("a stop that came before still leaves the first answer") {
    std::stop_source source;
    source.request_stop();
    const auto answer = sw::race{all_first{.bound = 2}, waits{}}.solve(small(), {.stop = source.get_token()});
    CHECK(answer.has_assignment());
    CHECK(answer.lower_bound == 2);
  }
  TEST_CASE("a stop request reaches every runner") {
    std::stop_source source;
    std::thread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      source.request_stop();
    });
    const auto answer = sw::race{waits{}, waits{}}.solve(small(), {.threads = 2, .stop = source.get_token()});
    later.join();
    CHECK(answer.status == sw::solve_status::stopped);
  }
  TEST_CASE("what a runner throws comes out, after the others have ended") {
    CHECK_THROWS_WITH_AS(sw::race(throws{}, waits{}).solve(small(), {.threads = 2}), "the backend broke", sw::error);
  }
}

}  // namespace race_tests
