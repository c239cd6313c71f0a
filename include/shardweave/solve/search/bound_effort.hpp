#pragma once

#include <cstddef>

/// \file
/// How hard a guided search works for its lower bound.

namespace shardweave::inline v0 {

/// Limits on the ascent of the bound in `guided_search`, on the removal of labels that no better assignment has
/// (reduced-cost fixing), and on what is left of the problem for branch and bound.
struct bound_effort {
  std::size_t most_steps = 3000;    ///< of the ascent in all; ignored with a time limit
  std::size_t decode_every = 50;    ///< steps between two decodings to an assignment; 0: only at the end
  double worthwhile = 0.02;         ///< share of labels that a round of removal must remove for another one
  std::size_t closing_steps = 500;  ///< of the ascent after such a round
  /// Once labels were removed, an ascent ends when `decode_every` steps close less than this share of the gap: then the
  /// time is better spent on dives.
  double least_gain = 1e-3;
  double closing_share = 0.4;        ///< share of the time that the removal of labels may take
  std::size_t small_labels = 10000;  ///< problems of at most so many labels are solved by branch and bound
};

}  // namespace shardweave::inline v0
