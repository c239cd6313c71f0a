#pragma once

#include <shardweave/placement/cost.hpp>
#include <shardweave/solve/bound/detail/known_prices.hpp>

#include <boost/container/flat_map.hpp>

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

/// \file
/// What an ascent has found, in words that outlive a reduction.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// Per variable of a problem, which variable of a problem before reductions it is, and what its labels are there.
using variable_origin = std::vector<std::pair<std::uint32_t, std::vector<strategy>>>;

/// Prices and what variables have put into rows by what stays of a row through all reductions, its budget and its time;
/// messages by the names that variables and labels had at the start. Any part may be missing or wrong: bounds hold for
/// any messages and prices.
struct ascent_memory {
  using row_name = std::pair<std::uint32_t, std::int64_t>;
  using per_label = boost::container::flat_map<strategy, double>;

  known_prices prices = {};
  std::map<std::pair<std::uint32_t, std::uint32_t>, per_label> messages = {};  ///< from, to -> by label of `to`
  std::map<row_name, std::map<std::uint32_t, per_label>> row_costs = {};       ///< of rows that took part as knapsacks
};

/// Where an ascent stands in a problem, for another ascent on the same problem. Messages are rounded to save memory;
/// bounds hold for any.
struct ascent_position {
  std::vector<double> prices = {};
  std::vector<float> messages = {};
  double step = 1;    ///< length of the next one
  double newest = 1;  ///< weight of the newest slope
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave
