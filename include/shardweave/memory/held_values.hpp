#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// \file
/// What the vertices of a training graph hold in memory between its forward and its backward part, and what making it
/// again takes: known for every placement before anything is lowered.

namespace shardweave::inline v0 {

/// A form in which a vertex gives something that is held.
struct held_form {
  std::uint32_t vertex = 0;
  std::vector<double> bytes = {};  ///< per strategy of the vertex, the least that whoever reads it can do with
};

/// The sum of what forms hold under an assignment.
template <class Choice>
[[nodiscard]] double bytes_of(const std::vector<held_form>& forms, const Choice& choice) {
  double sum = 0;
  for (const held_form& form : forms) sum += form.bytes[choice[form.vertex]];
  return sum;
}

/// A value that the backward part reads, or from which one that it reads can be made again.
struct held_value {
  std::string name = {};
  std::vector<held_form> forms = {};  ///< it is kept in one of these
  /// The vertex that makes it, and what that takes once more under each strategy; none: it is not made again.
  std::uint32_t maker = 0;
  std::vector<double> again = {};
  std::vector<std::uint32_t> from = {};  ///< earlier values, which must be there if it is made again
  bool is_read = false;                  ///< by the backward part
  /// Its maker, and those of the values like it, where they need not run before the moment: then making it `again` is
  /// making it after the moment, which takes no more time, and is a part of what is known to run then.
  std::vector<std::uint32_t> late = {};
  /// So many values are like this one: placed alike, and of equal forms and times, each with a choice of its own.
  double count = 1;
};

/// Everything that a device holds at one moment: while vertex `moment` runs, before which the maker of every value has
/// run, and after which every reader runs. What is made again is so after that moment.
///
/// Values of equal `count` that belong together (one makes the other again) are like their counterparts all together:
/// the same may be chosen for each of such a group.
struct held_values {
  std::uint32_t moment = 0;
  std::vector<held_form> always = {};  ///< parameters, inputs, constants
  /// What `moment` itself reads and gives, each in the form in which it does; none of `values`.
  std::vector<held_form> at_work = {};
  std::vector<held_form> beside = {};  ///< not seen by a timeline: state of the optimizer
  std::vector<held_value> values = {};
  std::vector<std::uint32_t> block_of = {};  ///< per vertex: its repeated layer; ~0 = in none
};

}  // namespace shardweave::inline v0
