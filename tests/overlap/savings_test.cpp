#include "support/user_graph.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/overlap/savings.hpp>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
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
template <class Computation, class Demands>
concept hides = requires(const Computation& c, const Demands& d) { sw::hide(c, d); };
static_assert(hides<std::vector<ns>, std::vector<sw::hideable<ns>>>);
static_assert(!hides<std::vector<ns>, std::vector<sw::hideable<double>>>);
static_assert(!hides<std::vector<sw::bytes>, std::vector<sw::hideable<ns>>>);

namespace {

/// The definition itself: maximum flow from positions to demands.
ns by_max_flow(const std::vector<ns>& computation, const std::vector<sw::hideable<ns>>& demands) {
  using traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
  using network = boost::adjacency_list<
      boost::vecS, boost::vecS, boost::directedS, boost::no_property,
      boost::property<boost::edge_capacity_t, ns,
                      boost::property<boost::edge_residual_capacity_t, ns,
                                      boost::property<boost::edge_reverse_t, traits::edge_descriptor>>>>;
  const std::size_t n = computation.size();
  const std::size_t source = n + demands.size();
  const std::size_t sink = source + 1;
  network net(sink + 1);
  const auto connect = [&](std::size_t from, std::size_t to, ns capacity) {
    const auto forth = add_edge(from, to, net).first;
    const auto back = add_edge(to, from, net).first;
    put(boost::edge_capacity, net, forth, capacity);
    put(boost::edge_capacity, net, back, ns{0});
    put(boost::edge_reverse, net, forth, back);
    put(boost::edge_reverse, net, back, forth);
  };
  for (std::size_t q = 0; q < n; ++q) connect(source, q, computation[q]);
  for (std::size_t d = 0; d < demands.size(); ++d) {
    connect(n + d, sink, demands[d].amount);
    for (std::size_t q = demands[d].where.first; q <= demands[d].where.last && q < n; ++q)
      connect(q, n + d, demands[d].amount);
  }
  return push_relabel_max_flow(net, source, sink);
}

ns sum(const std::vector<ns>& values) {
  ns total = 0;
  for (const ns v : values) total += v;
  return total;
}

}  // namespace

TEST_SUITE("hide") {
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

  TEST_CASE("the total is a maximum flow") {
    sw::random_source random(7);
    const auto draw = [&](int low, int high) {
      return low + static_cast<int>(random.below(static_cast<std::size_t>(high - low + 1)));
    };
    for (int trial = 0; trial < 2000; ++trial) {
      std::vector<ns> computation(static_cast<std::size_t>(draw(0, 10)));
      for (ns& c : computation) c = draw(0, 9);
      std::vector<sw::hideable<ns>> demands(static_cast<std::size_t>(draw(0, 10)));
      for (auto& d : demands) {
        d.where.first = static_cast<std::size_t>(draw(0, 10));
        d.where.last = d.where.first + static_cast<std::size_t>(draw(0, 4));
        d.amount = draw(0, 15);
      }
      const auto s = sw::hide(computation, demands);
      REQUIRE(s.total == by_max_flow(computation, demands));
      REQUIRE(s.total == sum(s.hidden));
      REQUIRE(s.total == sum(s.spent));

      // what is hidden and spent stays within what there is
      for (std::size_t d = 0; d < demands.size(); ++d) {
        REQUIRE(s.hidden[d] >= 0);
        REQUIRE(s.hidden[d] <= demands[d].amount);
      }
      for (std::size_t q = 0; q < computation.size(); ++q) {
        REQUIRE(s.spent[q] >= 0);
        REQUIRE(s.spent[q] <= computation[q]);
      }

      // the other ways to count time agree, unit by unit
      const auto in = [&]<class Time>(Time) {
        std::vector<Time> offered;
        for (const ns c : computation) offered.push_back(Time(c));
        std::vector<sw::hideable<Time>> wanted;
        for (const auto& d : demands) wanted.push_back({d.where, Time(d.amount)});
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
