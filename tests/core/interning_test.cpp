#include <shardweave/core/interning.hpp>
#include <shardweave/core/random.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <vector>

namespace sw = shardweave;

// a copy would point into the table it was copied from
static_assert(!std::is_copy_constructible_v<sw::interner<int>> && std::is_move_constructible_v<sw::interner<int>>);

TEST_SUITE("interner") {
  TEST_CASE("values are numbered in the order in which they first come") {
    sw::interner<std::string> numbers;
    CHECK(numbers.size() == 0);
    CHECK(numbers("b") == 0);
    CHECK(numbers("a") == 1);
    CHECK(numbers("b") == 0);
    CHECK(numbers("c") == 2);
    CHECK(numbers.size() == 3);
    CHECK(numbers[1] == "a");
  }

  TEST_CASE("a number leads back to its value, also after growth and a move") {
    sw::random_source random(4);
    sw::interner<std::vector<int>, sw::sequence_hash> numbers;
    std::vector<std::vector<int>> first;  // the definition: a search through all that came before
    for (int i = 0; i < 2000; ++i) {
      std::vector<int> value(random.below(4));
      for (int& x : value) x = static_cast<int>(random.below(5));
      const auto at = std::find(first.begin(), first.end(), value);
      const auto expected = static_cast<std::uint32_t>(at - first.begin());
      if (at == first.end()) first.push_back(value);
      REQUIRE(numbers(value) == expected);
    }
    REQUIRE(numbers.size() == first.size());
    const auto moved = std::move(numbers);
    for (std::uint32_t i = 0; i < first.size(); ++i) CHECK(moved[i] == first[i]);
  }
}

TEST_SUITE("sequence_hash") {
  TEST_CASE("order, length and values count") {
    const sw::sequence_hash hash;
    CHECK(hash(std::vector{1, 2}) == hash(std::vector{1, 2}));
    CHECK(hash(std::vector{1, 2}) != hash(std::vector{2, 1}));
    CHECK(hash(std::vector<int>{}) != hash(std::vector{0}));
    CHECK(hash(std::vector{0}) != hash(std::vector{0, 0}));
  }

  TEST_CASE("small sequences do not meet") {
    std::unordered_set<std::size_t> seen;
    const sw::sequence_hash hash;
    for (int a = 0; a < 50; ++a)
      for (int b = 0; b < 50; ++b)
        for (int c = 0; c < 20; ++c) seen.insert(hash(std::vector{a, b, c}));
    CHECK(seen.size() == 50 * 50 * 20);
  }
}
