#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/cost/collective_cost.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <utility>

/// \file
/// Any model of collectives behind one type.

namespace shardweave::inline v0 {

/// A model of collectives whose type is forgotten, so that what is built on it is compiled once. Any
/// `collective_cost_model` converts to it and answers as before; copies share it.
class any_collectives {
 public:
  /// Complexity: one allocation
  template <class Model>
    requires(!std::same_as<Model, any_collectives>)
  any_collectives(Model model)  // NOLINT(google-explicit-constructor): a model is passed where one is expected
      : ask_([kept = std::make_shared<const Model>(std::move(model))](collective kind, bytes size, group_shape group) {
          return detail::estimate_by(*kept, kind, size, group);
        }) {}

  [[nodiscard]] collective_estimate estimate(collective kind, bytes size, group_shape group) const {
    return ask_(kind, size, group);
  }

 private:
  std::function<collective_estimate(collective, bytes, group_shape)> ask_;
};

static_assert(collective_cost_model<any_collectives>);

}  // namespace shardweave::inline v0
