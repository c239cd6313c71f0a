#include <shardweave/engine/virtual_engine.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace sw = shardweave;
using ns = sw::nanoseconds;

TEST_SUITE("virtual_engine") {
  TEST_CASE("collectives queue on a channel, channels run beside each other, a wait holds the compute stream") {
    const std::vector<sw::process_group> groups(2);
    sw::virtual_engine engine;
    engine.connect(groups);
    const auto launch = [&](std::uint32_t channel, std::int64_t duration) {
      return engine.start({.channel = channel, .duration = ns(duration)});
    };
    CHECK(engine.run({.duration = ns(4)}) == 0);
    const std::size_t a = launch(0, 10), b = launch(0, 10), c = launch(1, 3);
    CHECK(engine.now() == ns(4));  // a launch takes no time
    CHECK(engine.span(a) == sw::time_span{ns(4), ns(14)});
    CHECK(engine.span(b) == sw::time_span{ns(14), ns(24)});
    CHECK(engine.span(c) == sw::time_span{ns(4), ns(7)});
    CHECK(engine.span(engine.wait(a)) == sw::time_span{ns(4), ns(14)});
    CHECK(engine.span(engine.wait(c)) == sw::time_span{ns(14), ns(14)});  // long done
    CHECK(engine.now() == ns(14));
    engine.finish();
    CHECK(engine.now() == ns(24));
    CHECK(engine.span(b).length() == ns(10));
  }

  TEST_CASE("a new connection starts with free channels at the time that it is") {
    const std::vector<sw::process_group> groups(1);
    sw::virtual_engine engine;
    engine.connect(groups);
    engine.start({.duration = ns(30)});
    engine.run({.duration = ns(6)});
    engine.connect(groups);
    CHECK(engine.now() == ns(6));
    CHECK(engine.start({.duration = ns(1)}) == 0);
    CHECK(engine.span(0) == sw::time_span{ns(6), ns(7)});
  }
}
