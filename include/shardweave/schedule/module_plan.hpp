#pragma once

#include <shardweave/bucketing/bucket_key.hpp>
#include <shardweave/bucketing/bucketing_policy.hpp>
#include <shardweave/bucketing/topological_span.hpp>
#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/graph/augmented_graph.hpp>
#include <shardweave/graph/stable_order.hpp>
#include <shardweave/schedule/scheduler.hpp>
#include <shardweave/simulate/hiding.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/fsdp_tags.hpp>
#include <shardweave/tasks/launch_units.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Buckets and order by modules: the parameters of a module are gathered while the module before it computes.

namespace shardweave::inline v0 {

/// Tasks by module, for `module_plan`: entry i holds those whose names begin with one of its paths, followed by a dot
/// or the end. A task that matches two entries is in both, which `module_plan` refuses.
/// Complexity: O(V * paths)
[[nodiscard]] inline std::vector<std::vector<task_index>> tasks_of_modules(
    const task_graph& g, std::span<const std::vector<std::string>> paths) {
  std::vector<std::vector<task_index>> modules(paths.size());
  for (std::size_t m = 0; m < paths.size(); ++m)
    for (task_index t = 0; t < g.size(); ++t) {
      const std::string_view name = g.name_of(t);
      const bool inside = std::any_of(paths[m].begin(), paths[m].end(), [&](const std::string& path) {
        return name.starts_with(path) && (name.size() == path.size() || name[path.size()] == '.');
      });
      if (inside) modules[m].push_back(t);
    }
  return modules;
}

/// A user-defined plan, as bucketing policy and as scheduler: modules, each a set of tasks, such as one layer's in one
/// phase. In each module, the gathers of parameters, the scatters of gradients, and the all-reduces on the channels of
/// such gathers become one bucket per key, or several where one depends on another. For each of these operations,
/// modules follow each other in the order of their first launches: all launches of the next module precede the waits
/// for this one's. Where a value is gathered or scattered by several collectives in turn, only the wait for the last
/// of these is meant. Dependencies that would close a cycle are left out and recorded. All else keeps its order: what a
/// launch needs moves forward with it, and waits for scatters move back.
///
/// Source: PyTorch's manual overlap scheduling.
/// Complexity: O((V + E) log V), and one bounded search per dependency
/// \throws error naming a task that is in two modules, or not there
struct module_plan {
  static constexpr std::string_view name = "module_plan";

  std::vector<std::vector<task_index>> modules = {};

  [[nodiscard]] bucketing_result operator()(const task_graph& g, const solve_control& = {}) const {
    bucketing_result result;
    const std::vector<std::uint32_t> keys = bucket_keys(g);
    augmented_graph graph(g.dependencies());
    for (const std::vector<task_index>& tasks : collectives(g)) {
      std::map<std::uint32_t, std::vector<std::vector<task_index>>> by_key;
      for (const task_index t : tasks) {
        std::vector<std::vector<task_index>>& open = by_key[keys[t]];
        const auto fits = std::find_if(open.begin(), open.end(), [&](const auto& b) { return graph.merge(b[0], t); });
        if (fits != open.end()) {
          fits->push_back(t);
          continue;
        }
        for (const std::vector<task_index>& b : open)
          result.decisions.push_back({.reason = decision_reason::dependency, .subject = t, .other = b[0]});
        open.push_back({t});
      }
      for (const auto& [key, some] : by_key)
        for (const std::vector<task_index>& members : some)
          if (members.size() > 1) result.buckets.push_back(make_bucket(g, members));
    }
    return result;
  }

