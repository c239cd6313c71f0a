#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <stop_token>
#include <thread>

namespace sw = shardweave;

TEST_SUITE("solve_control") {
  TEST_CASE("what is left of a limit is never less than nothing, at whatever moment it runs out") {
    for (int i = 0; i < 2000; ++i) {
      const shardweave::solve_control control{.seconds = 1e-7 * (i % 20)};
      const shardweave::deadline limit(control);
      for (int asked = 0; asked < 10; ++asked) {
        REQUIRE(limit.rest().seconds >= 0);
        REQUIRE(limit.rest_for_part().seconds >= 0);
      }
    }
  }

  TEST_CASE("nothing is limited unless the caller says so") {
    const sw::solve_control control;
    CHECK(control.seconds == std::numeric_limits<double>::infinity());
    CHECK(control.iterations == std::numeric_limits<std::size_t>::max());
    CHECK(control.threads == 1);
    CHECK_FALSE(control.stop.stop_possible());
    CHECK_FALSE(control.progress);
  }

  TEST_CASE("single settings are named") {
    const sw::solve_control control{.seconds = 3, .seed = 7};
    CHECK(control.seconds == 3);
    CHECK(control.seed == 7);
  }

  TEST_CASE("time limits that mean nothing are refused in words, by whoever takes the time") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double infinity = std::numeric_limits<double>::infinity();
    for (const double gap : {-0.001, -infinity, nan})
      CHECK_THROWS_WITH_AS(sw::validate({.gap = gap}), doctest::Contains("gap is "), sw::error);
    for (const double seconds : {-1.0, -1e-300, -infinity, nan}) {
      CAPTURE(seconds);
      const sw::solve_control control{.seconds = seconds};
      CHECK_THROWS_WITH_AS(sw::validate(control), doctest::Contains("expected a number from 0 on"), sw::error);
      CHECK_THROWS_AS(sw::deadline{control}, sw::error);
    }
    CHECK_THROWS_WITH_AS(sw::validate({.seconds = -1}),
                         "solve_control: seconds is -1, expected a number from 0 on; infinity is no limit", sw::error);
    for (const double seconds : {0.0, 1e-300, 1e300, infinity}) CHECK_NOTHROW(sw::validate({.seconds = seconds}));
  }

  TEST_CASE("a report of nothing knows nothing") {
    const sw::progress_report report;
    CHECK(report.objective == std::numeric_limits<double>::infinity());
    CHECK(report.lower_bound == -std::numeric_limits<double>::infinity());
    CHECK(report.done < 0);
  }
}

TEST_SUITE("deadline") {
  TEST_CASE("without a limit time does not end") {
    const sw::solve_control control;
    const sw::deadline end(control);
    CHECK_FALSE(end.expired());
    CHECK(end.remaining() == std::numeric_limits<double>::infinity());
    CHECK(end.rest().seconds == std::numeric_limits<double>::infinity());
  }

  TEST_CASE("no time at all is over at once") {
    const sw::solve_control control{.seconds = 0};
    const sw::deadline end(control);
    CHECK(end.expired());
    CHECK(end.rest().seconds == 0);
  }

  TEST_CASE("time runs out") {
    const sw::solve_control control{.seconds = 0.02};
    const sw::deadline end(control);
    while (!end.expired()) std::this_thread::yield();
    CHECK(end.elapsed() >= 0.02);
    CHECK(end.remaining() <= 0);
    CHECK(end.rest().seconds == 0);  // never negative
  }

  TEST_CASE("what is left is less than what was given") {
    const sw::solve_control control{.seconds = 1000, .iterations = 5, .seed = 9, .threads = 2};
    const sw::deadline end(control);
    const sw::solve_control rest = end.rest();
    CHECK(rest.seconds <= 1000);
    CHECK(rest.seconds > 900);
    CHECK(rest.iterations == 5);
    CHECK(rest.seed == 9);
    CHECK(rest.threads == 2);
  }

  TEST_CASE("a part has the seed, the threads and the stop of the whole, and the time that is left if it is limited") {
    std::stop_source source;
    sw::solve_control control{.seconds = 1000, .iterations = 5, .seed = 9, .threads = 2, .stop = source.get_token()};
    control.gap = 0.1;
    control.start = {1, 2};
    control.progress = [](const sw::progress_report&) {};
    const sw::deadline end(control);
    const auto check = [&](const sw::solve_control& part) {
      const sw::solve_control none;
      CHECK(part.seed == 9);
      CHECK(part.threads == 2);
      CHECK(part.stop == source.get_token());
      CHECK(part.iterations == none.iterations);
      CHECK(part.gap == none.gap);
      CHECK(part.start.empty());
      CHECK_FALSE(part.progress);
    };
    check(end.rest_for_part());
    CHECK(end.rest_for_part().seconds <= 1000);
    CHECK(end.rest_for_part().seconds > 900);
    check(sw::without_time_limit(control));
    CHECK(sw::without_time_limit(control).seconds == std::numeric_limits<double>::infinity());
  }

  TEST_CASE("a copy shares the start") {
    const sw::solve_control control;
    const sw::deadline end(control);
    while (end.elapsed() < 0.002) std::this_thread::yield();
    const sw::deadline copy = end;
    CHECK(copy.elapsed() >= 0.002);
  }

  TEST_CASE("a stop request is seen, with and without a limit, and passed on") {
    for (const double seconds : {1000.0, std::numeric_limits<double>::infinity()}) {
      std::stop_source source;
      const sw::solve_control control{.seconds = seconds, .stop = source.get_token()};
      const sw::deadline end(control);
      CHECK_FALSE(end.expired());
      source.request_stop();
      CHECK(end.expired());
      CHECK(end.rest().stop.stop_requested());
    }
  }
}
