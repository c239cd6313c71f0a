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
};

}  // namespace shardweave::inline v0
