#include <shardweave/core/control.hpp>
#include <shardweave/core/last_moment.hpp>

#include <doctest/doctest.h>

#include <stop_token>

namespace sw = shardweave;

TEST_SUITE("last_moment") {
  TEST_CASE("it begins with the first question after a stop, and ends") {
    std::stop_source source;
    const sw::solve_control control{.stop = source.get_token()};
    const sw::deadline limit(control);
    sw::last_moment moment(limit, 0.01);
    for (int i = 0; i < 1000; ++i) CHECK(!moment.is_over());
    source.request_stop();
    CHECK(moment.left() <= moment.seconds());
    while (!moment.is_over()) CHECK(moment.left() <= moment.seconds());
    CHECK(moment.left() == 0);
    CHECK(moment.is_over());
  }
  TEST_CASE("where there is none a stop is the end at once, and so is a limit of time") {
    std::stop_source source;
    const sw::solve_control stopped{.stop = source.get_token()}, timed{.seconds = 0}, free;
    const sw::deadline a(stopped), b(timed), c(free);
    sw::last_moment of_stopped(a, 0), of_timed(b, 0), of_free(c, 0);
    CHECK(!of_stopped.is_over());
    source.request_stop();
    CHECK(of_stopped.is_over());
    CHECK(of_timed.is_over());
    CHECK(!of_free.is_over());
  }
}
