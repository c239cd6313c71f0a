#pragma once

#include <shardweave/placement/cost_table.hpp>
#include <shardweave/placement/description.hpp>

#include <memory>
#include <vector>

namespace shardweave_test {

/// Vertices a -> b -> c with one strategy each; computation 3, 4, 5; communication 10 and 20.
inline shardweave::placement_description<double> savings_chain() {
  shardweave::placement_description<double> d;
  for (const double c : {3.0, 4.0, 5.0}) d.vertices.push_back({.compute = {c}});
  for (const double c : {10.0, 20.0})
    d.tables.push_back(std::make_shared<const shardweave::cost_table<double>>(
        shardweave::cost_table<double>::from_entries(1, 1, std::vector<double>{c})));
  d.edges = {{.from = 0, .to = 1, .communication = 0}, {.from = 1, .to = 2, .communication = 1}};
  return d;
}

}  // namespace shardweave_test
