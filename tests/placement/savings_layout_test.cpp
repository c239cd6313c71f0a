#include "placement/savings_chain.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/overlap/window.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/placement/savings_layout.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace savings_layout_tests {
namespace {

namespace sw = shardweave;
using places = std::vector<sw::hiding_place>;

using shardweave_test::savings_chain;

const std::vector<sw::strategy> first_of_three{0, 0, 0};

}  // namespace

TEST_SUITE("savings_layout") {
  TEST_CASE("where savings do not count, or no edge is listed, nothing hides") {
    auto d = savings_chain();
    d.counted = sw::savings_form::strict;
    CHECK(sw::layout_of(d).places.empty());
    CHECK(sw::layout_of(d).order.empty());
    d.overlap = {{.edge = 0, .direction = sw::hiding::earlier}};
    CHECK(sw::layout_of(d).places.size() == 1);
    d.counted = sw::savings_form::off;
    CHECK(sw::layout_of(d).places.empty());
  }

  TEST_CASE("an edge that is listed twice may do both, and a window holds in every form") {
    auto d = savings_chain();
    d.overlap = {{.edge = 0, .direction = sw::hiding::later, .channel = 9},
                 {.edge = 0, .direction = sw::hiding::earlier, .channel = 9},
                 {.edge = 1, .direction = sw::hiding::none, .first = 1, .last = 2, .channel = 4}};
    // positions: the first vertex 0, both ends of the edge 0 and 1; without its consumer, and with it
    d.counted = sw::savings_form::strict;
    CHECK(sw::layout_of(d).places == places{{0, {0, 2, 1}, 0}, {1, {1, 2}, 1}});
    d.counted = sw::savings_form::inclusive;
    CHECK(sw::layout_of(d).places == places{{0, {0, 2}, 0}, {1, {1, 2}, 1}});
    d.counted = sw::savings_form::inclusive_twice;
    CHECK(sw::layout_of(d).places == places{{0, {0, 1}, 0}, {0, {1, 2}, 0}, {1, {1, 2}, 1}});
    for (auto& h : d.overlap) h.channel = 4;  // what moves on one channel shares its computation
    CHECK(sw::layout_of(d).places.back().channel == 0);
  }

  TEST_CASE("what moves with its communication hides nothing, in the form that goes by dependencies alone") {
    auto d = savings_chain();
    d.overlap = {{.edge = 0, .direction = sw::hiding::earlier}, {.edge = 1, .direction = sw::hiding::later}};
    d.counted = sw::savings_form::windows;  // the first producer depends on parameters, the last vertex is a result
    CHECK(sw::layout_of(d).idle == std::vector<bool>{true, false, true});
    CHECK(sw::layout_of(d).places == places{{0, {0, 0}, 0}, {1, {2, 2}, 0}});
    d.counted = sw::savings_form::strict;
    CHECK(sw::layout_of(d).idle == std::vector<bool>{false, false, false});
    CHECK(sw::layout_of(d).places == places{{0, {0, 0}, 0}});
  }

  TEST_CASE("vertices that are not listed in order are put in order, unless windows or a cycle forbid it") {
    auto d = savings_chain();  // a -> b, c -> b: b runs last
    d.edges[1] = {.from = 2, .to = 1, .communication = 1};
    d.overlap = {{.edge = 0, .direction = sw::hiding::earlier}};
    for (const auto form : {sw::savings_form::windows, sw::savings_form::strict}) {
      d.counted = form;
      const auto layout = sw::layout_of(d);
      CHECK(layout.order == std::vector<std::uint32_t>{0, 2, 1});
      REQUIRE(layout.places.size() == 1);
      CHECK(layout.places.front().where == sw::window{0, 1});
      const auto priced = sw::evaluate(d, first_of_three);
      CHECK(priced.savings == (form == sw::savings_form::windows ? 5 : 8));  // c, and a if it does not move along
      for (const auto& part : sw::hidden_parts(d, first_of_three)) CHECK(part.behind != 1);
    }
    d.overlap.push_back({.edge = 1, .direction = sw::hiding::none, .first = 0, .last = 1});
    CHECK(sw::layout_of(d).order == std::vector<std::uint32_t>{0, 1, 2});  // of which the window speaks
    d.counted = sw::savings_form::windows;
    CHECK_THROWS_WITH_AS(static_cast<void>(sw::layout_of(d)),
                         "edge 1 (2 -> 1) runs against the order of the vertices, of which the overlap section gives "
                         "windows; form 'windows' needs every producer before its consumers there",
                         sw::error);
    d.overlap.pop_back();
    d.edges.push_back({.from = 1, .to = 2});
    CHECK_THROWS_WITH_AS(static_cast<void>(sw::layout_of(d)), "the graph has a cycle through vertex 1", sw::error);
    d.counted = sw::savings_form::strict;
    CHECK(sw::layout_of(d).order == std::vector<std::uint32_t>{0, 1, 2});
  }
}

}  // namespace savings_layout_tests
