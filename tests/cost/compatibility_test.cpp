#include <shardweave/cost/autoparallel_formula.hpp>
#include <shardweave/cost/torch_formula.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace shardweave;

namespace compatibility_tests {
namespace {

constexpr std::array compatible_kinds{collective::all_gather, collective::all_reduce, collective::all_to_all};
constexpr std::array<std::int64_t, 6> compatible_sizes{1 << 10, 1 << 16, 1 << 20, 1 << 24, 1 << 28, 1 << 30};

struct reference_row {
  const char* device;
  group_shape group;
  std::string change;
  std::array<std::array<double, 6>, 3> times;  ///< all-gather, all-reduce, all-to-all; four decimals
};

// values that the original gave when it was run
const std::vector<reference_row> references{
    {"h100",
     {2, 1},
     "",
     {{{8.0019, 8.1220, 9.9527, 39.2425, 507.8798, 2007.5192},
       {10.0032, 10.2023, 13.2363, 61.7815, 838.5045, 3324.0180},
       {50.0027, 50.1725, 52.7594, 94.1506, 756.4091, 2875.6364}}}},
    {"h100",
     {4, 1},
     "",
     {{{17.0024, 17.1510, 19.4161, 55.6572, 635.5149, 2491.0595},
       {15.0043, 15.2777, 19.4431, 86.0899, 1152.4384, 4564.7535},
       {50.0027, 50.1725, 52.7594, 94.1506, 756.4091, 2875.6364}}}},
    {"h100",
     {8, 1},
     "",
     {{{30.0026, 30.1663, 32.6614, 72.5818, 711.3083, 2755.2331},
       {31.0038, 31.2455, 34.9273, 93.8360, 1036.3762, 4052.5050},
       {50.0027, 50.1725, 52.7594, 94.1506, 756.4091, 2875.6364}}}},
    {"h100",
     {1, 8},
     "",
     {{{41.6439, 44.4127, 86.6033, 405.7221, 4995.9347, 19664.5389},
       {37.0322, 59.0912, 164.2970, 1124.1677, 9764.0020, 37949.7249},
       {60.0190, 61.2136, 83.9729, 382.5147, 5031.0270, 19944.1079}}}},
    {"h100",
     {1, 32},
     "",
     {{{161.6485, 164.7060, 211.2955, 645.4214, 5865.3385, 22134.1540},
       {57.0322, 79.0912, 198.2970, 1158.1677, 15351.0145, 43648.0059},
       {290.0201, 291.2875, 314.0647, 639.8837, 5616.7140, 21383.7874}}}},
    {"h100",
     {8, 2},
     "",
     {{{25.7615, 29.6015, 49.5234, 123.3751, 899.5696, 3083.1494},
       {25.2685, 31.7799, 62.5034, 140.3704, 1059.5071, 4079.0286},
       {37.0131, 37.8402, 75.4094, 299.3079, 3478.4802, 13802.9208}}}},
    {"h100",
     {8, 4},
     "",
     {{{47.5531, 62.1123, 84.2875, 160.6001, 1141.4578, 3259.0864},
       {35.3308, 47.7548, 83.2244, 254.5604, 1758.7216, 6791.8864},
       {42.0173, 43.1045, 69.6135, 372.7159, 4682.1980, 18138.7723}}}},
    {"h100",
     {8, 8},
     "",
     {{{86.4469, 113.1599, 153.5694, 231.1099, 1308.7406, 3780.9499},
       {45.3308, 57.7548, 100.2244, 271.5604, 1786.7216, 6819.8864},
       {60.0190, 61.2136, 85.5501, 415.7510, 5167.2195, 19944.1079}}}},
    {"h100",
     {8, 32},
     "",
     {{{319.2951, 420.8626, 518.9002, 647.2919, 1902.6706, 5300.0625},
       {65.3308, 77.7548, 134.2244, 305.5604, 2495.1689, 6875.8864},
       {290.0201, 291.2875, 310.5994, 668.8396, 5760.3806, 21726.7758}}}},
    {"h100",
     {1, 2},
     "",
     {{{11.6213, 12.9653, 33.3227, 197.1627, 2818.6027, 11207.2107},
       {16.9223, 27.6804, 52.2725, 113.4613, 902.9808, 3419.5632},
       {37.0131, 40.0007, 55.9342, 263.4132, 3478.4802, 13802.9208}}}},
    {"h100",
     {1, 4},
     "",
     {{{21.6376, 24.0094, 57.3026, 312.5440, 4244.7040, 16827.6160},
       {27.0322, 49.0912, 147.2970, 1070.8009, 8208.7437, 32367.9347},
       {42.0173, 43.7258, 63.8181, 336.5438, 4566.1931, 18138.7723}}}},
    {"h100",
     {2, 2},
     "",
     {{{11.3197, 12.5603, 30.7013, 160.2720, 2126.3520, 8417.8080},
       {18.0685, 24.5799, 61.5068, 194.4213, 1341.4512, 5116.3248},
       {37.0131, 40.0007, 58.6827, 270.7962, 3478.4802, 13802.9208}}}},
    {"h100",
     {8, 64},
     "",
     {{{2448.4603, 2451.6164, 2499.7106, 2997.7867, 17295.5738, 17295.5738},
       {43.0409, 45.6163, 84.8611, 268.5823, 1950.2448, 6973.5792},
       {290.0203, 291.2992, 310.7867, 667.9409, 5881.6719, 21973.1554}}}},
    {"a100",
     {8, 1},
     "",
     {{{10.8204, 12.1077, 31.7237, 199.5896, 2710.4329, 10745.1315},
       {15.0409, 17.6155, 56.8474, 390.7791, 5412.4658, 21481.8631},
       {35.6167, 36.6675, 52.6806, 308.8891, 4408.2251, 17526.1005}}}},
    {"a100",
     {1, 2},
     "",
     {{{21.0131, 21.8402, 51.7273, 154.4297, 1562.2188, 6153.4752},
       {16.9072, 27.0886, 77.2083, 306.9863, 3124.9576, 12307.4703},
       {25.8167, 26.8675, 42.8806, 299.0891, 4398.4251, 17516.3005}}}},
    {"a100",
     {8, 4},
     "",
     {{{61.5794, 66.5790, 142.1656, 2331.4571, 13500.1358, 41771.8957},
       {35.5760, 71.2923, 227.5987, 1794.5529, 24963.8611, 83637.2314},
       {149.0585, 152.7449, 208.9186, 1107.6981, 15488.1689, 61505.6757}}}},
    {"gb200",
     {72, 1},
     "",
     {{{30.0013, 30.0832, 31.3307, 51.2909, 370.6541, 1392.6165},
       {31.0019, 31.1227, 32.9636, 62.4180, 533.6881, 2041.7525},
       {50.0015, 50.0971, 51.5534, 74.8551, 447.6822, 1640.7286}}}},
    {"gb200",
     {8, 2},
     "nodes of 8",
     {{{24.5308, 26.4508, 41.8339, 83.9876, 484.7848, 1576.5747},
       {25.2343, 28.4900, 55.5017, 96.6852, 556.2536, 2066.0143},
       {37.0131, 37.8402, 75.4094, 299.3079, 3478.4802, 13802.9208}}}},
    {"h100",
     {8, 2},
     "no switch",
     {{{32.7246, 34.2754, 57.3391, 178.2467, 925.0258, 3225.1280},
       {25.2583, 30.8014, 61.1640, 183.5823, 1888.6516, 6488.8560},
       {73.4046, 73.6926, 78.0811, 148.2983, 1271.7726, 4866.8903}}}},
};

/// Printed with four decimals.
bool is_reference(double found, double printed) { return std::abs(found - printed) <= 5.001e-5 + 1e-6 * printed; }

}  // namespace

TEST_SUITE("autoparallel_formula") {
  TEST_CASE("reference values of the original are met to a millionth") {
    for (const reference_row& r : references) {
      autoparallel_formula model(find_device(r.device));
      if (r.change == "nodes of 8") model.devices_per_node = 8;
      if (r.change == "no switch") model.has_switch = false;
      for (std::size_t k = 0; k < compatible_kinds.size(); ++k)
        for (std::size_t s = 0; s < compatible_sizes.size(); ++s) {
          const auto found = model.estimate(compatible_kinds[k], bytes(compatible_sizes[s]), r.group);
          CAPTURE(r.device);
          CAPTURE(r.group.ranks_per_node);
          CAPTURE(r.group.nodes);
          CAPTURE(std::string(name_of(compatible_kinds[k])));
          CAPTURE(compatible_sizes[s]);
          CAPTURE(found.time_us);
          CHECK(is_reference(found.time_us, r.times[k][s]));
          if (compatible_kinds[k] == collective::all_gather)
            CHECK(model.estimate(collective::reduce_scatter, bytes(compatible_sizes[s]), r.group).time_us ==
                  found.time_us);
          CHECK(found.latency_us + found.bandwidth_us == doctest::Approx(found.time_us));
        }
    }
  }

  TEST_CASE("its anomalies are kept") {
    // an all-reduce over two nodes ignores the network and so undercuts its own reduce-scatter
    const autoparallel_formula model(find_device("h100"));
    CHECK(model.estimate(collective::all_reduce, mebibytes(256), {1, 2}).time_us <
          model.estimate(collective::reduce_scatter, mebibytes(256), {1, 2}).time_us / 3);
    // on 64 nodes four times the data cost no more
    CHECK(model.estimate(collective::all_gather, gibibytes(1), {8, 64}).time_us ==
          doctest::Approx(model.estimate(collective::all_gather, mebibytes(256), {8, 64}).time_us));
  }

  TEST_CASE("a group of one costs nothing, a group without ranks is refused, network latency adds up") {
    autoparallel_formula model;
    CHECK(model.estimate(collective::all_to_all, mebibytes(1), {1, 1}).time_us == 0);
    CHECK_THROWS_WITH_AS(model.estimate(collective::all_gather, bytes(8), {0, 2}),
                         "a group of 2 nodes with 0 ranks each has no ranks", error);
    model.has_switch = false;
    const double near = model.estimate(collective::all_gather, bytes(64), {1, 4}).time_us;
    model.extra_network_us = 10;  // three crossings, protocol LL
    CHECK(model.estimate(collective::all_gather, bytes(64), {1, 4}).time_us == doctest::Approx(near + 30));
  }
}

TEST_SUITE("torch_formula") {
  TEST_CASE("reference values of 2026 are met to their print precision") {
    struct row {
      collective kind;
      std::int64_t ranks;
      std::array<double, 6> times;
      std::array<double, 6> digits;
    };
    // sizes 0, 64 KiB, 1 MiB, 16 MiB, 64 MiB, 256 MiB; nodes of 8 H100
    const std::array<std::int64_t, 6> sizes{0, 1 << 16, 1 << 20, 1 << 24, 1 << 26, 1 << 28};
    const std::vector<row> rows{
        {collective::all_gather, 8, {10.8, 11.21, 17.31, 69.62, 190.9, 667.0}, {.05, .005, .005, .005, .05, .05}},
        {collective::all_gather, 16, {23.3, 26.36, 72.28, 461.8, 1637, 6339}, {.05, .005, .005, .05, .5, .5}},
        {collective::all_reduce, 8, {15.0, 15.81, 28.01, 125.2, 373.4, 1325.6}, {.05, .005, .005, .05, .05, .05}},
        {collective::all_reduce, 64, {50.8, 67.4, 239.6, 1190, 3099, 8528}, {.05, .05, .05, .5, .5, .5}}};
    const torch_formula model(find_device("h100"));
    for (const row& r : rows)
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        const double found = model.estimate(r.kind, bytes(sizes[i]), {8, r.ranks / 8}).time_us;
        CAPTURE(found);
        CHECK(std::abs(found - r.times[i]) <= 1.01 * r.digits[i]);
      }
  }

