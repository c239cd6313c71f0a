#pragma once

#include "solve/small_problems.hpp"
#include <shardweave/io/iopddl.hpp>
#include <shardweave/io/placement_file.hpp>
#include <shardweave/placement/compile.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <variant>

/// \file
/// What ablations of solvers are tried on.

namespace tables {

namespace sw = shardweave;
using solver_problem = std::variant<sw::placement_problem<double>, sw::placement_problem<std::int64_t>>;

/// A contest instance, or a captured problem; savings are counted where its name says that there are any.
inline solver_problem read_problem(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  if (name.find("iopddl") != std::string::npos)
    return sw::compile(std::make_shared<const sw::placement_description<std::int64_t>>(sw::read_iopddl(file)));
  auto d = std::get<sw::placement_description<double>>(sw::read_any_placement(file));
  if (name.find("overlap") != std::string::npos) d.counted = sw::savings_form::inclusive_twice;
  return sw::compile(std::make_shared<const sw::placement_description<double>>(std::move(d)));
}

/// A random problem of 8 to 40 variables, with up to 8 rows.
inline sw::placement_problem<double> random_solver_problem(std::uint64_t seed) {
  return sw::placement_problem<double>(
      shardweave_test::draw_small<double>(seed, {.variables = 8 + seed % 33,
                                                 .most_labels = 2 + seed % 7,
                                                 .density = seed % 3 == 0   ? 0.02
                                                            : seed % 3 == 1 ? 0.08
                                                                            : 0.25,
                                                 .forbidden = 0.1 * static_cast<double>(seed % 4),
                                                 .rows = static_cast<std::uint32_t>(2 * (seed % 5)),
                                                 .lower_limits = seed % 11 == 0 ? 0.3 : 0,
                                                 .paired = seed % 13 == 0 ? 0.3 : 0}));
}

/// The same as it would be stated, which proofs are about: a vertex per variable, a budget per row.
/// \throws error if no assignment is left
inline sw::placement_problem<double> stated_solver_problem(std::uint64_t seed) {
  const auto drawn = random_solver_problem(seed);
  const sw::compact_problem<double>& p = drawn.compact();
  sw::placement_description<double> d;
  for (std::uint32_t x = 0; x < p.size(); ++x)
    d.vertices.push_back({.name = std::to_string(x), .compute = {p.unary(x).begin(), p.unary(x).end()}});
  for (const sw::compact_edge& e : p.edges()) {
    d.edges.push_back({.from = e.first, .to = e.second, .communication = static_cast<std::uint32_t>(d.tables.size())});
    d.tables.push_back(p.tables()[e.table]);
  }
  for (const sw::usage_row& row : p.rows()) d.constraints.budgets.push_back({.low = row.low, .high = row.high});
  for (std::uint32_t x = 0; x < p.size(); ++x)
    for (const sw::usage_segment& s : p.segments(x))
      for (std::uint32_t r = s.begin; r < s.end; ++r)
        d.constraints.budgets[r].terms.push_back({.vertex = x, .usage = {s.usage.begin(), s.usage.end()}});
  return sw::compile(std::make_shared<const sw::placement_description<double>>(std::move(d)));
}

}  // namespace tables
