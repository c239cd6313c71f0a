#include "report/html_page.hpp"
#include "report/small_timeline.hpp"
#include <shardweave/report/channel_spans.hpp>
#include <shardweave/report/html.hpp>
#include <shardweave/report/html_plan.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace html_plan_tests {
namespace {
using namespace html_page;
using shardweave_test::sized;
}  // namespace

TEST_SUITE("html_plan") {
  TEST_CASE("two plans stand beside each other, of one graph or of two") {
    const small_timeline small = two_products();
    const sw::schedule given = sw::in_order{}(small.graph, {});
    const sw::timeline before = sw::simulate(small.graph, given);
    const sw::task_graph other = random_tasks(3);
    const sw::schedule s = sw::in_order{}(other, {});
    const sw::timeline line = sw::simulate(other, s);
    const std::vector<sw::html_plan> plans = {
        {.name = "scheduled", .graph = &small.graph, .order = &small.schedule, .line = &small.line},
        {.name = "as given", .graph = &small.graph, .order = &given, .line = &before, .is_simulated = false},
        {.name = "another", .graph = &other, .order = &s, .line = &line}};
    const std::string two = sw::html(std::span(plans).first(2));
    const auto cells = row_of(two, "end to end");
    REQUIRE(cells.size() == 3);
    CHECK(cells[0] == sw::time_text(small.line.end_to_end));
    CHECK(cells[1] == sw::time_text(before.end_to_end));
    CHECK(cells[2] == "\xE2\x88\x92" + sw::time_text(before.end_to_end - small.line.end_to_end));
    CHECK(data_of(two).at("graphs").as_array().size() == 1);
    CHECK(data_of(two).at("plans").at(1).at("chain").is_null());   // not simulated
    CHECK(data_of(two).at("plans").at(1).at("memory").is_null());  // no samples
    const json three = data_of(sw::html(plans));
    CHECK(three.at("graphs").as_array().size() == 2);
    CHECK(three.at("plans").at(2).at("graph") == 1);
    CHECK(row_of(sw::html(plans), "end to end").size() == 3);
  }

  TEST_CASE("placements are listed by layer and part; rows that plans share are told once") {
    const small_timeline small = two_products();
    const std::vector<sw::placed_value> one = {
        {.part = "wq", .layer = "0", .label = "S(0)R", .per_device = sw::bytes(10)},
        {.part = "wq", .layer = "1", .label = "S(1)R", .per_device = sw::bytes(20)},
        {.kind = "results", .part = "out", .layer = "1", .label = "S(0)R", .per_device = sw::bytes(5)}};
    std::vector<sw::placed_value> other = one;
    other[1].label = "RR";
    other[1].per_device = sw::bytes(40);
    const auto named = [&](std::string name, std::span<const sw::placed_value> placement) {
      return sw::html_plan{.name = std::move(name),
                           .graph = &small.graph,
                           .order = &small.schedule,
                           .line = &small.line,
                           .placement = placement};
    };
    const std::vector<sw::html_plan> plans = {named("a", one), named("b", {}), named("c", other),
                                              named("d", std::span(other).first(2))};
    const std::string page = sw::html(plans);
    CHECK(page.find("id=\"placement\"") != std::string::npos);
    const json data = data_of(page);
    const json& placed = data.at("placement");
    CHECK(placed.at("labels").as_array().size() == 3);
    CHECK(placed.at("labels").at(2) == "RR");
    CHECK(placed.at("kinds").at(1) == "results");
    CHECK(placed.at("sizes").at(1) == "20");
    const json& all = placed.at("plans");
    REQUIRE(all.as_array().size() == 3);
    CHECK(all.at(0).at("plan") == 0);
    CHECK(numbers(all.at(0).at("rows").at("label")) == std::vector<std::int64_t>{0, 1, 0});
    CHECK(numbers(all.at(0).at("rows").at("layer")) == std::vector<std::int64_t>{0, 1, 1});
    CHECK(numbers(all.at(0).at("rows").at("size")) == std::vector<std::int64_t>{0, 1, 2});
    CHECK(all.at(1).at("plan") == 2);
    CHECK(numbers(all.at(1).at("rows").at("label")) == std::vector<std::int64_t>{0, 2, 0});
    CHECK(numbers(all.at(1).at("rows").at("size")) == std::vector<std::int64_t>{0, 3, 2});
    CHECK_FALSE(all.at(1).at("rows").as_object().contains("layer"));
    CHECK(numbers(all.at(2).at("rows").at("layer")) == std::vector<std::int64_t>{0, 1});  // it has rows of its own
  }

  TEST_CASE("tasks that make a value again are those of the first plan of a graph that says so") {
    const small_timeline small = two_products();
    std::vector<char> again(small.graph.size());
    again[3] = again[7] = 1;
    const sw::html_plan silent{.name = "a", .graph = &small.graph, .order = &small.schedule, .line = &small.line};
    sw::html_plan told = silent;
    told.again = again;
    CHECK(numbers(data_of(sw::html(std::vector{silent, told})).at("graphs").at(0).at("again")) ==
          std::vector<std::int64_t>{3, 7});
    CHECK(numbers(data_of(sw::html(std::vector{silent})).at("graphs").at(0).at("again")).empty());
  }
}

