#pragma once

#include <shardweave/spmd/rules.hpp>
#include <shardweave/spmd/rules/pointwise.hpp>

/// \file
/// The operators for which the library knows what to do.

namespace shardweave::inline v0 {

/// What may be said of operators beyond what always holds.
struct standard_rule_options {
  /// Attention may be cut by positions, too, as context parallelism does: see `attention_rule`. What long sequences of
  /// few batches need.
  bool attention_by_positions = false;
  /// The same without keys and values that are whole anywhere: parts of them go round, see `block_ring`.
  bool attention_in_rings = false;
  /// Share of attention's products that is computed, in (0, 1]: a half where kernels skip what the mask hides.
  double causal = 1;
};

/// A table with the operators of transformer training graphs. Its strategies are those that PyTorch's DTensor offers,
/// but for what the options say, and for an embedding whose table is cut by rows: its indices are whole here. DTensor
/// asks for partial indices there, and as no redistribution makes a partial value, that strategy could never be chosen.
[[nodiscard]] rule_table standard_rules(const standard_rule_options& options = {});

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/spmd/impl/standard_rules.hpp>
#endif
