#pragma once

#include <shardweave/models/backward_pass.hpp>
#include <shardweave/models/detail/pointwise_backward.hpp>
#include <shardweave/models/detail/product_backward.hpp>
#include <shardweave/models/detail/shape_backward.hpp>

/// \file
/// The operators that the library knows how to differentiate.

namespace shardweave::inline v0 {

/// A table with the operators that `graph_builder` writes of a forward pass, but for the histogram, which counts whole
/// numbers. Other operators of `standard_rules` (gelu, scatter, and what captured graphs have, which come with their
/// gradients: convolutions, rows picked by lists of numbers, products along a dimension, ...) have no rule here.
/// Gradients are written with operators that have placement rules. An extremum over a dimension shares its gradient
/// evenly between equal elements; of two equal values the first gets it. Choices (the numbers that "topk" gives) have
/// no gradient, and neither has a loss by its classes.
[[nodiscard]] inline backward_rules standard_backward_rules() {
  backward_rules rules;
  for (const auto& [op, rule] : detail::pointwise_backward_rules) rules.add(op, rule);
  for (const auto& [op, rule] : detail::shape_backward_rules) rules.add(op, rule);
  for (const auto& [op, rule] : detail::product_backward_rules) rules.add(op, rule);
  return rules;
}

}  // namespace shardweave::inline v0
