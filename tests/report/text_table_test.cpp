#include <shardweave/core/error.hpp>
#include <shardweave/report/text_table.hpp>
#include <shardweave/report/unit_text.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <string>

namespace sw = shardweave;

TEST_SUITE("text_table") {
  TEST_CASE("columns are as wide as their widest cell, and lines end without blanks") {
    sw::text_table table({{"stage"}, {"time", sw::text_side::right}, {"note"}});
    table.row({"solve", "1.20 s", "proven"}).row({"a longer name", "3 ns"}).rule().row({"total", "1.20 s"});
    CHECK(table.text() ==
          "stage            time  note\n"
          "-----------------------------\n"
          "solve          1.20 s  proven\n"
          "a longer name    3 ns\n"
          "-----------------------------\n"
          "total          1.20 s\n");
    CHECK(table.text(2).substr(0, 8) == "  stage ");
  }

  TEST_CASE("a table without headings has no line under them") {
    sw::text_table table({{}, {"", sw::text_side::right}});
    CHECK(table.empty());
    CHECK(table.text().empty());
    CHECK(table.row({"a", "1"}).row({"b", "22"}).text() == "a   1\nb  22\n");
  }

  TEST_CASE("characters of several bytes take one column, new lines in cells become blanks") {
    sw::text_table table({{"t", sw::text_side::right}, {"x"}});
    table.row({"1 \xC2\xB5s", "a\nb"}).row({"10 ns", "c"});
    CHECK(table.text() == "    t  x\n----------\n 1 \xC2\xB5s  a b\n10 ns  c\n");
    CHECK(sw::text_table::width_of("\xE2\x82\xAC") == 1);
  }

  TEST_CASE("more cells than columns are refused") {
    sw::text_table table({{"one"}});
    CHECK_THROWS_WITH_AS(table.row({"a", "b"}), "a row of 2 cells in a table of 1 column", sw::error);
  }
}

TEST_SUITE("unit_text") {
  TEST_CASE("times take the unit in which they are at least one") {
    const auto text = [](std::int64_t ns) { return sw::time_text(sw::nanoseconds(ns)); };
    CHECK(text(0) == "0 ns");
    CHECK(text(999) == "999 ns");
    CHECK(text(1000) == "1.00 \xC2\xB5s");
    CHECK(text(999'994) == "999.99 \xC2\xB5s");
    CHECK(text(999'996) == "1.00 ms");
    CHECK(text(182'450'619) == "182.45 ms");
    CHECK(text(2'252'253'861) == "2.25 s");
    CHECK(text(7'200'000'000'000) == "7200.00 s");
    CHECK(text(-1500) == "-1.50 \xC2\xB5s");
    CHECK(sw::seconds_text(0.0125) == "12.50 ms");
    CHECK(sw::seconds_text(0) == "0 ns");
  }

  TEST_CASE("sizes go by 1024") {
    CHECK(sw::size_text(sw::bytes(1023)) == "1023 B");
    CHECK(sw::size_text(sw::kibibytes(1)) == "1.00 KiB");
    CHECK(sw::size_text(sw::mebibytes(1536)) == "1.50 GiB");
    CHECK(sw::size_text(sw::gibibytes(4096)) == "4.00 TiB");
    CHECK(sw::size_text(sw::gibibytes(5000 * 1024)) == "5000.00 TiB");
  }

  TEST_CASE("counts have commas, fractions are percent, zero has no sign") {
    CHECK(sw::count_text(std::int64_t{0}) == "0");
    CHECK(sw::count_text(std::int64_t{999}) == "999");
    CHECK(sw::count_text(std::int64_t{1000}) == "1,000");
    CHECK(sw::count_text(std::int64_t{-1234567}) == "-1,234,567");
    CHECK(sw::count_text(std::int64_t{-100}) == "-100");
    CHECK(sw::count_text(1, "edge") == "1 edge");
    CHECK(sw::count_text(0, "edge") == "0 edges");
    CHECK(sw::count_text(12345U, "vertex", "vertices") == "12,345 vertices");
    CHECK(sw::count_text(1U, "vertex", "vertices") == "1 vertex");
    CHECK(sw::percent_text(0.125) == "12.5 %");
    CHECK(sw::share_text(sw::nanoseconds(1), sw::nanoseconds(3)) == "33.3 %");
    CHECK(sw::share_text(sw::nanoseconds(0), sw::nanoseconds(0)).empty());
    CHECK(sw::fixed_text(-0.001) == "0.00");
    CHECK(sw::fixed_text(-0.01) == "-0.01");
    CHECK(sw::fixed_text(1e300, 0).size() == 301);
    CHECK(sw::fixed_text(-std::numeric_limits<double>::infinity()) == "-inf");
    CHECK(sw::fixed_text(std::numeric_limits<double>::quiet_NaN()) == "nan");
  }
}
