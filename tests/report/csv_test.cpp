#include "report/small_timeline.hpp"
#include <shardweave/report/csv.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>

#include <string>
#include <vector>

namespace sw = shardweave;

namespace csv_tests {
namespace {
/// Rows of fields, by RFC 4180.
std::vector<std::vector<std::string>> parse(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, std::vector<std::string>(1));
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c != '"') {
        rows.back().back() += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        rows.back().back() += text[++i];
      } else {
        quoted = false;
      }
    } else if (c == '"') {
      quoted = true;
    } else if (c == ',') {
      rows.back().emplace_back();
    } else if (c == '\n') {
      rows.emplace_back(1);
    } else {
      rows.back().back() += c;
    }
  }
  rows.pop_back();
  return rows;
}
}  // namespace

TEST_SUITE("csv") {
  TEST_CASE("one row per task, in the order of the schedule") {
    const small_timeline all = two_products();
    CHECK(sw::tasks_csv(all.graph, all.schedule, all.line) ==
          "position,task,name,op,kind,channel,bucket,for,start_ns,end_ns,exposed_ns\n"
          "0,0,primals_1,input,input,compute,,,0,0,\n"
          "1,1,gather_1,gather.op,collective,dp (group 513),0,,20,2020,\n"
          "2,2,gather_2,gather.op,collective,dp (group 513),0,,20,2020,\n"
          "3,3,mm_1,mm,compute,compute,,,20,1020,\n"
          "4,4,wait_1,wait,wait,compute,0,1,1020,2020,1000\n"
          "5,5,reduce,reduce.op,collective,tp,,,2060,3360,\n"
          "6,6,wait_2,wait,wait,compute,0,2,2060,2060,0\n"
          "7,7,mm_2,mm,compute,compute,,,2060,3060,\n"
          "8,8,wait_3,wait,wait,compute,,5,3060,3360,300\n"
          "9,9,output,output,output,compute,,,3360,3360,\n");
  }

  TEST_CASE("columns add up to the timeline, and every row has all fields") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const sw::task_graph g = random_tasks(seed);
      const sw::timeline line = sw::simulate(g);
      sw::schedule s;
      for (sw::task_index t = 0; t < g.size(); ++t) s.order.push_back(t);
      const auto tasks = parse(sw::tasks_csv(g, s, line));
      REQUIRE(tasks.size() == g.size() + 1);
      std::int64_t exposed = 0;
      for (const auto& row : tasks) {
        REQUIRE(row.size() == 11);
        if (!row[10].empty() && row[10] != "exposed_ns") exposed += std::stoll(row[10]);
      }
      CHECK(exposed == line.exposed.count());
    }
  }

  TEST_CASE("names with commas and quotes stay one field") {
    sw::task_graph_builder b;
    b.add_task({.name = "a, \"b\"\nc", .op = "x,y", .duration = sw::nanoseconds(1)});
    const sw::task_graph g = std::move(b).build();
    sw::schedule s;
    s.order = {0};
    const auto rows = parse(sw::tasks_csv(g, s, sw::simulate(g)));
    REQUIRE(rows.size() == 2);
    CHECK(rows[1][2] == "a, \"b\"\nc");
    CHECK(rows[1][3] == "x,y");
  }

  TEST_CASE("without tasks only the headings are left, and a foreign timeline is refused") {
    const small_timeline none = no_tasks();
    CHECK(parse(sw::tasks_csv(none.graph, none.schedule, none.line)).size() == 1);
    CHECK_THROWS_WITH_AS(sw::tasks_csv(two_products().graph, none.schedule, none.line),
                         "the timeline has 0 start times, expected one for each of 10 tasks", sw::error);
  }
}

}  // namespace csv_tests
