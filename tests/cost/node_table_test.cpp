#include "cost/flat_price.hpp"
#include "cost/promises.hpp"
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/node_table.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace node_table_tests {
namespace {

using namespace shardweave;
using namespace cost_promises;
using namespace flat_prices;

struct free_of_charge {
  collective_estimate estimate(collective, bytes, group_shape) const { return {}; }
};
struct not_a_model {
  double estimate(collective, bytes, group_shape) const { return 0; }
};
static_assert(collective_cost_model<free_of_charge>);
static_assert(collective_cost_model<node_table<free_of_charge>>);
static_assert(!collective_cost_model<not_a_model>);
static_assert(!collective_cost_model<int>);

}  // namespace

TEST_SUITE("node_table") {
  TEST_CASE("collectives cost nothing alone and more for more data") {
    check_promises(node_table<>(find_device("h100")));
    check_promises(node_table<>(find_device("gb200")));
  }

  TEST_CASE("reference values of one node are met") {
    // sizes 1 KiB, 64 KiB, 1 MiB, 16 MiB, 256 MiB, 1 GiB; all-gather (reduce-scatter is the same), all-reduce,
    // all-to-all
    struct row {
      const char* device;
      std::int64_t ranks;
      std::array<std::array<double, 6>, 3> times;
    };
    const std::vector<row> rows{{"h100",
                                 2,
                                 {{{8.0019, 8.1220, 9.9527, 39.2425, 507.8798, 2007.5192},
                                   {10.0032, 10.2023, 13.2363, 61.7815, 838.5045, 3324.0180},
                                   {50.0027, 50.1725, 52.7594, 94.1506, 756.4091, 2875.6364}}}},
                                {"h100",
                                 4,
                                 {{{17.0024, 17.1510, 19.4161, 55.6572, 635.5149, 2491.0595},
                                   {15.0043, 15.2777, 19.4431, 86.0899, 1152.4384, 4564.7535},
                                   {50.0027, 50.1725, 52.7594, 94.1506, 756.4091, 2875.6364}}}},
                                {"h100",
                                 8,
                                 {{{30.0026, 30.1663, 32.6614, 72.5818, 711.3083, 2755.2331},
                                   {31.0038, 31.2455, 34.9273, 93.8360, 1036.3762, 4052.5050},
                                   {50.0027, 50.1725, 52.7594, 94.1506, 756.4091, 2875.6364}}}},
                                {"gb200",
                                 72,
                                 {{{30.0013, 30.0832, 31.3307, 51.2909, 370.6541, 1392.6165},
                                   {31.0019, 31.1227, 32.9636, 62.4180, 533.6881, 2041.7525},
                                   {50.0015, 50.0971, 51.5534, 74.8551, 447.6822, 1640.7286}}}}};
    const std::array<std::int64_t, 6> sizes{1 << 10, 1 << 16, 1 << 20, 1 << 24, 1 << 28, 1 << 30};
    for (const row& r : rows) {
      const node_table<> model(find_device(r.device));
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const auto time = [&](collective kind) { return model.estimate(kind, bytes(sizes[i]), {r.ranks, 1}).time_us; };
        CHECK(time(collective::all_gather) == doctest::Approx(r.times[0][i]).epsilon(1e-5));
        CHECK(time(collective::reduce_scatter) == time(collective::all_gather));
        CHECK(time(collective::all_reduce) == doctest::Approx(r.times[1][i]).epsilon(1e-5));
        CHECK(time(collective::all_to_all) == doctest::Approx(r.times[2][i]).epsilon(1e-5));
      }
    }
  }

  TEST_CASE("groups between the measured ones lie between") {
    const node_table<> model(find_device("h100"));
    const auto gather = [&](std::int64_t ranks) {
      return model.estimate(collective::all_gather, bytes(1 << 24), {ranks, 1}).time_us;
    };
    CHECK(gather(2) < gather(3));
    CHECK(gather(3) < gather(4));
    CHECK(gather(4) < gather(6));
    CHECK(gather(6) < gather(8));
    CHECK(model.estimate(collective::all_gather, bytes(0), {3, 1}).time_us == doctest::Approx(12.5));
    CHECK(model.estimate(collective::all_gather, bytes(0), {6, 1}).time_us == doctest::Approx(23.5));
  }

  TEST_CASE("what the table does not cover is asked of the other model") {
    const device_profile h100 = find_device("h100");
    const device_profile a100 = find_device("a100");
    for (const collective kind : kinds) {
      CHECK(node_table<>(h100).estimate(kind, bytes(1 << 20), {8, 2}).time_us ==
            alpha_beta(h100).estimate(kind, bytes(1 << 20), {8, 2}).time_us);
      CHECK(node_table<>(a100).estimate(kind, bytes(1 << 20), {8, 1}).time_us ==
            alpha_beta(a100).estimate(kind, bytes(1 << 20), {8, 1}).time_us);
      CHECK(node_table<free_of_charge>(h100, {}).estimate(kind, bytes(1 << 20), {8, 2}).time_us == 0);
    }
    CHECK(node_table<>(h100).estimate(collective::all_gather, bytes(1), {8, 1}).quality == estimate_quality::fitted);
    CHECK_THROWS_AS(node_table<>(h100).estimate(collective::all_gather, bytes(1), {0, 1}), error);
    CHECK_THROWS_AS(node_table<>(h100).estimate(collective::all_gather, bytes(1), {std::int64_t{1} << 41, 1}), error);
  }
}

}  // namespace node_table_tests
