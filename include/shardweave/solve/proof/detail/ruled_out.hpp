#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/range_sums.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/stated_form.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

/// \file
/// Strategies that limits rule out, for proofs.

namespace shardweave::inline v0::detail {

/// Strategies that compilation removed because of limits, each with the row that proves it, and what is left.
/// \param wanted  strategies that compilation left, per unknown; empty: removes whatever can be
/// \param limit   ends the work; what was removed until then is returned
template <cost_value Cost>
[[nodiscard]] std::pair<std::vector<strategies_ruled_out>, strategies_left> ruled_out_by_limits(
    const stated_form<Cost>& form, const strategies_left& wanted, const deadline& limit) {
  std::pair<std::vector<strategies_ruled_out>, strategies_left> all{{}, form.all_left()};
  auto& [result, left] = all;
  form.propagate(left);
  const auto is_unwanted = [&](std::uint32_t x, strategy s) {
    return left[x][s] != 0 && (wanted.empty() || wanted[x][s] == 0);
  };
  const auto is_done = [&] {
    if (limit.expired() || left == wanted) return true;
    return std::any_of(left.begin(), left.end(),
                       [](const auto& of) { return std::count(of.begin(), of.end(), 1) == 0; });
  };
  const std::vector<usage_row> rows = form.rows();
  const auto uses = form.uses();
  for (bool changed = true; changed && !is_done();) {
    changed = false;
    for (const bool of_low : {false, true}) {
      const double sign = of_low ? -1 : 1;
      const auto least_of = [&](std::uint32_t x, const budget_term& term) {
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t s = 0; s < term.usage.size(); ++s)
          if (left[x][s] != 0) least = std::min(least, sign * term.usage[s]);
        return std::isfinite(least) ? least : 0;
      };
      range_sums sums(rows.size());
      for (std::uint32_t x = 0; x < form.size(); ++x)
        for (const auto& u : uses[x]) sums.add(u.begin, u.end, least_of(x, *u.term));
      const std::vector<double> total = sums.values();  // strategies that go later make it more
      const auto most_of = [&](std::size_t r) { return of_low ? -rows[r].low : rows[r].high; };
      std::vector<std::uint32_t> broken;  // rows that nothing keeps, so that all strategies may go
      for (std::uint32_t r = 0; r < total.size(); ++r)
        if (total[r] > most_of(r) + budget_tolerance) broken.push_back(r);
      for (std::uint32_t x = 0; x < form.size(); ++x) {
        bool any = false;
        for (strategy s = 0; s < left[x].size() && !any; ++s) any = is_unwanted(x, s);
        if (!any) continue;
        if (limit.expired()) return all;
        std::set<std::uint32_t> looked_at(broken.begin(), broken.end());
        for (const auto& u : uses[x])
          for (std::uint32_t r = u.begin; r < u.end; ++r) looked_at.insert(r);
        for (const std::uint32_t r : looked_at) {
          double others = total[r];
          std::vector<double> own(left[x].size());
          for (const auto& u : uses[x]) {
            if (r < u.begin || r >= u.end) continue;
            others -= least_of(x, *u.term);
            for (std::size_t s = 0; s < own.size(); ++s) own[s] += sign * u.term->usage[s];
          }
          strategies_ruled_out found{form.first_vertex(x), {}, rows[r].budget, rows[r].time, of_low};
          for (strategy s = 0; s < own.size(); ++s)
            if (is_unwanted(x, s) && others + own[s] > most_of(r) + 4 * budget_tolerance) found.strategies.push_back(s);
          if (found.strategies.empty()) continue;
          for (const strategy s : found.strategies) left[x][s] = 0;
          form.propagate(left, {x});
          result.push_back(std::move(found));
          changed = true;
          if (is_done()) return all;
        }
      }
    }
  }
  return all;
}

}  // namespace shardweave::inline v0::detail
