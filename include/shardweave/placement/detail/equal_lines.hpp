#pragma once

#include <shardweave/core/interning.hpp>
#include <shardweave/placement/cost.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Classes of a table that are used, and equal rows and columns.

namespace shardweave::inline v0::detail {

/// The bits of a cost, equal for equal costs.
template <cost_value Cost>
[[nodiscard]] std::size_t bits_of_cost(Cost c) {
  if constexpr (sizeof(Cost) == sizeof(std::uint64_t)) {
    if (c == Cost{}) return 0;  // zero equals negative zero
    return static_cast<std::size_t>(std::bit_cast<std::uint64_t>(c));
  } else {
    return std::hash<Cost>{}(c);
  }
}

/// \param at  gives cost k of `count`
template <class At>
[[nodiscard]] std::size_t hash_of_costs(std::size_t count, At at) {
  return hash_in_order(count, [&](std::size_t k) { return bits_of_cost(at(k)); });
}

/// Renumbers the classes that are used in the order of first occurrence, and lists them.
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

/// Numbers the pairs of classes that occur in the order of first occurrence, and lists them.
/// \param joint  receives the number of each pair
/// Complexity: linear, times the number of classes that occur with one class of the side with more classes
[[nodiscard]] inline std::vector<std::pair<std::uint32_t, std::uint32_t>> pair_up(std::span<const std::uint32_t> x,
                                                                                  std::size_t x_classes,
                                                                                  std::span<const std::uint32_t> y,
                                                                                  std::size_t y_classes,
                                                                                  std::vector<std::uint32_t>& joint) {
  constexpr std::uint32_t absent = ~0U;
  const bool by_x = x_classes >= y_classes;
  // pairs of a class, as a linked list
  std::vector<std::uint32_t> latest(std::max(x_classes, y_classes), absent), before;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  before.reserve(latest.size());
  pairs.reserve(latest.size());
  joint.resize(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::pair pair(x[i], y[i]);
    std::uint32_t& last = latest[by_x ? x[i] : y[i]];
    std::uint32_t number = last;
    while (number != absent && pairs[number] != pair) number = before[number];
    if (number == absent) {
      number = static_cast<std::uint32_t>(pairs.size());
      pairs.push_back(pair);
      before.push_back(std::exchange(last, number));
    }
    joint[i] = number;
  }
  return pairs;
}

/// Rows or columns of a matrix, grouped by content.
struct distinct_lines {
  std::vector<std::uint32_t> first;      ///< the first line of each kind, ascending
  std::vector<std::uint32_t> number_of;  ///< per line: its kind
};

/// \param hashes  one per line; lines with equal hashes are compared in full
/// \param same    `same(i, j)`: whether lines i and j are equal
template <class Same>
[[nodiscard]] distinct_lines equal_lines(std::span<const std::size_t> hashes, const Same& same) {
  constexpr std::uint32_t absent = ~0U;
  std::vector<std::uint32_t> by_hash(std::bit_ceil(2 * hashes.size()), absent);  // open addressing: kinds by hash
  distinct_lines result;
  result.number_of.resize(hashes.size());
  const auto is_of = [&](std::uint32_t i, std::uint32_t kind) {
    const std::uint32_t other = result.first[kind];
    return hashes[i] == hashes[other] && same(i, other);
  };
  for (std::uint32_t i = 0; i < hashes.size(); ++i) {
    std::size_t slot = hashes[i] % by_hash.size();
    while (by_hash[slot] != absent && !is_of(i, by_hash[slot])) slot = (slot + 1) % by_hash.size();
    if (by_hash[slot] == absent) {
      by_hash[slot] = static_cast<std::uint32_t>(result.first.size());
      result.first.push_back(i);
    }
    result.number_of[i] = by_hash[slot];
  }
  return result;
}

/// \param at  gives entry j of line i
template <class At>
[[nodiscard]] distinct_lines equal_lines(std::span<const std::size_t> hashes, std::size_t length, const At& at) {
  return equal_lines(hashes, [&](std::size_t i, std::size_t other) {
    for (std::size_t j = 0; j < length; ++j)
      if (at(i, j) != at(other, j)) return false;
    return true;
  });
}

/// The distinct rows of a matrix, and the distinct columns of these rows.
/// \param costs  row-major, with `stride` entries per row, of which the first `columns` count
template <cost_value Cost>
[[nodiscard]] std::pair<distinct_lines, distinct_lines> distinct_rows_and_columns(std::span<const Cost> costs,
                                                                                  std::size_t rows, std::size_t columns,
                                                                                  std::size_t stride) {
  std::vector<std::size_t> row_hash(rows);
  for (std::size_t i = 0; i < rows; ++i)
    row_hash[i] = hash_of_costs(columns, [row = costs.data() + i * stride](std::size_t j) { return row[j]; });
  distinct_lines of_rows = equal_lines(
      row_hash, columns, [&](std::size_t i, std::size_t j) -> const Cost& { return costs[i * stride + j]; });
  std::vector<std::size_t> column_hash(columns);  // all at once, so that memory is read in order
  for (const std::uint32_t i : of_rows.first)
    for (std::size_t j = 0; j < columns; ++j)
      column_hash[j] = hash_combine(column_hash[j], bits_of_cost(costs[i * stride + j]));
  distinct_lines of_columns =
      equal_lines(column_hash, of_rows.first.size(),
                  [&](std::size_t j, std::size_t i) -> const Cost& { return costs[of_rows.first[i] * stride + j]; });
  return {std::move(of_rows), std::move(of_columns)};
}

/// The same for entries given by codes.
/// \param codes  row-major
[[nodiscard]] inline std::pair<distinct_lines, distinct_lines> distinct_rows_and_columns(
    std::span<const std::uint16_t> codes, std::size_t rows, std::size_t columns) {
  const auto row = [&](std::size_t i) { return codes.data() + i * columns; };
  constexpr std::size_t four = sizeof(std::uint64_t) / sizeof(std::uint16_t);  // hashed at once
  std::vector<std::size_t> row_hash(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    row_hash[i] = hash_in_order(columns / four, [&](std::size_t k) {
      std::uint64_t word = 0;
      std::memcpy(&word, row(i) + k * four, sizeof word);
      return static_cast<std::size_t>(word);
    });
    for (std::size_t j = columns / four * four; j < columns; ++j) row_hash[i] = hash_combine(row_hash[i], row(i)[j]);
  }
  distinct_lines of_rows = equal_lines(row_hash, [&](std::size_t i, std::size_t other) {
    return columns == 0 || std::memcmp(row(i), row(other), columns * sizeof(std::uint16_t)) == 0;
  });
  std::vector<std::size_t> column_hash(columns);
  for (const std::uint32_t i : of_rows.first)
    for (std::size_t j = 0; j < columns; ++j) column_hash[j] = hash_combine(column_hash[j], row(i)[j]);
  distinct_lines of_columns = equal_lines(column_hash, of_rows.first.size(),
                                          [&](std::size_t j, std::size_t i) { return row(of_rows.first[i])[j]; });
  return {std::move(of_rows), std::move(of_columns)};
}

}  // namespace shardweave::inline v0::detail
