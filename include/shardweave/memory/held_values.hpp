#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// \file
/// Memory that the vertices of a training graph hold between its forward and its backward part, and the cost of
/// recomputing it: for every placement, without lowering it.

namespace shardweave::inline v0 {

/// One form of a value that is held, such as before or after a redistribution.
struct held_form {
  std::uint32_t vertex = 0;
  std::vector<double> bytes = {};  ///< by strategy of the vertex: the least that the readers of the value can do with
};

/// The bytes of forms under an assignment, added up.
template <class Choice>
[[nodiscard]] double bytes_of(const std::vector<held_form>& forms, const Choice& choice) {
  double sum = 0;
  for (const held_form& form : forms) sum += form.bytes[choice[form.vertex]];
  return sum;
}

/// A value that the backward part reads, or from which such a value can be recomputed.
struct held_value {
  std::string name = {};
  std::vector<held_form> forms = {};  ///< it may be kept in any one of these
  /// The vertex that makes it, and the time of recomputing it, by strategy of that vertex; empty: it cannot be
  /// recomputed.
  std::uint32_t maker = 0;
  std::vector<double> again = {};
  std::vector<std::uint32_t> from = {};  ///< earlier values, which must be available for recomputation
  bool is_read = false;                  ///< by the backward part
  /// Its maker, and those of its equals (`count`), where they need not run before `held_values::moment`: then
  /// recomputing it means to make it only after the moment, at no extra time, and this time is known to be needed after
  /// the moment.
  std::vector<std::uint32_t> late = {};
  /// The number of values that it stands for: all placed alike, with equal forms and times, and each with its own
  /// choice.
  double count = 1;
};

/// Memory of a device at one moment: while vertex `moment` runs, which comes after the maker and before every reader of
/// each value. Recomputation runs after that moment.
///
/// Values of equal `count` that depend on one another (one is recomputed from the other) stand for as many groups of
/// values: one choice for the group is possible in each of them.
struct held_values {
  std::uint32_t moment = 0;
  std::vector<held_form> always = {};  ///< parameters, inputs, constants
  /// What `moment` itself reads and writes, each in the form that it uses; not among `values`.
  std::vector<held_form> at_work = {};
  std::vector<held_form> beside = {};  ///< memory that no timeline sees: state of the optimizer
  std::vector<held_value> values = {};
  std::vector<std::uint32_t> block_of = {};  ///< per vertex: its repeated layer; ~0 = in none
};

}  // namespace shardweave::inline v0
