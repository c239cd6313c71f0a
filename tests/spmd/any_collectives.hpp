#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective_cost.hpp>

#include <functional>
#include <utility>

/// Any collective cost model behind one type, so that what is built on it is compiled once.
struct any_collectives {
  std::function<shardweave::collective_estimate(shardweave::collective, shardweave::bytes, shardweave::group_shape)>
      ask;

  template <shardweave::collective_cost_model Model>
  [[nodiscard]] static any_collectives of(Model model) {
    return {[model = std::move(model)](auto kind, auto size, auto group) { return model.estimate(kind, size, group); }};
  }
  [[nodiscard]] shardweave::collective_estimate estimate(shardweave::collective kind, shardweave::bytes size,
                                                         shardweave::group_shape group) const {
    return ask(kind, size, group);
  }
};
