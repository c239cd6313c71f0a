#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/lowering/optimizer_step.hpp>

#include <doctest/doctest.h>

namespace sw = shardweave;

namespace optimizer_step_tests {
namespace {

double ms(sw::nanoseconds t) { return static_cast<double>(t.count()) / 1e6; }

TEST_SUITE("optimizer_step") {
  // 8B on 8 devices of 2.6 TB/s: the update moves 28 bytes for each of 1.004e9 parameters
  const double updated = 8.03e9 / 8;

  TEST_CASE("the update, the norm and the clipping take what their bytes take") {
    sw::device_profile device = sw::find_device("h100");
    device.memory_bandwidth = 2.6e12;
    sw::compute_profile compute(device);
    compute.memory = {1, 0, 1};
    const sw::alpha_beta links(device);
    const sw::optimizer_work work = sw::work_of_optimizer(updated, 8.03e9, {8, 1}, compute, links);
    CHECK(ms(work.update) == doctest::Approx(10.8).epsilon(.005));
    CHECK(ms(work.norm) == doctest::Approx(1.54).epsilon(.005));
    CHECK(ms(work.clipping) == doctest::Approx(3.09).epsilon(.005));
    CHECK(work.reduction ==
          sw::from_microseconds(links.estimate(sw::collective::all_reduce, sw::bytes(4), {8, 1}).time_us));
    CHECK(work.gathering == sw::nanoseconds());
    CHECK(work.all() == work.update + work.norm + work.clipping + work.reduction);
  }

  TEST_CASE("without clipping nothing waits; parameters that were updated in parts are gathered") {
    const sw::device_profile device = sw::find_device("h100");
    const sw::alpha_beta links(device);
    const sw::compute_profile compute(device);
    const sw::optimizer_work plain = sw::work_of_optimizer(updated, 8.03e9, {8, 1}, compute, links, {.clips = false});
    CHECK(plain.all() == plain.update);
    const sw::optimizer_work gathers =
        sw::work_of_optimizer(updated, 8.03e9, {8, 1}, compute, links, {.clips = false, .gathered_bytes = 2});
    CHECK(gathers.gathering ==
          sw::from_microseconds(links.estimate(sw::collective::all_gather, sw::bytes(16'060'000'000), {8, 1}).time_us));
  }
}

}  // namespace
}  // namespace optimizer_step_tests
