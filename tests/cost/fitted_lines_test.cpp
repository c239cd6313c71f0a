#include "cost/flat_price.hpp"
#include <shardweave/cost/fitted_lines.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace fitted_lines_tests {
namespace {

using namespace shardweave;
using namespace flat_prices;

}  // namespace

TEST_SUITE("fitted_lines") {
  const std::vector<fitted_line> two_lines{{collective::all_gather, {2, 1}, {10, 100, 0, .5}},
                                           {collective::all_gather, {8, 1}, {40, 400, 0, .5}},
                                           {collective::all_gather, {8, 4}, {160, 25, 1e6, .5}},
                                           {collective::all_gather, {8, 16}, {640, 25, 1e6, .9}}};

  TEST_CASE("a group with a line is priced by it") {
    const fitted_lines<flat_price> model(two_lines, flat_price{});
    const collective_estimate e = model.estimate(collective::all_gather, bytes(1'000'000), {8, 1});
    CHECK(e.time_us == doctest::Approx(40 + 2.5));
    CHECK(e.latency_us == doctest::Approx(40));
    CHECK(e.bandwidth_us == doctest::Approx(2.5));
    CHECK(e.algorithm == "fit");
    CHECK(e.quality == estimate_quality::fitted);
    // the half size: half of the bandwidth
    CHECK(model.estimate(collective::all_gather, bytes(1'000'000), {8, 4}).bandwidth_us == doctest::Approx(2 * 40));
    CHECK(model.estimate(collective::all_gather, mebibytes(64), {1, 1}).time_us == 0);
  }

  TEST_CASE("between two lines latency and bandwidth lie in logarithms, the power evenly") {
    const fitted_lines<flat_price> model(two_lines, flat_price{});
    // four ranks are half way from two to eight
    const collective_estimate e = model.estimate(collective::all_gather, bytes(1'000'000), {4, 1});
    CHECK(e.latency_us == doctest::Approx(20));
    CHECK(e.bandwidth_us == doctest::Approx(5));
    CHECK(model.estimate(collective::all_gather, bytes(0), {8, 2}).latency_us == doctest::Approx(80));
    // eight nodes are half way from four to sixteen
    const collective_estimate far = model.estimate(collective::all_gather, bytes(4'000'000), {8, 8});
    CHECK(far.latency_us == doctest::Approx(320));
    CHECK(far.bandwidth_us == doctest::Approx(160 * (1 + std::pow(.25, .7))));
    // no line on either side: the other model
    for (const group_shape group : {group_shape{16, 1}, {2, 2}, {4, 4}, {8, 32}})
      CHECK(model.estimate(collective::all_gather, bytes(1'000'000), group).time_us == doctest::Approx(20));
    CHECK(model.estimate(collective::all_to_all, bytes(1'000'000), {8, 1}).time_us == doctest::Approx(20));
  }

  TEST_CASE("an all-reduce is raised to its reduce-scatter where noise put it below") {
    const std::vector<fitted_line> lines{{collective::reduce_scatter, {8, 1}, {50, 100, 0, .5}},
                                         {collective::all_reduce, {8, 1}, {10, 50, 0, .5}}};
    const fitted_lines<flat_price> model(lines, flat_price{});
    const auto time = [&](collective kind, std::int64_t size) {
      return model.estimate(kind, bytes(size), {8, 1}).time_us;
    };
    CHECK(time(collective::all_reduce, 1000) == time(collective::reduce_scatter, 1000));
    CHECK(time(collective::all_reduce, 100'000'000) == doctest::Approx(10 + 2000));
    CHECK(time(collective::all_gather, 1000) == doctest::Approx(10.01));
    for (std::int64_t size = 1; size < std::int64_t{1} << 36; size *= 2)
      CHECK(time(collective::all_reduce, size) >= time(collective::reduce_scatter, size));
  }

  TEST_CASE("wide gaps are priced like narrow ones, only found when asked") {
    const std::vector<fitted_line> lines{{collective::all_gather, {8, 1}, {10, 100, 0, .5}},
                                         {collective::all_gather, {8, 4096}, {1000, 10, 0, .5}},
                                         {collective::all_to_all, {8, 1}, {10, 100, 1e5, .5}},
                                         {collective::all_to_all, {8, 4096}, {1000, 10, 1e7, .9}}};
    const fitted_lines<flat_price> model(lines, flat_price{});
    for (std::int64_t nodes = 1; nodes <= 4096; nodes *= 2) {
      const double weight = std::log2(static_cast<double>(nodes)) / 12;
      const collective_estimate e = model.estimate(collective::all_gather, bytes(0), {8, nodes});
      CHECK(e.latency_us == doctest::Approx(10 * std::pow(100, weight)));
      const saturated_line line{10 * std::pow(100, weight), 100 * std::pow(.1, weight), 1e5 * std::pow(100, weight),
                                .5 + .4 * weight};
      for (const double size : {0.0, 1.0, 3e4, 1e6, 7e9}) {
        const collective_estimate exchange =
            model.estimate(collective::all_to_all, bytes(static_cast<std::int64_t>(size)), {8, nodes});
        CHECK(exchange.time_us == doctest::Approx(line.at(size)));
      }
    }
  }
}

}  // namespace fitted_lines_tests