TEST_SUITE("html_options") {
  TEST_CASE("a title stands for the name of the first plan's graph") {
    const small_timeline small = two_products();
    const std::string page = sw::html(small.graph, small.schedule, small.line, {.title = "my step"});
    CHECK(page.find("<h1>my step</h1>") != std::string::npos);
    CHECK(page.find("<h1>two products</h1>") == std::string::npos);
  }

  TEST_CASE("of each reason the first refusals are listed, as many as wanted, and all are counted") {
    small_timeline small = two_products();
    using enum sw::decision_reason;
    small.schedule.decisions = {{no_gain, 1}, {no_gain, 5, 2, 7, 6}, {byte_cap, 1}, {no_gain, 1}};
    const auto listed = [&](std::size_t most) {
      std::vector<std::vector<std::int64_t>> told;  // times, collectives, listed ones
      const json data = data_of(sw::html(small.graph, small.schedule, small.line, {.most_refusals = most}));
      for (const json& r : data.at("plans").at(0).at("refused").as_array()) {
        told.push_back({r.at("times").as_int64(), r.at("collectives").as_int64()});
        for (const json& item : r.at("items").as_array()) told.back().push_back(numbers(item).front());
      }
      std::ranges::sort(told);
      return told;
    };
    CHECK(listed(2) == std::vector<std::vector<std::int64_t>>{{1, 1, 1}, {3, 2, 1, 5}});
    CHECK(listed(0) == std::vector<std::vector<std::int64_t>>{{1, 1}, {3, 2}});
  }

  TEST_CASE("large steps: what is too much is left out, and said; 20,000 tasks stay below 10 MB") {
    const sw::task_graph g = random_tasks(7, {.blocks = sized<std::size_t>(8000, 800), .groups = 8});
    const sw::schedule s = sw::in_order{}(g, {});
    const sw::timeline line = sw::simulate(g, s, {.memory_samples = true});
    const std::string page = sw::html(g, s, line);
    CHECK(g.size() > sized<std::size_t>(17'000, 1'700));
    CHECK(static_cast<double>(page.size()) * 20'000 < 1e7 * static_cast<double>(g.size()));
    const json data = data_of(page);
    const auto live = sums(data.at("plans").at(0).at("memory").at("live"));
    CHECK(live.size() <= 2000);
    std::int64_t most = 0;
    for (const sw::memory_sample& x : line.memory) most = std::max(most, x.live.count());
    CHECK(*std::ranges::max_element(live) == most);  // the highest point is never left out
    const json few = data_of(sw::html(g, s, line, {.most_spans = 100, .most_samples = 10}));
    const json& spans = few.at("plans").at(0).at("spans");
    CHECK(spans.at("task").as_array().size() == 100);
    std::size_t long_ones = 0;
    for (const sw::channel_span& x : sw::channel_spans(g, s, line)) long_ones += x.end > x.start ? 1U : 0U;
    CHECK(static_cast<std::size_t>(spans.at("left_out").as_int64()) == long_ones - 100);
    CHECK(few.at("plans").at(0).at("memory").at("live").as_array().size() <= 10);
  }
}

}  // namespace html_plan_tests
