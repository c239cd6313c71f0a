#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/cost/collective_cost.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>

/// What every model of collectives promises.
namespace cost_promises {

using namespace shardweave;

inline constexpr std::array kinds{collective::all_gather, collective::reduce_scatter, collective::all_reduce,
                                  collective::all_to_all, collective::shift};

inline void check_promises(const auto& model) {
  for (const collective kind : kinds) {
    CHECK(model.estimate(kind, bytes(1 << 20), {1, 1}).time_us == 0);
    for (const group_shape group : {group_shape{2, 1}, {3, 1}, {8, 1}, {1, 2}, {8, 2}, {4, 16}, {8, 32}}) {
      double last = 0;
      for (int power = 0; power < 34; ++power) {
        const collective_estimate e = model.estimate(kind, bytes(std::int64_t{1} << power), group);
        CHECK(e.time_us > 0);
        CHECK(e.time_us >= last);
        CHECK(e.time_us == doctest::Approx(e.latency_us + e.bandwidth_us));
        last = e.time_us;
      }
    }
  }
}

}  // namespace cost_promises
