#include "cost/flat_price.hpp"
#include "cost/measured_machine.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/cost/collective_table.hpp>
#include <shardweave/cost/measurement.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace collective_table_tests {
namespace {

using namespace shardweave;
using namespace measured_machine;
using namespace flat_prices;

}  // namespace

TEST_SUITE("collective_table") {
  TEST_CASE("measured points are met, and answers say where they come from") {
    const auto rows = campaign(campaign_groups, 0, 2);
    const collective_table<> table(rows);
    for (const auto& m : rows) {
      const auto e = table.estimate(m.kind, m.size, m.group);
      CHECK(e.time_us == doctest::Approx(m.time_us));
      CHECK(e.quality == estimate_quality::measured);
    }
    CHECK(table.estimate(collective::all_gather, bytes(8), {8, 1}).quality == estimate_quality::extrapolated);
    CHECK(table.estimate(collective::all_gather, gibibytes(64), {8, 1}).quality == estimate_quality::extrapolated);
    CHECK(table.estimate(collective::all_gather, mebibytes(1), {6, 1}).quality == estimate_quality::measured);
    CHECK(table.estimate(collective::all_gather, mebibytes(1), {8, 8}).quality == estimate_quality::formula);
    CHECK(table.estimate(collective::all_gather, mebibytes(1), {8, 8}).time_us ==
          alpha_beta().estimate(collective::all_gather, mebibytes(1), {8, 8}).time_us);
  }

  TEST_CASE("it keeps the promises of a model, however noisy its points") {
    keeps_promises(collective_table<>(campaign(campaign_groups, 0)), asked_groups);
    const collective_table<> noisy(campaign(campaign_groups, 0.5));
    for (const group_shape group : asked_groups) {
      double last = 0;
      for (double log_size = 0; log_size < 36; log_size += 0.1) {
        const double now =
            noisy.estimate(collective::all_reduce, bytes(static_cast<std::int64_t>(std::exp2(log_size))), group)
                .time_us;
        CHECK(now >= last);
        last = now;
      }
    }
  }

  TEST_CASE("a group between two measured ones lies between them") {
    const auto rows = campaign(campaign_groups, 0);
    const collective_table<> table(rows);
    for (const double size : {1e4, 1e6, 1e9}) {
      const auto at = [&](group_shape g) {
        return table.estimate(collective::all_reduce, bytes(static_cast<std::int64_t>(size)), g).time_us;
      };
      CHECK(at({3, 1}) >= at({2, 1}));
      CHECK(at({3, 1}) <= at({4, 1}));
      CHECK(at({8, 3}) >= at({8, 2}));
      CHECK(at({8, 3}) <= at({8, 4}));
    }
  }

  TEST_CASE("between two groups of which one takes no time for a byte, times lie between theirs, too") {
    const bytes size(std::int64_t{1} << 40);
    std::vector<collective_measurement> rows;
    for (const group_shape group : {group_shape{2, 1}, group_shape{600, 1}}) {
      const double time = group == group_shape{2, 1} ? 1e-320 : 5;  // a share of the first has no logarithm
      rows.push_back({collective::all_gather, group, size, time});
      rows.push_back({collective::all_gather, group, 2 * size, 100 * time});
    }
    const collective_table<> table{std::span<const collective_measurement>(rows)};
    for (const bytes asked : {bytes(1), size, 2 * size}) {
      const auto at = [&](group_shape g) { return table.estimate(collective::all_gather, asked, g).time_us; };
      CHECK(at({2, 1}) <= at({30, 1}));
      CHECK(at({30, 1}) < at({300, 1}));
      CHECK(at({300, 1}) < at({600, 1}));
    }
  }

  TEST_CASE("wrong rows are refused") {
    const std::vector<collective_measurement> alone{{collective::all_gather, {1, 1}, bytes(8), 1}};
    CHECK_THROWS_WITH_AS(collective_table<>{std::span<const collective_measurement>(alone)},
                         "a measured all_gather of 1 nodes with 1 ranks each: a collective needs two ranks", error);
    const std::vector<collective_measurement> timeless{{collective::all_gather, {2, 1}, bytes(8), 0}};
    CHECK_THROWS_AS(collective_table<>{std::span<const collective_measurement>(timeless)}, error);
  }

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

}  // namespace collective_table_tests
