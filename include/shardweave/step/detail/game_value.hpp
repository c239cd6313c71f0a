#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

/// \file
/// The value of a matrix game, by the simplex method.

namespace shardweave::inline v0::detail {

/// The value of a matrix game with optimal mixtures: rows maximize, columns minimize.
struct game_value {
  double value = 0;
  std::vector<double> rows;     ///< not negative, sum 1
  std::vector<double> columns;  ///< not negative, sum 1
};

/// Solves a matrix game by the primal simplex method.
/// \param gain  per row, of each column; as many in every row, one row and one column at least
/// The first half of at most 50 (rows + columns) pivots takes the most negative reduced cost, the rest Bland's rule,
/// which does not cycle. Weights that rounding makes negative become 0, and weights are scaled to add up to 1: they are
/// valid mixtures even where `value` is a little off.
/// Complexity: O(rows * columns) per pivot
/// Source: G. Dantzig's reduction of matrix games to linear programs.
[[nodiscard]] inline game_value value_of_game(const std::vector<std::vector<double>>& gain) {
  const std::size_t m = gain.size(), n = gain.front().size();
  double most = 0, least = 0;
  for (const auto& row : gain) {
    most = std::max(most, *std::ranges::max_element(row));
    least = std::min(least, *std::ranges::min_element(row));
  }
  most -= least;
  game_value game{0, std::vector<double>(m, 1.0 / static_cast<double>(m)),
                  std::vector<double>(n, 1.0 / static_cast<double>(n))};
  if (most == 0) return game;
  // maximize sum y with A y <= 1, y >= 0, where A is positive: gains above the least one in units of their range, plus
  // 1
  const std::size_t width = n + m + 1;
  std::vector<double> t((m + 1) * width);
  const auto at = [&](std::size_t i, std::size_t j) -> double& { return t[i * width + j]; };
  std::vector<std::size_t> basis(m);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) at(i, j) = (gain[i][j] - least) / most + 1;
    at(i, n + i) = 1;
    at(i, width - 1) = 1;
    basis[i] = n + i;
  }
  for (std::size_t j = 0; j < n; ++j) at(m, j) = -1;
  constexpr double tiny = 1e-11;  // reduced costs and pivots up to this count as 0; gains are scaled to [1, 2]
  const std::size_t pivots = 50 * (m + n);
  for (std::size_t step = 0; step < pivots; ++step) {
    std::size_t enter = width - 1;
    for (std::size_t j = 0; j + 1 < width; ++j) {
      if (at(m, j) >= -tiny) continue;
      if (enter == width - 1 || (step < pivots / 2 && at(m, j) < at(m, enter))) enter = j;
      if (step >= pivots / 2) break;
    }
    if (enter == width - 1) break;
    std::size_t leave = m;
    for (std::size_t i = 0; i < m; ++i) {
      if (at(i, enter) <= tiny) continue;
      if (leave == m) {
        leave = i;
        continue;
      }
      const double here = at(i, width - 1) / at(i, enter), best = at(leave, width - 1) / at(leave, enter);
      if (here < best || (here == best && basis[i] < basis[leave])) leave = i;
    }
    if (leave == m) break;  // cannot be: every column is positive
    const double pivot = at(leave, enter);
    for (std::size_t j = 0; j < width; ++j) at(leave, j) /= pivot;
    for (std::size_t i = 0; i <= m; ++i) {
      const double factor = at(i, enter);
      if (i == leave || factor == 0) continue;
      for (std::size_t j = 0; j < width; ++j) at(i, j) -= factor * at(leave, j);
    }
    basis[leave] = enter;
  }
  const double sum = at(m, width - 1);
  std::ranges::fill(game.rows, 0.0);
  std::ranges::fill(game.columns, 0.0);
  for (std::size_t i = 0; i < m; ++i) {
    game.rows[i] = std::max(at(m, n + i), 0.0);
    if (basis[i] < n) game.columns[basis[i]] = std::max(at(i, width - 1), 0.0);
  }
  for (auto* weights : {&game.rows, &game.columns}) {
    double total = 0;
    for (const double w : *weights) total += w;
    for (double& w : *weights) w = total > 0 ? w / total : 1.0 / static_cast<double>(weights->size());
  }
  game.value = (1 / sum - 1) * most + least;
  return game;
}

}  // namespace shardweave::inline v0::detail
