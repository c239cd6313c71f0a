#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/bucket_cost.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace bucket_cost_tests {
namespace {

using namespace shardweave;

}  // namespace

TEST_SUITE("price_bucket") {
  TEST_CASE("a bucket of a line saves its launches and pays for its copies") {
    struct line {
      collective_estimate estimate(collective, bytes size, group_shape) const {
        collective_estimate e;
        e.time_us = 20 + static_cast<double>(size.count()) / 1e5;  // 100 GB/s
        return e;
      }
    };
    const std::vector<bytes> sizes{bytes(1'000'000), bytes(2'000'000), bytes(3'000'000)};
    const bucket_trade free = price_bucket(line{}, collective::all_reduce, sizes, {8, 1}, 0);
    CHECK(free.apart_us == doctest::Approx(60 + 60));
    CHECK(free.merged_us == doctest::Approx(20 + 60));
    CHECK(free.saved_us() == doctest::Approx(40));
    const bucket_trade copied = price_bucket(line{}, collective::all_reduce, sizes, {8, 1}, 1000);
    CHECK(copied.copies_us == doctest::Approx(24));  // in and out, read and written: 4 x 6 MB at 1000 GB/s
    CHECK(copied.is_worthwhile());
    CHECK_FALSE(price_bucket(line{}, collective::all_reduce, sizes, {8, 1}, 500).is_worthwhile());
    // of an all-gather only the outputs are large
    CHECK(price_bucket(line{}, collective::all_gather, sizes, {8, 1}, 1000).copies_us == doctest::Approx(12 * 1.125));
    const std::vector<bytes> one{bytes(1'000'000)};
    CHECK(price_bucket(line{}, collective::all_gather, one, {8, 1}, 1000).saved_us() == 0);
    CHECK(bucketing_factor(line{}, collective::all_reduce, bytes(10'000'000), bytes(1'000'000), {8, 1}) ==
          doctest::Approx(300.0 / 120));
    CHECK(bucketing_factor(line{}, collective::all_reduce, bytes(10'000'000), bytes(4'000'000), {8, 1}) ==
          doctest::Approx(160.0 / 120));
  }

  TEST_CASE("nothing to price costs nothing, and a free model has a factor of 1") {
    struct no_price {
      [[nodiscard]] collective_estimate estimate(collective, bytes, group_shape) const { return {}; }
    };
    CHECK(bucketing_factor(no_price{}, collective::all_reduce, bytes(100), bytes(10), {8, 1}) == 1);
    const bucket_trade none = price_bucket(alpha_beta(), collective::all_reduce, {}, {8, 1}, 1000);
    CHECK(none.apart_us == 0);
    CHECK(none.copies_us == 0);
    CHECK(none.merged_us == alpha_beta().base_us + 14 * alpha_beta().link_hop_us);
    CHECK_FALSE(none.is_worthwhile());
  }
}

}  // namespace bucket_cost_tests
