#include <shardweave/overlap/window.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <vector>

namespace window_tests {
namespace {

namespace sw = shardweave;

std::vector<std::size_t> held_by(const sw::window& w, std::size_t positions) {
  std::vector<std::size_t> list;
  for (std::size_t q = 0; q < positions; ++q)
    if (w.contains(q)) list.push_back(q);
  return list;
}

}  // namespace

TEST_SUITE("window") {
  TEST_CASE("both ends are inside, the exception is not, and what ends before it begins is empty") {
    using list = std::vector<std::size_t>;
    CHECK(held_by({1, 3}, 6) == list{1, 2, 3});
    CHECK(held_by({1, 3, 2}, 6) == list{1, 3});
    CHECK(held_by({1, 3, 3}, 6) == list{1, 2});
    CHECK(held_by({1, 3, 5}, 6) == list{1, 2, 3});
    CHECK(held_by({2, 2, 2}, 6).empty());
    CHECK(held_by({3, 2}, 6).empty());
    CHECK(held_by({4, 99}, 6) == list{4, 5});
  }

  TEST_CASE("without being told a window is the first position, and leaves none out") {
    CHECK(held_by({}, 6) == std::vector<std::size_t>{0});
    CHECK(sw::window{}.except == sw::no_position);
    CHECK(sw::hiding_place{}.channel == 0);
  }

  TEST_CASE("permissions are the subsets of two ways: their union, and whether one is among them") {
    using enum sw::hiding;
    struct ways {
      sw::hiding value;
      bool earlier, later;
    };
    constexpr std::array all{ways{none, false, false}, ways{earlier, true, false}, ways{later, false, true},
                             ways{both, true, true}};
    for (const ways& a : all) {
      CHECK(sw::allows(a.value, earlier) == a.earlier);
      CHECK(sw::allows(a.value, later) == a.later);
      for (const ways& b : all) {
        const sw::hiding either = a.value | b.value;
        CHECK(sw::allows(either, earlier) == (a.earlier || b.earlier));
        CHECK(sw::allows(either, later) == (a.later || b.later));
      }
    }
  }
}

}  // namespace window_tests
