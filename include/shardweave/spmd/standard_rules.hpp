#pragma once

#include <shardweave/spmd/rules.hpp>
#include <shardweave/spmd/rules/pointwise.hpp>

/// \file
/// The operators for which the library knows what to do.

namespace shardweave::inline v0 {

/// A table with the operators of transformer training graphs. Its strategies are those that PyTorch's
/// DTensor offers, but for an embedding cut by rows, whose indices are whole here (a partial result cannot be
/// made from whole indices, so that upstream can never choose it).
[[nodiscard]] rule_table standard_rules();

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/spmd/impl/standard_rules.hpp>
#endif
