#include "support/scale.hpp"
#include <shardweave/cost/accuracy.hpp>
#include <shardweave/cost/autoparallel_formula.hpp>
#include <shardweave/cost/collective_table.hpp>
#include <shardweave/cost/device_calibration.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/link_shares.hpp>
#include <shardweave/cost/nccl_smooth.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/cost/residual.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

using namespace shardweave;

namespace calibration_tests {
namespace {

constexpr std::array calibrated_kinds{collective::all_gather, collective::reduce_scatter, collective::all_reduce,
                                      collective::all_to_all};

/// A machine that nothing else describes: a latency, a bandwidth and a ramp per collective and group.
double true_time(collective kind, double size, group_shape group) {
  const double n = static_cast<double>(group.ranks());
  const double rounds = kind == collective::all_reduce ? 2 : 1;
  const double bandwidth = group.nodes == 1 ? 350 : 180;
  return 12 + 2 * rounds * std::log2(n) +
         rounds * (n - 1) / n * size / (1e3 * bandwidth) * (1 + std::sqrt(2e7 / (size + 1)));
}

std::vector<collective_measurement> campaign(const std::vector<group_shape>& groups, double noise, int step = 1) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> factor(1 - noise, 1 + noise);
  std::vector<collective_measurement> rows;
  for (const collective kind : calibrated_kinds)
    for (const group_shape group : groups)
      for (int i = 10; i <= 32; i += step) {
        const double size = std::exp2(i);
        rows.push_back(
            {kind, group, bytes(static_cast<std::int64_t>(size)), true_time(kind, size, group) * factor(random)});
      }
  std::shuffle(rows.begin(), rows.end(), random);
  return rows;
}

const std::vector<group_shape> campaign_groups{{2, 1}, {4, 1}, {8, 1}, {8, 2}, {8, 4}};

/// What every collective model promises, on a grid of sizes and groups.
template <class Model>
void keeps_promises(const Model& model, const std::vector<group_shape>& groups) {
  for (const collective kind : calibrated_kinds) {
    CHECK(model.estimate(kind, mebibytes(1), {1, 1}).time_us == 0);
    for (const group_shape group : groups) {
      double last = 0;
      for (double log_size = 0; log_size < 40; log_size += 0.05) {
        const bytes size(static_cast<std::int64_t>(std::exp2(log_size)));
        const collective_estimate e = model.estimate(kind, size, group);
        if (!(std::isfinite(e.time_us) && e.time_us >= last && e.latency_us >= 0 && e.bandwidth_us >= -1e-9)) {
          CAPTURE(std::string(name_of(kind)));
          CAPTURE(group.ranks());
          CAPTURE(size.count());
          CHECK(e.time_us >= last);
          CHECK(e.latency_us >= 0);
          CHECK(e.bandwidth_us >= -1e-9);
          return;
        }
        if (last > 0) CHECK(e.time_us <= last * 1.15);  // 3.5 % more bytes are no cliff
        last = e.time_us;
      }
    }
  }
}

const std::vector<group_shape> asked_groups{{2, 1}, {3, 1}, {6, 1},     {8, 1}, {8, 2},
                                            {8, 3}, {8, 8}, {8, 16384}, {4, 2}, {1, 8}};

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
}

TEST_SUITE("link_shares") {
  const std::vector<link_share> halves{{shared_path::inside, 1, mebibytes(1), .25},
                                       {shared_path::inside, 1, mebibytes(64), .5},
                                       {shared_path::network, 2, mebibytes(1), .5},
                                       {shared_path::network, 8, mebibytes(1), .125}};

  TEST_CASE("measured sizes reach their share of the base's bandwidth") {
    const alpha_beta base(find_device("h100"));
    const link_shares model(halves, base);
    const auto stretched = [&](bytes size, group_shape group) {
      return model.estimate(collective::all_gather, size, group).bandwidth_us /
             base.estimate(collective::all_gather, size, group).bandwidth_us;
    };
    CHECK(stretched(mebibytes(1), {8, 1}) == doctest::Approx(4));
    CHECK(stretched(mebibytes(64), {4, 1}) == doctest::Approx(2));
    CHECK(stretched(gibibytes(64), {4, 1}) == doctest::Approx(2));  // the last share stays
    CHECK(stretched(mebibytes(1), {8, 2}) == doctest::Approx(2));
    CHECK(stretched(mebibytes(1), {8, 4}) == doctest::Approx(4));  // between two and eight in logarithms
    CHECK(stretched(mebibytes(1), {8, 64}) == doctest::Approx(8));
    // what has no share keeps its price
    CHECK(model.estimate(collective::all_to_all, mebibytes(1), {8, 2}).time_us ==
          base.estimate(collective::all_to_all, mebibytes(1), {8, 2}).time_us);
  }

  TEST_CASE("it keeps the promises of a model") {
    keeps_promises(link_shares(halves, alpha_beta(find_device("h100"))), asked_groups);
  }

  TEST_CASE("wrong shares are refused") {
    const std::vector<link_share> wrong{{shared_path::inside, 1, bytes(8), 1.5}};
    CHECK_THROWS_WITH_AS(link_shares<>{std::span<const link_share>(wrong)},
                         "a share of 1.5 at 8 bytes on 1 nodes: expected a share in (0, 1], and a size and nodes "
                         "that are positive",
                         error);
  }
}

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
}

