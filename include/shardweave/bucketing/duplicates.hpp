#pragma once

#include <shardweave/core/units.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Removal of redundant waits and reductions, before bucketing.

namespace shardweave::inline v0 {

/// A graph without some tasks of another one.
struct reduced_graph {
  task_graph graph;
  std::vector<task_index> task_of;  ///< by task of the other graph: the task that replaces it
};

namespace detail {
/// Rewrites a graph: `stands_for[t]` replaces t, and is t itself for tasks that stay; `listed` are those, in their new
/// order. `change` may modify the record of a task, in the numbers of the old graph.
template <class Change>
[[nodiscard]] reduced_graph rewritten(const task_graph& g, std::vector<task_index> stands_for,
                                      const std::vector<task_index>& listed, std::vector<storage> storages,
                                      const Change& change) {
  for (task_index& s : stands_for)
    while (stands_for[s] != s) s = stands_for[s];
  std::vector<task_index> number(g.size(), no_index);
  for (std::size_t i = 0; i < listed.size(); ++i) number[listed[i]] = static_cast<task_index>(i);
  // views of removed storages become views of their replacements
  std::vector<std::uint32_t> storage_of(storages.size());
  for (std::uint32_t s = 0; s < storages.size(); ++s) storage_of[s] = s;
  for (task_index t = 0; t < g.size(); ++t)
    if (stands_for[t] != t)
      for (std::size_t i = 0; i < std::min(g.output_count(t), g.output_count(stands_for[t])); ++i)
        if (g.output_storage(t, i) != no_index && g.output_storage(stands_for[t], i) != no_index)
          storage_of[g.output_storage(t, i)] = g.output_storage(stands_for[t], i);

  task_graph_builder b;
  b.name = g.name;
  b.description = g.description;
  b.device = g.device();
  b.memory_baseline = g.memory_baseline();
  for (const process_group& p : g.groups()) b.add_group(p);
  for (const storage& s : storages) b.add_storage(s);
  for (const duration_table& t : g.tables()) b.add_table(t);
  const auto renamed = [&](std::vector<task_index>& tasks) {
    for (task_index& t : tasks) t = number[stands_for[t]];
  };
  for (const task_index t : listed) {
    task_record r = g.record(t);
    for (output_record& o : r.outputs)
      if (o.storage != no_index) o.storage = storage_of[o.storage];
    change(t, r);
    renamed(r.inputs);
    renamed(r.after);
    if (r.completes) r.completes = number[stands_for[*r.completes]];
    b.add_task(r);
    if (g.fused_durations().empty()) continue;
    const nanoseconds fused = g.fused_durations()[t];
    const double factor = r.duration == g.duration(t) || g.duration(t) <= nanoseconds(0)
                              ? 1
                              : static_cast<double>(r.duration.count()) / static_cast<double>(g.duration(t).count());
    b.fused_durations.push_back(factor == 1 ? fused
                                            : nanoseconds(std::llround(factor * static_cast<double>(fused.count()))));
  }
  reduced_graph result{std::move(b).build(), {}};
  for (task_index t = 0; t < g.size(); ++t) result.task_of.push_back(number[stands_for[t]]);
  return result;
}

[[nodiscard]] inline std::vector<task_index> those_that_stay(const std::vector<task_index>& stands_for) {
  std::vector<task_index> listed;
  for (task_index t = 0; t < stands_for.size(); ++t)
    if (stands_for[t] == t) listed.push_back(t);
  return listed;
}
}  // namespace detail

/// Removes repeated waits: of several waits for one collective, or for one part of it, the first stays, and a wait for
/// the result of a wait is that wait. So a parameter that is read twice is unpacked once, and live until its last use.
/// Source: the cleaning up before PyTorch's FSDP bucketing. Complexity: O(V + E)
[[nodiscard]] inline reduced_graph without_repeated_waits(const task_graph& g) {
  std::vector<task_index> stands_for(g.size()), first_wait(g.size(), no_index);
  for (task_index t = 0; t < g.size(); ++t) stands_for[t] = t;
  for (task_index t = 0; t < g.size(); ++t) {
    if (g.completes(t) == no_index || g.inputs(t).empty() || !g.after(t).empty()) continue;
    // one that needs something else, too, stays
    if (std::ranges::count(g.inputs(t), g.inputs(t).front()) != std::ranges::ssize(g.inputs(t))) continue;
    const task_index given = stands_for[g.inputs(t).front()];
    if (g.completes(given) == g.completes(t))
      stands_for[t] = given;
    else if (first_wait[given] == no_index)
      first_wait[given] = t;
    else if (g.completes(first_wait[given]) == g.completes(t))
      stands_for[t] = first_wait[given];
  }
  const std::vector<task_index> listed = detail::those_that_stay(stands_for);
  return detail::rewritten(g, std::move(stands_for), listed, {g.storages().begin(), g.storages().end()},
                           [](task_index, const task_record&) {});
}

/// Moves sums of results of equal reductions before the reduction, repeatedly: gradients of several micro-batches are
/// scattered once. The sum takes longer in proportion to the size of its terms, and its terms stay live until then.
/// Applies to reductions by sum or average, of equal dtype and size on one group, whose results nothing else uses.
/// Source: the reduce-scatter deduplication of PyTorch's FSDP passes. Complexity: O(V + E) per term of the longest sum
[[nodiscard]] inline reduced_graph with_sums_before_reductions(const task_graph& g) {
  const compressed_graph& d = g.dependencies();
  const auto only_user = [&](task_index t, task_index user) {
    return d.out(t).size() == 1 && d.out(t).front().target == user;
  };
  const auto is_sum = [&](task_index t) {
    std::string_view op = g.op(t);
    if (op.starts_with("aten.")) op.remove_prefix(5);
    return g.kind(t) == task_kind::other && op.substr(0, op.find('.')) == "add" && g.inputs(t).size() == 2 &&
           g.inputs(t)[0] != g.inputs(t)[1] && g.after(t).empty() && g.output_count(t) == 1;
  };
  // the reduction of a wait, if neither has another user
  const auto reduction = [&](task_index w, task_index user) {
    const task_index c = g.completes(w);
    if (c == no_index || !only_user(w, user) || !only_user(c, w) || d.in(w).size() != 1 || g.inputs(c).size() != 1 ||
        d.in(c).size() != 1)
      return no_index;
    const collective_info i = g.collective(c);
    const bool reduces = (i.op == collective::reduce_scatter || i.op == collective::all_reduce) &&
                         (i.reduce == "sum" || i.reduce == "avg");
    return reduces && i.bytes_out > bytes(0) ? c : no_index;
  };
  std::vector<task_index> stands_for(g.size()), sum_before(g.size(), no_index);
  std::vector<std::uint32_t> sum_storage(g.size(), no_index);
  std::vector<storage> storages(g.storages().begin(), g.storages().end());
  std::vector<std::uint32_t> storage_of(storages.size());  // the storage of a sum becomes that of its wait
  for (std::uint32_t s = 0; s < storage_of.size(); ++s) storage_of[s] = s;
  for (task_index t = 0; t < g.size(); ++t) stands_for[t] = t;
  bool any = false;
  for (task_index t = 0; t < g.size(); ++t) {
    if (!is_sum(t)) continue;
    const task_index a = reduction(g.inputs(t)[0], t), b = reduction(g.inputs(t)[1], t);
    if (a == no_index || b == no_index || a == b) continue;
    const collective_info x = g.collective(a), y = g.collective(b);
    if (x.op != y.op || x.group != y.group || x.dtype != y.dtype || x.reduce != y.reduce || x.bytes_in != y.bytes_in)
      continue;
    any = true;
    const bool swapped = a > b;
    const task_index late = std::max(a, b), early = std::min(a, b);
    const task_index late_wait = g.inputs(t)[swapped ? 0 : 1], early_wait = g.inputs(t)[swapped ? 1 : 0];
    stands_for[early] = late;
    stands_for[early_wait] = late_wait;
    sum_before[late] = t;
    if (g.output_storage(t, 0) != no_index) {
      if (g.output_count(late_wait) == 1) storage_of[g.output_storage(t, 0)] = g.output_storage(late_wait, 0);
      const storage_device where = g.storages()[g.output_storage(t, 0)].device;
      sum_storage[t] = static_cast<std::uint32_t>(storages.size());
      storages.push_back({x.bytes_in, where});
    }
  }
  std::vector<task_index> listed, late_of(g.size(), no_index);
  for (task_index c = 0; c < g.size(); ++c)
    if (sum_before[c] != no_index) late_of[sum_before[c]] = c;
  for (task_index t = 0; t < g.size(); ++t) {
    if (stands_for[t] != t || late_of[t] != no_index) continue;
    if (sum_before[t] != no_index) listed.push_back(sum_before[t]);  // right before the launch
    listed.push_back(t);
  }
  // users of the sum now use the wait, and the launch uses the sum; done in `change`, as the sum itself stays
  const auto wait_of = [&](task_index sum) { return stands_for[g.inputs(sum).front()]; };
  const auto change = [&](task_index t, task_record& r) {
    if (late_of[t] != no_index) {  // a sum
      const task_index late = late_of[t];
      r.inputs.clear();
      for (const task_index w : g.inputs(t)) r.inputs.push_back(g.inputs(g.completes(w)).front());
      const collective_info c = g.collective(late);
      r.duration = nanoseconds(
          static_cast<std::int64_t>(static_cast<double>(r.duration.count()) * static_cast<double>(c.bytes_in.count()) /
                                    static_cast<double>(c.bytes_out.count())));
      r.outputs = {{c.bytes_in, sum_storage[t], std::string(c.dtype), {}}};
    } else {
      for (output_record& o : r.outputs)
        if (o.storage != no_index) o.storage = storage_of[o.storage];
    }
    if (sum_before[t] != no_index) {
      r.inputs = {sum_before[t]};
      return;
    }
    for (std::vector<task_index>* some : {&r.inputs, &r.after})
      for (task_index& i : *some)
        if (late_of[i] != no_index) i = wait_of(i);
  };
  reduced_graph once = detail::rewritten(g, stands_for, listed, std::move(storages), change);
  for (task_index t = 0; t < g.size(); ++t)
    if (late_of[t] != no_index) once.task_of[t] = once.task_of[wait_of(t)];
  if (!any) return once;
  reduced_graph more = with_sums_before_reductions(once.graph);
  for (task_index& t : once.task_of) t = more.task_of[t];
  return {std::move(more.graph), std::move(once.task_of)};
}

}  // namespace shardweave::inline v0
