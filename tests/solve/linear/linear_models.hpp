#pragma once

#include <shardweave/solve/linear/model/linear_model.hpp>

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

/// Linear programs whose answers are known.
namespace linear_models {

namespace sw = shardweave;

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// A model from dense rows.
inline sw::linear_model model_of(std::vector<sw::linear_column> columns, std::vector<sw::linear_row> rows,
                                 const std::vector<std::vector<double>>& weights) {
  sw::linear_model model{0, std::move(columns), std::move(rows), {}};
  for (std::uint32_t r = 0; r < weights.size(); ++r)
    for (std::uint32_t j = 0; j < weights[r].size(); ++j) model.add_entry(r, j, weights[r][j]);
  return model;
}

/// maximise 3x + 5y with x <= 4, 2y <= 12, 3x + 2y <= 18: 36 at (2, 6), multipliers 0, 3/2 and 1.
inline sw::linear_model textbook() {
  return model_of({{0, infinity, -3}, {0, infinity, -5}}, {{-infinity, 4}, {-infinity, 12}, {-infinity, 18}},
                  {{1, 0}, {0, 2}, {3, 2}});
}

}  // namespace linear_models
