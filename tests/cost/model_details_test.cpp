#include "support/scale.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/bucket_cost.hpp>
#include <shardweave/cost/collective_table.hpp>
#include <shardweave/cost/contention.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/nccl_ramp.hpp>
#include <shardweave/cost/nccl_smooth.hpp>
#include <shardweave/cost/nccl_symmetric.hpp>
#include <shardweave/cost/saturation.hpp>
#include <shardweave/cost/size_curve.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace shardweave;
using shardweave_test::refusal_of;

namespace model_details_tests {
namespace {

/// NCCL's choice among its symmetric kernels as it is published, with every number of thread blocks tried.
struct symmetric_choice {
  double time = 0;
  double weighed = std::numeric_limits<double>::infinity();  ///< a block weighs a fortieth of the time
  int blocks = 0;
};
symmetric_choice best_symmetric(bool blackwell, bool multicast, collective kind, double size, double n) {
  constexpr double gibi = 1073.741824;  // bytes per microsecond
  const bool reduces_all = kind == collective::all_reduce, gathers = kind == collective::all_gather;
  const double block = (blackwell ? 55 : reduces_all ? 65 : 44) * gibi;
  const double peak = (blackwell ? 600 : 320) * gibi;
  const double flags = blackwell ? (gathers ? 8.5 : 11) : 4.5;
  const double lines = blackwell ? (reduces_all ? 19.5 : 13) : 7.8;
  symmetric_choice best;
  const auto kernel = [&](double latency, double moved, double factor, double top, int most) {
    const auto time = [&](int blocks) {
      const double bandwidth =
          top - block * std::log1p(std::expm1(top / block) * std::exp(-blocks * block * factor / block));
      const double x = moved / bandwidth - 1;
      return latency + (x > 30 ? x : std::log1p(std::exp(x)));
    };
    double fastest = std::numeric_limits<double>::infinity();
    for (int b = 1; b <= most; ++b) fastest = std::min(fastest, time(b));
    int least = most;
    for (int b = most; b >= 1; --b)
      if (time(b) <= 1.025 * fastest) least = b;
    const double weighed = time(least) * (1 + .025 * least);
    if (weighed < best.weighed) best = {time(least), weighed, least};
  };
  const double piece = size / n;
  const int few = static_cast<int>(std::ceil((blackwell ? 32 : 16) / n));
  if (size < 2147483648.0) {
    const double nine = 9 * (reduces_all ? n * size : size);
    kernel(flags, nine, 1, peak, 64);
    if (multicast && kind != collective::reduce_scatter) kernel(flags, nine, 1.1, peak, 64);
  }
  kernel(lines, (reduces_all ? 2 : 1) * piece * (n - 1), 1, peak, 64);
  if (multicast) {
    const double top = reduces_all ? (blackwell ? 1000 : 480) * gibi : peak;
    kernel(lines, reduces_all ? piece + size : piece * (n - 1), reduces_all ? n : .55 * n, top, few);
  }
  return best;
}

}  // namespace

TEST_SUITE("nccl_symmetric") {
  TEST_CASE("the kernel and its blocks are those that trying all of them finds") {
    random_source random(51);
    std::size_t compared = 0;
    for (const char* device : {"h100", "b200"})
      for (const bool multicast : {true, false}) {
        nccl_node node = nccl_node_of(find_device(device));
        node.has_multicast = multicast;
        const nccl_symmetric<> model(node);
        for (std::size_t round = 0; round < shardweave_test::at_scale(400); ++round) {
          const auto ranks = 2 + static_cast<std::int64_t>(random.below(7));
          const auto size = static_cast<std::int64_t>(random.below(std::uint64_t{1} << (1 + random.below(35))));
          const collective kind =
              std::array{collective::all_gather, collective::reduce_scatter, collective::all_reduce}[random.below(3)];
          const auto expected = best_symmetric(node.compute_capability >= 100, multicast, kind,
                                               static_cast<double>(size), static_cast<double>(ranks));
          const collective_estimate found = model.estimate(kind, bytes(size), {ranks, 1});
          CAPTURE(std::string(device));
          CAPTURE(std::string(name_of(kind)));
          CAPTURE(ranks);
          CAPTURE(size);
          CHECK(found.time_us * (1 + .025 * found.channels) == doctest::Approx(expected.weighed).epsilon(1e-3));
          if (std::abs(found.time_us / expected.time - 1) < 1e-6) {
            CHECK(found.channels == expected.blocks);
            ++compared;
          }
          CHECK(found.latency_us + found.bandwidth_us == doctest::Approx(found.time_us));
        }
      }
    CHECK(compared > shardweave_test::at_scale(1500));
  }
}

TEST_SUITE("nccl_smooth") {
  TEST_CASE("an explanation's candidates are latency and size over bandwidth, and notes say what came on top") {
    const nccl_smooth model(nccl_node_of(find_device("h100")), {.launch_us = 15});
    for (const std::int64_t size : {1000, 1'000'000, 1'000'000'000})
      for (const group_shape group : {group_shape{8, 1}, {8, 4}, {2, 2}}) {
        const nccl_explanation e = model.explain(collective::all_reduce, bytes(size), group);
        CHECK(e.model == "NCCL 2.30, h100, smoothed");
        CHECK(e.note.find("with 15.0 us for the launch") != std::string::npos);
        REQUIRE(e.chosen < e.candidates.size());
        for (const nccl_candidate& c : e.candidates)
          if (c.absent.empty())
            CHECK(c.time_us == doctest::Approx(c.latency_us + static_cast<double>(size) / (1e3 * c.bandwidth)));
        const nccl_candidate& chosen = e.candidates[e.chosen];
        const bool raised = e.note.find("raised to the time of its reduce_scatter") != std::string::npos;
        CHECK(raised == (e.estimate.time_us > 15 + chosen.time_us + 1e-6));
        CHECK(e.estimate.channels == chosen.channels);
      }
    const nccl_smooth plain(find_device("h100"));
    CHECK(plain.explain(collective::all_gather, mebibytes(1), {8, 1}).note.empty());
    CHECK(plain.explain(collective::all_to_all, mebibytes(1), {8, 1}).candidates.empty());
  }

  TEST_CASE("a ramp is a line with every doubling between its points, and constant outside") {
    const detail::nccl_ramp ramp({{20, .25}, {24, .5}, {25, .5}}, "one");
    for (const auto& [doublings, share] : {std::pair{-3.0, .25},
                                           {0.0, .25},
                                           {20.0, .25},
                                           {21.5, .34375},
                                           {23.0, .4375},
                                           {24.0, .5},
                                           {24.5, .5},
                                           {63.0, .5},
                                           {1e9, .5}})
      CHECK(ramp.at(doublings) == doctest::Approx(share));
    CHECK(detail::nccl_ramp({}, "none").at(7) == 1);
    for (const auto& [size, doublings] : {std::pair{1.0, 0.0}, {3.0, 1.5}, {1024.0, 10.0}, {1280.0, 10.25}})
      CHECK(detail::doublings_in(size) == doublings);
  }

  TEST_CASE("each kind of wrong ramp is refused with its point, and a gentle one is not") {
    const auto words = [](std::vector<nccl_ramp_point> multicast, std::vector<nccl_ramp_point> ring = {}) {
      return refusal_of([&] {
        return nccl_smooth(nccl_node_of(find_device("h100")), {.multicast_ramp = multicast, .ampere_ring_ramp = ring});
      });
    };
    CHECK(words({{20, .5}, {21, .649}}).empty());  // not quite 30 % with a doubling
    CHECK(words({{0, 1}}).empty());
    for (const std::vector<nccl_ramp_point>& wrong : std::vector<std::vector<nccl_ramp_point>>{{{20, .5}, {21, .66}},
                                                                                               {{20, .5}, {20, .5}},
                                                                                               {{20, .5}, {19, .5}},
                                                                                               {{20, .5}, {21, 1.1}},
                                                                                               {{20, .5}, {21, .49}}}) {
      CHECK(words(wrong) == "point 1 of the multicast ramp does not rise gently");
      CHECK(words({}, wrong) == "point 1 of the ring ramp does not rise gently");
    }
    CHECK(words({{-1, .5}}) == "point 0 of the multicast ramp does not rise gently");
    CHECK(words({{20, 1.01}}) == "point 0 of the multicast ramp does not rise gently");
  }

  TEST_CASE("multicast reaches the shares of its ramp, by bytes per rank and the speed of the links") {
    // a share of a quarter up to 2^20 bytes per rank, a half from 2^24 on, both for links of 370.8 GB/s
    const std::vector<nccl_ramp_point> ramp{{20, .25}, {24, .5}};
    const auto share = [&](double links, std::int64_t size) {
      nccl_node node = nccl_node_of(find_device("h100"));
      node.link_bandwidth = links;
      const nccl_smooth model(node, {.tuner = {.filter = nccl_filter("nvls")}, .multicast_ramp = ramp});
      const auto bandwidth =
          model.exact().logged(collective::all_reduce, {8, 1}, nccl_algorithm::nvls, nccl_protocol::simple).second;
      const double us = model.estimate(collective::all_reduce, bytes(size), {8, 1}).bandwidth_us;
      return static_cast<double>(size) / (1e3 * bandwidth * us);
    };
    constexpr std::int64_t mebi = 1 << 20;
    CHECK(share(370.8, 4 * mebi) == doctest::Approx(.25));
    CHECK(share(370.8, 8 * mebi) == doctest::Approx(.25));
    CHECK(share(370.8, 32 * mebi) == doctest::Approx(.375));
    CHECK(share(370.8, 128 * mebi) == doctest::Approx(.5));
    CHECK(share(370.8, 1024 * mebi) == doctest::Approx(.5));
    CHECK(share(2 * 370.8, 16 * mebi) == doctest::Approx(.25));  // twice the links need twice the bytes
    CHECK(share(2 * 370.8, 256 * mebi) == doctest::Approx(.5));
  }
}

TEST_SUITE("alpha_beta") {
  TEST_CASE("steps inside and between nodes are counted for every shape of a group") {
    alpha_beta m;
    m.base_us = 1000;
    m.link_hop_us = 1;
    m.network_hop_us = 100;
    const auto latency = [&](collective kind, group_shape g) { return m.estimate(kind, bytes(0), g).latency_us; };
    CHECK(latency(collective::all_gather, {8, 1}) == 1007);
    CHECK(latency(collective::all_gather, {8, 3}) == 1000 + 21 + 200);
    CHECK(latency(collective::reduce_scatter, {1, 4}) == 1300);
    CHECK(latency(collective::all_reduce, {8, 3}) == 1000 + 2 * (21 + 200));
    CHECK(latency(collective::all_to_all, {8, 3}) == 1000 + 7 + 200);  // to seven neighbours, and to two other nodes
    CHECK(latency(collective::shift, {8, 1}) == 1001);
    CHECK(latency(collective::shift, {8, 3}) == 1100);  // the slowest step of the ring
    CHECK(m.estimate(collective::all_to_all, bytes(1), {8, 3}).algorithm == "pairwise");
    CHECK(m.estimate(collective::all_gather, bytes(1), {8, 3}).algorithm == "ring");
    // a ring over nodes runs at the network shares of a node's ranks together, up to the links
    m.link_bandwidth = 300;
    m.network_bandwidth = 50;
    for (const auto& [ranks, speed] : {std::pair{1, 50.0}, {2, 100.0}, {6, 300.0}, {8, 300.0}}) {
      const group_shape g{ranks, 2};
      const double n = 2.0 * ranks;
      CHECK(m.estimate(collective::all_gather, bytes(1'000'000), g).bandwidth_us ==
            doctest::Approx(1000 * (n - 1) / n / speed));
    }
  }
}

TEST_SUITE("find_device") {
  TEST_CASE("devices have the figures of the published references, bandwidth in binary units") {
    struct row {
      const char* name;
      double bandwidth, f64, f32, f16, i8;
      architecture family;
      double links, network;
      std::int64_t devices;
      bool has_switch;
    };
    constexpr double tera = 1099511627776.0, giga = 1073741824.0;
    for (const row& r :
         {row{"h100", 3.35 * tera, 67, 494, 989, 1979, architecture::hopper, 320, 50, 8, true},
          row{"h200", 4.8 * tera, 67, 494, 989, 1979, architecture::hopper, 320, 50, 8, true},
          row{"b200", 7.7 * tera, 37, 1100, 2250, 4500, architecture::blackwell, 640, 50, 8, true},
          row{"gb200", 7.7 * tera, 37, 1100, 2250, 4500, architecture::blackwell, 640, 50, 72, true},
          row{"a100", 2 * tera, 19.5, 156, 312, 624, architecture::ampere, 87.7, 25, 8, false},
          row{"a30", 933 * giga, 10.3, 82, 165, 330, architecture::ampere, 87.7, 25, 8, false},
          row{"mi300x", 5.3 * tera, 163.4, 653.7, 1307.4, 2614.9, architecture::other, 87.7, 25, 8, false}}) {
      const device_profile d = find_device(r.name);
      CAPTURE(std::string(r.name));
      CHECK(d.memory_bandwidth == doctest::Approx(r.bandwidth).epsilon(1e-12));
      CHECK(d.rate(arithmetic::f64) == doctest::Approx(r.f64 * 1e12));
      CHECK(d.rate(arithmetic::f32) == doctest::Approx(r.f32 * 1e12));
      CHECK(d.rate(arithmetic::f16) == doctest::Approx(r.f16 * 1e12));
      CHECK(d.rate(arithmetic::i8) == doctest::Approx(r.i8 * 1e12));
      CHECK(d.family == r.family);
      CHECK(d.link_bandwidth == r.links);
      CHECK(d.network_bandwidth == r.network);
      CHECK(d.devices_per_node == r.devices);
      CHECK(d.has_switch == r.has_switch);
    }
    CHECK(known_devices().size() == 7);
  }
}

TEST_SUITE("size_curve") {
  TEST_CASE("between its points it is the cubic of Fritsch and Butland in logarithms") {
    // sizes e^0, e^1, e^3, e^6 would be no bytes: the same distances at a million times that
    const std::vector<std::int64_t> sizes{1'000'000, 2'718'282, 20'085'537, 403'428'793};
    const std::vector<double> times{1, 2, 5, 100};
    std::vector<timed_size> points;
    std::vector<double> x, y;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      points.push_back({bytes(sizes[i]), times[i]});
      x.push_back(std::log(static_cast<double>(sizes[i])));
      y.push_back(std::log(times[i]));
    }
    const auto secant = [&](std::size_t i) { return (y[i + 1] - y[i]) / (x[i + 1] - x[i]); };
    std::vector<double> slope{secant(0), 0, 0, secant(2)};
    for (std::size_t i = 1; i < 3; ++i) {
      const double h0 = x[i] - x[i - 1], h1 = x[i + 1] - x[i];
      slope[i] = (3 * (h0 + h1)) / ((h0 + 2 * h1) / secant(i - 1) + (2 * h0 + h1) / secant(i));
    }
    const size_curve curve(points);
    for (std::size_t i = 0; i < 3; ++i)
      for (const double t : {.1, .25, .5, .8}) {
        const double h = x[i + 1] - x[i];
        const double h00 = 2 * t * t * t - 3 * t * t + 1, h10 = t * t * t - 2 * t * t + t,
                     h01 = 3 * t * t - 2 * t * t * t, h11 = t * t * t - t * t;
        const double value = std::exp(h00 * y[i] + h10 * h * slope[i] + h01 * y[i + 1] + h11 * h * slope[i + 1]);
        const bytes size(static_cast<std::int64_t>(std::exp(x[i] + t * h)));
        CHECK(curve.at(size) == doctest::Approx(value).epsilon(1e-5));
      }
  }
}

TEST_SUITE("collective_table") {
  TEST_CASE("between two groups only sizes measured of both count as measured") {
    std::vector<collective_measurement> rows;
    for (const std::int64_t size : {1000, 4000, 16'000})
      rows.push_back({collective::all_gather, {2, 1}, bytes(size), 10});
    for (const std::int64_t size : {4000, 16'000, 64'000})
      rows.push_back({collective::all_gather, {8, 1}, bytes(size), 40});
    rows.push_back({collective::all_gather, {8, 1000}, bytes(4000), 90});  // a gap too wide to be filled beforehand
    const collective_table<> table{std::span<const collective_measurement>(rows)};
    for (const auto& [size, measured] :
         {std::pair{1000, false}, {3999, false}, {4000, true}, {16'000, true}, {16'001, false}, {64'000, false}}) {
      const collective_estimate e = table.estimate(collective::all_gather, bytes(size), {4, 1});
      CHECK((e.quality == estimate_quality::measured) == measured);
      if (measured) CHECK(e.time_us == doctest::Approx(20));  // half way in logarithms
    }
    const collective_estimate wide = table.estimate(collective::all_gather, bytes(4000), {8, 10});
    CHECK(wide.time_us == doctest::Approx(40 * std::cbrt(90.0 / 40)));
    CHECK(wide.quality == estimate_quality::measured);
    CHECK(table.estimate(collective::all_gather, bytes(4001), {8, 10}).quality == estimate_quality::extrapolated);
    CHECK(table.estimate(collective::all_gather, bytes(4000), {8, 10}).algorithm == "table");
  }
}

TEST_SUITE("saturation") {
  TEST_CASE("wrong figures are refused in words") {
    CHECK(refusal_of([] { return saturating<>(alpha_beta(), -1.0); }) ==
          "a share that is half at -1 bytes with power 0.5: expected no negative size and a power in (0, 1]");
    CHECK(refusal_of([] { return saturating<>(alpha_beta(), 1.0, 0.0); }).find("with power 0") != std::string::npos);
    CHECK(refusal_of([] { return saturating<>(alpha_beta(), 1.0, 1.5); }).find("with power 1.5") != std::string::npos);
    CHECK(refusal_of([] { return saturating<>(alpha_beta(), 0.0, 1.0); }).empty());
    for (const timed_size& wrong : {timed_size{bytes(0), 1},
                                    {bytes(-1), 1},
                                    {bytes(8), 0},
                                    {bytes(8), -1},
                                    {bytes(8), std::numeric_limits<double>::infinity()}})
      CHECK(
          refusal_of([&] { return fit_saturated_line(std::span(&wrong, 1)); }).ends_with(" us: both must be positive"));
    const std::vector<timed_size> quick{{bytes(1000), .25}, {bytes(1'000'000), .5}};  // less than a microsecond is well
    CHECK(fit_saturated_line(quick).at(1000) == doctest::Approx(.25).epsilon(.01));
  }

  TEST_CASE("half of the peak is reached at the half, whatever the power, and more with more") {
    for (const double power : {.3, 1.0, 1.47, 3.0}) {
      const saturation s{.8, 1000, power};
      CHECK(s.at(1000) == doctest::Approx(.4));
      CHECK(s.at(0) == 0);
      CHECK(s.at(-5) == 0);
      CHECK(s.at(2000) == doctest::Approx(.8 * std::pow(2, power) / (std::pow(2, power) + 1)));
      CHECK(s.at(1e30) == doctest::Approx(.8));
    }
  }
}

TEST_SUITE("contention") {
  TEST_CASE("waves are whole: as many blocks as fit on what the collective leaves") {
    const contention c{.processors = 100};
    for (const double per_processor : {.5, 1.0, 2.0})
      for (std::int64_t blocks = 1; blocks <= 400; blocks += 7)
        for (const double channels : {1.0, 16.0, 50.0, 99.0, 150.0}) {
          const double left = channels < 99 ? 100 - channels : 1;
          const double with = std::ceil(static_cast<double>(blocks) / (per_processor * left));
          const double without = std::ceil(static_cast<double>(blocks) / (per_processor * 100));
          CHECK(c.slowdown({.blocks = blocks, .blocks_per_processor = per_processor}, {.channels = channels}) ==
                doctest::Approx(with / without));
        }
    // memory: the wire takes at most 95 % of it, and only the share of the kernel that needs it
    CHECK(c.slowdown({.memory_share = 1}, {.wire_bandwidth = 1e9}) == doctest::Approx(20));
    CHECK(c.slowdown({.memory_share = .5}, {.wire_bandwidth = 1e9}) == doctest::Approx(1 + .5 * 19));
    CHECK(c.slowdown({.memory_share = 7}, {.wire_bandwidth = 1e9}) == doctest::Approx(20));
    CHECK(contention{.compute_factor = .5}.slowdown({}, {}) == 1);
    CHECK(contention{.collective_factor = .5}.collective_slowdown() == 1);
  }
}

TEST_SUITE("price_bucket") {
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

}  // namespace model_details_tests
