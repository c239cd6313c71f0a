#include "support/scale.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/overlap/eligibility.hpp>
#include <shardweave/overlap/forms.hpp>
#include <shardweave/overlap/savings.hpp>
#include <shardweave/overlap/window.hpp>
#include <shardweave/overlap/windows_form.hpp>

#include <boost/graph/adjacency_list.hpp>
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace forms_tests {
namespace {

namespace sw = shardweave;
using ends = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
using marks = std::vector<bool>;

auto one_of(std::vector<std::uint32_t> list) {
  return [list = std::move(list)](std::uint32_t v) { return std::ranges::find(list, v) != list.end(); };
}

sw::compressed_graph random_dag(sw::random_source& random, std::size_t n, double density) {
  ends list;
  for (std::uint32_t a = 0; a < n; ++a)
    for (std::uint32_t b = a + 1; b < n; ++b)
      if (random.chance(density)) list.emplace_back(a, b);
  return sw::compressed_graph(n, list);
}

/// reach[a][b]: b depends on a, or is a. Edges run from low to high.
std::vector<marks> reachable(const sw::compressed_graph& g) {
  std::vector<marks> reach(g.vertex_count(), marks(g.vertex_count()));
  for (std::uint32_t a = static_cast<std::uint32_t>(g.vertex_count()); a-- > 0;) {
    reach[a][a] = true;
    for (const auto& e : g.out(a))
      for (std::size_t b = 0; b < g.vertex_count(); ++b)
        if (reach[e.target][b]) reach[a][b] = true;
  }
  return reach;
}

std::vector<std::uint32_t> identity(std::size_t n) {
  std::vector<std::uint32_t> order(n);
  for (std::uint32_t v = 0; v < n; ++v) order[v] = v;
  return order;
}

constexpr sw::edge_site site_at(std::size_t p, sw::hiding direction, std::size_t n = 6) {
  return {.edge = 0, .producer = 0, .consumer = p, .available = 1, .needed = p, .positions = n, .direction = direction};
}

const auto own_policy = [](const sw::edge_site& s) { return sw::window{s.producer, s.consumer}; };
[[maybe_unused]] const auto no_policy = [](const sw::edge_site&) { return 3; };
static_assert(sw::eligibility_policy<sw::windows_form> && sw::eligibility_policy<sw::strict_form>);
static_assert(sw::eligibility_policy<sw::inclusive_form> && sw::eligibility_policy<decltype(own_policy)>);
static_assert(!sw::eligibility_policy<decltype(no_policy)> && !sw::eligibility_policy<int>);
static_assert(sw::windows_form::name == "windows" && sw::strict_form::name == "strict");
static_assert(sw::inclusive_form::name == "inclusive");

}  // namespace

TEST_SUITE("forms") {
  TEST_CASE("windows by dependency hold no computation on either side of the edge, and could not be wider") {
    sw::random_source random(17);
    std::size_t some = 0;
    for (std::size_t trial = 0; trial < shardweave_test::at_scale(600); ++trial) {
      const std::size_t n = 2 + random.below(10);
      const auto g = random_dag(random, n, 0.25);
      const auto reach = reachable(g);
      marks works(n);
      for (std::size_t v = 0; v < n; ++v) works[v] = random.chance(0.6);
      const auto places = sw::hiding_places(
          g, identity(n), [&](std::uint32_t v) { return works[v]; }, [](const auto&) { return sw::hiding::none; },
          sw::windows_form{.every_edge = true});
      std::size_t next = 0;
      for (const auto& e : g.all_edges()) {
        // by the definition, vertex by vertex
        std::size_t first = 0, last = n;
        for (std::size_t v = 0; v < n; ++v) {
          if (works[v] && reach[v][e.source]) first = std::max(first, v + 1);
          if (works[v] && reach[e.target][v]) last = std::min(last, v);
        }
        const bool placed = next < places.size() && places[next].edge == e.index;
        REQUIRE(placed == (first < last));
        if (placed) CHECK(places[next++].where == sw::window{first, last - 1});
        some += placed ? 1U : 0U;
      }
      REQUIRE(next == places.size());
    }
    CHECK(some > shardweave_test::at_scale(600));
  }

  TEST_CASE("windows: only edges with permission, and not before memory allows") {
    const sw::compressed_graph g(5, ends{{0, 4}, {1, 4}, {3, 4}});
    const auto computes = [](std::uint32_t v) { return v >= 1; };
    const auto direction = [](const auto& e) { return e.source == 3 ? sw::hiding::none : sw::hiding::earlier; };
    using places = std::vector<sw::hiding_place>;
    CHECK(sw::hiding_places(g, identity(5), computes, direction) == places{{0, {0, 3}}, {1, {2, 3}}});
    CHECK(sw::hiding_places(g, identity(5), computes, direction, sw::windows_form{.prefetch = 1}) ==
          places{{0, {3, 3}}, {1, {3, 3}}});
    CHECK(sw::hiding_places(g, identity(5), computes, direction, sw::windows_form{.prefetch = 0}).empty());
    CHECK(sw::hiding_places(g, identity(5), computes, direction, sw::windows_form{.prefetch = 99}) ==
          places{{0, {0, 3}}, {1, {2, 3}}});
    // what does not compute does not count
    const auto seldom = [](std::uint32_t v) { return v == 1 || v == 2 || v == 4; };
    CHECK(sw::hiding_places(g, identity(5), seldom, direction, sw::windows_form{.prefetch = 1}) ==
          places{{0, {2, 3}}, {1, {2, 3}}});
    // what may move later is not limited
    const auto late = [](const auto&) { return sw::hiding::later; };
    CHECK(sw::hiding_places(g, identity(5), computes, late, sw::windows_form{.prefetch = 0}) ==
          places{{0, {0, 3}}, {1, {2, 3}}});
  }

  TEST_CASE("a consumer without computation hands the deadline on") {
    // the reduction 1 -> 2 feeds a view and then an output: only 3 computes, and waits for neither
    const sw::compressed_graph g(5, ends{{0, 1}, {1, 2}, {0, 3}, {2, 4}});
    const auto places = sw::hiding_places(
        g, identity(5), [](std::uint32_t v) { return v < 2 || v == 3; },
        [](const auto& e) { return e.index == 1 ? sw::hiding::later : sw::hiding::none; });
    CHECK(places == std::vector<sw::hiding_place>{{1, {2, 4}}});
  }

  TEST_CASE("what can move with its edge neither ends a window nor begins one") {
    // 0 parameter, 1 other work, 2 its cast just before 3, the consumer: a gather of either may run from the start
    const sw::compressed_graph g(4, ends{{0, 2}, {2, 3}, {1, 3}});
    const auto derived = sw::derived_from(g, one_of({0}));
    const auto earlier = [&](const auto& e) { return derived[e.source] ? sw::hiding::earlier : sw::hiding::none; };
    using places = std::vector<sw::hiding_place>;
    CHECK(sw::hiding_places(
              g, identity(4), [](std::uint32_t v) { return v > 0; }, earlier) == places{{0, {0, 1}}});
    CHECK(sw::hiding_places(
              g, identity(4), [&](std::uint32_t v) { return v > 0 && !derived[v]; }, earlier) ==
          places{{0, {0, 2}}, {1, {0, 2}}});
  }

  TEST_CASE("strict leaves out the consumer, inclusive does not") {
    using sw::window;
    const sw::strict_form strict;
    CHECK(strict(site_at(2, sw::hiding::earlier)) == window{0, 1});
    CHECK(strict(site_at(2, sw::hiding::later)) == window{3, 5});
    CHECK(strict(site_at(2, sw::hiding::both)) == window{0, 5, 2});
    CHECK(strict(site_at(0, sw::hiding::earlier)) == std::nullopt);
    CHECK(strict(site_at(5, sw::hiding::later)) == std::nullopt);
    CHECK(strict(site_at(0, sw::hiding::both)) == window{1, 5});
    CHECK(strict(site_at(5, sw::hiding::both)) == window{0, 4});
    CHECK(strict(site_at(0, sw::hiding::both, 1)) == std::nullopt);
    CHECK(strict(site_at(2, sw::hiding::none)) == std::nullopt);

    const sw::inclusive_form inclusive, twice{.twice = true};
    using list = std::vector<window>;
    CHECK(inclusive(site_at(2, sw::hiding::earlier)) == list{{0, 2}});
    CHECK(inclusive(site_at(2, sw::hiding::later)) == list{{2, 5}});
    CHECK(inclusive(site_at(2, sw::hiding::both)) == list{{0, 5}});
    CHECK(inclusive(site_at(2, sw::hiding::none)).empty());
    CHECK(twice(site_at(2, sw::hiding::both)) == list{{0, 2}, {2, 5}});
    CHECK(twice(site_at(2, sw::hiding::later)) == list{{2, 5}});
  }

  TEST_CASE("an edge is saved twice only where the option says so") {
    const sw::compressed_graph g(2, ends{{0, 1}});
    const std::vector<std::int64_t> computation{10, 10};
    const auto saved = [&](const auto& form) {
      const auto places = sw::hiding_places(
          g, identity(2), sw::always{}, [](const auto&) { return sw::hiding::both; }, form);
      return sw::hide(computation, sw::demands_of(places, [](std::size_t) { return std::int64_t{4}; })).total;
    };
    CHECK(saved(sw::inclusive_form{}) == 4);
    CHECK(saved(sw::inclusive_form{.twice = true}) == 8);
    CHECK(saved(sw::strict_form{}) == 4);
    CHECK(saved(sw::windows_form{}) == 0);  // both computations wait for it, or it for them
  }

  TEST_CASE("the forms grow: windows within strict within inclusive within twice") {
    sw::random_source random(41);
    std::array<std::int64_t, 4> all{};
    for (std::size_t trial = 0; trial < shardweave_test::at_scale(500); ++trial) {
      const auto g = random_dag(random, 8, 0.3);
      std::vector<std::int64_t> computation(8), amounts(num_edges(g));
      for (auto& c : computation) c = static_cast<std::int64_t>(random.below(10));
      for (auto& a : amounts) a = static_cast<std::int64_t>(random.below(10));
      std::vector<sw::hiding> direction;
      for (std::size_t e = 0; e < amounts.size(); ++e) direction.push_back(static_cast<sw::hiding>(random.below(4)));
      std::int64_t hideable = 0;
      for (std::size_t e = 0; e < amounts.size(); ++e) hideable += direction[e] == sw::hiding::none ? 0 : amounts[e];
      const auto saved = [&](const auto& form, std::size_t i) {
        const auto places = sw::hiding_places(
            g, identity(8), [&](std::uint32_t v) { return computation[v] > 0; },
            [&](const auto& e) { return direction[e.index]; }, form);
        const auto total =
            sw::hide(computation, sw::demands_of(places, [&](std::size_t e) { return amounts[e]; })).total;
        all[i] += total;
        REQUIRE(total >= 0);
        return total;
      };
      const auto strict = saved(sw::strict_form{}, 1), inclusive = saved(sw::inclusive_form{}, 2);
      const auto twice = saved(sw::inclusive_form{.twice = true}, 3);
      REQUIRE(strict <= inclusive);
      REQUIRE(inclusive <= twice);
      REQUIRE(inclusive <= hideable);
      // a window by dependency reaches past the consumer if that does not compute; strict does the same for both ways
      const auto both = [&](const sw::edge_site& s) {
        sw::edge_site any = s;
        if (s.direction != sw::hiding::none) any.direction = sw::hiding::both;
        return sw::strict_form{}(any);
      };
      REQUIRE(saved(sw::windows_form{}, 0) <= saved(both, 0));
    }
    CHECK(all[1] < all[2]);
    CHECK(all[2] < all[3]);
  }

  TEST_CASE("a policy is any callable; channels are numbered as they come up") {
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS> g(4);
    add_edge(0, 2, g);
    add_edge(1, 2, g);
    add_edge(2, 3, g);
    const auto places = sw::hiding_places(
        g, std::vector<std::size_t>{1, 0, 2, 3}, sw::always{}, [](const auto&) { return sw::hiding::none; }, own_policy,
        [&](const auto& e) { return std::string(source(e, g) == 1 ? "between nodes" : "in a node"); });
    CHECK(places == std::vector<sw::hiding_place>{{0, {1, 2}, 0}, {1, {0, 2}, 1}, {2, {2, 3}, 0}});
  }

  TEST_CASE("an order must list every vertex once") {
    const sw::compressed_graph g(3, ends{{0, 1}});
    const auto none = [](const auto&) { return sw::hiding::none; };
    CHECK_THROWS_WITH_AS(sw::hiding_places(g, std::vector<std::uint32_t>{0, 1}, sw::always{}, none),
                         "the order lists 2 vertices, expected each of the 3 vertices of the graph once", sw::error);
    CHECK_THROWS_WITH_AS(sw::hiding_places(g, std::vector<std::uint32_t>{0, 1, 1}, sw::always{}, none),
                         "the order lists 3 vertices, expected each of the 3 vertices of the graph once", sw::error);
  }
}

}  // namespace forms_tests
