// What a machine is asked for and what is found, by an engine whose times are chosen. Component mpi and nccl have
// engines of their own.
#include <shardweave/core/units.hpp>
#include <shardweave/cost/contention.hpp>
#include <shardweave/cost/device_calibration.hpp>
#include <shardweave/engine/calibration.hpp>
#include <shardweave/engine/collective_engine.hpp>
#include <shardweave/engine/detail/calibration_sweep.hpp>
#include <shardweave/engine/virtual_engine.hpp>
#include <shardweave/tasks/task.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace sw = shardweave;
using ns = sw::nanoseconds;

namespace calibration_tests {
namespace {

/// Collectives take what is chosen for the n-th launch of a size, n from 0 on; work takes longer than it was told.
struct chosen_times : sw::virtual_engine {
  std::function<ns(sw::bytes size, std::size_t n)> takes = [](sw::bytes, std::size_t) { return ns(1000); };
  ns more_work = {};
  std::map<sw::bytes, std::size_t> launches = {};

  std::size_t start(sw::collective_call call) {
    call.duration = takes(call.bytes_out, launches[call.bytes_out]++);
    return sw::virtual_engine::start(call);
  }
  std::size_t run(sw::compute_call work) {
    if (work.duration > ns(0)) work.duration += more_work;
    return sw::virtual_engine::run(work);
  }
};
double own(double mine) { return mine; }

sw::device_calibration found_by(chosen_times& engine, const sw::calibration_options& options) {
  sw::device_calibration found;
  sw::detail::calibration_sweep("a test", engine, options, 2, 2, own).measure(found);
  return found;
}
}  // namespace

TEST_SUITE("calibration") {
  TEST_CASE(
      "sizes go from the smallest by the factor to the largest, each launched as often as it is warmed up and kept") {
    chosen_times engine;
    const auto found = found_by(
        engine, {.smallest = sw::bytes(48), .largest = sw::bytes(1000), .factor = 4, .repetitions = 5, .warm_up = 2});
    CHECK(engine.launches ==
          std::map<sw::bytes, std::size_t>{{sw::bytes(48), 4 * 7}, {sw::bytes(192), 4 * 7}, {sw::bytes(768), 4 * 7}});
    REQUIRE(found.collectives.size() == 4 * 3);
    for (std::size_t i = 0; i < 12; ++i) {
      CHECK(found.collectives[i].kind == static_cast<sw::collective>(i / 3));
      CHECK(found.collectives[i].size == sw::bytes(i % 3 == 0 ? 48 : i % 3 == 1 ? 192 : 768));
      CHECK(found.collectives[i].group == sw::group_shape{2, 1});
      CHECK(found.collectives[i].time_us == 1);
    }
    CHECK(found.under_load);
  }

  TEST_CASE("the median is kept, of an even number the upper one of the middle, and what warms up does not count") {
    const auto kept = [](std::vector<std::int64_t> times, std::size_t warm_up) {
      chosen_times engine;
      engine.takes = [&](sw::bytes, std::size_t n) { return ns(1000 * times[n % times.size()]); };
      return found_by(engine, {.smallest = sw::bytes(8),
                               .largest = sw::bytes(8),
                               .repetitions = times.size() - warm_up,
                               .warm_up = warm_up})
          .collectives.front()
          .time_us;
    };
    CHECK(kept({5, 1, 3}, 0) == 3);
    CHECK(kept({900, 800, 5, 1, 3}, 2) == 3);
    CHECK(kept({5, 1, 3, 2}, 0) == 3);
    CHECK(kept({0, 0, 0}, 0) == 0.001);  // no time is told as a nanosecond: a curve needs one that is positive
  }

  TEST_CASE("what work and the largest collectives do to each other is told by how much longer they take") {
    chosen_times engine;
    engine.more_work = ns(500);  // half as long as a collective alone
    // each kind is launched alone, then twice beside work: for the one's time, and for the other's
    engine.takes = [](sw::bytes, std::size_t n) { return n % 3 == 0 ? ns(1000) : ns(1250); };
    const auto found =
        found_by(engine, {.smallest = sw::kibibytes(64), .largest = sw::kibibytes(64), .repetitions = 1, .warm_up = 0});
    REQUIRE(found.under_load);
    CHECK(found.under_load->compute_factor == doctest::Approx(1.5));
    CHECK(found.under_load->collective_factor == doctest::Approx(1.25));
    chosen_times small;
    small.more_work = ns(500);
    const auto none =
        found_by(small, {.smallest = sw::kibibytes(32), .largest = sw::kibibytes(32), .repetitions = 1, .warm_up = 0});
    REQUIRE(none.under_load);
    CHECK(none.under_load->compute_factor == sw::contention().compute_factor);  // below 64 KiB nothing is told
    CHECK(none.under_load->collective_factor == sw::contention().collective_factor);
  }

  TEST_CASE("groups that do not lie alike on nodes are not measured, and no two have one shape") {
    const auto sizes_measured = [](std::int64_t ranks, std::int64_t ranks_per_node, double largest_node) {
      sw::virtual_engine engine;
      // what other ranks say is larger where their node is
      const auto largest = [&](double mine) { return std::max(mine, largest_node); };
      const sw::calibration_options options{
          .smallest = sw::bytes(64), .largest = sw::bytes(64), .repetitions = 1, .warm_up = 0};
      sw::device_calibration found;
      sw::detail::calibration_sweep("a test", engine, options, ranks, ranks_per_node, largest).measure(found);
      std::vector<std::pair<std::int64_t, std::int64_t>> shapes;  // ranks on a node, nodes
      for (const sw::collective_measurement& m : found.collectives)
        if (m.kind == sw::collective::all_gather) shapes.emplace_back(m.group.ranks_per_node, m.group.nodes);
      CHECK(found.collectives.size() == 4 * shapes.size());
      return shapes;
    };
    using shapes = std::vector<std::pair<std::int64_t, std::int64_t>>;
    CHECK(sizes_measured(12, 4, 0) == shapes{{2, 1}, {4, 1}, {4, 3}});  // 3 and 6 lie on one node or on two
    CHECK(sizes_measured(12, 12, 0) == shapes{{2, 1}, {3, 1}, {4, 1}, {6, 1}, {12, 1}});
    CHECK(sizes_measured(12, 16, 0) == sizes_measured(12, 12, 0));
    CHECK(sizes_measured(6, 1, 0) == shapes{{1, 2}, {1, 3}, {1, 6}});
    CHECK(sizes_measured(6, 2, 4) == shapes{{2, 1}});  // a node of 4 and one of 2: both leave out the same
    CHECK(sizes_measured(7, 2, 0).empty());
  }
}

}  // namespace calibration_tests
