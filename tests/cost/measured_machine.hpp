#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/measurement.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

/// Measurements of a machine that no model describes, and what every model promises.
namespace measured_machine {

using namespace shardweave;

inline constexpr std::array calibrated_kinds{collective::all_gather, collective::reduce_scatter, collective::all_reduce,
                                             collective::all_to_all};

/// A machine that nothing else describes: a latency, a bandwidth and a ramp per collective and group.
inline double true_time(collective kind, double size, group_shape group) {
  const double n = static_cast<double>(group.ranks());
  const double rounds = kind == collective::all_reduce ? 2 : 1;
  const double bandwidth = group.nodes == 1 ? 350 : 180;
  return 12 + 2 * rounds * std::log2(n) +
         rounds * (n - 1) / n * size / (1e3 * bandwidth) * (1 + std::sqrt(2e7 / (size + 1)));
}

inline std::vector<collective_measurement> campaign(const std::vector<group_shape>& groups, double noise,
                                                    int step = 1) {
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

inline const std::vector<group_shape> campaign_groups{{2, 1}, {4, 1}, {8, 1}, {8, 2}, {8, 4}};

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

inline const std::vector<group_shape> asked_groups{{2, 1}, {3, 1}, {6, 1},     {8, 1}, {8, 2},
                                                   {8, 3}, {8, 8}, {8, 16384}, {4, 2}, {1, 8}};

}  // namespace measured_machine
