#include "report/small_timeline.hpp"
#include "report/svg_elements.hpp"
#include <shardweave/report/svg_comparison.hpp>
#include <shardweave/report/svg_timeline.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>

namespace svg_comparison_tests {
namespace {

namespace sw = shardweave;
using namespace svg_elements;

}  // namespace

TEST_SUITE("svg_comparison") {
  TEST_CASE("both timelines stand on one time axis, the measured one below") {
    const small_timeline all = two_products("two");
    sw::timeline slower = all.line;  // everything takes twice as long
    for (auto* times : {&slower.start, &slower.end})
      for (sw::nanoseconds& t : *times) t *= 2;
    for (sw::bucket_times& b : slower.buckets)
      for (sw::nanoseconds* t : {&b.pack_start, &b.start, &b.end, &b.unpack_start, &b.unpack_end}) *t *= 2;
    slower.end_to_end *= 2;
    // half a pixel for ten nanoseconds
    const sw::svg_timeline_options options{.width = 336, .hints = 0, .memory = false};
    const std::string svg = sw::svg_comparison(all.graph, all.schedule, all.line, slower, options);
    CHECK(elements_of(svg) > 20);
    CHECK(svg.find("two, predicted: 3.36 ") < svg.find("two, measured: 6.72 "));
    const std::size_t below = svg.find("<svg xmlns=\"http://www.w3.org/2000/svg\" y=\"");
    REQUIRE(below != std::string::npos);
    const std::string upper = svg.substr(0, below), lower = svg.substr(below);
    CHECK(upper.find("<path fill=\"#4e79a7\" d=\"M151 37H201v22H151z\"/>") != std::string::npos);  // mm_1 20-1020
    CHECK(lower.find("<path fill=\"#4e79a7\" d=\"M152 37H252v22H152z\"/>") != std::string::npos);  // mm_1 40-2040
    CHECK(upper.find("<path fill=\"#59a14f\" d=\"M253 93H318v22H253z\"/>") != std::string::npos);  // reduce 2060-3360
    CHECK(lower.find("<path fill=\"#59a14f\" d=\"M356 93H486v22H356z\"/>") != std::string::npos);  // reduce 4120-6720
    // one picture on top of itself is the same twice
    const std::string same =
        sw::svg_comparison(all.graph, all.schedule, all.line, all.line, {.title = "t", .width = 336});
    const auto once = [&](const char* what) {
      std::string one =
          sw::svg_timeline(all.graph, all.schedule, all.line, {.title = std::string("t, ") + what, .width = 336});
      return one.substr(one.find('\n'));
    };
    CHECK(same.find(once("predicted")) != std::string::npos);
    CHECK(same.find(once("measured")) != std::string::npos);
  }
}

}  // namespace svg_comparison_tests
