#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/measurement.hpp>

#include <cstdint>

/// A measurement in short, and a model of one line.
namespace flat_prices {

using namespace shardweave;

inline collective_measurement measured(collective kind, group_shape group, std::int64_t size, double us) {
  return {kind, group, bytes(size), us};
}

struct flat_price {
  double us = 10;
  [[nodiscard]] collective_estimate estimate(collective, bytes size, group_shape group) const {
    collective_estimate e;
    if (group.ranks() == 1) return e;
    e.latency_us = us;
    e.bandwidth_us = static_cast<double>(size.count()) / 1e5;
    e.time_us = e.latency_us + e.bandwidth_us;
    return e;
  }
};

}  // namespace flat_prices
