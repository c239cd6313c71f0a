#include <shardweave/core/random.hpp>
#include <shardweave/placement/check_certificate.hpp>
#include <shardweave/placement/placement_certificate.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace placement_certificate_tests {
namespace {
namespace sw = shardweave;
}  // namespace

TEST_SUITE("placement_certificate") {
  TEST_CASE("a list of messages gives back what was added, whatever their lengths, until it is cleared") {
    sw::random_source random(3);
    struct message {
      std::uint32_t first, second;
      std::vector<std::int64_t> amounts;
    };
    for (int round = 0; round < 20; ++round) {
      sw::moved_costs list;
      std::vector<message> all;
      std::vector<std::int64_t> amounts;
      CHECK(list.empty());
      for (std::size_t n = 1 + random.below(6); n-- > 0;) {
        message m{static_cast<std::uint32_t>(random.below(9)), static_cast<std::uint32_t>(random.below(9)), {}};
        for (std::size_t k = random.below(4); k-- > 0;)
          m.amounts.push_back(static_cast<std::int64_t>(random.below(9)) - 4);
        list.add({m.first, m.second, m.amounts});
        amounts.insert(amounts.end(), m.amounts.begin(), m.amounts.end());
        all.push_back(m);
      }
      REQUIRE(list.size() == all.size());
      CHECK_FALSE(list.empty());
      for (std::size_t i = 0; i < all.size(); ++i) {
        CHECK(list[i].first == all[i].first);
        CHECK(list[i].second == all[i].second);
        CHECK(std::ranges::equal(list[i].amounts, all[i].amounts));
      }
      CHECK(std::ranges::equal(list.amounts(), amounts));
      list.clear();
      CHECK(list.empty());
      CHECK(list.amounts().empty());
      list.add({7, 8, all[0].amounts});  // nothing of before stays
      CHECK(std::ranges::equal(list[0].amounts, all[0].amounts));
    }
  }

  TEST_CASE("multipliers without messages and prices prove the sum of the least costs, and no case proves nothing") {
    sw::placement_description<std::int64_t> d;
    d.vertices = {{.compute = {3, 2}}, {.compute = {5, 9}}};
    sw::placement_certificate<std::int64_t> c{.lower_bound = 7};
    CHECK_FALSE(sw::check_certificate(d, c).accepted);
    c.multipliers.emplace_back();
    c.cases.push_back({.multipliers = 0});
    CHECK(sw::check_certificate(d, c).accepted);
    CHECK(sw::proven_by(d, c).bound == 2 + 5);
    c.lower_bound = 8;
    CHECK_FALSE(sw::check_certificate(d, c).accepted);
  }
}

}  // namespace placement_certificate_tests
