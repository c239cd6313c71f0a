#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// What makes a schedule valid.

namespace shardweave::inline v0 {

namespace detail {
[[noreturn]] inline void invalid_schedule(const std::string& what) { refuse(error_category::input, what); }

inline void validate_bucket(const task_graph& g, const bucket& b, const std::string& who,
                            std::vector<std::uint32_t>& owner, std::uint32_t number) {
  if (b.members.size() < 2)
    invalid_schedule(who + " has " + number_text(b.members.size(), "member") + ", expected two or more");
  for (const task_index t : b.members) {
    if (t >= g.size())
      invalid_schedule(who + " names task " + std::to_string(t) + ", but there are only " + std::to_string(g.size()));
    if (!g.is_collective(t))
      invalid_schedule(who + ": " + g.label(t) + " is of kind " + std::string(to_string(g.kind(t))) +
                       ", expected collective");
    if (owner[t] != no_index)
      invalid_schedule(who + ": " + g.label(t) + " is a member of bucket " + std::to_string(owner[t]) + " too");
    owner[t] = number;
  }
  const collective_info first = g.collective(b.members.front());
  if (!is_mergeable(first.op))
    invalid_schedule(
        who + ": " + g.label(b.members.front()) +
        (first.op == collective::all_to_all ? " is an all_to_all" : " is no collective that can be merged"));
  bytes in, out;
  for (const task_index t : b.members) {
    const collective_info c = g.collective(t);
    const auto differ = [&](std::string_view what, const std::string& found, const std::string& expected) {
      invalid_schedule(who + ": " + g.label(t) + " has " + std::string(what) + " " + found + ", expected " + expected +
                       " as " + g.label(b.members.front()));
    };
    if (c.op != first.op) differ("op", std::string(name_of(c.op)), std::string(name_of(first.op)));
    if (c.group != first.group) differ("group", std::to_string(c.group), std::to_string(first.group));
    if (c.dtype != first.dtype) differ("dtype", std::string(c.dtype), std::string(first.dtype));
    if (c.reduce != first.reduce) differ("reduction", std::string(c.reduce), std::string(first.reduce));
    in += c.bytes_in;
    out += c.bytes_out;
  }
  const auto sum_is = [&](const char* what, std::int64_t found, std::int64_t expected) {
    if (found != expected)
      invalid_schedule(who + " states " + what + " " + std::to_string(found) + ", expected " +
                       std::to_string(expected));
  };
  sum_is("channel", b.channel, first.group);
  sum_is("bytes_in", b.bytes_in.count(), in.count());
  sum_is("bytes_out", b.bytes_out.count(), out.count());
}
}  // namespace detail

/// Refuses a schedule that is not valid. `order` must be a permutation of the tasks that respects inputs, what waits
/// complete, the tasks' `after` and the schedule's `after`. A bucket must have two or more members of one operation
/// (all-gather, reduce-scatter or all-reduce), group, reduction and dtype, each in no other bucket, and must state
/// their group as its `channel` and their sums of bytes, as `make_bucket` does. Its launch, at its last member in
/// `order`, comes before every member's wait; a member has a wait, and no users but its waits and the output.
/// \throws error (input) naming the task, pair or bucket that breaks a rule
/// Complexity: O(V + E)
inline void validate_schedule(const task_graph& g, const schedule& s) {
  using detail::invalid_schedule;
  if (s.order.size() != g.size())
    invalid_schedule("the order lists " + number_text(s.order.size(), "task") + ", expected each of " +
                     std::to_string(g.size()) + " once");
  std::vector<std::uint32_t> position(g.size(), no_index);
  for (std::uint32_t i = 0; i < s.order.size(); ++i) {
    const task_index t = s.order[i];
    if (t >= g.size())
      invalid_schedule("position " + std::to_string(i) + " of the order names task " + std::to_string(t) +
                       ", but there are only " + std::to_string(g.size()));
    if (position[t] != no_index)
      invalid_schedule("the order lists " + g.label(t) + " at positions " + std::to_string(position[t]) + " and " +
                       std::to_string(i));
    position[t] = i;
  }
  for (const auto& e : g.dependencies().all_edges())
    if (position[e.source] > position[e.target])
      invalid_schedule("the order has " + g.label(e.target) + " at position " + std::to_string(position[e.target]) +
                       ", before " + g.label(e.source) + ", on which it depends, at position " +
                       std::to_string(position[e.source]));
  for (const auto& [earlier, later] : s.after) {
    if (earlier >= g.size() || later >= g.size())
      invalid_schedule("an added dependency names task " + std::to_string(std::max(earlier, later)) +
                       ", but there are only " + std::to_string(g.size()));
    if (position[earlier] >= position[later])
      invalid_schedule("the order breaks the added dependency of " + g.label(later) + " on " + g.label(earlier));
  }

  std::vector<std::uint32_t> owner(g.size(), no_index);
  std::vector<std::uint32_t> launch(s.buckets.size(), 0);
  for (std::uint32_t b = 0; b < s.buckets.size(); ++b) {
    detail::validate_bucket(g, s.buckets[b], "bucket " + std::to_string(b), owner, b);
    for (const task_index t : s.buckets[b].members) launch[b] = std::max(launch[b], position[t]);
  }
  std::vector<bool> awaited(g.size());
  for (task_index t = 0; t < g.size(); ++t) {
    if (const task_index c = g.completes(t); c != no_index && owner[c] != no_index) {
      awaited[c] = true;
      if (position[t] < launch[owner[c]])
        invalid_schedule("bucket " + std::to_string(owner[c]) + " is launched at position " +
                         std::to_string(launch[owner[c]]) + ", after the wait " + g.label(t) + " for its member " +
                         g.label(c) + " at position " + std::to_string(position[t]));
    }
    for (const task_index p : g.inputs(t))
      if (owner[p] != no_index && g.completes(t) != p && g.kind(t) != task_kind::output)
        invalid_schedule("bucket " + std::to_string(owner[p]) + ": its member " + g.label(p) + " is used by " +
                         g.label(t) + ", expected no users but its wait and the output");
  }
  for (task_index t = 0; t < g.size(); ++t)
    if (owner[t] != no_index && !awaited[t])
      invalid_schedule("bucket " + std::to_string(owner[t]) + ": nothing waits for its member " + g.label(t));
}

}  // namespace shardweave::inline v0
