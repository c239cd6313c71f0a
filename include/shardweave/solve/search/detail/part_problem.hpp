#pragma once

#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/placement/restrict.hpp>
#include <shardweave/solve/bound/detail/ascent_memory.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Subproblems of a search, with savings, in terms of the root's variables and labels.

namespace shardweave::inline v0::detail {

/// A problem restricted to the labels that are left, without reductions; variables with one label are removed.
template <cost_value Cost>
struct part_problem {
  placement_problem<Cost> problem;          ///< on variables with two labels or more
  variable_origin origin;                   ///< its variables and labels as those of the root
  std::vector<std::vector<strategy>> kept;  ///< per variable of the root, the labels that are left

  [[nodiscard]] const compact_problem<Cost>& compact() const { return problem.compact(); }

  /// The unrestricted problem.
  [[nodiscard]] static part_problem whole(const placement_problem<Cost>& given) {
    part_problem all{given, origin_of(given.compact()), {}};
    for (const auto& [x, labels] : all.origin) all.kept.push_back(labels);
    return all;
  }

  /// The restriction to allowed labels of the root; nothing if no labeling is feasible.
  [[nodiscard]] std::optional<part_problem> with(const compact_problem<Cost>& root,
                                                 std::span<const char> allowed) const {
    const compact_problem<Cost>& p = compact();
    restriction<Cost> left(p);
    for (std::uint32_t x = 0; x < p.size(); ++x)
      for (strategy l = 0; l < p.label_count(x); ++l)
        if (allowed[root.label_start(origin[x].first) + origin[x].second[l]] == 0) left.forbid(x, l);
    auto rest = left.with_savings(problem).build();
    if (!rest) return std::nullopt;
    part_problem result{std::move(rest->problem), {}, kept};
    for (std::uint32_t x = 0; x < p.size(); ++x) {
      std::vector<strategy>& of_root = result.kept[origin[x].first];
      of_root.clear();
      for (const strategy l : rest->kept[x]) of_root.push_back(origin[x].second[l]);
    }
    for (const std::uint32_t x : rest->open) result.origin.emplace_back(origin[x].first, result.kept[origin[x].first]);
    return result;
  }

  /// The labeling of the root.
  [[nodiscard]] std::vector<strategy> lift(std::span<const strategy> labels) const {
    std::vector<strategy> of_root(kept.size());
    for (std::size_t x = 0; x < kept.size(); ++x) of_root[x] = kept[x].front();
    for (std::size_t x = 0; x < labels.size(); ++x) of_root[origin[x].first] = origin[x].second[labels[x]];
    return of_root;
  }
};

}  // namespace shardweave::inline v0::detail
