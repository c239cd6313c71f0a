#include "overlap/random_demands.hpp"
#include "support/scale.hpp"
#include "support/user_graph.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/overlap/savings.hpp>
#include <shardweave/overlap/window.hpp>

#include <boost/graph/adjacency_list.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace sw = shardweave;
using ns = std::int64_t;

static_assert(sw::duration_value<ns> && sw::duration_value<double> && sw::duration_value<sw::nanoseconds>);
static_assert(!sw::duration_value<unsigned> && !sw::duration_value<std::string> && !sw::duration_value<sw::bytes>);

// a demand is counted in the unit of the computation
static_assert(sw::hideable_range<std::vector<sw::hideable<ns>>, ns>);
static_assert(!sw::hideable_range<std::vector<sw::hideable<double>>, ns>);
static_assert(sw::computation_range<std::vector<ns>> && !sw::computation_range<std::vector<sw::bytes>>);

TEST_SUITE("hide") {
  namespace {

  /// The maximum flow from positions to demands of one channel, by its definition as the least cut: whatever positions
  /// are cut off, a demand that may still draw on another one is cut off itself.
  ns by_least_cut(const std::vector<ns>& computation, const std::vector<sw::hideable<ns>>& demands,
                  std::size_t channel) {
    struct wanted {
      std::uint32_t positions;
      ns amount;
    };
    std::vector<wanted> of_channel;
    for (const sw::hideable<ns>& d : demands) {
      if (d.channel != channel) continue;
      std::uint32_t positions = 0;
      for (std::size_t q = d.where.first; q <= d.where.last && q < computation.size(); ++q)
        if (q != d.where.except) positions |= 1U << q;
      of_channel.push_back({positions, d.amount});
    }
    ns least = std::numeric_limits<ns>::max();
    for (std::uint32_t cut = 0; cut >> computation.size() == 0; ++cut) {
      ns total = 0;
      for (std::size_t q = 0; q < computation.size(); ++q) total += (cut >> q & 1U) != 0 ? computation[q] : 0;
      for (const wanted& w : of_channel) total += (w.positions & ~cut) != 0 ? w.amount : 0;
      least = std::min(least, total);
    }
    return least;
  }

  ns sum(const std::vector<ns>& values) {
    ns total = 0;
    for (const ns v : values) total += v;
    return total;
  }

  }  // namespace

  TEST_CASE("communication draws on every position of its window") {
    // 12 us behind nodes of 5 and 10: both are needed
    const auto s = sw::hide(std::vector<ns>{5, 10}, std::vector<sw::hideable<ns>>{{{0, 1}, 12}});
    CHECK(s.total == 12);
    CHECK(s.spent == std::vector<ns>{5, 7});
  }

  TEST_CASE("computation is spent once") {
    const std::vector<sw::hideable<ns>> demands{{{0, 0}, 8}, {{0, 0}, 8}};
    const auto s = sw::hide(std::vector<ns>{10}, demands);
    CHECK(s.total == 10);
    CHECK(s.hidden == std::vector<ns>{8, 2});
  }

  TEST_CASE("the window that ends first is served first") {
    // serving the long window at position 0 would leave the short one exposed
    const std::vector<sw::hideable<ns>> demands{{{0, 1}, 4}, {{0, 0}, 4}};
    CHECK(sw::hide(std::vector<ns>{4, 4}, demands).hidden == std::vector<ns>{4, 4});
  }

  TEST_CASE("nothing is hidden outside a window") {
    const std::vector<ns> computation{3, 0, 3};
    SUBCASE("an empty window") { CHECK(sw::hide(computation, std::vector<sw::hideable<ns>>{{{1, 0}, 5}}).total == 0); }
    SUBCASE("a window past the end") {
      CHECK(sw::hide(computation, std::vector<sw::hideable<ns>>{{{3, 9}, 5}}).total == 0);
    }
    SUBCASE("no positions at all") {
      CHECK(sw::hide(std::vector<ns>{}, std::vector<sw::hideable<ns>>{{{0, 9}, 5}}).total == 0);
    }
  }

  TEST_CASE("communication that nothing can hide is exposed without taking from the rest") {
    const std::vector<sw::hideable<ns>> demands{{{0, 0}, 0}, {{1, 1}, 9}, {{0, 2}, 5}, {{2, 1}, 7}};
    const auto s = sw::hide(std::vector<ns>{2, 1, 4}, demands);
    CHECK(s.hidden == std::vector<ns>{0, 1, 5, 0});
    CHECK(s.spent == std::vector<ns>{2, 1, 3});
    CHECK(s.total == 6);
  }

  TEST_CASE("windows 3 + 4 + 5: what one leaves over serves the next") {
    // three gathers, each before its consumer; the first computes for 3, then 4, then 5
    const std::vector<ns> computation{3, 4, 5, 0};
    CHECK(sw::hide(computation, std::vector<sw::hideable<ns>>{{{0, 2}, 12}}).total == 12);
    const std::vector<sw::hideable<ns>> demands{{{0, 0}, 1}, {{0, 1}, 2}, {{0, 2}, 9}};
    CHECK(sw::hide(computation, demands).hidden == std::vector<ns>{1, 2, 9});
  }

  TEST_CASE("each channel may use all computation once") {
    const std::vector<ns> computation{4, 6};
    const std::vector<sw::hideable<ns>> demands{{{0, 1}, 7, 0}, {{0, 1}, 9, 0}, {{1, 1}, 8, 2}};
    const auto s = sw::hide(computation, demands);
    CHECK(s.hidden == std::vector<ns>{7, 3, 6});
    CHECK(s.spent == std::vector<ns>{4, 6, /**/ 0, 0, /**/ 0, 6});
    CHECK(s.total == 16);
  }

  TEST_CASE("one position may be left out of a window over all") {
    const std::vector<ns> computation{3, 50, 4};
    CHECK(sw::hide(computation, std::vector<sw::hideable<ns>>{{{0, 2, 1}, 12}}).total == 7);
    SUBCASE("others make room for it where it cannot go") {
      // the sweep serves the first demand at 0; only 1 is idle then, which the second may not use
      const auto s = sw::hide(std::vector<ns>{3, 5, 0}, std::vector<sw::hideable<ns>>{{{0, 1}, 3}, {{0, 2, 1}, 3}});
      CHECK(s.hidden == std::vector<ns>{3, 3});
      CHECK(s.spent == std::vector<ns>{3, 3, 0});
    }
    SUBCASE("at an end, or outside, it is an ordinary window") {
      CHECK(sw::hide(computation, std::vector<sw::hideable<ns>>{{{1, 2, 2}, 90}}).total == 50);
      CHECK(sw::hide(computation, std::vector<sw::hideable<ns>>{{{0, 0, 0}, 90}}).total == 0);
      CHECK(sw::hide(computation, std::vector<sw::hideable<ns>>{{{1, 2, 0}, 90}}).total == 54);
      CHECK(sw::hide(computation, std::vector<sw::hideable<ns>>{{{1, 7, 6}, 90}}).total == 54);
    }
    CHECK_THROWS_WITH_AS(
        sw::hide(std::vector<ns>(6), std::vector<sw::hideable<ns>>{{{0, 0}, 1}, {{1, 5, 3}, 1}}),
        "demand 1 leaves position 3 out of its window 1 to 5, which is possible only for all 6 positions", sw::error);
  }

  TEST_CASE("rounding neither adds to an amount nor leaves a rest") {
    sw::random_source random(3);
    for (std::size_t trial = 0; trial < shardweave_test::at_scale(500); ++trial) {
      std::vector<double> computation(6);
      for (double& c : computation) c = random.unit() * 0.3;
      std::vector<sw::hideable<double>> demands(6);
      for (auto& d : demands) d = {{random.below(6), 5}, random.unit() * 0.3};
      const auto s = sw::hide(computation, demands);
      for (std::size_t d = 0; d < demands.size(); ++d) REQUIRE((s.hidden[d] >= 0 && s.hidden[d] <= demands[d].amount));
    }
  }

  TEST_CASE("a wrong time is refused by name") {
    CHECK_THROWS_WITH_AS(sw::hide(std::vector<ns>{1, -1}, std::vector<sw::hideable<ns>>{}),
                         "the computation at position 1 is negative or not a number", sw::error);
    CHECK_THROWS_WITH_AS(sw::hide(std::vector<ns>{1}, std::vector<sw::hideable<ns>>{{{0, 0}, 1}, {{0, 0}, -4}}),
                         "the amount of demand 1 is negative or not a number", sw::error);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK_THROWS_WITH_AS(sw::hide(std::vector<double>{1}, std::vector<sw::hideable<double>>{{{0, 0}, nan}}),
                         "the amount of demand 0 is negative or not a number", sw::error);
    CHECK_THROWS_WITH_AS(sw::hide(std::vector<double>{nan}, std::vector<sw::hideable<double>>{}),
                         "the computation at position 0 is negative or not a number", sw::error);
    CHECK_THROWS_WITH_AS(sw::hide(std::vector{sw::nanoseconds(-1)}, std::vector<sw::hideable<sw::nanoseconds>>{}),
                         "the computation at position 0 is negative or not a number", sw::error);
  }

  TEST_CASE("the total is a maximum flow, whatever the windows, on every channel") {
    sw::random_source random(7);
    using overlap_test::kind;
    constexpr kind kinds[] = {kind::any, kind::chains, kind::chains_and_holes, kind::any_and_holes};
    for (std::size_t trial = 0; trial < shardweave_test::at_scale(10'000); ++trial) {
      const std::size_t channels = 1 + trial % 3;
      const auto [computation, demands] = overlap_test::draw_demands(random, kinds[trial % 4], 8, 8, channels);
      const auto s = sw::hide(computation, demands);
      ns flow = 0;
      for (std::size_t k = 0; k < channels; ++k) flow += by_least_cut(computation, demands, k);
      REQUIRE(s.total == flow);
      REQUIRE(s.total == sum(s.hidden));
      REQUIRE(s.total == sum(s.spent));

      // what is hidden and spent stays within what there is
      for (std::size_t d = 0; d < demands.size(); ++d) {
        REQUIRE(s.hidden[d] >= 0);
        REQUIRE(s.hidden[d] <= demands[d].amount);
      }
      for (std::size_t i = 0; i < s.spent.size(); ++i) {
        REQUIRE(s.spent[i] >= 0);
        REQUIRE(s.spent[i] <= computation[i % computation.size()]);
      }
      std::vector<ns> hidden(demands.size()), spent(s.spent.size());
      for (const sw::hidden_piece<ns>& piece : sw::hide_in_pieces(computation, demands)) {
        REQUIRE(piece.amount >= 0);
        REQUIRE(demands[piece.demand].where.contains(piece.position));
        hidden[piece.demand] += piece.amount;
        spent[demands[piece.demand].channel * computation.size() + piece.position] += piece.amount;
      }
      REQUIRE(hidden == s.hidden);
      REQUIRE(spent == s.spent);
      if (trial % 4 != 0) continue;

      // the other ways to count time agree, unit by unit
      const auto in = [&]<class Time>(Time) {
        std::vector<Time> offered;
        for (const ns c : computation) offered.push_back(Time(c));
        std::vector<sw::hideable<Time>> wanted;
        for (const auto& d : demands) wanted.push_back({d.where, Time(d.amount), d.channel});
        return sw::hide(offered, wanted);
      };
      const auto exact = in(sw::nanoseconds{});
      const auto floating = in(float{});
      REQUIRE(exact.total.count() == s.total);
      REQUIRE(static_cast<ns>(floating.total) == s.total);
      for (std::size_t d = 0; d < demands.size(); ++d) REQUIRE(exact.hidden[d].count() == s.hidden[d]);
    }
  }

  TEST_CASE("edges of a graph are hidden behind earlier vertices") {
    using graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property,
                                        boost::property<boost::edge_weight_t, ns>>;
    graph g(3);  // 0 -> 2 carries 6, 1 -> 2 carries 9
    add_edge(0, 2, ns{6}, g);
    add_edge(1, 2, ns{9}, g);
    const std::vector<ns> price{4, 5, 100};
    const auto computation = boost::make_iterator_property_map(price.begin(), get(boost::vertex_index, g));
    const auto before_consumer = [&](auto e) { return std::optional<sw::window>({0, target(e, g) - 1}); };
    const auto s =
        sw::hide(g, std::vector<std::size_t>{0, 1, 2}, computation, get(boost::edge_weight, g), before_consumer);
    CHECK(s.total == 9);
    CHECK(s.spent.back() == 0);  // a vertex does not hide what it waits for
  }

  TEST_CASE("a host's own graph is answered in the order of its edges, and in strong types") {
    test_support::user_graph g(3);  // 10, 20, 30
    g.add(10, 20);
    g.add(10, 30);
    g.add(20, 30);
    // the order is the caller's; vertices left out offer nothing
    const std::vector<int> order{20, 10};
    const auto computation =
        boost::make_function_property_map<int, sw::nanoseconds>([](int v) { return sw::nanoseconds(v); });
    const auto communication = boost::make_function_property_map<test_support::user_edge, sw::nanoseconds>(
        [](const test_support::user_edge& e) { return sw::nanoseconds(e.from + e.to); });
    const auto s = sw::hide(g, order, computation, communication, [](const test_support::user_edge& e) {
      return e.from == 20 ? std::nullopt : std::optional<sw::window>({e.to == 20 ? 1U : 0U, 1});
    });
    REQUIRE(s.spent.size() == 2);
    CHECK(s.spent == std::vector{sw::nanoseconds(20), sw::nanoseconds(10)});
    CHECK(s.hidden[0] + s.hidden[1] == sw::nanoseconds(30));
    CHECK(s.hidden[1] >= sw::nanoseconds(20));  // only this one may use the first position
    CHECK(s.hidden[2] == sw::nanoseconds(0));   // no window
  }

  TEST_CASE("empty graphs save nothing") {
    const boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS> g(0);
    const auto vertex_price = boost::make_function_property_map<std::size_t, ns>([](std::size_t) { return ns{1}; });
    const auto edge_price = boost::make_function_property_map<sw::edge_t<std::remove_const_t<decltype(g)>>, ns>(
        [](const auto&) { return ns{1}; });
    const auto s = sw::hide(g, std::vector<std::size_t>{}, vertex_price, edge_price,
                            [](const auto&) { return std::optional<sw::window>(); });
    CHECK(s.total == 0);
    CHECK(s.hidden.empty());
  }
}
