#pragma once

#include <shardweave/spmd/computation.hpp>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

/// \file
/// Points at which a value may change its placement on its own.

namespace shardweave::inline v0 {

/// Inserts one "alias" after every value that two or more operations use, and one before every result.
///
/// An operation has one placement, and so all its users would see the same; an alias of its own gives a
/// shared value, or a result, one more choice. Tuples have no alias, their elements do. The alias of a
/// shared value stands before its first user, that of a result directly after the operation it ends;
/// gradients and tangents are then those of the result's alias. Sites of aliases are equal where those of
/// their operations are.
/// \pre `plain` is in topological order; its "output" vertex, if there is one, is the last
/// Complexity: O(V + E)
[[nodiscard]] inline computation insert_aliases(const computation& plain) {
  constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  constexpr std::uint64_t shared_mark = std::uint64_t{1} << 30U;
  constexpr std::uint64_t result_mark = std::uint64_t{1} << 31U;
  const std::size_t n = plain.operations.size();

  std::vector<std::uint32_t> users(n);  // distinct operations, as a value may be two arguments of one
  std::vector<std::uint32_t> last_user(n, none);
  for (std::uint32_t v = 0; v < n; ++v)
    for (const std::uint32_t input : plain.operations[v].inputs)
      if (std::exchange(last_user[input], v) != v) ++users[input];
  std::vector<bool> is_result(n);
  for (const std::uint32_t v : plain.results) is_result[v] = true;

  computation made;
  made.name = plain.name;
  std::vector<std::uint32_t> moved(n, none);  // where an operation went
  std::vector<std::uint32_t> seen(n, none);   // what its users take: itself or its alias
  std::vector<std::uint32_t> returned(n, none);
  const auto alias_of = [&](std::uint32_t v, std::uint32_t input, const char* suffix, std::uint64_t mark) {
    const operation& base = plain.operations[v];
    operation alias = base;
    if (!base.name.empty()) alias.name = base.name + suffix;
    alias.op = "alias";
    alias.kind = role::none;
    alias.inputs = {input};
    alias.with = {};
    alias.site = base.site == 0 ? 0 : base.site | mark;
    made.operations.push_back(std::move(alias));
    return static_cast<std::uint32_t>(made.operations.size() - 1);
  };
  const auto taken = [&](std::uint32_t v) {
    if (seen[v] == none)
      seen[v] = users[v] >= 2 && plain.operations[v].outputs.size() == 1 ? alias_of(v, moved[v], ".shared", shared_mark)
                                                                         : moved[v];
    return seen[v];
  };

  for (std::uint32_t v = 0; v < n; ++v) {
    operation op = plain.operations[v];
    const bool ends = op.op == "output";
    for (std::uint32_t& input : op.inputs) input = ends ? returned[input] : taken(input);
    moved[v] = static_cast<std::uint32_t>(made.operations.size());
    made.operations.push_back(std::move(op));
    if (is_result[v]) returned[v] = alias_of(v, taken(v), ".result", result_mark);
  }

  const auto result_of = [&](std::uint32_t v) { return is_result[v] ? returned[v] : moved[v]; };
  for (const auto& [of, gradient] : plain.gradient_of) made.gradient_of.emplace_back(moved[of], result_of(gradient));
  for (const auto& [of, tangent] : plain.tangent_of) made.tangent_of.emplace_back(result_of(of), moved[tangent]);
  for (const std::uint32_t v : plain.results) made.results.push_back(returned[v]);
  return made;
}

}  // namespace shardweave::inline v0
