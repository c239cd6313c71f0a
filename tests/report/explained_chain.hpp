#pragma once

#include <shardweave/placement/description.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

/// A problem of three vertices, two of whose assignments are explained.
namespace explained_chains {

namespace sw = shardweave;

/// a -> b -> c; b runs whole (4 us) or split (2 us), and split it gathers less from a and more for c.
inline sw::placement_description<double> explain_chain() {
  sw::placement_description<double> d;
  d.unit = "us";
  d.vertices = {{.name = "a", .op = "load", .compute = {3}},
                {.name = "b", .op = "multiply", .labels = {"whole", "split"}, .compute = {4, 2}},
                {.name = "c", .op = "add", .compute = {5}}};
  const auto table = [&](std::size_t rows, std::size_t columns, std::vector<double> entries) {
    d.tables.push_back(
        std::make_shared<const sw::cost_table<double>>(sw::cost_table<double>::from_entries(rows, columns, entries)));
    return static_cast<std::uint32_t>(d.tables.size() - 1);
  };
  d.edges = {{.from = 0, .to = 1, .communication = table(1, 2, {10, 6}), .transition = table(1, 2, {1, 0})},
             {.from = 1, .to = 2, .communication = table(2, 1, {0, 2})}};
  d.overlap = {{.edge = 0, .direction = sw::hiding::both}, {.edge = 1, .direction = sw::hiding::later}};
  d.counted = sw::savings_form::strict;
  return d;
}

inline const std::vector<sw::strategy> whole{0, 0, 0}, split{0, 1, 0};

}  // namespace explained_chains
