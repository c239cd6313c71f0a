#include "report/small_timeline.hpp"
#include "report/svg_elements.hpp"
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/report/svg_timeline.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <cmath>
#include <map>
#include <string>
#include <utility>

namespace sw = shardweave;

namespace svg_timeline_tests {
namespace {

using namespace svg_elements;

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

/// Pixels that each colour covers in each row (by its upper edge).
std::map<std::pair<long, std::string>, long> covered(const std::string& svg) {
  std::map<std::pair<long, std::string>, long> all;
  const std::string begin = "<path fill=\"";
  for (std::size_t at = svg.find(begin); at != std::string::npos; at = svg.find(begin, at + 1)) {
    const std::string colour = svg.substr(at + begin.size(), 7);
    const std::size_t shape = svg.find(" d=\"M", at) + 5;
    char* next = nullptr;
    const double x0 = std::strtod(svg.c_str() + shape, &next);
    const long y = std::strtol(next, &next, 10);
    REQUIRE(*next == 'H');
    all[{y, colour}] += std::lround(std::strtod(next + 1, nullptr) - x0);
  }
  return all;
}

sw::schedule original_order(const sw::task_graph& g) {
  sw::schedule s;
  for (sw::task_index t = 0; t < g.size(); ++t) s.order.push_back(t);
  return s;
}

/// Very many tasks on very many channels.
sw::task_graph large(std::size_t tasks, std::uint32_t groups) {
  sw::task_graph_builder b;
  b.name = "large";
  for (std::uint32_t i = 0; i < groups; ++i) b.add_group({.id = i, .name = "g" + std::to_string(i), .size = 2});
  std::uint32_t i = 0;
  while (b.task_count() < tasks) {
    ++i;
    const auto c =
        b.add_task({.name = "collective " + std::to_string(i),
                    .kind = sw::task_kind::collective,
                    .duration = sw::nanoseconds(50 + i % 70),
                    .collective = sw::collective_record{sw::collective::all_reduce, i % groups, {}, {}, "", ""}});
    b.add_task({.name = "product", .kind = sw::task_kind::compute, .duration = sw::nanoseconds(30 + i % 50)});
    b.add_task({.name = "wait", .kind = sw::task_kind::wait, .completes = c});
  }
  return std::move(b).build();
}

}  // namespace

TEST_SUITE("svg_timeline") {
  TEST_CASE("rows show what stands on their channel, at its time") {
    const small_timeline all = two_products("a <b> & \"c\"");
    // a pixel for ten nanoseconds, the time axis from 150
    const std::string svg =
        sw::svg_timeline(all.graph, all.schedule, all.line, {.width = 336, .hints = 0, .memory = false});
    CHECK(elements_of(svg) > 10);
    CHECK(svg.find("a &lt;b&gt; &amp; &quot;c&quot;: 3.36 \xC2\xB5s, 1.30 \xC2\xB5s exposed, peak " +
                   sw::size_text(all.line.peak)) != std::string::npos);
    for (const char* shape : {
             "<path fill=\"#f28e2b\" d=\"M150 37H152v22H150z\"/>",  // pack 0-20
             "<path fill=\"#4e79a7\" d=\"M152 37H252v22H152z\"/>",  // mm_1 20-1020
             "<path fill=\"#e15759\" d=\"M252 37H352v22H252z\"/>",  // stall 1020-2020
             "<path fill=\"#f28e2b\" d=\"M352 37H356v22H352z\"/>",  // unpack 2020-2060
             "<path fill=\"#4e79a7\" d=\"M356 37H456v22H356z\"/>",  // mm_2 2060-3060
             "<path fill=\"#e15759\" d=\"M456 37H486v22H456z\"/>",  // stall 3060-3360
             "<path fill=\"#59a14f\" d=\"M152 65H352v22H152z\"/>",  // bucket 20-2020
             "<path fill=\"#59a14f\" d=\"M356 93H486v22H356z\"/>",  // reduce 2060-3360
         }) {
      CAPTURE(shape);
      CHECK(count(svg, shape) == 1);
    }
    CHECK(count(svg, "<path fill=") == 8);
  }

  TEST_CASE("hints name the longest stretches, the curve shows the memory") {
    const small_timeline all = two_products();
    const std::string svg = sw::svg_timeline(all.graph, all.schedule, all.line, {.hints = 2});
    elements_of(svg);
    CHECK(count(svg, "<title>") == 2);
    CHECK(svg.find("<title>gather_1, bucket 0 of 2, 2.00 \xC2\xB5s</title>") != std::string::npos);
    CHECK(svg.find("<title>reduce, 1.30 \xC2\xB5s</title>") != std::string::npos);
    CHECK(svg.find(">memory<") != std::string::npos);
    CHECK(count(svg, "#76b7b2") == 1);
  }

  TEST_CASE("a cell that is partly taken is faint") {
    sw::task_graph_builder b;
    b.add_group({.id = 0, .name = "dp", .size = 2});
    b.add_task({.name = "c",
                .kind = sw::task_kind::collective,
                .duration = sw::nanoseconds(130),
                .collective = sw::collective_record{sw::collective::all_reduce, 0, {}, {}, "", ""}});
    b.add_task({.name = "p", .kind = sw::task_kind::compute, .duration = sw::nanoseconds(400)});
    const sw::task_graph g = std::move(b).build();
    const std::string svg = sw::svg_timeline(g, original_order(g), sw::simulate(g), {.width = 4, .hints = 0});
    CHECK(svg.find("<path fill=\"#59a14f\" d=\"M150 65H151v22H150z\"/>") != std::string::npos);  // 100 of 100
    CHECK(svg.find("<path fill=\"#59a14f\" opacity=\".6\" d=\"M151 65H152v22H151z\"/>") !=
          std::string::npos);  // 30 of 100: two quarters
  }

  TEST_CASE("with a pixel per nanosecond the coloured stretches are as long as the timeline says") {
    std::size_t drawn = 0, packed = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      CAPTURE(seed);
      const sw::task_graph g = random_tasks(seed, {.blocks = 15});
      sw::random_source random(seed);
      sw::schedule s;
      s.buckets = sw::greedy{}(g).buckets;
      s.order = random_order(g, s.buckets, random);
      if (s.order.empty()) continue;
      const sw::timeline line = sw::simulate(g, s);
      const auto width = static_cast<std::size_t>(line.end_to_end.count());
      const std::string svg =
          sw::svg_timeline(g, s, line, {.width = width, .most_shapes = width * (g.groups().size() + 1), .hints = 0});
      elements_of(svg);
      auto pixels = covered(svg);
      const long top = 37, step = 28;
      CHECK(pixels[{top, "#4e79a7"}] + pixels[{top, "#bab0ac"}] == line.compute.count());
      CHECK(pixels[{top, "#e15759"}] == line.exposed.count());
      CHECK(pixels[{top, "#f28e2b"}] == line.packing.count());
      for (std::size_t c = 0; c < g.groups().size(); ++c)
        CHECK(pixels[{top + step * static_cast<long>(c + 1), "#59a14f"}] == line.channel_busy[c].count());
      ++drawn;
      packed += line.packing > sw::nanoseconds(0);
    }
    CHECK(drawn > 30);
    CHECK(packed > 5);
  }

