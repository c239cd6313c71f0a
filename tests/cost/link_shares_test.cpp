#include "cost/flat_price.hpp"
#include "cost/measured_machine.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/link_shares.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace link_shares_tests {
namespace {

using namespace shardweave;
using namespace measured_machine;
using namespace flat_prices;
using shardweave_test::refusal_of;

}  // namespace

TEST_SUITE("link_shares") {
  const std::vector<link_share> halves{{shared_path::inside, 1, mebibytes(1), .25},
                                       {shared_path::inside, 1, mebibytes(64), .5},
                                       {shared_path::network, 2, mebibytes(1), .5},
                                       {shared_path::network, 8, mebibytes(1), .125}};

  TEST_CASE("measured sizes reach their share of the base's bandwidth") {
    const alpha_beta base(find_device("h100"));
    const link_shares model(halves, base);
    const auto stretched = [&](bytes size, group_shape group) {
      return model.estimate(collective::all_gather, size, group).bandwidth_us /
             base.estimate(collective::all_gather, size, group).bandwidth_us;
    };
    CHECK(stretched(mebibytes(1), {8, 1}) == doctest::Approx(4));
    CHECK(stretched(mebibytes(64), {4, 1}) == doctest::Approx(2));
    CHECK(stretched(gibibytes(64), {4, 1}) == doctest::Approx(2));  // the last share stays
    CHECK(stretched(mebibytes(1), {8, 2}) == doctest::Approx(2));
    CHECK(stretched(mebibytes(1), {8, 4}) == doctest::Approx(4));  // between two and eight in logarithms
    CHECK(stretched(mebibytes(1), {8, 64}) == doctest::Approx(8));
    // what has no share keeps its price
    CHECK(model.estimate(collective::all_to_all, mebibytes(1), {8, 2}).time_us ==
          base.estimate(collective::all_to_all, mebibytes(1), {8, 2}).time_us);
  }

  TEST_CASE("it keeps the promises of a model") {
    keeps_promises(link_shares(halves, alpha_beta(find_device("h100"))), asked_groups);
  }

  TEST_CASE("wrong shares are refused") {
    const std::vector<link_share> wrong{{shared_path::inside, 1, bytes(8), 1.5}};
    CHECK_THROWS_WITH_AS(link_shares<>{std::span<const link_share>(wrong)},
                         "a share of 1.5 at 8 bytes on 1 nodes: expected a share in (0, 1], and a size and nodes "
                         "that are positive",
                         error);
  }

  TEST_CASE("wrong shares, sizes and nodes are refused in words") {
    const auto message = [](link_share s) {
      return shardweave_test::refusal_of([&] { return link_shares<>(std::span<const link_share>(&s, 1)); });
    };
    const std::string end = " nodes: expected a share in (0, 1], and a size and nodes that are positive";
    CHECK(message({shared_path::inside, 1, bytes(1), 1}).empty());
    CHECK(message({shared_path::inside, 1, bytes(1), 0}) == "a share of 0 at 1 bytes on 1" + end);
    CHECK(message({shared_path::inside, 0, bytes(1), .5}) == "a share of 0.5 at 1 bytes on 0" + end);
    CHECK(message({shared_path::network, 2, bytes(0), .5}) == "a share of 0.5 at 0 bytes on 2" + end);
    CHECK(message({shared_path::inside, 1, bytes(1), std::nan("")}) == "a share of nan at 1 bytes on 1" + end);
  }

  TEST_CASE("the base's latency is only a floor, and each path has shares of its own") {
    const std::vector<link_share> rows{{shared_path::inside, 1, bytes(1'000'000), .5},
                                       {shared_path::network, 4, bytes(1'000'000), .25},
                                       {shared_path::all_to_all, 1, bytes(1'000'000), .1}};
    const link_shares<flat_price> model(rows);
    const auto e = model.estimate(collective::all_gather, bytes(1'000'000), {8, 1});
    CHECK(e.time_us == doctest::Approx(20));  // twice 10 us for the bytes, the latency of 10 us within
    CHECK(e.latency_us == 10);
    CHECK(e.quality == estimate_quality::fitted);
    // below the smallest measured size its time stays
    CHECK(model.estimate(collective::all_gather, bytes(1), {8, 1}).time_us == doctest::Approx(20));
    const std::vector<link_share> small{{shared_path::inside, 1, bytes(1000), .5}};
    CHECK(link_shares<flat_price>(small).estimate(collective::all_gather, bytes(1000), {8, 1}).time_us == 10);
    for (const std::int64_t nodes : {2, 4, 400})  // one measured number of nodes speaks for all
      CHECK(model.estimate(collective::all_reduce, bytes(1'000'000), {8, nodes}).time_us == doctest::Approx(40));
    CHECK(model.estimate(collective::all_to_all, bytes(1'000'000), {8, 1}).time_us == doctest::Approx(100));
    CHECK(model.estimate(collective::all_to_all, bytes(1'000'000), {8, 9}).time_us == doctest::Approx(100));
    CHECK(model.estimate(collective::all_gather, bytes(1'000'000), {1, 1}).time_us == 0);
  }
}

}  // namespace link_shares_tests
