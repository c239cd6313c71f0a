#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <numeric>
#include <vector>

/// \file
/// Arc consistency of strategies that are left, over tables of costs by classes.

namespace shardweave::inline v0::detail {

/// Which classes of an end have a strategy that is left.
/// \param class_of  of a strategy
template <class ClassOf>
[[nodiscard]] std::vector<char> classes_left(std::size_t classes, const std::vector<char>& left, ClassOf class_of) {
  std::vector<char> there(classes);
  for (std::size_t s = 0; s < left.size(); ++s)
    if (left[s] != 0) there[class_of(s)] = 1;
  return there;
}

/// Removes strategies of the other end of a table without a partner. \returns whether there were any
/// \tparam Side  a table as one of its ends sees it: `own_classes`, `other_classes`, `own_class`, `other_class`,
/// `allows`
template <class Side>
bool keep_partners(const Side& t, const std::vector<char>& own, std::vector<char>& other) {
  const std::vector<char> there = classes_left(t.own_classes(), own, [&](std::size_t s) { return t.own_class(s); });
  std::vector<char> met(t.other_classes());
  for (std::size_t i = 0; i < there.size(); ++i)
    for (std::size_t j = 0; there[i] != 0 && j < met.size(); ++j)
      if (t.allows(i, j)) met[j] = 1;
  bool changed = false;
  for (std::size_t s = 0; s < other.size(); ++s)
    if (other[s] != 0 && met[t.other_class(s)] == 0) {
      other[s] = 0;
      changed = true;
    }
  return changed;
}

/// Whether no strategy of an unknown is left.
[[nodiscard]] inline bool none_left(const std::vector<char>& left) { return std::ranges::find(left, 1) == left.end(); }

/// Removes strategies without a partner over some pair, until every one has one.
/// \param pairs_of  per unknown, the numbers of its pairs
/// \param pairs     of unknowns, `first` and `second`
/// \param side      the table of a pair as its first or its second end sees it, which tells whether it `forbids`
/// \param changed   unknowns that lost some; empty: all
template <class Pairs, class SideOf>
void make_arc_consistent(const std::vector<std::vector<std::uint32_t>>& pairs_of, const Pairs& pairs, SideOf side,
                         std::vector<std::vector<char>>& left, const std::vector<std::uint32_t>& changed) {
  std::deque<std::uint32_t> open(changed.begin(), changed.end());
  if (changed.empty()) {
    open.resize(left.size());
    std::iota(open.begin(), open.end(), 0U);
  }
  std::vector<char> queued(left.size());
  for (const std::uint32_t x : open) queued[x] = 1;
  while (!open.empty()) {
    const std::uint32_t x = open.front();
    open.pop_front();
    queued[x] = 0;
    const bool is_gone = none_left(left[x]);
    for (const std::uint32_t p : pairs_of[x]) {
      const bool is_second = pairs[p].second == x;
      const std::uint32_t other = is_second ? pairs[p].first : pairs[p].second;
      const auto t = side(pairs[p], is_second);
      if (!t.forbids() && !is_gone) continue;
      if (keep_partners(t, left[x], left[other]) && queued[other] == 0) {
        queued[other] = 1;
        open.push_back(other);
      }
    }
  }
}

}  // namespace shardweave::inline v0::detail
