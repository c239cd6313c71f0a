#pragma once

#include <cstddef>

/// \file
/// Options of what makes proofs.

namespace shardweave::inline v0 {

/// Limits on the effort of a proof.
struct certify_options {
  /// Most steps of the ascent at the root; with a time limit of t seconds no more than max(1,000, 100 t) of them.
  std::size_t steps = 16'000;
  std::size_t nodes = 10'000;  ///< subproblems, at most
  /// Limit on the work of a dynamic program that closes a subproblem, as in `dynamic_program`; 0: none is tried. A
  /// checker takes a few tenths of a second for the default. Above 2^20 it is also limited to a tenth of the costs that
  /// all ascents so far have looked at.
  std::size_t work = std::size_t{1} << 28;
};

}  // namespace shardweave::inline v0
