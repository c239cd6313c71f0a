#include <shardweave/cost/collective_table.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/nccl_ramp.hpp>
#include <shardweave/cost/nccl_smooth.hpp>
#include <shardweave/cost/size_curve.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace shardweave;

namespace model_details_tests {
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

}  // namespace model_details_tests