  [[nodiscard]] schedule operator()(const task_graph& g, const bucketing_result& buckets,
                                    const solve_control& = {}) const {
    schedule s;
    s.buckets = buckets.buckets;
    s.decisions = buckets.decisions;
    const launch_units units(g, s.buckets);
    augmented_graph graph(units.graph(), units.order());
    std::vector<std::vector<std::uint32_t>> waits(units.size());
    for (const std::uint32_t u : units.order())
      if (const std::uint32_t c = units.awaited(u); c != no_index) waits[c].push_back(u);
    for (const collective op : {collective::all_gather, collective::reduce_scatter, collective::all_reduce}) {
      const std::vector<std::vector<std::uint32_t>> rows = launches(g, units, op);
      for (std::size_t i = 0; i + 1 < rows.size(); ++i)
        for (const std::uint32_t c : last_of(rows[i], graph))
          for (const std::uint32_t next : rows[i + 1])
            for (const std::uint32_t w : waits[c])
              if (!graph.add(next, w))
                s.decisions.push_back(
                    {.reason = decision_reason::cycle, .subject = units.first(next), .other = units.first(c)});
    }
    const auto needs = [&](std::uint32_t u, const auto& f) { graph.for_each_dependency(u, f); };
    for (const std::uint32_t u : pulled_topological_order(units.order(), needs))
      s.order.insert(s.order.end(), units.tasks(u).begin(), units.tasks(u).end());
    s.hides = hiding_records(g, s, simulate(g, s, {.validate = false}));
    return s;
  }

 private:
  /// The collectives of a module that no other one of it depends on: of gathers in two steps, the second.
  [[nodiscard]] static std::vector<std::uint32_t> last_of(std::vector<std::uint32_t> row, augmented_graph& graph) {
    const std::vector<std::uint32_t> all = row;
    std::erase_if(row, [&](std::uint32_t c) {
      return std::any_of(all.begin(), all.end(),
                         [&](std::uint32_t other) { return other != c && graph.has_path(c, other); });
    });
    return row;
  }

  /// By module: collectives that may be members of a bucket, in the original order.
  [[nodiscard]] std::vector<std::vector<task_index>> collectives(const task_graph& g) const {
    const std::vector<bool> tags = fsdp_tags(g), fit = fit_for_buckets(g);
    const std::vector<std::uint32_t> channels = sharding_channels(g, tags);
    std::vector<std::size_t> module_of(g.size(), modules.size());
    std::vector<std::vector<task_index>> found(modules.size());
    for (std::size_t m = 0; m < modules.size(); ++m) {
      for (const task_index t : modules[m]) {
        if (t >= g.size())
          refuse(error_category::input, "module " + std::to_string(m) + " names task " + std::to_string(t) +
                                            ", but there are only " + std::to_string(g.size()));
        if (module_of[t] != modules.size())
          refuse(error_category::input, g.label(t) + " is in module " + std::to_string(m) + " and in module " +
                                            std::to_string(module_of[t]) + ", expected in one at most");
        module_of[t] = m;
        if (!g.is_collective(t) || !fit[t]) continue;
        const collective_info c = g.collective(t);
        const bool reduces =
            c.op == collective::all_reduce && std::find(channels.begin(), channels.end(), c.group) != channels.end();
        if (tags[t] || reduces) found[m].push_back(t);
      }
      std::sort(found[m].begin(), found[m].end());
    }
    return found;
  }

  /// Units of one operation by module, ordered by their first launch.
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> launches(const task_graph& g, const launch_units& units,
                                                                 collective op) const {
    std::vector<std::vector<std::uint32_t>> rows;
    for (const std::vector<task_index>& tasks : collectives(g)) {
      std::vector<std::uint32_t> row;
      for (const task_index t : tasks)
        if (g.collective(t).op == op && std::find(row.begin(), row.end(), units.unit_of(t)) == row.end())
          row.push_back(units.unit_of(t));
      if (!row.empty()) rows.push_back(std::move(row));
    }
    std::vector<std::uint32_t> place(units.size());
    for (std::uint32_t i = 0; i < units.size(); ++i) place[units.order()[i]] = i;
    const auto first = [&](const std::vector<std::uint32_t>& row) {
      return place[*std::ranges::min_element(row, {}, [&](std::uint32_t u) { return place[u]; })];
    };
    std::ranges::sort(rows, {}, first);
    return rows;
  }
};

static_assert(bucketing_policy<module_plan> && scheduler<module_plan>);

}  // namespace shardweave::inline v0
