#pragma once

#include <shardweave/core/interning.hpp>
#include <shardweave/placement/cost.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

/// \file
/// Which classes of a table are in use, and which of its rows and columns are equal.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// A cost as a number; equal costs have equal ones.
template <cost_value Cost>
[[nodiscard]] std::size_t bits_of_cost(Cost c) {
  if constexpr (sizeof(Cost) == sizeof(std::uint64_t)) {
    if (c == Cost{}) return 0;  // zero equals negative zero
    return static_cast<std::size_t>(std::bit_cast<std::uint64_t>(c));
  } else {
    return std::hash<Cost>{}(c);
  }
}

/// Four running hashes, so that none waits for the one before.
/// \param at  gives cost k of `count`
template <class At>
[[nodiscard]] std::size_t hash_of_costs(std::size_t count, At at) {
  std::size_t lanes[4] = {count, 1, 2, 3};
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4)
    for (std::size_t lane = 0; lane < 4; ++lane) lanes[lane] = hash_combine(lanes[lane], bits_of_cost(at(i + lane)));
  for (; i < count; ++i) lanes[0] = hash_combine(lanes[0], bits_of_cost(at(i)));
  return hash_combine(hash_combine(lanes[0], lanes[1]), hash_combine(lanes[2], lanes[3]));
}

/// Renumbers the classes in use in the order in which they first come, and lists which they are.
inline std::vector<std::uint32_t> number_used(std::vector<std::uint32_t>& classes, std::size_t count) {
  constexpr std::uint32_t absent = ~0U;
  std::vector<std::uint32_t> number(count, absent), kept;
  for (std::uint32_t& c : classes) {
    if (number[c] == absent) {
      number[c] = static_cast<std::uint32_t>(kept.size());
      kept.push_back(c);
    }
    c = number[c];
  }
  return kept;
}

/// Lines of a matrix, told apart by what they hold.
struct distinct_lines {
  std::vector<std::uint32_t> first;      ///< the first line of each kind, ascending
  std::vector<std::uint32_t> number_of;  ///< per line: its kind
};

/// \param hashes  one per line; lines with equal hashes are compared in full
/// \param at      gives entry j of line i
template <class At>
[[nodiscard]] distinct_lines equal_lines(std::span<const std::size_t> hashes, std::size_t length, At at) {
  std::unordered_multimap<std::size_t, std::uint32_t> by_hash;
  distinct_lines result;
  result.number_of.resize(hashes.size());
  for (std::uint32_t i = 0; i < hashes.size(); ++i) {
    const auto [begin, end] = by_hash.equal_range(hashes[i]);
    const auto same = std::find_if(begin, end, [&](const auto& known) {
      const std::uint32_t other = result.first[known.second];
      for (std::size_t j = 0; j < length; ++j)
        if (at(i, j) != at(other, j)) return false;
      return true;
    });
    if (same != end) {
      result.number_of[i] = same->second;
    } else {
      result.number_of[i] = static_cast<std::uint32_t>(result.first.size());
      by_hash.emplace(hashes[i], result.number_of[i]);
      result.first.push_back(i);
    }
  }
  return result;
}

/// The rows of a matrix, and the columns as they differ in those rows.
/// \param costs  row-major, `stride` entries a row, of which `columns` count
template <cost_value Cost>
[[nodiscard]] std::pair<distinct_lines, distinct_lines> distinct_rows_and_columns(std::span<const Cost> costs,
                                                                                  std::size_t rows, std::size_t columns,
                                                                                  std::size_t stride) {
  std::vector<std::size_t> row_hash(rows);
  for (std::size_t i = 0; i < rows; ++i)
    row_hash[i] = hash_of_costs(columns, [row = costs.data() + i * stride](std::size_t j) { return row[j]; });
  distinct_lines of_rows = equal_lines(
      row_hash, columns, [&](std::size_t i, std::size_t j) -> const Cost& { return costs[i * stride + j]; });
  std::vector<std::size_t> column_hash(columns);  // all at once: memory is read in its order
  for (const std::uint32_t i : of_rows.first)
    for (std::size_t j = 0; j < columns; ++j)
      column_hash[j] = hash_combine(column_hash[j], bits_of_cost(costs[i * stride + j]));
  distinct_lines of_columns =
      equal_lines(column_hash, of_rows.first.size(),
                  [&](std::size_t j, std::size_t i) -> const Cost& { return costs[of_rows.first[i] * stride + j]; });
  return {std::move(of_rows), std::move(of_columns)};
}

}  // namespace detail
}  // namespace v0
}  // namespace shardweave
