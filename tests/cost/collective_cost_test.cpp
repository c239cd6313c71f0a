#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/node_table.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace shardweave;

namespace collective_cost_tests {
namespace {

constexpr std::array kinds{collective::all_gather, collective::reduce_scatter, collective::all_reduce,
                           collective::all_to_all, collective::shift};

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

/// Plays a ring step by step: a step takes the latency of its slowest link and the time of a chunk.
double played_ring(int rounds, std::int64_t size, group_shape group, double hop, double far_hop, double speed) {
  const std::int64_t n = group.ranks();
  double time = 6.6;
  for (int round = 0; round < rounds; ++round)
    for (std::int64_t step = 1; step < n; ++step) {
      time += step < group.nodes ? far_hop : hop;
      time += static_cast<double>(size) / static_cast<double>(n) / (speed * 1e3);
    }
  return time;
}

void check_promises(const auto& model) {
  for (const collective kind : kinds) {
    CHECK(model.estimate(kind, bytes(1 << 20), {1, 1}).time_us == 0);
    for (const group_shape group : {group_shape{2, 1}, {3, 1}, {8, 1}, {1, 2}, {8, 2}, {4, 16}, {8, 32}}) {
      double last = 0;
      for (int power = 0; power < 34; ++power) {
        const collective_estimate e = model.estimate(kind, bytes(std::int64_t{1} << power), group);
        CHECK(e.time_us > 0);
        CHECK(e.time_us >= last);
        CHECK(e.time_us == doctest::Approx(e.latency_us + e.bandwidth_us));
        last = e.time_us;
      }
    }
  }
}

}  // namespace

TEST_SUITE("collective") {
  TEST_CASE("each has a name of its own by which it is found, and no other text is one") {
    for (const auto& [kind, name] :
         {std::pair(collective::all_gather, "all_gather"), std::pair(collective::reduce_scatter, "reduce_scatter"),
          std::pair(collective::all_reduce, "all_reduce"), std::pair(collective::all_to_all, "all_to_all"),
          std::pair(collective::shift, "shift"), std::pair(collective::other, "other")}) {
      CHECK(name_of(kind) == name);
      CHECK(collective_from(name) == kind);
      const bool sends = kind == collective::all_to_all || kind == collective::shift || kind == collective::other;
      CHECK(is_mergeable(kind) == !sends);
    }
    for (const char* name : {"", "all_gather_coalesced", "ALL_REDUCE", "broadcast"}) CHECK(!collective_from(name));
    CHECK(std::equal(kinds.begin(), kinds.end(), priced_collectives.begin(), priced_collectives.end()));
  }
}

TEST_SUITE("alpha_beta") {
  const alpha_beta model(find_device("h100"));

  TEST_CASE("collectives cost nothing alone and more for more data") { check_promises(model); }

  TEST_CASE("a ring costs what its steps cost") {
    for (const std::int64_t size : {std::int64_t{1} << 10, std::int64_t{1} << 24, std::int64_t{1} << 30}) {
      CHECK(model.estimate(collective::all_gather, bytes(size), {8, 1}).time_us ==
            doctest::Approx(played_ring(1, size, {8, 1}, 0.6, 2.7, 320)));
      CHECK(model.estimate(collective::all_reduce, bytes(size), {8, 1}).time_us ==
            doctest::Approx(played_ring(2, size, {8, 1}, 0.6, 2.7, 320)));
      // one rank per node: its own network share; eight: all of theirs, up to the links
      CHECK(model.estimate(collective::reduce_scatter, bytes(size), {1, 8}).time_us ==
            doctest::Approx(played_ring(1, size, {1, 8}, 0.6, 2.7, 50)));
      CHECK(model.estimate(collective::all_reduce, bytes(size), {4, 8}).time_us ==
            doctest::Approx(played_ring(2, size, {4, 8}, 0.6, 2.7, 200)));
      CHECK(model.estimate(collective::all_gather, bytes(size), {8, 8}).time_us ==
            doctest::Approx(played_ring(1, size, {8, 8}, 0.6, 2.7, 320)));
    }
  }

  TEST_CASE("an all-reduce is a reduce-scatter and an all-gather") {
    for (const group_shape group : {group_shape{8, 1}, {1, 8}, {8, 4}}) {
      const auto time = [&](collective kind) { return model.estimate(kind, bytes(1 << 26), group).time_us; };
      CHECK(time(collective::all_reduce) + model.base_us ==
            doctest::Approx(time(collective::reduce_scatter) + time(collective::all_gather)));
    }
  }

  TEST_CASE("an all-to-all is bound by the slower of what stays and what leaves") {
    const double kilobytes = 1e6;
    const auto time = [&](group_shape group) {
      return model.estimate(collective::all_to_all, bytes(1'000'000'000), group).bandwidth_us;
    };
    CHECK(time({8, 1}) == doctest::Approx(kilobytes * 7 / 8 / 320));
    CHECK(time({8, 2}) == doctest::Approx(kilobytes * 8 / 16 / 50));
    CHECK(time({1, 4}) == doctest::Approx(kilobytes * 3 / 4 / 50));
  }

  TEST_CASE("an empty group is refused") {
    CHECK_THROWS_WITH_AS(model.estimate(collective::all_gather, bytes(8), {0, 2}),
                         "a group of 2 nodes with 0 ranks each has no ranks", error);
  }
}

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
  }
}

}  // namespace collective_cost_tests
