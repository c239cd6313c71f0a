#include <shardweave/core/error.hpp>
#include <shardweave/report/svg_progress.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace svg_progress_tests {
namespace {

constexpr double none = std::numeric_limits<double>::infinity();

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t n = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

TEST_SUITE("svg_progress") {
  TEST_CASE("lines step where something became known, from the first answer to the end, and never go back") {
    // from 90 to 120 ms, with a twentieth below, and of that above
    const std::vector<sw::progress_point> points{
        {0, none, 90e6}, {1, 120e6, -none}, {2, 130e6, 80e6}, {3, 100e6, 70e6}, {4, 100e6, 95e6}};
    const std::string svg = sw::svg_progress(points, {.title = "a < b", .width = 400, .height = 441});
    const auto y = [](double ms) { return sw::fixed_text(36 + (121.575 - ms) / (121.575 - 88.5) * 441, 1); };
    // 90 is known from the start on: what is lower later counts as 90, 130 as 120
    CHECK(svg.find("d=\"M184.0," + y(120) + "H284.0V" + y(120) + "H384.0V" + y(100) + "H484.0V" + y(100) +
                   "H484.0\"") != std::string::npos);
    CHECK(svg.find("d=\"M184.0," + y(90) + "H284.0V" + y(90) + "H384.0V" + y(90) + "H484.0V" + y(95) + "H484.0\"") !=
          std::string::npos);
    CHECK(count(svg, "fill-opacity=\"0.15\"") == 3);  // the gap of each second with both
    CHECK(svg.find("a &lt; b") != std::string::npos);
    CHECK(svg.find("best 100.00 ms") != std::string::npos);
    CHECK(svg.find("bound 95.00 ms") != std::string::npos);
    CHECK(svg.find("gap 5.26 %") != std::string::npos);
    CHECK(count(svg, "<svg") == count(svg, "</svg>"));
    CHECK(count(svg, "<rect") == 1);
    CHECK(count(sw::svg_progress(points, {.background = false}), "<rect") == 0);
  }

  TEST_CASE("an answer without a bound is a line alone, and one point is a picture") {
    const std::string svg = sw::svg_progress(std::vector<sw::progress_point>{{0.5, 3e6, 0}});
    CHECK(count(svg, "stroke-width=\"2\"") == 1);
    CHECK(svg.find("gap") == std::string::npos);
  }

  TEST_CASE("what cannot be drawn is refused") {
    CHECK_THROWS_WITH_AS((void)sw::svg_progress({}), "a picture of progress without an answer, expected one at least",
                         sw::error);
    CHECK_THROWS_AS((void)sw::svg_progress(std::vector<sw::progress_point>{{0, none, 5}}), sw::error);
    CHECK_THROWS_WITH_AS((void)sw::svg_progress(std::vector<sw::progress_point>{{2, 5, 4}, {1, 5, 4}}),
                         "a point of progress at 1 s after one at 2 s, expected the order of time", sw::error);
  }

  TEST_CASE("numbers of an axis are round, and as many as were asked for or some more") {
    CHECK(sw::detail::round_numbers(0, 10, 5) == std::vector<double>{0, 2, 4, 6, 8, 10});
    CHECK(sw::detail::round_numbers(3, 9, 5) == std::vector<double>{4, 6, 8});
    CHECK(sw::detail::round_numbers(88.5e6, 121.5e6, 5) == std::vector<double>{90e6, 100e6, 110e6, 120e6});
  }
}

}  // namespace
}  // namespace svg_progress_tests
