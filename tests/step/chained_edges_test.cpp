#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/step/detail/chained_edges.hpp>
#include <shardweave/step/step_work.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace chained_edges_tests {
namespace {

namespace sw = shardweave;

/// The longest path that ends or begins with a vertex, by following all of them.
double longest(const sw::step_work& work, std::uint32_t v, bool backwards) {
  double most = 0;
  for (const sw::work_edge& e : work.edges)
    if ((backwards ? e.to : e.from) == v) most = std::max(most, longest(work, backwards ? e.from : e.to, backwards));
  const std::vector<double>& times = work.times[work.times_of[v]];
  return most + *std::min_element(times.begin(), times.end());
}

}  // namespace

TEST_SUITE("chained edges") {
  TEST_CASE("an edge is chained where more than a hundredth of the longest path stands on both sides") {
    sw::random_source random(5);
    std::size_t chained = 0, loose = 0;
    for (std::size_t i = 0; i < shardweave_test::at_scale(200); ++i) {
      sw::step_work work;
      const auto count = static_cast<std::uint32_t>(2 + random.below(9));
      std::vector<std::uint32_t> place(count);  // numbers say nothing of the order
      for (std::uint32_t v = 0; v < count; ++v) place[v] = v;
      for (std::uint32_t v = 1; v < count; ++v) std::swap(place[v], place[random.below(v + 1)]);
      for (std::uint32_t v = 0; v < count; ++v) {
        work.times_of.push_back(v);
        work.times.emplace_back();
        for (std::size_t s = 1 + random.below(3); s > 0; --s)
          work.times.back().push_back(random.below(2) == 0 ? 0.0 : static_cast<double>(1 + random.below(200)));
      }
      for (std::uint32_t v = 1; v < count; ++v)
        for (std::uint32_t u = 0; u < v; ++u)
          if (random.below(3) == 0) work.edges.push_back({.from = place[u], .to = place[v]});
      double most = 0;
      for (std::uint32_t v = 0; v < count; ++v) most = std::max(most, longest(work, v, true));
      const std::vector<bool> told = sw::detail::chained_edges(work);
      REQUIRE(told.size() == work.edges.size());
      for (std::size_t e = 0; e < told.size(); ++e) {
        const double before = longest(work, work.edges[e].from, true), after = longest(work, work.edges[e].to, false);
        CHECK(told[e] == (before > most / 100 && after > most / 100));
        ++(told[e] ? chained : loose);
      }
    }
    CHECK(chained > shardweave_test::at_scale(100));
    CHECK(loose > shardweave_test::at_scale(100));
  }

  TEST_CASE("a cycle is refused") {
    sw::step_work work;
    work.times_of = {0, 0};
    work.times = {{1.0}};
    work.edges = {{.from = 0, .to = 1}, {.from = 1, .to = 0}};
    CHECK_THROWS_AS((void)sw::detail::chained_edges(work), sw::error);
  }
}

}  // namespace chained_edges_tests
