#include <shardweave/core/random.hpp>
#include <shardweave/core/range_minimum.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace sw = shardweave;

TEST_SUITE("range_minimum") {
  TEST_CASE("the minimum of every range is that of its values") {
    sw::random_source random(3);
    for (std::size_t n = 1; n < 20; ++n) {
      std::vector<double> values(n);
      for (double& v : values)
        v = random.chance(0.1) ? -std::numeric_limits<double>::infinity() : static_cast<double>(random.below(50)) - 25;
      const sw::range_minimum least(values);
      for (std::size_t begin = 0; begin < n; ++begin)
        for (std::size_t end = begin + 1; end <= n; ++end)
          CHECK(least(begin, end) == *std::min_element(values.begin() + static_cast<std::ptrdiff_t>(begin),
                                                       values.begin() + static_cast<std::ptrdiff_t>(end)));
    }
  }
}
