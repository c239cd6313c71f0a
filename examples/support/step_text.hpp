#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/fastest_plan.hpp>
#include <shardweave/io/json_writer.hpp>
#include <shardweave/report/unit_text.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// What planning for the step has found, in words and in figures.

namespace programs {

namespace detail {

/// A step above what no plan undercuts, relative to it. \pre there is a bound
inline double step_gap(const shardweave::fastest_plan_result& found, shardweave::nanoseconds step) {
  return static_cast<double>(step.count()) / found.bounds.bound - 1;
}

}  // namespace detail

/// What the bound is made of: prices with the names of what they are of, the largest first.
template <class Model>
[[nodiscard]] std::vector<std::pair<double, std::string>> step_prices(const Model& model,
                                                                      const shardweave::fastest_plan_result& found) {
  std::vector<std::pair<double, std::string>> worth{{found.channel_prices[0], "computation"},
                                                    {found.path_price, "chains of both"}};
  for (std::size_t d = 0; d < model.mesh().rank(); ++d)
    worth.emplace_back(found.channel_prices[d + 1], "collectives along " + model.mesh().name(d));
  std::ranges::stable_sort(worth, [](const auto& a, const auto& b) { return a.first > b.first; });
  return worth;
}

/// Three lines, and one more of a complete search: beside the plan of the least sum, beside all plans, and what the
/// step waits for.
/// \param step  of the plan whose collectives are whole
template <class Model>
[[nodiscard]] std::string step_text(const Model& model, const shardweave::fastest_plan_result& found,
                                    shardweave::nanoseconds step) {
  namespace sw = shardweave;
  const std::string least = found.step_of_least_sum.count() > 0
                                ? "The placement of the least sum takes " + sw::time_text(found.step_of_least_sum)
                                : "No plan of the placement of the least sum keeps to the memory";
  std::string text = least + "; " + sw::count_text(found.plans, "placement was", "placements were") + " tried.\n";
  if (found.complete)
    text +=
        "The search is complete: no other placement, whatever it makes again, has a better plan in the buckets and "
        "orders that are tried here. Bound and certificate do not say so.\n";
  if (!(found.bounds.bound > 0)) return text;
  const sw::nanoseconds bound(static_cast<std::int64_t>(std::floor(found.bounds.bound)));
  if (step < bound) {  // the bound is about plans that keep to the memory
    text += "No plan that keeps to the memory ends before " + sw::time_text(bound) + ": this one does not.\n";
  } else {
    text += "No plan of any placement, buckets and order ends before " + sw::time_text(bound) +
            ": this one is at most " + sw::percent_text(detail::step_gap(found, step), 2) + " above the best.\n";
  }
  const std::vector<std::pair<double, std::string>> worth = step_prices(model, found);
  text += "The bound is made of " + sw::percent_text(worth[0].first, 0) + " " + worth[0].second;
  for (std::size_t i = 1; i < worth.size() && worth[i].first >= 0.005; ++i)
    text += ", " + sw::percent_text(worth[i].first, 0) + " " + worth[i].second;
  return text + ": that is what the step waits for.\n";
}

/// Bound, gap, number of plans and prices. Null where there is no bound, or no plan; and no gap is told of a plan that
/// does not keep to the memory and is quicker than all that do.
///
/// \param step  of the plan whose collectives are whole; nothing: there is no plan
template <class Model>
void write_step(shardweave::json_writer& out, const Model& model, const shardweave::fastest_plan_result& found,
                std::optional<shardweave::nanoseconds> step) {
  const bool bounded = found.bounds.bound > 0 && step.has_value();
  out.key("step_bound_ns");
  bounded ? out.value(static_cast<std::int64_t>(std::floor(found.bounds.bound))) : out.null();
  out.key("step_gap");
  const double gap = bounded ? detail::step_gap(found, *step) : -1;
  gap >= 0 ? out.value(gap) : out.null();
  out.member("plans_tried", found.plans).member("search_complete", found.complete);
  out.member("step_of_least_sum_ns", found.step_of_least_sum.count());
  out.key("prices").begin_object();
  for (std::size_t c = 0; c < found.channel_prices.size(); ++c)
    out.member(c == 0 ? "compute" : model.mesh().name(c - 1), found.channel_prices[c]);
  out.member("paths", found.path_price).end_object();
}

}  // namespace programs
