#include <shardweave/core/random.hpp>
#include <shardweave/schedule/detail/memory_profile.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sw = shardweave;

namespace memory_profile_tests {
namespace {
std::vector<sw::bytes> sizes(const std::vector<std::int64_t>& counts) {
  std::vector<sw::bytes> all;
  for (const auto c : counts) all.emplace_back(c);
  return all;
}
}  // namespace

TEST_SUITE("memory_profile") {
  TEST_CASE("it tells the most of any stretch, and of none zero") {
    sw::detail::memory_profile p(sizes({3, 9, 4, 1, 5}));
    CHECK(p.most(0, 5) == sw::bytes(9));
    CHECK(p.most(2, 4) == sw::bytes(4));
    CHECK(p.most(3, 3) == sw::bytes(0));
    CHECK(p.most(4, 100) == sw::bytes(5));
    CHECK(sw::detail::memory_profile().most(0, 7) == sw::bytes(0));
    p.raise(2, 4, sw::bytes(6));
    CHECK(p.most(0, 5) == sw::bytes(10));
    CHECK(p.most(3, 5) == sw::bytes(7));
    CHECK(p.most(4, 5) == sw::bytes(5));
  }
  TEST_CASE("after any raises it agrees with a plain array, and a copy is not touched by more of them") {
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(300); ++seed) {
      sw::random_source random(seed);
      std::vector<std::int64_t> plain(1 + random.below(40));
      for (auto& x : plain) x = static_cast<std::int64_t>(random.below(50));
      sw::detail::memory_profile p(sizes(plain));
      const sw::detail::memory_profile before = p;
      const std::int64_t first_most = *std::max_element(plain.begin(), plain.end());
      for (int step = 0; step < 30; ++step) {
        const std::size_t a = random.below(plain.size()), b = a + random.below(plain.size() + 1 - a);
        const auto by = static_cast<std::int64_t>(random.below(20));
        p.raise(a, b, sw::bytes(by));
        for (std::size_t i = a; i < b; ++i) plain[i] += by;
        const std::size_t c = random.below(plain.size()), d = c + 1 + random.below(plain.size() - c);
        const auto at = [&](std::size_t i) { return plain.begin() + static_cast<std::ptrdiff_t>(i); };
        REQUIRE(p.most(c, d).count() == *std::max_element(at(c), at(d)));
      }
      CHECK(before.most(0, plain.size()).count() == first_most);
    }
  }
}

}  // namespace memory_profile_tests
