#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective_cost.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <tuple>
#include <vector>

/// \file
/// Measured collectives, whoever measured them.

namespace shardweave::inline v0 {

/// One collective, measured. `size` counts as `collective_cost_model` counts it: the larger buffer of a rank.
struct collective_measurement {
  collective kind{};
  group_shape group{};
  bytes size{};
  double time_us = 0;
  friend bool operator==(const collective_measurement&, const collective_measurement&) = default;
};

namespace detail {

/// The key of what one curve describes, in the order in which curves are kept.
[[nodiscard]] inline auto curve_key(const collective_measurement& m) {
  return std::tuple(m.kind, m.group.nodes, m.group.ranks_per_node);
}

/// Checks and sorts: by collective, nodes, ranks per node, size.
[[nodiscard]] inline std::vector<collective_measurement> sorted_measurements(
    std::span<const collective_measurement> given) {
  std::vector<collective_measurement> rows(given.begin(), given.end());
  for (const collective_measurement& m : rows)
    if (m.group.nodes < 1 || m.group.ranks_per_node < 1 || m.group.ranks() < 2)
      refuse(error_category::input,
             "a measured " + std::string(name_of(m.kind)) + " of " + std::to_string(m.group.nodes) + " nodes with " +
                 std::to_string(m.group.ranks_per_node) + " ranks each: a collective needs two ranks");
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::tuple(curve_key(a), a.size) < std::tuple(curve_key(b), b.size);
  });
  return rows;
}

/// Calls `use(rows)` for the rows of each collective and group.
/// \pre the rows are sorted as above
template <class Use>
void for_each_curve(std::span<const collective_measurement> rows, Use use) {
  for (std::size_t from = 0; from < rows.size();) {
    std::size_t to = from;
    while (to < rows.size() && curve_key(rows[to]) == curve_key(rows[from])) ++to;
    use(rows.subspan(from, to - from));
    from = to;
  }
}

}  // namespace detail

/// Measurements divided into those that a model may see and those it is tested on.
struct held_out {
  std::vector<collective_measurement> seen;
  std::vector<collective_measurement> unseen;
};

/// Every second size of each collective and group is left out, with all its repetitions.
/// \param first_is_seen  whether the smallest size of each is shown to the model
[[nodiscard]] inline held_out every_second_size(std::span<const collective_measurement> measured,
                                                bool first_is_seen = true) {
  held_out result;
  const auto rows = detail::sorted_measurements(measured);
  detail::for_each_curve(rows, [&](std::span<const collective_measurement> curve) {
    bool seen = first_is_seen;
    for (std::size_t i = 0; i < curve.size(); ++i) {
      if (i > 0 && curve[i].size != curve[i - 1].size) seen = !seen;
      (seen ? result.seen : result.unseen).push_back(curve[i]);
    }
  });
  return result;
}

}  // namespace shardweave::inline v0
