#pragma once

#include <shardweave/core/error.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

/// \file
/// The fewest of many demands that already contradict each other.

namespace shardweave::inline v0 {

/// Says whether the demands with these numbers, in growing order, can hold together.
template <class F>
concept feasibility_question = std::predicate<F&, std::span<const std::size_t>>;

namespace detail {

/// A set of least size that meets every one of `sets`: by depth, the first set that is not met yet branching.
inline bool extend_hitting_set(const std::vector<std::vector<std::size_t>>& sets, std::size_t size,
                               std::vector<std::size_t>& chosen) {
  const auto open = std::ranges::find_if(sets, [&](const auto& set) {
    return std::ranges::none_of(set, [&](std::size_t i) { return std::ranges::find(chosen, i) != chosen.end(); });
  });
  if (open == sets.end()) return true;
  if (chosen.size() == size) return false;
  for (const std::size_t i : *open) {
    chosen.push_back(i);
    if (extend_hitting_set(sets, size, chosen)) return true;
    chosen.pop_back();
  }
  return false;
}

}  // namespace detail

/// The smallest subset of demands 0, 1, ... count - 1 that cannot hold; empty if all hold together.
///
/// A set of demands that hold together and to which none can be added leaves out some of every conflict. So a conflict
/// meets what each of them leaves out; the smallest set that does so for those known is either a conflict, then there
/// is none smaller, or grows to a new one.
/// Source: Ignatiev, Previti, Liffiton, Marques-Silva: Smallest MUS extraction with minimal hitting set dualization,
/// 2015.
///
/// \pre fewer demands never contradict each other where more do not
/// \throws error if the demands contradict each other even when none is made
/// Complexity: up to `count` questions per set that is found, of which there may be exponentially many
template <feasibility_question F>
[[nodiscard]] std::vector<std::size_t> smallest_conflict(std::size_t count, F&& holds) {
  std::vector<std::size_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = i;
  if (holds(std::span<const std::size_t>(all))) return {};
  std::vector<std::vector<std::size_t>> left_out;
  std::vector<std::size_t> candidate;
  for (std::size_t size = 0;;) {
    candidate.clear();
    while (!detail::extend_hitting_set(left_out, size, candidate)) ++size;
    std::ranges::sort(candidate);
    if (!holds(std::span<const std::size_t>(candidate))) break;
    std::vector<std::size_t> grown = candidate;
    std::vector<std::size_t> rest;
    for (const std::size_t i : all) {
      if (std::ranges::binary_search(grown, i)) continue;
      std::vector<std::size_t> more = grown;
      more.insert(std::ranges::upper_bound(more, i), i);
      if (holds(std::span<const std::size_t>(more)))
        grown = std::move(more);
      else
        rest.push_back(i);
    }
    left_out.push_back(std::move(rest));
  }
  if (candidate.empty())
    refuse(error_category::constraint,
           "there is no assignment even without any of the " + std::to_string(count) + " demands");
  return candidate;
}

/// Says what a question lacks.
template <class F>
std::vector<std::size_t> smallest_conflict(std::size_t, F&&) {
  static_assert(feasibility_question<F>,
                "What smallest_conflict asks must be called with the numbers of some demands, a span of const size_t, "
                "and say whether they hold together (shardweave::feasibility_question).");
  return {};
}

}  // namespace shardweave::inline v0
