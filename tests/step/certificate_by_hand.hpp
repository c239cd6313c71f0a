#pragma once

#include <shardweave/placement/description.hpp>
#include <shardweave/step/step_certificate.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_work.hpp>
#include <shardweave/step/work_table.hpp>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

/// A proof about the step that is small enough to follow by hand.
namespace certificate_by_hand {

namespace sw = shardweave;

/// Vertices of times 3 or 5, and 2; between them 4 or 6 on channel 1, which takes 10 on the stream if it is packed
/// away, and holds 7 or 1 on a channel that is limited to 4.
struct by_hand {
  sw::placement_description<double> stated;
  sw::step_work work{.channels = 3, .limits = {4}, .times_of = {0, 1}, .times = {{3, 5}, {2}}, .shares = 1};

  by_hand() {
    stated.vertices = {{.compute = {100, 100}}, {.compute = {100}}};  // costs that nothing looks at
    sw::work_table_builder amounts(3, "the edge");
    amounts.add({.loads = {0, 4, 7}, .chain = 4, .otherwise = {{10, 0, 7}}});
    amounts.add({.loads = {0, 6, 1}, .chain = 6, .otherwise = {{10, 0, 1}}});
    work.tables.push_back(
        amounts.table({{0, 1}}, {{0}}, 1, std::make_shared<const std::vector<std::uint32_t>>(std::vector{0U, 1U})));
    work.edges.push_back({.from = 0, .to = 1});
  }
  /// What claims of these weights, in halves, prove of the step; a unit of weight is 2^-30, to which costs are rounded.
  [[nodiscard]] sw::step_certificate certificate(std::vector<sw::step_claim> claims, std::vector<std::int64_t> halves,
                                                 double bound) const {
    sw::step_certificate c{.claims = std::move(claims), .weights = std::move(halves)};
    for (std::int64_t& w : c.weights) w <<= 29;
    c.placement.lower_bound = bound;
    c.placement.multipliers.emplace_back().message_bits = 30;  // without messages: the edge is the first vertex's
    c.placement.cases.push_back({.multipliers = 0});
    return c;
  }
};

inline constexpr double rounding = 1e-6;

inline const sw::step_claim stream{.channel = 0, .edges = {0}}, channel{.channel = 1, .edges = {0}},
    along{.channel = sw::step_claim::path, .first = 0, .edges = {0}};

}  // namespace certificate_by_hand
