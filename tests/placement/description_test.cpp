#include <shardweave/placement/description.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sw = shardweave;

TEST_SUITE("description") {
  TEST_CASE("a list of labels is shared by its copies, and equal to what says the same") {
    const sw::label_list none;
    CHECK(none.empty());
    CHECK(none.begin() == none.end());
    CHECK(sw::label_list(std::vector<std::string>{}) == none);
    const sw::label_list two{"rows", "columns"};
    const sw::label_list copy = two;
    CHECK(copy.begin() == two.begin());
    CHECK(copy.size() == 2);
    CHECK(copy[1] == "columns");
    CHECK(copy == sw::label_list(std::vector<std::string>{"rows", "columns"}));
    CHECK_FALSE(copy == sw::label_list{"rows"});
  }
  TEST_CASE("messages name vertices, strategies and edges by what is known of them") {
    sw::placement_description<double> d;
    d.vertices.resize(2);
    d.vertices[1].name = "linear";
    d.vertices[1].labels = {"rows"};
    d.edges = {{.from = 0, .to = 1}, {.from = 1, .to = 7}};
    CHECK(d.name_of(0) == "vertex 0");
    CHECK(d.name_of(1) == "vertex 1 (linear)");
    CHECK(d.name_of_strategy(1, 0) == "rows");
    CHECK(d.name_of_strategy(1, 1) == "1");
    CHECK(d.name_of_strategy(0, 3) == "3");
    CHECK(d.name_of_edge(0) == "edge 0 (0 -> linear)");
    CHECK(d.name_of_edge(1) == "edge 1 (linear -> 7)");  // a vertex that is not there is told by its number
  }
  TEST_CASE("forms of savings have the names that files use") {
    constexpr std::array<std::string_view, 5> names{"off", "windows", "strict", "inclusive", "inclusive-twice"};
    for (std::size_t i = 0; i < names.size(); ++i) CHECK(sw::name_of(static_cast<sw::savings_form>(i)) == names[i]);
  }
}
