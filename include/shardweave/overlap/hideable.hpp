#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/overlap/window.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <optional>
#include <ranges>
#include <string>
#include <type_traits>
#include <vector>

/// \file
/// Communication with an amount, and what is saved of it.

namespace shardweave::inline v0 {

namespace detail {
/// One question in place of three, so that a compiler gives one reason.
template <class T>
inline constexpr bool is_duration = std::same_as<T, nanoseconds> || std::signed_integral<T> || std::floating_point<T>;
}  // namespace detail

/// A length of time: exact (`nanoseconds`, or a signed integer of the caller's unit) or floating.
template <class T>
concept duration_value = detail::is_duration<T>;

/// Communication that computation inside `where` may hide.
template <class Time>
struct hideable {
  static_assert(duration_value<Time>,
                "A length of time must be nanoseconds, a signed whole number or a floating-point number "
                "(shardweave::duration_value).");
  window where;
  Time amount{};
  std::size_t channel = 0;  ///< 0, 1, ...: each channel may use all computation once
};

/// The outcome of `hide`: what is saved, and what it was paid with.
template <class Time>
struct savings {
  Time total{};              ///< sum of `hidden`, and of `spent`
  std::vector<Time> hidden;  ///< per communication, between 0 and its amount
  /// Per position, between 0 and its computation; with several channels the positions of channel 0, then those
  /// of channel 1, and so on.
  std::vector<Time> spent;
};

/// Communication of a demand that one position hides.
template <class Time>
struct hidden_piece {
  std::size_t demand = 0;
  std::size_t position = 0;
  Time amount{};
};

/// Demands for `hide` and its kin: a range of `hideable<Time>`.
template <class R, class Time>
concept hideable_range = std::ranges::random_access_range<R> && std::ranges::sized_range<R> &&
                         std::same_as<std::ranges::range_value_t<R>, hideable<Time>>;

/// Computation of the positions of an order.
template <class R>
concept computation_range =
    std::ranges::random_access_range<R> && std::ranges::sized_range<R> && duration_value<std::ranges::range_value_t<R>>;

/// The demands of edges in their places. `amount` is asked by the number of an edge; a place without an entry
/// is impossible, so demand i is place i.
/// Complexity: O(places)
template <std::ranges::input_range Places, std::invocable<std::size_t> Amount>
  requires std::same_as<std::ranges::range_value_t<Places>, hiding_place>
[[nodiscard]] auto demands_of(const Places& places, Amount amount) {
  using time = std::decay_t<std::invoke_result_t<Amount&, std::size_t>>;
  std::vector<hideable<time>> demands;
  for (const hiding_place& p : places) demands.push_back({p.where, amount(p.edge), p.channel});
  return demands;
}

namespace detail {

/// The time of computation; any for what is none, so that it is told once.
template <class Computation>
struct time_of {
  using type = double;
};
template <computation_range Computation>
struct time_of<Computation> {
  using type = std::ranges::range_value_t<Computation>;
};

/// Whether computation and demands that were given are such; a static assertion says so of anything else.
template <class Computation, class Demands>
[[nodiscard]] consteval bool may_hide() {
  using time = typename time_of<Computation>::type;
  static_assert(computation_range<Computation>,
                "Computation must be a sized range with random access to lengths of time: nanoseconds, signed whole "
                "numbers or floating-point numbers (shardweave::computation_range).");
  static_assert(hideable_range<Demands, time> || !computation_range<Computation>,
                "Demands must be a sized range with random access to hideable<Time>, in the computation's type of time "
                "(shardweave::hideable_range).");
  return computation_range<Computation> && hideable_range<Demands, time>;
}

/// The window inside `positions`, with nothing left out unless it must be; empty if nothing remains.
inline std::optional<window> normalized(window w, std::size_t positions, std::size_t index) {
  if (positions == 0) return std::nullopt;
  w.last = std::min(w.last, positions - 1);
  if (w.except == w.first) ++w.first;
  if (w.first <= w.last && w.except == w.last) {
    if (w.last == 0) return std::nullopt;
    --w.last;
  }
  if (w.first > w.last) return std::nullopt;
  if (w.except <= w.first || w.except >= w.last) w.except = no_position;
  if (w.except != no_position && (w.first != 0 || w.last != positions - 1))
    refuse(error_category::input, "demand " + std::to_string(index) + " leaves position " + std::to_string(w.except) +
                                      " out of its window " + std::to_string(w.first) + " to " +
                                      std::to_string(w.last) + ", which is possible only for all " +
                                      std::to_string(positions) + " positions");
  return w;
}

template <class Time>
void refuse_unless_time(const Time& value, const char* what, std::size_t index) {
  if (!(value >= Time{}))
    refuse(error_category::input, std::string(what) + ' ' + std::to_string(index) + " is negative or not a number");
}

/// How many channels the demands speak of; at least one.
template <class Demands>
std::size_t channel_count(const Demands& demands) {
  std::size_t count = 1;
  for (const auto& d : demands) count = std::max(count, d.channel + 1);
  return count;
}

}  // namespace detail

}  // namespace shardweave::inline v0