  TEST_CASE("the group's shape does not count, only its ranks") {
    const torch_formula model;
    for (const collective kind : compatible_kinds)
      CHECK(model.estimate(kind, mebibytes(64), {1, 16}).time_us ==
            model.estimate(kind, mebibytes(64), {16, 1}).time_us);
  }

  TEST_CASE("the older edition knows rings with one protocol") {
    // by hand: 8 ranks of one node, all-gather: min(87.7, 600 / 3) = 87.7 GiB/s times 8/7, 6.6 + 7 * 0.6 us
    const torch_formula old(find_device("h100"), torch_edition::ring_ll);
    CHECK(old.estimate(collective::all_gather, gibibytes(1), {8, 1}).time_us ==
          doctest::Approx(1e6 / (87.7 * 8 / 7) + 10.8).epsilon(1e-9));
    // two nodes, all-reduce of nothing: 30 steps, four of them between nodes
    CHECK(old.estimate(collective::all_reduce, bytes(0), {8, 2}).time_us == doctest::Approx(6.6 + 26 + 4 * 2.7));
    // two nodes: min(39, 50 / 4) GiB/s
    CHECK(old.estimate(collective::all_gather, gibibytes(1), {8, 2}).bandwidth_us ==
          doctest::Approx(1e6 / (12.5 * 16 / 15)).epsilon(1e-9));
    CHECK(old.estimate(collective::all_gather, mebibytes(1), {1, 1}).time_us == 0);
    CHECK_THROWS_AS(old.estimate(collective::all_gather, bytes(8), {8, 0}), error);
  }
}

}  // namespace compatibility_tests
