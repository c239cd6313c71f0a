#include "io/refused.hpp"
#include "io/small_placement.hpp"
#include <shardweave/io/read_placement.hpp>
#include <shardweave/overlap/window.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace read_placement_tests {
namespace {

namespace sw = shardweave;
using namespace small_placements;

}  // namespace

TEST_SUITE("read_placement") {
  TEST_CASE("equal lists of labels are kept once") {
    const auto d = read(R"json({"format": "shardweave.placement", "version": 1, "vertices": [
      {"labels": ["R", "S"], "compute": [0, 1]}, {"labels": ["R", "S"], "compute": [2, 3]},
      {"labels": ["S", "R"], "compute": [2, 3]}], "edges": []})json");
    REQUIRE(d.vertices.size() == 3);
    CHECK(d.vertices[0].labels.begin() == d.vertices[1].labels.begin());
    CHECK(d.vertices[1].labels == std::vector<std::string>{"R", "S"});
    CHECK(d.vertices[2].labels == std::vector<std::string>{"S", "R"});
  }

  TEST_CASE("every part of a problem is read") {
    const auto d = read(small);
    CHECK(d.name == "small");
    CHECK(d.unit == "us");
    REQUIRE(d.vertices.size() == 3);
    CHECK(d.vertices[0].op == "input");
    CHECK(d.vertices[0].phase == "forward");
    CHECK(d.vertices[0].labels == std::vector<std::string>{"R", "S(0)"});
    CHECK(d.vertices[0].compute == std::vector{0, 0.5});
    CHECK(d.vertices[0].memory == std::vector<double>{8, 4});
    CHECK(sw::is_forbidden(d.vertices[1].compute[1]));
    REQUIRE(d.edges.size() == 2);
    CHECK(d.edges[0].slot == 1);
    CHECK(d.edges[0].transition == sw::no_table);
    CHECK(d.edges[1].communication == sw::no_table);
    const auto& communication = *d.tables.at(d.edges[0].communication);
    CHECK(communication(0, 2) == 2);
    CHECK(sw::is_forbidden(communication(1, 0)));
    CHECK((*d.tables.at(d.edges[1].transition))(2, 0) == 7);
    REQUIRE(d.constraints.fixed.size() == 1);
    CHECK(d.constraints.fixed[0].why == "input");
    REQUIRE(d.constraints.ties.size() == 1);
    CHECK(d.constraints.ties[0].vertices == std::vector<std::uint32_t>{1, 2});
    CHECK(d.constraints.ties[0].why == "tie 7");
    REQUIRE(d.constraints.pairs.size() == 1);
    CHECK(d.constraints.pairs[0].allowed == std::vector<std::pair<sw::strategy, sw::strategy>>{{0, 0}, {1, 2}});
    REQUIRE(d.constraints.budgets.size() == 2);
    CHECK(d.constraints.budgets[0].low == 0.5);
    CHECK(std::isinf(d.constraints.budgets[1].low));
    CHECK(*d.constraints.budgets[1].terms[0].live == sw::live_interval{2, 6});
    REQUIRE(d.overlap.size() == 3);
    CHECK(d.overlap[0].direction == sw::hiding::earlier);
    CHECK(d.overlap[1].direction == sw::hiding::later);
    CHECK(d.overlap[2].direction == sw::hiding::none);
    CHECK(d.overlap[2].last == 2);
    CHECK(d.overlap[2].channel == 3);
    REQUIRE(d.reference);
    CHECK(d.reference->choice == sw::assignment{1, 2, 2});
    CHECK(d.reference->without_savings == 13);
    CHECK(d.reference->proven);
  }

  TEST_CASE("what does not fit together is refused in one line that names it") {
    CHECK(message(changed(small, "\"version\": 1", "\"version\": 2"))
              .ends_with("version is 2, expected a version from 1 to 1, which are those this reader knows"));
    CHECK(message(changed(small, "shardweave.placement", "shardweave.tasks"))
              .ends_with("format is \"shardweave.tasks\", expected \"shardweave.placement\""));
    CHECK(message(changed(small, "\"from\": 0", "\"from\": 5")) ==
          "T: edge 0 names vertex 5, but there are only 3 vertices");
    CHECK(message(changed(small, "\"transition\": 1", "\"transition\": 2")) ==
          "T: edge 1 (y -> z) names matrix 2, but there are only 2 matrices");
    CHECK(message(changed(small, "\"transition\": 1", "\"transition\": 4294967295"))
              .ends_with("transition is 4294967295, expected a whole number from 0 to 4294967294"));
    CHECK(message(changed(small, "\"communication\": 0", "\"communication\": 4294967295"))
              .ends_with("communication is 4294967295, expected a whole number from 0 to 4294967294"));
    CHECK(message(changed(small, "null, 4, 5]", "null, 4]")) ==
          "T: edge 0 (x -> y) has 5 costs, expected 2 x 3 as its ends have strategies");
    CHECK(message(changed(small, "[1, 2, 3], \"tie\"", "[], \"tie\""))
              .ends_with("vertices[2] has no strategies: compute is empty"));
    CHECK(message(changed(small, "[0, 0.5]", "[0, NaN]"))
              .ends_with("not JSON in vertices[0].compute[1]: syntax error at 'N'"));
    CHECK(message(changed(small, "[0, 0.5]", "[0, \"0.5\"]"))
              .ends_with("vertices[0].compute[1] is \"0.5\", expected a number or null"));
    CHECK(message(changed(small, "[\"R\", \"S(0)\"]", "[\"R\"]")) == "T: vertex 0 (x) has 1 label for 2 strategies");
    CHECK(message(changed(small, "\"usage\": [1, 0.5]", "\"usage\": [-1, 0.5]"))
              .starts_with("T: the usage -1 of strategy 0 of vertex 0 (x) in budget 'parameters' is negative"));
    CHECK(message(changed(small, "\"strategies\": [0, 1]", "\"strategies\": [0, 2]")) ==
          "T: constraint 'input' names strategy 2 of vertex 0 (x), which has only 2");
    CHECK(message(changed(small, "[[0, 0], [1, 2]]", "[[0, 0, 0]]"))
              .ends_with("pairs[0].allowed[0] has 3 numbers, expected 2 strategies"));
    CHECK(message(changed(small, "\"direction\": \"earlier\"", "\"direction\": \"sideways\""))
              .ends_with("overlap.edges[0].direction is \"sideways\", expected \"earlier\" or \"later\""));
    CHECK(message(changed(small, ", \"direction\": \"earlier\"", ""))
              .ends_with("overlap.edges[0] needs a direction or a window, and not both"));
    CHECK(message(changed(small, "[0, 2], \"channel\"", "[2, 0], \"channel\""))
              .ends_with("overlap.edges[2].window is no window, expected 2 positions: first <= last"));
    CHECK(message(changed(small, "\"vertex order\"", "\"other order\""))
              .ends_with("overlap.order is \"other order\", expected \"vertex order\""));
    CHECK(message(changed(small, "[1, 2, 2]", "[1, 2]")) ==
          "T: reference.assignment has 2 strategies, expected one for each of 3 vertices");
    CHECK(message(changed(small, "\"slot\": 1", "\"slots\": 1")).ends_with("edges[0] has the unknown field 'slots'"));
    CHECK_NOTHROW(read(changed(small, "\"slot\": 1", "\"slots\": 1"), false));
    CHECK(message(changed(small, "\"name\": \"y\"", "\"name\": \"y\", \"name\": \"w\""))
              .ends_with("vertices[1] has the field 'name' twice"));
  }

  TEST_CASE("a number that stands there before, with zeros behind, is none") {
    const auto row_with = [](const std::string& odd) {  // long enough to be read in bulk
      std::string row;
      for (int i = 0; i < 100; ++i) row += i == 50 ? odd + "," : "0.5,";
      return "[" + row + "0.5]";
    };
    const auto matrix = [&](const std::string& odd) {
      return R"({"format":"shardweave.placement","version":1,"name":"p","vertices":[{"name":"a","compute":[0]},
        {"name":"b","compute":)" +
             row_with("0.5") + "}],\"matrices\":[" + row_with(odd) +
             R"(],"edges":[{"from":0,"to":1,"communication":0}]})";
    };
    const auto read_in = [&](const std::string& odd, std::size_t piece) {
      const std::string text = matrix(odd);
      auto input = sw::text_input::of_memory("T", text, piece);
      return refused([&] { return sw::read_placement(input); });
    };
    for (const std::size_t zeros : {1U, 5U, 13U, 20U}) {
      const std::string odd = "0.5" + std::string(zeros, '\0');
      CHECK(read_in(odd, 1 << 20).find("syntax error at byte value 0") != std::string::npos);
      CHECK(read_in(odd, 1 << 20) == read_in(odd, 1));
    }
  }

  TEST_CASE("a text cut anywhere is refused in one line") {
    for (std::size_t size = 0; size < small.size(); size += 5) {
      CAPTURE(size);
      CHECK(is_one_line(message(small.substr(0, size))));
    }
  }
}

}  // namespace read_placement_tests
