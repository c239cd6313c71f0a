#include <shardweave/engine/rank_correlation.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace rank_correlation_tests {
namespace {

namespace sw = shardweave;

}  // namespace

TEST_SUITE("rank_correlation") {
  TEST_CASE("it is 1 for the same order, -1 for the opposite, and counts ties neither way") {
    const std::vector<double> a{1, 2, 3, 4}, same{10, 20, 21, 90}, opposite{4, 3, 2, 1}, one_swap{1, 3, 2, 4};
    CHECK(sw::rank_correlation(a, same) == 1);
    CHECK(sw::rank_correlation(a, opposite) == -1);
    CHECK(sw::rank_correlation(a, one_swap) == doctest::Approx(4.0 / 6));
    const std::vector<double> tied{1, 1, 2, 3}, flat{5, 5, 5, 5};
    CHECK(sw::rank_correlation(a, tied) == doctest::Approx(5 / std::sqrt(6.0 * 5)));
    CHECK(std::isnan(sw::rank_correlation(a, flat)));
  }
}

}  // namespace rank_correlation_tests
