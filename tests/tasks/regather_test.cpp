#include <shardweave/tasks/regather.hpp>

#include <doctest/doctest.h>
#include <support/overlap_tasks.hpp>

#include <algorithm>
#include <vector>

namespace sw = shardweave;

namespace regather_tests {

TEST_SUITE("regather_tags") {
  using enum sw::regather;
  TEST_CASE("the way of a parameter is gathered again, or its end kept") {
    overlap_tasks p;
    const auto plain = p.ag(p.input());  // gather, wait
    p.mm({plain.wait});
    const auto cast = p.other("cast", {p.input()}), behind = p.launch("ag", cast), behind_wait = p.wait(behind);
    const auto slice = p.view({behind_wait});  // cast, gather, wait, slice
    p.mm({slice});
    const auto a = p.input(), b = p.input(), product = p.mm({a, b});
    const auto value = p.ag(product);  // of a product of two
    p.output({value.wait});
    const sw::task_graph g = p.graph();
    std::vector<sw::regather> expected(g.size(), none);
    const auto again = sw::regather_tags(g, true), kept = sw::regather_tags(g, false);
    for (const auto t : {plain.start, plain.wait, cast, behind, behind_wait, slice}) expected[t] = recompute;
    CHECK(again == expected);
    std::fill(expected.begin(), expected.end(), none);
    for (const auto t : {plain.wait, behind_wait}) expected[t] = save;  // a slice is a view of what is kept
    CHECK(kept == expected);
    overlap_tasks empty;
    empty.output({empty.mm({empty.input()})});
    CHECK(sw::regather_tags(empty.graph(), true) == std::vector<sw::regather>(3, none));
  }
}

}  // namespace regather_tests
