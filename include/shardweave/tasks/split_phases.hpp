#pragma once

#include <shardweave/core/phase.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/graph/stable_order.hpp>
#include <shardweave/tasks/task.hpp>
#include <shardweave/tasks/task_graph.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>
#include <shardweave/tasks/task_tags.hpp>

#include <array>
#include <utility>
#include <vector>

/// \file
/// A joint graph as two: the forward half, and the backward half with what follows it.

namespace shardweave::inline v0 {

/// One half of a joint graph.
struct graph_half {
  task_graph graph;
  /// By task of this half: its task of the joint graph, for a saved value the one that gives it, `no_index` for the
  /// forward half's output.
  std::vector<task_index> joint = {};
  /// By task of the joint graph: its task in this half, of a saved value the input in its place; `no_index` = none.
  std::vector<task_index> task_of = {};
};

/// A joint graph in two halves.
struct split_graph {
  graph_half forward;
  graph_half backward;
};

namespace detail {

/// Writes one half of a graph.
class half_writer {
 public:
  half_writer(const task_graph& g, const char* name) : g_(g), b_(task_graph_builder::like(g)) {
    half_.task_of.assign(g.size(), no_index);
    is_saved_.assign(g.size(), false);
    b_.name += name;
    b_.memory_baseline.reset();
  }

  /// Gives a task its number in the half: all are numbered before the first is added, in the order of adding.
  void expect(task_index t, bool saved) {
    half_.task_of[t] = expected_++;
    is_saved_[t] = saved;
  }
  [[nodiscard]] bool has(task_index t) const { return half_.task_of[t] != no_index; }

  /// What `t` gave before this half began, as an input of the half.
  void add_saved(task_index t) {
    task_record r = g_.record(t);
    if (r.kind != task_kind::input) r.name = "saved." + r.name;
    r = {.name = std::move(r.name),
         .op = "input",
         .kind = task_kind::input,
         .outputs = std::move(r.outputs),
         .is_param = r.is_param,
         .role = r.role,
         .when = r.when};
    add(t, r);
  }
  /// A task of the half: needs that are not here are met before the half begins.
  void add_task(task_index t) {
    task_record r = g_.record(t);
    keep(r.inputs);
    keep(r.after);
    if (r.completes && (!has(*r.completes) || is_saved_[*r.completes])) r.completes.reset();
    if (r.completes) r.completes = half_.task_of[*r.completes];
    add(t, r);
  }
  /// The half's own output; of `t` where the joint graph has it here.
  void add_output(task_index t, const std::vector<task_index>& values) {
    task_record r =
        t == no_index ? task_record{.name = "output", .op = "output", .kind = task_kind::output} : g_.record(t);
    r.inputs = values;
    keep(r.inputs);
    r.after.clear();
    add(t, r);
  }
  [[nodiscard]] graph_half finish() && {
    half_.graph = std::move(b_).build();
    return std::move(half_);
  }

 private:
  void keep(std::vector<task_index>& tasks) const {
    std::vector<task_index> here;
    for (const task_index t : tasks)
      if (has(t)) here.push_back(half_.task_of[t]);
    tasks = std::move(here);
  }
  void add(task_index t, const task_record& r) {
    b_.add_task(r);
    half_.joint.push_back(t);
    if (!g_.fused_durations().empty())
      b_.fused_durations.push_back(t == no_index || r.kind == task_kind::input ? nanoseconds()
                                                                               : g_.fused_durations()[t]);
  }

  const task_graph& g_;
  task_graph_builder b_;
  graph_half half_;
  task_index expected_ = 0;
  std::vector<bool> is_saved_;
};

}  // namespace detail

/// Cuts a joint graph where its backward phase begins. Behind the cut is what belongs to the backward or the update
/// phase (`inferred_tags`), and what depends on such a task; before it everything else. What a task behind the cut
/// needs from before it is saved: the forward half returns it, and it is an input of the backward half, called `saved.`
/// and its name; inputs of the joint graph stay inputs of each half that uses them. A wait behind the cut for a
/// collective before it completes nothing there, as in graphs that a compiler has split. Tasks keep the tags that they
/// state, and no others: `inferred_tags` of a half may differ from those of the whole graph. To keep the latter, split
/// `with_inferred_tags(g)`. Each half's memory begins with its own inputs.
/// Source: AutoParallel tags the joint graph and buckets its halves.
/// Complexity: O((V + E) log V)
[[nodiscard]] inline split_graph split_phases(const task_graph& g) {
  const std::vector<task_tags> tags = inferred_tags(g);
  std::vector<bool> late(g.size());
  for (const task_index t : stable_topological_order(g.dependencies())) {
    late[t] = tags[t].when == phase::backward || tags[t].when == phase::update;
    for (const auto& e : g.dependencies().in(t)) late[t] = late[t] || late[e.source];
  }
  const auto is_output = [&](task_index t) { return g.kind(t) == task_kind::output; };

  // what is handed over, in the original order; inputs that nothing before the cut uses belong behind it
  std::vector<bool> used_early(g.size()), used_late(g.size()), returned(g.size());
  for (task_index t = 0; t < g.size(); ++t)
    for (const auto& e : g.dependencies().out(t)) {
      if (is_output(e.target))
        returned[t] = true;
      else if (late[e.target])
        used_late[t] = true;
      else
        used_early[t] = true;
    }

  detail::half_writer forward(g, " forward"), backward(g, " backward");
  std::array<std::vector<task_index>, 2> values;  // that the halves return
  task_index output = no_index;
  for (task_index t = 0; t < g.size(); ++t) {
    if (!is_output(t)) continue;
    output = t;
    for (const task_index p : g.inputs(t)) values[late[p] ? 1 : 0].push_back(p);
  }
  const auto each = [&](const auto& saved, const auto& task) {
    for (task_index t = 0; t < g.size(); ++t) {
      const bool is_input = g.kind(t) == task_kind::input;
      if (!late[t] && used_late[t] && !is_output(t)) saved(backward, t);
      if (late[t] && is_input) task(backward, t);
      if (!late[t] && is_input && (used_early[t] || returned[t] || !used_late[t])) task(forward, t);
    }
    for (task_index t = 0; t < g.size(); ++t)
      if (!is_output(t) && g.kind(t) != task_kind::input) task(late[t] ? backward : forward, t);
  };
  each([](auto& half, task_index t) { half.expect(t, true); }, [](auto& half, task_index t) { half.expect(t, false); });
  if (output != no_index) backward.expect(output, false);
  each([](auto& half, task_index t) { half.add_saved(t); }, [](auto& half, task_index t) { half.add_task(t); });
  for (task_index t = 0; t < g.size(); ++t)
    if (!late[t] && used_late[t] && !returned[t] && !is_output(t) && g.kind(t) != task_kind::input)
      values[0].push_back(t);
  forward.add_output(no_index, values[0]);
  if (output != no_index) backward.add_output(output, values[1]);
  return {std::move(forward).finish(), std::move(backward).finish()};
}

}  // namespace shardweave::inline v0
