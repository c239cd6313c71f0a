#pragma once

#include <cstddef>

/// \file
/// Options of what makes proofs.

namespace shardweave::inline v0 {

/// Limits on the effort of a proof.
struct certify_options {
  std::size_t steps =
      16'000;  ///< of the ascent at the root, at most; with a limit of time a hundred a second, 1,000 at least
  std::size_t nodes = 10'000;  ///< subproblems, at most
  /// Sums that a dynamic program which settles a subproblem may look at, times costs that each has; 0: there is none.
  /// A checker takes a few tenths of a second for as many. Beyond a million it may look at no more than a tenth of the
  /// costs that all ascents before it looked at.
  std::size_t work = std::size_t{1} << 28;
};

}  // namespace shardweave::inline v0
