#include "cost/flat_price.hpp"
#include "cost/measured_machine.hpp"
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/collective_table.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/device_calibration.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace device_calibration_tests {
namespace {

using namespace shardweave;
using namespace flat_prices;
using namespace measured_machine;

}  // namespace

TEST_SUITE("device_calibration") {
  TEST_CASE("it makes models of what was measured, and the device's defaults of what was not") {
    device_calibration c;
    const device_profile h100 = find_device("h100");
    CHECK(c.correct(flat_price{}).estimate(collective::all_gather, bytes(8), {2, 1}).time_us ==
          flat_price{}.estimate(collective::all_gather, bytes(8), {2, 1}).time_us);
    CHECK(c.compute_on(h100).memory == compute_profile().memory);
    CHECK(c.compute_on(h100).device.memory_bandwidth == h100.memory_bandwidth);
    compute_profile measured_shares;
    measured_shares.memory = {.9, 1e5, 1};
    measured_shares.launch_us = 3;
    c.compute = measured_shares;
    CHECK(c.compute_on(h100).memory == saturation{.9, 1e5, 1});
    CHECK(c.compute_on(h100).memory_time(bytes(0)) == 3);
    CHECK(c.compute_on(h100).device.name == "h100");
    c.collectives = {measured(collective::all_gather, {2, 1}, 1000, 30)};
    CHECK(c.correct(flat_price{}).estimate(collective::all_gather, bytes(1000), {2, 1}).time_us == doctest::Approx(30));
  }

  TEST_CASE("a condensed log holds one row per curve and size, with the median time") {
    const auto small = condensed(
        std::vector{measured(collective::all_gather, {2, 1}, 8, 9), measured(collective::all_gather, {2, 1}, 8, 1),
                    measured(collective::all_gather, {2, 1}, 8, 2), measured(collective::all_gather, {2, 1}, 4, 3),
                    measured(collective::all_gather, {2, 1}, 4, 5), measured(collective::all_gather, {4, 1}, 8, 7)});
    CHECK(small == std::vector{measured(collective::all_gather, {2, 1}, 4, 4),
                               measured(collective::all_gather, {2, 1}, 8, 2),
                               measured(collective::all_gather, {4, 1}, 8, 7)});
    CHECK(condensed({}).empty());
  }

  TEST_CASE("a long log becomes a small file that answers alike") {
    std::vector<collective_measurement> log;
    for (int repetition = 0; repetition < 3; ++repetition)
      for (auto m : campaign(campaign_groups, 0.2, 4)) {
        m.time_us *= 1 + 0.1 * repetition;
        log.push_back(m);
      }
    const auto small = condensed(log);
    CHECK(small.size() * 3 == log.size());
    const device_calibration device{"m", "h100", "test", small, {}, {}};
    const auto a = device.correct(alpha_beta());
    const residual b(alpha_beta(), log);
    for (const auto& m : log)
      CHECK(a.estimate(m.kind, m.size, m.group).time_us ==
            doctest::Approx(b.estimate(m.kind, m.size, m.group).time_us));
    CHECK(device.compute_on(find_device("h100")).memory_time(bytes(0)) == 7);
  }
}

}  // namespace device_calibration_tests
