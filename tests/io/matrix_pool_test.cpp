#include "io/refused.hpp"
#include <shardweave/io/detail/matrix_pool.hpp>
#include <shardweave/placement/description.hpp>

#include <doctest/doctest.h>

#include <utility>
#include <vector>

namespace matrix_pool_tests {
namespace {

namespace sw = shardweave;

}  // namespace

TEST_SUITE("matrix_pool") {
  sw::detail::cost_list<double> costs(std::vector<double> entries) {
    return sw::detail::cost_list<double>(std::move(entries));
  }
  sw::placement_description<double> three_vertices() {
    sw::placement_description<double> d;
    d.vertices.resize(3);
    d.vertices[0].compute = {0, 0};
    d.vertices[1].compute = {0, 0, 0};
    d.vertices[2].compute = {0, 0, 0, 0, 0, 0};
    d.vertices[1].name = "middle";
    return d;
  }

  TEST_CASE("a matrix takes the shape of the edges that use it, once per shape") {
    sw::placement_description<double> d = three_vertices();
    d.vertices.resize(4);
    d.vertices[3].compute = {0};
    d.edges = {{.from = 0, .to = 1}, {.from = 0, .to = 1}, {.from = 1, .to = 0}, {.from = 3, .to = 2}};
    sw::detail::matrix_pool<double> pool;
    pool.add(costs({1, 2, 3, 4, 5, 6}));
    pool.add(costs({9, 8, 7, 6, 5, 4}));
    CHECK(pool.size() == 2);
    pool.use(0, 0, false);
    pool.use(0, 1, true);
    pool.use(0, 2, false);
    pool.use(0, 3, false);
    pool.use(1, 0, true);
    pool.give_tables(d);
    REQUIRE(d.tables.size() == 4);  // 2 x 3, 3 x 2 and 1 x 6 of the first, 2 x 3 of the second
    CHECK(d.edges[0].communication == 0);
    CHECK(d.edges[1].transition == 0);
    CHECK(d.edges[1].communication == sw::no_table);
    CHECK(d.edges[2].communication == 1);
    CHECK(d.edges[3].communication == 2);
    CHECK(d.edges[0].transition == 3);
    CHECK((*d.tables[0])(1, 0) == 4);
    CHECK((*d.tables[1])(1, 0) == 3);
    CHECK((*d.tables[2])(0, 5) == 6);
    CHECK((*d.tables[3])(0, 2) == 7);
  }

  TEST_CASE("edges that do not fit are named with what was found and what was expected") {
    sw::placement_description<double> d = three_vertices();
    d.edges = {{.from = 0, .to = 1}};
    sw::detail::matrix_pool<double> pool;
    pool.add(costs({1, 2, 3, 4, 5}));
    pool.use(0, 0, false);
    CHECK(refused([&] { return pool.give_tables(d), 0; }) ==
          "edge 0 (0 -> middle) has 5 costs, expected 2 x 3 as its ends have strategies");
    sw::detail::matrix_pool<double> unused;
    unused.add(costs({1}));
    d.tables.clear();
    unused.give_tables(d);
    CHECK(d.tables.empty());  // nobody's matrix makes no table
    d.edges = {{.from = 0, .to = 1}, {.from = 2, .to = 3}};
    CHECK(refused([&] { return unused.give_tables(d), 0; }) == "edge 1 names vertex 3, but there are only 3 vertices");
    d.edges = {{.from = 7, .to = 1}};
    CHECK(refused([&] { return unused.give_tables(d), 0; }) == "edge 0 names vertex 7, but there are only 3 vertices");
  }
}

}  // namespace matrix_pool_tests