  TEST_CASE("the size is bounded, however many tasks and channels there are") {
    for (const std::uint32_t groups : {1U, 4U, 60U}) {
      const sw::task_graph g = large(shardweave_test::sized(30'000U, 6'000U), groups);
      const sw::timeline line = sw::simulate(g, {.memory_samples = true});
      const std::string svg = sw::svg_timeline(g, original_order(g), line);
      CAPTURE(groups);
      CAPTURE(svg.size());
      CHECK(svg.size() < 400'000);
      CHECK(elements_of(svg) < 5000);
      CHECK(svg == sw::svg_timeline(g, original_order(g), line));
    }
  }

  TEST_CASE("an empty timeline, and one without length, are pictures too") {
    const small_timeline none = no_tasks();
    CHECK(elements_of(sw::svg_timeline(none.graph, none.schedule, none.line)) > 3);
    sw::task_graph_builder b;
    b.add_task({.name = "in", .op = "input", .kind = sw::task_kind::input});
    const sw::task_graph g = std::move(b).build();
    CHECK(elements_of(sw::svg_timeline(g, original_order(g), sw::simulate(g, {.memory_samples = true}))) > 3);
    CHECK(elements_of(sw::svg_timeline(g, original_order(g), sw::simulate(g), {.width = 0, .row_height = 0})) > 3);
  }

  TEST_CASE("a timeline of another graph is refused") {
    const small_timeline all = two_products();
    CHECK_THROWS_WITH_AS(sw::svg_timeline(all.graph, all.schedule, {}),
                         "the timeline has 0 start times, expected one for each of 10 tasks", sw::error);
  }
}

}  // namespace svg_timeline_tests
