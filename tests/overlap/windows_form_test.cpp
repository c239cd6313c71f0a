#include <shardweave/core/random.hpp>
#include <shardweave/overlap/window.hpp>
#include <shardweave/overlap/windows_form.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace windows_form_tests {
namespace {

namespace sw = shardweave;
using sw::window;

constexpr sw::edge_site between(std::size_t available, std::size_t needed, sw::hiding direction) {
  return {.edge = 0,
          .producer = 0,
          .consumer = needed,
          .available = available,
          .needed = needed,
          .positions = 9,
          .direction = direction};
}

}  // namespace

TEST_SUITE("windows_form") {
  TEST_CASE("communication runs from where it is available to just before it is needed, whichever way it may move") {
    for (const sw::hiding way : {sw::hiding::earlier, sw::hiding::later, sw::hiding::both}) {
      CHECK(sw::windows_form{}(between(2, 7, way)) == window{2, 6});
      CHECK(sw::windows_form{}(between(6, 7, way)) == window{6, 6});
      CHECK(sw::windows_form{}(between(7, 7, way)) == std::nullopt);  // needed as soon as it is there
      CHECK(sw::windows_form{}(between(0, 0, way)) == std::nullopt);  // needed from the start
      CHECK(sw::windows_form{}(between(4, 9, way)) == window{4, 8});  // nothing waits for it
    }
  }

  TEST_CASE("an edge without permission has a window only where every edge is asked for") {
    CHECK(sw::windows_form{}(between(2, 7, sw::hiding::none)) == std::nullopt);
    CHECK(sw::windows_form{.every_edge = true}(between(2, 7, sw::hiding::none)) == window{2, 6});
    CHECK(sw::windows_form{.every_edge = true}(between(0, 0, sw::hiding::none)) == std::nullopt);
  }

  TEST_CASE("a limit of prefetch lets through what starts at most so many computations before its consumer") {
    sw::random_source random(43);
    std::size_t limited = 0;
    for (std::size_t trial = 0; trial < 600; ++trial) {
      constexpr std::size_t n = 9;
      std::vector<std::size_t> computing;
      for (std::size_t q = 0; q < n; ++q)
        if (random.chance(0.6)) computing.push_back(q);
      const std::size_t consumer = random.below(n), prefetch = random.below(4);
      // the first that computes and waits for it: the consumer, or one after it
      const sw::edge_site site{.edge = 0,
                               .producer = 0,
                               .consumer = consumer,
                               .available = random.below(consumer + 1),
                               .needed = consumer + random.below(n + 1 - consumer),
                               .positions = n,
                               .direction = static_cast<sw::hiding>(1 + random.below(3)),
                               .computing = computing};
      const std::optional<window> w = sw::windows_form{.prefetch = prefetch}(site);
      for (const std::size_t q : computing) {
        std::size_t ahead = 0;  // computations from here to before the consumer
        for (const std::size_t other : computing) ahead += other >= q && other < consumer ? 1U : 0U;
        const bool in_time = sw::allows(site.direction, sw::hiding::later) || ahead <= prefetch;
        const bool expected = site.available <= q && q < site.needed && in_time;
        REQUIRE((w && w->contains(q)) == expected);
        limited += site.available <= q && q < site.needed && !in_time ? 1U : 0U;
      }
    }
    CHECK(limited > 100);
  }
}

}  // namespace windows_form_tests