TEST_SUITE("calibrate") {
  TEST_CASE("every second size is left out, repetitions together") {
    std::vector<collective_measurement> rows;
    for (const std::int64_t size : {64, 8, 16, 32, 8, 64})
      rows.push_back({collective::all_gather, {2, 1}, bytes(size), 1.0 + static_cast<double>(size)});
    rows.push_back({collective::all_gather, {4, 1}, bytes(16), 1});
    const held_out parts = every_second_size(rows);
    CHECK(parts.seen.size() == 4);    // 8, 8, 32 and the other group's only size
    CHECK(parts.unseen.size() == 3);  // 16, 64, 64
    for (const auto& m : parts.unseen) CHECK((m.size == bytes(16) || m.size == bytes(64)));
    const held_out other = every_second_size(rows, false);
    CHECK(other.seen.size() == parts.unseen.size());
    CHECK(other.unseen.size() == parts.seen.size());
  }

  TEST_CASE("errors by band are those of their definition") {
    std::vector<double> errors{10, -20, 30, -40, 50};
    const error_figures f = error_figures::of(errors);
    CHECK(f.count == 5);
    CHECK(f.mean == doctest::Approx(30));
    CHECK(f.median == doctest::Approx(30));
    CHECK(f.p90 == doctest::Approx(50));
    CHECK(f.signed_median == doctest::Approx(10));
    CHECK(error_figures::of({}).count == 0);
    std::vector<double> ten;
    for (int i = 1; i <= 10; ++i) ten.push_back(i);
    CHECK(error_figures::of(ten).p90 == doctest::Approx(9));
    CHECK(error_figures::of(ten).median == doctest::Approx(5.5));
    for (std::size_t i = 1; i < size_bands.size(); ++i) CHECK(size_bands[i].from == size_bands[i - 1].to);
  }

  TEST_CASE("a calibrated model is far better on sizes that it did not see, also with noise") {
    const auto result = calibrate(alpha_beta(), campaign(campaign_groups, 0.05));
    for (std::size_t i = 0; i < size_bands.size(); ++i) {
      CAPTURE(std::string(size_bands[i].name));
      CHECK(result.held_out[i].count > 0);
      CHECK(result.held_out[i].median < 5);
      CHECK(result.held_out[i].p90 < 12);
      CHECK(result.held_out[i].median < result.before[i].median / 2);
    }
    CHECK(result.model.estimate(collective::all_gather, mebibytes(16), {8, 1}).quality == estimate_quality::measured);
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
    device_calibration device{"m", "h100", "test", small, {}, {}};
    const auto a = device.correct(alpha_beta());
    const residual b(alpha_beta(), log);
    for (const auto& m : log)
      CHECK(a.estimate(m.kind, m.size, m.group).time_us ==
            doctest::Approx(b.estimate(m.kind, m.size, m.group).time_us));
    CHECK(device.compute_on(find_device("h100")).memory_time(bytes(0)) == 7);
  }
}

TEST_SUITE("device_presets") {
  TEST_CASE("every preset says where its figures come from and keeps the promises of a model") {
    CHECK(device_presets().size() == 7);
    for (const device_preset& preset : device_presets()) {
      CAPTURE(std::string(preset.profile.name));
      CHECK(&find_preset(preset.profile.name) == &preset);
      CHECK_FALSE(preset.source_of_peaks.empty());
      CHECK_FALSE(preset.source_of_links.empty());
      CHECK_FALSE(preset.source_of_lines.empty());
      CHECK_FALSE(preset.source_of_shares.empty());
      CHECK(preset.processors > 100);
      keeps_promises(preset.collectives(), {{2, 1}, {4, 1}, {6, 1}, {8, 1}, {8, 2}, {8, 16384}, {72, 1}});
      for (const std::int64_t size : {1LL << 10, 1LL << 20, 1LL << 30})
        for (const group_shape group : asked_groups)
          CHECK(preset.collectives().estimate(collective::all_reduce, bytes(size), group).time_us >=
                preset.collectives().estimate(collective::reduce_scatter, bytes(size), group).time_us);
      const compute_profile compute = preset.compute();
      const double at_peak = 1.073741824e15 / preset.profile.memory_bandwidth;
      CHECK(compute.memory_time(gibibytes(1)) > at_peak);
      CHECK(compute.memory_time(gibibytes(1)) < at_peak / 0.8);  // all were measured to do better than that
      CHECK(compute.compute_time({1, gibibytes(1), arithmetic::f32}) ==
            doctest::Approx(at_peak / 0.7));  // but products' own bound
      CHECK(preset.contention().processors == preset.processors);
    }
    CHECK(find_preset("GB200").profile.devices_per_node == 72);
    CHECK_THROWS_WITH_AS(find_preset("abacus"),
                         "no preset is called 'abacus'; known are a100, a100-40gb, h100, h100-96gb, h200, b200, gb200",
                         error);
  }

  TEST_CASE("a preset is near what was published of its machine") {
    // 8 GiB all-reduce on 8 ranks: 473.1 GB/s of bus bandwidth on H200, 840 on B200-class nodes (nccl-tests peaks)
    const auto bus = [](const char* name) {
      const double us = find_preset(name).collectives().estimate(collective::all_reduce, gibibytes(8), {8, 1}).time_us;
      return static_cast<double>(gibibytes(8).count()) / us / 1e3 * 14 / 8;
    };
    CHECK(bus("h200") > 0.8 * 473.1);
    CHECK(bus("h200") < 1.1 * 473.1);
    CHECK(bus("a100") > 0.8 * 240);
    CHECK(bus("a100") < 1.1 * 240);
  }
}

}  // namespace calibration_tests
