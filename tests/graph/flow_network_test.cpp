#include <shardweave/core/random.hpp>
#include <shardweave/graph/detail/flow_network.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sw = shardweave;

namespace flow_network_tests {
namespace {

struct arc {
  std::size_t from, to;
  std::int64_t room;
};

/// What arcs from a side to the rest have room for. \param side  a bit per vertex
std::int64_t room_from(const std::vector<arc>& arcs, std::uint32_t side) {
  std::int64_t sum = 0;
  for (const arc& a : arcs)
    if ((side >> a.from & 1U) != 0 && (side >> a.to & 1U) == 0) sum += a.room;
  return sum;
}

}  // namespace

TEST_SUITE("flow network") {
  TEST_CASE("what is still reached is the smallest of all least cuts") {
    sw::random_source random(5);
    std::size_t apart = 0, full = 0;
    for (int i = 0; i < 300; ++i) {
      const std::size_t n = 2 + random.below(6);
      std::vector<arc> arcs(random.below(3 * n));
      for (arc& a : arcs)  // some arcs twice, some from a vertex to itself, some without room
        a = {random.below(n), random.below(n), static_cast<std::int64_t>(random.below(5)) << random.below(40)};
      sw::detail::flow_network net(n);
      for (const arc& a : arcs) net.add_arc(a.from, a.to, a.room);
      const std::vector<char> reached = net.fill(0, 1);

      std::int64_t least = room_from(arcs, 1);
      for (std::uint32_t side = 1; side < 1U << n; side += 2)
        if ((side & 2U) == 0) least = std::min(least, room_from(arcs, side));
      std::uint32_t common = ~0U;  // of all least cuts: that is one, too
      for (std::uint32_t side = 1; side < 1U << n; side += 2)
        if ((side & 2U) == 0 && room_from(arcs, side) == least) common &= side;
      CAPTURE(i);
      REQUIRE(reached.size() == n);
      for (std::size_t v = 0; v < n; ++v) CHECK((reached[v] != 0) == ((common >> v & 1U) != 0));
      std::int64_t own = 0;  // what could ever be sent from the first vertex, but to itself
      for (const arc& a : arcs)
        if (a.from == 0 && a.to != 0) own += a.room;
      if (own == least) CHECK(common == 1);
      if (common != 1) CHECK(net.has_room(0));
      apart += std::popcount(common) > 1 ? 1U : 0U;
      full += least > 0 ? 1U : 0U;
    }
    CHECK(apart > 20);
    CHECK(full > 100);
  }
}

}  // namespace flow_network_tests
