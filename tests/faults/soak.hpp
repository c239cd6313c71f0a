#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

/// \file
/// What the parts of the soak share: what was wrong, and what was looked at.

namespace soak {

/// The case that is looked at, as it is told of where something is wrong.
extern std::string about;
/// Tells of what does not hold, and counts it.
void expect(bool holds, const std::string& what);

/// What was looked at of whole steps.
struct step_figures {
  std::size_t models = 0;       ///< planned
  std::size_t unplaceable = 0;  ///< with demands that no placement meets
  std::size_t answers = 0;      ///< of solvers
  std::size_t tried = 0;        ///< placements of which all were tried
  std::size_t ends = 0;         ///< timelines
  std::size_t copies = 0;       ///< graphs with copies to the host, of values drawn or chosen
  std::size_t pieces = 0;       ///< collectives that were cut into pieces
  std::size_t choices = 0;      ///< of what is kept, copied and made again
  std::size_t searches = 0;     ///< for the fastest plan
  std::size_t limited = 0;      ///< of them within a memory
  std::size_t fitted = 0;       ///< whose plans make values again
  std::size_t copied = 0;       ///< whose plans copy values to the host
  std::size_t proofs = 0;       ///< of bounds on the step
  double nearest = 0;           ///< bound over the earliest end seen, at most
};
extern step_figures of_steps;

/// A random model on a random mesh, from its graph to the fastest plan of it, without and within a memory.
void try_step(std::uint64_t seed);

}  // namespace soak
