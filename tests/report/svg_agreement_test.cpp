#include <shardweave/core/error.hpp>
#include <shardweave/report/svg_agreement.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace svg_agreement_tests {
namespace {

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t n = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

TEST_SUITE("svg_agreement") {
  TEST_CASE("points lie where their figures say, in decades, and what agrees lies on the diagonal") {
    const std::vector<sw::agreement_series> series{{"a & b", {1, 100, 10}, {1, 100, 1}}, {"c", {10}, {10}}};
    const std::string svg = sw::svg_agreement(series, {.title = "t < u", .side = 200});
    CHECK(count(svg, "<circle r=\"3\"") == 4);
    CHECK(count(svg, "cx=\"0.0\" cy=\"200.0\"") == 1);    // 1, 1
    CHECK(count(svg, "cx=\"200.0\" cy=\"0.0\"") == 1);    // 100, 100
    CHECK(count(svg, "cx=\"100.0\" cy=\"200.0\"") == 1);  // 10 measured, 1 predicted
    CHECK(count(svg, "cx=\"100.0\" cy=\"100.0\"") == 1);
    CHECK(svg.find("a &amp; b") != std::string::npos);
    CHECK(svg.find("t &lt; u") != std::string::npos);
    CHECK(count(svg, "<svg") == count(svg, "</svg>"));
    CHECK(count(svg, ">100</text>") == 2);
  }

  TEST_CASE("what cannot be drawn is refused") {
    CHECK_THROWS_WITH_AS((void)sw::svg_agreement({}), "a picture of no figures, expected one at least", sw::error);
    CHECK_THROWS_AS((void)sw::svg_agreement(std::vector<sw::agreement_series>{{"a", {1}, {}}}), sw::error);
    CHECK_THROWS_AS((void)sw::svg_agreement(std::vector<sw::agreement_series>{{"a", {1}, {0}}}), sw::error);
  }
}

}  // namespace
}  // namespace svg_agreement_tests
