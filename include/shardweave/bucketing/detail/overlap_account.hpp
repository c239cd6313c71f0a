#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

/// \file
/// The hiding records of a schedule, by units.

namespace shardweave::inline v0::detail {

/// A schedule by units: places, first waits, and which tasks hide which collectives by the account of its scheduler
/// (`schedule::hides`). A collective without a record counts as hidden by nothing. Complexity: O(V + E + records) to
/// build.
struct overlap_account {
  /// \pre s is valid, and units are those of its buckets
  overlap_account(const launch_units& units, const schedule& s)
      : order(units_in_order(units, s.order)),
        place(units.size()),
        steps(units.size()),
        wait_of(units.size(), no_index),
        start_of(units.size(), no_index),
        exposed(units.size()),
        hidden_by(units.size()),
        hides(units.size()) {
    for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    for (const std::uint32_t u : order) {
      const std::uint32_t c = units.awaited(u);
      if (c == no_index || wait_of[c] != no_index) continue;
      wait_of[c] = u;
      start_of[u] = c;
    }
    std::uint32_t step = 0;
    for (const std::uint32_t u : order) {
      const auto more = [&](std::uint32_t c) { return static_cast<std::uint32_t>(units.tasks(c).size()); };
      if (units.is_bucket(u)) step += more(u) + 3;
      steps[u] = step++;
      if (start_of[u] != no_index && units.is_bucket(start_of[u])) step += more(start_of[u]) + 2;
    }
    for (const hiding_record& r : s.hides) {
      const std::uint32_t c = units.unit_of(r.collective);
      exposed[c] = r.exposed;
      for (const task_index t : r.behind) hidden_by[c].push_back(units.unit_of(t));
      if (is_hidden(c))
        for (const std::uint32_t h : hidden_by[c]) hides[h] = true;
    }
  }
  [[nodiscard]] bool is_start(std::uint32_t u) const { return wait_of[u] != no_index; }
  [[nodiscard]] bool is_hidden(std::uint32_t u) const { return exposed[u] == nanoseconds(0); }

  [[nodiscard]] bool hides_others(std::uint32_t launch) const { return hides[launch] || hides[wait_of[launch]]; }
  /// The number of tasks between two launches.
  [[nodiscard]] std::uint32_t distance(std::uint32_t a, std::uint32_t b) const {
    return std::max(steps[a], steps[b]) - std::min(steps[a], steps[b]);
  }
  /// Calls `f(before, after)` for each hidden collective and each unit that hides it: with the launch and the unit, and
  /// with the unit and the first wait. While these dependencies hold, it stays hidden.
  template <class Call>
  void for_each_hiding(const Call& f) const {
    for (const std::uint32_t u : order)
      if (is_start(u) && is_hidden(u))
        for (const std::uint32_t h : hidden_by[u]) {
          f(u, h);
          f(h, wait_of[u]);
        }
  }

  std::vector<std::uint32_t> order, place;
  /// Places if packing and unpacking of buckets were tasks, as in rewritten graphs: before a launch an allocation, a
  /// slice and a copy, and one task per member; after the first wait a view, a split, and one task per member.
  std::vector<std::uint32_t> steps;
  std::vector<std::uint32_t> wait_of, start_of;  // of launches; of their first waits
  std::vector<nanoseconds> exposed;
  std::vector<std::vector<std::uint32_t>> hidden_by;
  std::vector<bool> hides;  // whether some fully hidden collective is hidden behind the unit
};

}  // namespace shardweave::inline v0::detail
