#pragma once

#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// Task graphs in a few lines, for scenarios in which only names, dependencies and durations matter.
class overlap_tasks {
 public:
  using task = shardweave::task_index;
  struct launched {
    task start, wait;
  };

  explicit overlap_tasks(std::uint32_t groups = 3) {
    for (std::uint32_t g = 0; g < groups; ++g) {
      b.add_group({.id = static_cast<std::int64_t>(g), .name = std::to_string(g), .size = 8});
      for (const shardweave::collective op :
           {shardweave::collective::all_gather, shardweave::collective::reduce_scatter,
            shardweave::collective::all_reduce})
        b.add_table(shardweave::duration_table(op, g, {shardweave::bytes(0)}, {shardweave::nanoseconds(collective)}));
    }
  }

  task input(const std::string& name = "x") {
    return b.add_task({.name = name, .op = "input", .kind = shardweave::task_kind::input});
  }
  task mm(std::vector<task> inputs, std::int64_t takes = 1000) { return add("mm", "compute", inputs, takes); }
  task other(const std::string& op, std::vector<task> inputs, std::int64_t takes = 0) {
    return add(op, "other", inputs, takes);
  }
  task view(std::vector<task> inputs) { return add("view", "view", inputs, 0); }
  task output(std::vector<task> inputs) { return add("output", "output", inputs, 0); }
  launched ag(task from, std::uint32_t group = 0, std::int64_t size = 64) {
    return {start("ag", from, group, size), next_};
  }
  launched rs(task from, std::uint32_t group = 0, std::int64_t size = 64) {
    return {start("rs", from, group, size), next_};
  }
  launched ar(task from, std::uint32_t group = 0, std::int64_t size = 64) {
    return {start("ar", from, group, size), next_};
  }
  /// A launch whose wait is added later.
  task start(const std::string& name, task from, std::uint32_t group = 0, std::int64_t size = 64) {
    const task t = launch(name, from, group, size);
    next_ = wait(t);
    return t;
  }
  task launch(const std::string& name, task from, std::uint32_t group = 0, std::int64_t size = 64) {
    const bool gathers = name.starts_with("ag"), reduces = name.starts_with("ar");
    const auto op = gathers   ? shardweave::collective::all_gather
                    : reduces ? shardweave::collective::all_reduce
                              : shardweave::collective::reduce_scatter;
    shardweave::task_record t{.name = name,
                              .op = std::string(name_of(op)),
                              .kind = shardweave::task_kind::collective,
                              .duration = shardweave::nanoseconds(collective),
                              .inputs = {from}};
    t.collective = shardweave::collective_record{
        op, group, shardweave::bytes(size), shardweave::bytes(size), dtype, gathers ? "none" : "sum"};
    return b.add_task(t);
  }
  task wait(task started) {
    return b.add_task(
        {.name = "w", .op = "wait", .kind = shardweave::task_kind::wait, .inputs = {started}, .completes = started});
  }
  /// One gather of several tensors: a part and a wait for each.
  std::pair<task, std::vector<task>> ag_of_several(const std::vector<task>& from, std::int64_t size = 64) {
    shardweave::task_record t{.name = "ag_coalesced",
                              .op = "all_gather_coalesced",
                              .kind = shardweave::task_kind::collective,
                              .duration = shardweave::nanoseconds(collective),
                              .inputs = from};
    const shardweave::bytes all(size * static_cast<std::int64_t>(from.size()));
    t.collective = shardweave::collective_record{shardweave::collective::other, 0, all, all, dtype, "none"};
    const task start = b.add_task(t);
    std::pair<task, std::vector<task>> result{start, {}};
    for (std::size_t i = 0; i < from.size(); ++i) {
      const task part = add("getitem", "view", {start}, 0);
      result.second.push_back(b.add_task(
          {.name = "w", .op = "wait", .kind = shardweave::task_kind::wait, .inputs = {part}, .completes = start}));
    }
    return result;
  }
  [[nodiscard]] shardweave::task_graph graph() { return std::move(b).build(); }

  std::int64_t collective = 1000;  ///< ns of each launch from now on
  std::string dtype = "f32";
  shardweave::task_graph_builder b;

 private:
  task add(const std::string& name, const char* kind, const std::vector<task>& inputs, std::int64_t takes) {
    return b.add_task({.name = name,
                       .op = name,
                       .kind = *shardweave::task_kind_from(kind),
                       .duration = shardweave::nanoseconds(takes),
                       .inputs = inputs});
  }
  task next_ = 0;
};

/// Names in the order of a schedule, inputs, outputs and views left out; a bucket is one name with its size, its waits
/// are one: "3ag mm w".
inline std::string told(const shardweave::task_graph& g, const shardweave::schedule& s) {
  std::vector<std::size_t> left(g.size(), 0), owner(g.size(), s.buckets.size());
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < s.buckets.size(); ++i) {
    members.push_back(s.buckets[i].members.size());
    for (const auto t : s.buckets[i].members) owner[t] = i;
  }
  std::vector<bool> waited(s.buckets.size());
  std::string text;
  for (const auto t : s.order) {
    const shardweave::task_kind kind = g.kind(t);
    if (kind == shardweave::task_kind::input || kind == shardweave::task_kind::output ||
        kind == shardweave::task_kind::view)
      continue;
    std::string name(g.name_of(t));
    if (owner[t] < s.buckets.size()) {
      if (--members[owner[t]] > 0) continue;
      name = std::to_string(s.buckets[owner[t]].members.size()) + name;
    } else if (const auto c = g.completes(t); c != shardweave::no_index && owner[c] < s.buckets.size()) {
      if (waited[owner[c]]) continue;
      waited[owner[c]] = true;
    }
    text += (text.empty() ? "" : " ") + name;
  }
  return text;
}
