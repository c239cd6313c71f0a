#include "cost/flat_price.hpp"
#include "cost/measured_machine.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/autoparallel_formula.hpp>
#include <shardweave/cost/collective_table.hpp>
#include <shardweave/cost/measurement.hpp>
#include <shardweave/cost/nccl_smooth.hpp>
#include <shardweave/cost/residual.hpp>
#include <shardweave/cost/saturation.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace residual_tests {
namespace {

using namespace shardweave;
using namespace measured_machine;
using namespace flat_prices;

constexpr std::array measured_kinds{collective::all_gather, collective::reduce_scatter, collective::all_reduce,
                                    collective::all_to_all};

}  // namespace

TEST_SUITE("residual") {
  TEST_CASE("measured points are met whatever the base") {
    const auto rows = campaign(campaign_groups, 0, 3);
    const auto check = [&](const auto& model) {
      for (const auto& m : rows) {
        const auto e = model.estimate(m.kind, m.size, m.group);
        CHECK(e.time_us == doctest::Approx(m.time_us));
        CHECK(e.latency_us + e.bandwidth_us == doctest::Approx(e.time_us));
        CHECK(e.quality == estimate_quality::measured);
      }
    };
    check(residual(alpha_beta(), rows));
    check(residual(saturating(alpha_beta(), 2e7), rows));
    check(residual(autoparallel_formula(), rows));  // not monotone itself
  }

  TEST_CASE("a base that is right up to a latency and a scale is corrected exactly") {
    const alpha_beta base;
    std::vector<collective_measurement> rows;
    const auto truth = [&](collective kind, std::int64_t size, group_shape group) {
      return 17 + 0.6 * base.estimate(kind, bytes(size), group).time_us;
    };
    for (const group_shape group : campaign_groups)
      for (std::int64_t size = 1 << 12; size <= std::int64_t{1} << 32; size *= 16)
        rows.push_back({collective::all_reduce, group, bytes(size), truth(collective::all_reduce, size, group)});
    const residual model(base, rows);
    for (std::int64_t size = 1 << 12; size <= std::int64_t{1} << 32; size += size / 3)
      CHECK(model.estimate(collective::all_reduce, bytes(size), {8, 2}).time_us ==
            doctest::Approx(truth(collective::all_reduce, size, {8, 2})));
    // and so is a group, and a collective, that nobody measured
    const auto far = model.estimate(collective::all_reduce, mebibytes(64), {8, 512});
    CHECK(far.time_us == doctest::Approx(truth(collective::all_reduce, 64 << 20, {8, 512})).epsilon(1e-4));
    CHECK(far.quality == estimate_quality::extrapolated);
    CHECK(model.estimate(collective::all_to_all, mebibytes(64), {8, 2}).time_us ==
          doctest::Approx(truth(collective::all_to_all, 64 << 20, {8, 2})).epsilon(1e-4));
    CHECK(model.elsewhere(collective::all_to_all).offset_us == doctest::Approx(17).epsilon(1e-3));
  }

  TEST_CASE("it keeps the promises of a model") {
    keeps_promises(residual(alpha_beta(), campaign(campaign_groups, 0)), asked_groups);
    keeps_promises(residual(saturating(alpha_beta(), 2e7), campaign(campaign_groups, 0, 4)), asked_groups);
    const nccl_smooth nccl(find_device("h100"));
    keeps_promises(residual(nccl, campaign(campaign_groups, 0, 4)), {{2, 1}, {6, 1}, {8, 1}, {8, 3}, {8, 512}});
  }

  TEST_CASE("between two measured sizes the answer stays between their times, even over a base with jumps") {
    const auto rows = campaign({{8, 2}}, 0, 4);
    const residual model(autoparallel_formula(), rows);
    for (int i = 10; i + 4 <= 32; i += 4)
      for (double f = 0; f <= 4; f += 0.1) {
        const double now =
            model.estimate(collective::all_reduce, bytes(static_cast<std::int64_t>(std::exp2(i + f))), {8, 2}).time_us;
        CHECK(now >= true_time(collective::all_reduce, std::exp2(i), {8, 2}) * (1 - 1e-9));
        CHECK(now <= true_time(collective::all_reduce, std::exp2(i + 4), {8, 2}) * (1 + 1e-9));
      }
  }

  TEST_CASE("a group between two measured ones lies between them at measured sizes, in narrow gaps and in wide ones") {
    const auto rows = campaign({{2, 1}, {8, 1}, {8, 2}, {8, 1024}}, 0);
    const alpha_beta base;
    const residual model(base, rows);
    for (const auto& [below, asked, above] : {std::array{group_shape{2, 1}, group_shape{5, 1}, group_shape{8, 1}},
                                              std::array{group_shape{8, 2}, group_shape{8, 100}, group_shape{8, 1024}}})
      for (const collective kind : calibrated_kinds)
        for (int i = 10; i <= 32; ++i) {
          const auto at = [&](group_shape g) { return model.estimate(kind, bytes(std::int64_t{1} << i), g).time_us; };
          const auto log_of = [](group_shape g) { return std::log(static_cast<double>(g.ranks())); };
          const double weight = (log_of(asked) - log_of(below)) / (log_of(above) - log_of(below));
          CHECK(std::log(at(asked)) ==
                doctest::Approx((1 - weight) * std::log(at(below)) + weight * std::log(at(above))));
        }
    CHECK(model.estimate(collective::all_gather, kibibytes(3), {5, 1}).quality == estimate_quality::measured);
  }

  TEST_CASE("in wide gaps any size costs what its neighbours, each asked alone, leave between them") {
    // two gaps of eight ranks per node, one within a node; four ranks per node and three nodes have no neighbours
    const std::vector<group_shape> groups{{8, 1}, {600, 1}, {8, 2000}, {8, 5000}};
    const auto rows = campaign(groups, .05, 3);
    const alpha_beta base;
    const residual all(base, rows);
    const collective_table<> table{std::span<const collective_measurement>(rows)};
    const auto alone = [&](group_shape only) {
      std::vector<collective_measurement> its;
      for (const collective_measurement& m : rows)
        if (m.group == only) its.push_back(m);
      return std::pair{residual(base, its), collective_table<>{std::span<const collective_measurement>(its)}};
    };
    const auto between = [](double a, double b, double weight) {
      return std::pow(a, 1 - weight) * std::pow(b, weight);
    };
    for (const auto& [below, asked, above] :
         {std::array{groups[0], group_shape{8, 7}, groups[2]}, std::array{groups[2], group_shape{8, 3000}, groups[3]},
          std::array{groups[0], group_shape{300, 1}, groups[1]}}) {
      CAPTURE(asked.ranks());
      const auto [low_residual, low_table] = alone(below);
      const auto [high_residual, high_table] = alone(above);
      const auto log_of = [](group_shape g) { return std::log(static_cast<double>(g.ranks())); };
      const double weight = (log_of(asked) - log_of(below)) / (log_of(above) - log_of(below));
      for (const collective kind : calibrated_kinds) {
        double last_residual = 0, last_table = 0;
        for (double s = 0; s < 1e12; s = 1.3 * s + 1) {
          const bytes size(static_cast<std::int64_t>(s));
          const auto r = all.estimate(kind, size, asked);
          const auto t = table.estimate(kind, size, asked);
          CHECK(r.time_us == doctest::Approx(between(low_residual.estimate(kind, size, below).time_us,
                                                     high_residual.estimate(kind, size, above).time_us, weight))
                                 .epsilon(.002));
          CHECK(t.time_us == doctest::Approx(between(low_table.estimate(kind, size, below).time_us,
                                                     high_table.estimate(kind, size, above).time_us, weight))
                                 .epsilon(.002));
          CHECK(t.time_us >= last_table * (1 - 1e-12));
          CHECK(r.time_us >= last_residual * (1 - 1e-12));
          last_table = t.time_us;
          last_residual = r.time_us;
        }
      }
    }
    for (const group_shape other : {group_shape{4, 100}, group_shape{8, 6000}, group_shape{700, 1}})
      CHECK(table.estimate(collective::all_gather, mebibytes(1), other).time_us ==
            alpha_beta().estimate(collective::all_gather, mebibytes(1), other).time_us);
  }

  TEST_CASE("groups that the base refuses are left to it") {
    struct even_only {
      [[nodiscard]] collective_estimate estimate(collective kind, bytes size, group_shape group) const {
        if (group.ranks() % 2 != 0) refuse(error_category::input, "odd");
        return alpha_beta().estimate(kind, size, group);
      }
    };
    const residual model(even_only(), campaign({{2, 1}, {8, 1}}, 0, 4));
    CHECK(model.estimate(collective::all_gather, mebibytes(1), {4, 1}).time_us > 0);
    CHECK_THROWS_WITH_AS(model.estimate(collective::all_gather, mebibytes(1), {3, 1}), "odd", error);

    const residual wide(nccl_smooth(find_device("h100")), campaign({{8, 2}, {8, 5000}, {4, 1}, {8, 1}}, 0, 4));
    constexpr std::int64_t huge = std::int64_t{1} << 62;  // several of them are no number
    for (const group_shape wrong : {group_shape{huge, 2}, group_shape{huge, 1}, group_shape{-huge, 2},
                                    group_shape{8, huge}, group_shape{8, -huge}, group_shape{0, 2}})
      for (const collective kind : calibrated_kinds) CHECK_THROWS_AS(wide.estimate(kind, mebibytes(1), wrong), error);
  }

  TEST_CASE("without measurements the base answers, and a base without a price is refused") {
    const residual model(alpha_beta(), std::vector<collective_measurement>{});
    CHECK(model.estimate(collective::all_gather, mebibytes(1), {8, 1}).time_us ==
          alpha_beta().estimate(collective::all_gather, mebibytes(1), {8, 1}).time_us);
    struct nothing {
      collective_estimate estimate(collective, bytes, group_shape) const { return {}; }
    };
    const std::vector<collective_measurement> rows{{collective::all_gather, {2, 1}, bytes(8), 1}};
    CHECK_THROWS_WITH_AS(residual(nothing{}, rows),
                         "the base model prices the measured all_gather of 8 bytes at 0 us; a correction needs "
                         "a positive time",
                         error);
  }

  TEST_CASE("beyond the measured sizes the last correction stays, within them it moves with the base") {
    // the base says 10 us + 1 us per 100 kB; measured are twice that at 1 MB and three times that at 4 MB
    const std::vector rows{measured(collective::all_gather, {8, 1}, 1'000'000, 40),
                           measured(collective::all_gather, {8, 1}, 4'000'000, 150)};
    const residual model(flat_price{}, rows);
    const auto time = [&](std::int64_t size) { return model.estimate(collective::all_gather, bytes(size), {8, 1}); };
    CHECK(time(100'000).time_us == doctest::Approx(2 * 11));
    CHECK(time(100'000).quality == estimate_quality::extrapolated);
    CHECK(time(40'000'000).time_us == doctest::Approx(3 * 410));
    CHECK(time(40'000'000).quality == estimate_quality::extrapolated);
    CHECK(time(2'500'000).time_us == doctest::Approx((40 + 150) / 2.0));
    CHECK(time(2'500'000).quality == estimate_quality::measured);
    CHECK(time(1'000'000).latency_us == doctest::Approx(20));
    CHECK(time(1'000'000).bandwidth_us == doctest::Approx(20));
  }

  TEST_CASE("where the base stands still, the logarithm of the size leads from one measurement to the next") {
    struct constant_price {
      [[nodiscard]] collective_estimate estimate(collective, bytes, group_shape) const { return {.time_us = 5}; }
    };
    const std::vector rows{measured(collective::all_gather, {8, 1}, 1 << 10, 10),
                           measured(collective::all_gather, {8, 1}, 1 << 20, 30)};
    const residual model(constant_price{}, rows);
    CHECK(model.estimate(collective::all_gather, bytes(1 << 15), {8, 1}).time_us == doctest::Approx(20));
    CHECK(model.estimate(collective::all_gather, bytes(1 << 19), {8, 1}).time_us == doctest::Approx(28));
  }

  TEST_CASE("a collective that was not measured is corrected like all that were, others by their own") {
    std::vector<collective_measurement> rows;
    for (const std::int64_t size : {1000, 1'000'000, 100'000'000}) {
      const double base = flat_price{}.estimate(collective::all_gather, bytes(size), {8, 1}).time_us;
      rows.push_back(measured(collective::all_gather, {8, 1}, size, 3 * base));
      rows.push_back(measured(collective::all_reduce, {8, 1}, size, 3 * base));
    }
    const residual model(flat_price{}, rows);
    for (const collective kind : measured_kinds) {
      CHECK(model.elsewhere(kind).scale == doctest::Approx(3));
      CHECK(model.elsewhere(kind).offset_us == doctest::Approx(0));
      const auto far = model.estimate(kind, bytes(500'000), {8, 7});
      CHECK(far.time_us == doctest::Approx(3 * 15));
      CHECK(far.quality == estimate_quality::extrapolated);
    }
    CHECK(model.estimate(collective::all_gather, bytes(5), {1, 1}).time_us == 0);
    CHECK(model.base().us == 10);
  }
}

}  // namespace residual_tests
