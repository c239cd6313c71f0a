#include "report/html_page.hpp"
#include "report/small_timeline.hpp"
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/report/channel_spans.hpp>
#include <shardweave/report/html.hpp>
#include <shardweave/report/html_plan.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/task_maps.hpp>

#include <boost/graph/adjacency_list.hpp>
#include <boost/json.hpp>
#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sw = shardweave;
using shardweave_test::at_scale;

namespace html_tests {
namespace {

using namespace html_page;

std::size_t count_of(std::string_view what, std::string_view text) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

std::vector<std::string> names_of(const json& graph) {
  std::vector<std::string> names;
  for (const json& name : graph.at("names").as_array()) {
    const std::string told(name.as_string());
    const std::string before = names.empty() ? "" : names.back().substr(0, static_cast<std::size_t>(told[0] - '#'));
    names.push_back(before + told.substr(1));
  }
  return names;
}

/// As the page's script reads them.
std::vector<sw::channel_span> spans_of(const sw::task_graph& g, const json& plan) {
  const json& s = plan.at("spans");
  const std::string kind(s.at("kind").as_string());
  const auto task = sums(s.at("task")), bucket = numbers(s.at("bucket")), start = sums(s.at("start")),
             length = numbers(s.at("length"));
  std::vector<sw::channel_span> all;
  for (std::size_t i = 0, communicating = 0; i < task.size(); ++i) {
    sw::channel_span x{.kind = static_cast<sw::span_kind>(kind[i] - '0'),
                       .task = static_cast<sw::task_index>(task[i]),
                       .start = sw::nanoseconds(start[i]),
                       .end = sw::nanoseconds(start[i] + length[i])};
    if (x.kind == sw::span_kind::collective) x.channel = g.collective(x.task).group + 1;
    if (x.kind != sw::span_kind::work)
      if (const std::int64_t number = bucket[communicating++]; number > 0)
        x.bucket = static_cast<std::uint32_t>(number - 1);
    all.push_back(x);
  }
  return all;
}

std::int64_t sum_of(const json& list) {
  std::int64_t sum = 0;
  for (const std::int64_t n : numbers(list)) sum += n;
  return sum;
}

}  // namespace

TEST_SUITE("html") {
  TEST_CASE("a report of a small step has its figures, spans, chain, stalls and buckets") {
    const small_timeline small = two_products();
    const std::string page = sw::html(small.graph, small.schedule, small.line,
                                      {.subtitle = "by hand",
                                       .figures = {{"devices", "8"}},
                                       .bounds = {{"any plan", sw::nanoseconds(3000)}},
                                       .prices = {{"computation", 0.75}, {"chains", 0.25}}});
    CHECK(page.starts_with("<!DOCTYPE html>"));
    CHECK(page.ends_with("</html>\n"));
    CHECK(page.find("<h1>two products</h1>") != std::string::npos);
    CHECK(page.find("<p class=\"about\">by hand</p>") != std::string::npos);
    CHECK(page.find("<dt>end to end</dt><dd>3.36 \xC2\xB5s</dd>") != std::string::npos);
    CHECK(page.find("<dt>no earlier: any plan</dt><dd>3.00 \xC2\xB5s</dd>") != std::string::npos);
    CHECK(page.find("<dt>above that at most</dt><dd>12.00 %</dd>") != std::string::npos);
    CHECK(page.find("<dt>devices</dt><dd>8</dd>") != std::string::npos);
    CHECK(row_of(page, "computation") == std::vector<std::string>{"2.00 \xC2\xB5s"});
    CHECK(row_of(page, "stalls") == std::vector<std::string>{"1.30 \xC2\xB5s"});
    CHECK(row_of(page, "packing") == std::vector<std::string>{"60 ns"});
    CHECK(row_of(page, "buckets") == std::vector<std::string>{"1"});

    const json data = data_of(page);
    CHECK(data.at("format") == "shardweave.report");
    CHECK(data.at("prices").at(1).at("name") == "chains");
    CHECK(data.at("placement").is_null());
    CHECK(page.find("id=\"placement\"") == std::string::npos);
    const json& graph = data.at("graphs").at(0);
    CHECK(names_of(graph) == std::vector<std::string>{"primals_1", "gather_1", "gather_2", "mm_1", "wait_1", "reduce",
                                                      "wait_2", "mm_2", "wait_3", "output"});
    CHECK(graph.at("channels").at(1).at("name") == "dp (group 513)");
    const json& plan = data.at("plans").at(0);
    CHECK(plan.at("totals").at("end_to_end_ns") == 3360);
    std::vector<sw::channel_span> expected;
    for (const sw::channel_span& x : sw::channel_spans(small.graph, small.schedule, small.line))
      if (x.end > x.start) expected.push_back(x);
    CHECK(spans_of(small.graph, plan) == expected);
    CHECK(numbers(plan.at("spans").at("queued")) == std::vector<std::int64_t>{20, 0});  // packed first; at once
    CHECK(numbers(plan.at("stalls").at("length")) == std::vector<std::int64_t>{1000, 300});
    CHECK(sums(plan.at("stalls").at("collective")) == std::vector<std::int64_t>{1, 5});
    CHECK(numbers(plan.at("stalls").at("bucket")) == std::vector<std::int64_t>{1, 0});
    CHECK(sum_of(plan.at("chain").at("length")) == 3360);
    CHECK(numbers(plan.at("buckets").at(0).at("members")) == std::vector<std::int64_t>{1, 2});
    CHECK(plan.at("buckets").at(0).at("alone_ns") == 3000);
    CHECK(plan.at("buckets").at(0).at("bytes_out") == 200);
  }

  TEST_CASE("what a report says of random steps is what the timeline, its spans and its memory are") {
    std::size_t refused = 0;
    for (std::uint64_t seed = 0; seed < at_scale(40); ++seed) {
      CAPTURE(seed);
      const sw::task_graph g = random_tasks(seed, {.blocks = 40});
      sw::random_source random(seed);
      sw::schedule s;
      auto made = sw::greedy{}(g, {});
      s.buckets = made.buckets;
      s.decisions = made.decisions;
      s.order = random_order(g, s.buckets, random);
      const sw::timeline line = sw::simulate(g, s, {.memory_samples = true});
      const json data = data_of(sw::html(g, s, line));
      const json& plan = data.at("plans").at(0);
      const auto names = names_of(data.at("graphs").at(0));
      for (sw::task_index t = 0; t < g.size(); ++t) CHECK(names[t] == g.name_of(t));
      std::int64_t stalled = 0, computed = 0, packed = 0;
      std::vector<std::int64_t> busy(g.groups().size());
      const auto spans = spans_of(g, plan);
      for (const sw::channel_span& x : spans) {
        const std::int64_t length = (x.end - x.start).count();
        if (x.channel != sw::compute_channel) {
          busy[x.channel - 1] += length;
        } else if (x.kind == sw::span_kind::wait) {
          stalled += length;
        } else {
          (x.kind == sw::span_kind::work ? computed : packed) += length;
        }
      }
      CHECK(stalled == line.exposed.count());
      CHECK(computed == line.compute.count());
      CHECK(packed == line.packing.count());
      for (std::size_t c = 0; c < busy.size(); ++c) CHECK(busy[c] == line.channel_busy[c].count());
      CHECK(sum_of(plan.at("stalls").at("length")) == line.exposed.count());
      CHECK(sum_of(plan.at("chain").at("length")) == line.end_to_end.count());
      // memory: all samples, and parts that sum to them
      const auto live = sums(plan.at("memory").at("live"));
      std::vector<std::int64_t> sum(live.size());
      for (const json& part : plan.at("memory").at("parts").as_array()) {
        const auto held = sums(part.at("held"));
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += held[i];
      }
      REQUIRE(live.size() == line.memory.size());
      for (std::size_t i = 0; i < live.size(); ++i) CHECK(live[i] == line.memory[i].live.count());
      CHECK(sum == live);
      // dependencies
      const auto count = numbers(data.at("graphs").at(0).at("inputs").at("count"));
      const auto back = numbers(data.at("graphs").at(0).at("inputs").at("back"));
      for (std::size_t t = 0, at = 0; t < g.size(); ++t) {
        const auto inputs = g.inputs(static_cast<sw::task_index>(t));
        REQUIRE(static_cast<std::size_t>(count[t]) == inputs.size());
        for (const sw::task_index p : inputs) CHECK(static_cast<std::int64_t>(t) - back[at++] == std::int64_t{p});
      }
      std::size_t times = 0;
      for (const json& r : plan.at("refused").as_array()) times += static_cast<std::size_t>(r.at("times").as_int64());
      CHECK(times == s.decisions.size());
      refused += times;
    }
    CHECK(refused > 0);
  }

  TEST_CASE("whatever things are called, the page stays one page, and fetches nothing") {
    const std::string evil = "</script><script>alert(1)</script><!-- \"'&\\ \n\x01 \xFF \xC3\xA9";
    small_timeline small = two_products(evil);
    const std::vector<sw::placed_value> placement = {{.kind = evil, .part = evil, .layer = evil, .label = evil}};
    const std::vector<sw::html_plan> plans = {
        {.name = evil, .graph = &small.graph, .order = &small.schedule, .line = &small.line, .placement = placement}};
    const std::string page = sw::html(
        plans,
        {.subtitle = evil, .figures = {{evil, evil}}, .bounds = {{evil, sw::nanoseconds(1)}}, .prices = {{evil, 1}}});
    const std::string plain = sw::html(small.graph, small.schedule, small.line);
    CHECK(count_of("<script", page) == 3);  // the theme, the data, the behaviour
    CHECK(count_of("</script>", page) == 3);
    CHECK(count_of("<!--", page) == 0);
    CHECK(data_of(page).at("graphs").at(0).at("name").as_string().starts_with("</script><script>alert(1)"));
    CHECK(data_of(plain).is_object());
    for (const std::string_view remote : {"http:", "https:", " src=", "@import", "url(", "fetch(", "XMLHttpRequest"})
      CHECK(page.find(remote) == std::string::npos);
    CHECK(page.find("default-src 'none'") != std::string::npos);
  }

  TEST_CASE("any graph with its property maps has a report") {
    struct node {
      sw::task_kind kind = sw::task_kind::compute;
      sw::nanoseconds duration = {};
      std::string name = {};
    };
    using listed = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, node>;
    listed g;
    const auto a = add_vertex(node{sw::task_kind::compute, sw::nanoseconds(5), "first"}, g);
    const auto b = add_vertex(node{sw::task_kind::compute, sw::nanoseconds(7), "second"}, g);
    add_edge(a, b, g);
    const auto maps = sw::task_maps(
        get(&node::kind, g), get(&node::duration, g), boost::static_property_map<int>(0),
        boost::static_property_map<sw::bucket_key>({}), boost::static_property_map<sw::transfer_size>({}),
        sw::no_storages(std::vector<sw::stored_piece>{}), sw::task_notes().with_names(get(&node::name, g)));
    const sw::task_graph tasks = sw::make_task_graph(g, maps);
    const sw::schedule s = sw::in_order{}(tasks, {});
    const sw::timeline line = sw::simulate(tasks, s);
    std::string page;
    sw::write_html([&](std::string_view piece) { page += piece; }, g, maps, {}, s, line);
    CHECK(page == sw::html(tasks, s, line));
    CHECK(names_of(data_of(page).at("graphs").at(0)) == std::vector<std::string>{"first", "second"});
  }

  TEST_CASE("equal input gives equal text, and nothing at all has a report") {
    const small_timeline small = two_products();
    CHECK(sw::html(small.graph, small.schedule, small.line) == sw::html(small.graph, small.schedule, small.line));
    const small_timeline none = no_tasks();
    CHECK(data_of(sw::html(none.graph, none.schedule, none.line)).at("graphs").at(0).at("tasks") == 0);
  }

  TEST_CASE("a report of no plan, and of another graph's timeline, is refused") {
    const small_timeline small = two_products();
    CHECK_THROWS_WITH_AS(static_cast<void>(sw::html(std::span<const sw::html_plan>())),
                         "the report has no plan, expected at least one", sw::error);
    sw::timeline cut = small.line;
    cut.end.pop_back();
    CHECK_THROWS_WITH_AS(static_cast<void>(sw::html(small.graph, small.schedule, cut)),
                         "the timeline has 9 end times, expected one for each of 10 tasks", sw::error);
  }
}
}  // namespace html_tests
