#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective.hpp>

#include <concepts>
#include <cstdint>
#include <string_view>

/// \file
/// What a collective costs: the question, the answer, and the concept of who answers.

namespace shardweave::inline v0 {

/// How the ranks of a process group lie on nodes: the same number on each.
struct group_shape {
  std::int64_t ranks_per_node = 1;
  std::int64_t nodes = 1;

  [[nodiscard]] constexpr std::int64_t ranks() const { return ranks_per_node * nodes; }
  friend bool operator==(const group_shape&, const group_shape&) = default;
};

/// Where an estimate comes from, best last.
enum class estimate_quality : std::uint8_t {
  formula,       ///< a closed form with published or assumed constants
  extrapolated,  ///< from measurements of this machine, beyond the measured sizes or groups
  fitted,        ///< constants fitted to measurements of this kind of machine
  measured       ///< interpolated between measurements of this machine
};

/// The predicted time of one collective, in microseconds. `time_us` is what counts; the two parts say what
/// it is made of and need not add up to it where a model takes a maximum.
struct collective_estimate {
  double time_us = 0;
  double latency_us = 0;            ///< part that does not grow with the size
  double bandwidth_us = 0;          ///< part that does
  int channels = 0;                 ///< thread blocks that the collective occupies; 0 = not known
  std::string_view algorithm = {};  ///< for example "ring"; refers to static text
  std::string_view protocol = {};
  estimate_quality quality = estimate_quality::formula;
};

/// Estimates collectives: `estimate(kind, size, group)`.
///
/// The compiler checks the call; it is asked for `priced_collectives` only, and promises that
///  - `size` is what the largest of the two buffers of a rank holds: of an all-gather what a rank has
///    afterwards, of a reduce-scatter what it has before, of the others what a rank has before and after;
///  - `time_us` is finite and not negative, and 0 for a group of one rank;
///  - equal arguments give equal results, and several threads may ask at once.
template <class M>
concept collective_cost_model = requires(const M& model, collective kind, bytes size, group_shape group) {
  { model.estimate(kind, size, group) } -> std::same_as<collective_estimate>;
};

/// The size of an all-to-all with which each rank sends as much to others as with a shift of this size: what a shift is
/// priced as where nothing else is known of it. \pre the group has two ranks at least
[[nodiscard]] constexpr bytes exchange_of_shift(bytes size, group_shape group) {
  return size + bytes(size.count() / (group.ranks() - 1));
}

namespace detail {
/// What a model that was given answers; a static assertion says so of anything else.
template <class M>
[[nodiscard]] collective_estimate estimate_by(const M& model, collective kind, bytes size, group_shape group) {
  static_assert(collective_cost_model<M>,
                "A cost model of collectives must have a const member estimate(collective, bytes, group_shape) that "
                "returns a collective_estimate (shardweave::collective_cost_model).");
  if constexpr (collective_cost_model<M>) return model.estimate(kind, size, group);
}
}  // namespace detail

}  // namespace shardweave::inline v0
