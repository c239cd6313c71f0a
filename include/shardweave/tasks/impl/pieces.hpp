#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/graph/stable_order.hpp>
#include <shardweave/tasks/pieces.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <algorithm>
#include <string>
#include <utility>

/// \file
/// Collectives in pieces.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE std::vector<piecewise> tasks_in_pieces(const task_graph& g, std::span<const piecewise> how,
                                                         std::span<const char> wanted) {
  if (how.size() != g.size() || wanted.size() != g.size())
    refuse(error_category::input, "pieces: " + std::to_string(how.size()) + " and " + std::to_string(wanted.size()) +
                                      " tasks are told of, the graph has " + std::to_string(g.size()));
  std::vector<piecewise> cut(g.size(), piecewise::no);
  std::vector<task_index> way;
  std::vector<char> is_passed(g.size());  // what passes on, and whose users were looked at
  // what lies between, once a product is met
  const auto keep = [&](std::size_t length) {
    for (std::size_t i = 0; i < length; ++i) cut[way[i]] = how[way[i]];
  };
  const auto feeds = [&](task_index c) {
    way.clear();
    for (task_index t = c; g.inputs(t).size() == 1;) {
      t = g.inputs(t).front();
      if (how[t] == piecewise::no || how[t] == piecewise::sum || g.kind(t) == task_kind::collective ||
          g.kind(t) == task_kind::wait)
        return false;
      way.push_back(t);
      if (how[t] == piecewise::product) {
        keep(way.size());
        return true;
      }
    }
    return false;
  };
  const auto takes_pieces = [&](task_index t) {
    return how[t] != piecewise::no && g.kind(t) != task_kind::collective && g.kind(t) != task_kind::wait;
  };
  // whether a product or sum uses a result, perhaps through what passes it on
  std::vector<char> is_used(g.size());
  const std::vector<task_index> order = stable_topological_order(g.dependencies());
  for (std::size_t i = order.size(); i-- > 0;)
    if (const task_index t = order[i]; takes_pieces(t) && (how[t] != piecewise::passes_on || is_used[t] != 0))
      for (const task_index p : g.inputs(t)) is_used[p] = 1;
  const auto cut_users = [&](task_index wait) {
    way.assign(1, wait);
    while (!way.empty()) {
      const task_index from = way.back();
      way.pop_back();
      for (const auto& e : g.dependencies().out(from)) {
        const task_index t = e.target;
        if (!takes_pieces(t) || std::ranges::find(g.inputs(t), from) == g.inputs(t).end()) continue;
        if (how[t] == piecewise::passes_on && (is_used[t] == 0 || is_passed[t] != 0)) continue;
        cut[t] = how[t];
        if (how[t] != piecewise::passes_on) continue;
        is_passed[t] = 1;
        way.push_back(t);
      }
    }
  };
  std::vector<char> goes(g.size());  // by collective: whether it goes in pieces
  for (task_index w = 0; w < g.size(); ++w) {
    const task_index c = g.kind(w) == task_kind::wait ? g.completes(w) : no_index;
    if (c == no_index || wanted[c] == 0) continue;
    if (feeds(c) || is_used[w] != 0) goes[c] = 1;
    if (is_used[w] != 0) cut_users(w);
  }
  for (task_index w = 0; w < g.size(); ++w)
    if (const task_index c = g.completes(w); c != no_index && goes[c] != 0) cut[w] = cut[c] = piecewise::passes_on;
  return cut;
}

namespace detail {

/// By task: its first piece.
inline std::vector<task_index> first_pieces(std::span<const piecewise> cut, unsigned pieces) {
  std::vector<task_index> first(cut.size());
  task_index next = 0;
  for (task_index t = 0; t < cut.size(); ++t) {
    first[t] = next;
    next += cut[t] != piecewise::no ? pieces : 1;
  }
  return first;
}

}  // namespace detail

SHARDWEAVE_INLINE schedule in_pieces(const task_graph& g, const schedule& whole, std::span<const piecewise> cut,
                                     unsigned pieces) {
  const std::vector<task_index> first = detail::first_pieces(cut, pieces);
  schedule result;
  std::vector<task_index> run;  // next to each other, and cut
  const auto flush = [&] {
    for (unsigned i = 0; i < pieces; ++i)
      for (const task_index t : run) result.order.push_back(first[t] + i);
    run.clear();
  };
  for (const task_index t : whole.order) {
    const auto runs = [&](task_index p) { return std::ranges::find(run, p) != run.end(); };
    const bool uses_sum = std::ranges::any_of(
        g.dependencies().in(t), [&](const auto& e) { return cut[e.source] == piecewise::sum && runs(e.source); });
    if (cut[t] == piecewise::no || uses_sum || (g.completes(t) != no_index && runs(g.completes(t)))) flush();
    cut[t] != piecewise::no ? run.push_back(t) : result.order.push_back(first[t]);
  }
  flush();
  for (bucket b : whole.buckets) {
    if (std::ranges::any_of(b.members, [&](task_index t) { return cut[t] != piecewise::no; })) continue;
    for (task_index& t : b.members) t = first[t];
    result.buckets.push_back(std::move(b));
  }
  return result;
}

SHARDWEAVE_INLINE graph_in_pieces with_pieces(const task_graph& g, std::span<const piecewise> cut, unsigned pieces,
                                              const std::function<nanoseconds(task_index)>& time_of) {
  const auto refuse_pieces = [](const std::string& what) { refuse(error_category::input, "pieces: " + what); };
  if (cut.size() != g.size())
    refuse_pieces(std::to_string(cut.size()) + " tasks are told of, the graph has " + std::to_string(g.size()));
  if (pieces < 2) refuse_pieces("a task is cut into " + std::to_string(pieces) + ", expected 2 or more");
  for (task_index t = 0; t < g.size(); ++t)
    if (const task_index c = g.completes(t); c != no_index && (cut[t] != piecewise::no) != (cut[c] != piecewise::no))
      refuse_pieces("one of " + g.label(c) + " and its wait " + g.label(t) + " is cut, expected both or neither");

  task_graph_builder b = task_graph_builder::like(g);

  // tasks may be named before they are added: all numbers are known beforehand
  const std::vector<task_index> first = detail::first_pieces(cut, pieces);
  graph_in_pieces result;
  const auto part = [&](bytes whole, unsigned i) {
    const std::int64_t n = pieces, size = whole.count() / n;
    return bytes(i + 1 < pieces ? size : whole.count() - size * (n - 1));
  };
  for (task_index t = 0; t < g.size(); ++t) {
    const task_record whole = g.record(t);
    const unsigned count = cut[t] != piecewise::no ? pieces : 1;
    const nanoseconds time = cut[t] != piecewise::no ? time_of(t) : whole.duration;
    for (unsigned i = 0; i < count; ++i) {
      task_record r = whole;
      const auto renumber = [&](std::vector<task_index>& list) {
        std::vector<task_index> now;
        for (const task_index p : list) {
          const bool all = cut[p] != piecewise::no && (cut[t] == piecewise::no || cut[p] == piecewise::sum);
          const task_index at = first[p] + (cut[p] != piecewise::no && !all ? i : 0);
          for (unsigned k = 0; k < (all ? pieces : 1U); ++k) now.push_back(at + k);
        }
        list = std::move(now);
      };
      renumber(r.inputs);
      renumber(r.after);
      if (r.completes) r.completes = first[*r.completes] + (cut[*r.completes] != piecewise::no ? i : 0);
      r.duration = time;
      if (cut[t] != piecewise::no) {
        r.name += "." + std::to_string(i + 1) + "of" + std::to_string(pieces);
        for (output_record& o : r.outputs) o.size = part(o.size, i);
        if (r.collective) {
          r.collective->bytes_in = part(r.collective->bytes_in, i);
          r.collective->bytes_out = part(r.collective->bytes_out, i);
        }
      }
      if (!g.fused_durations().empty())
        b.fused_durations.push_back(cut[t] != piecewise::no ? time : g.fused_durations()[t]);
      b.add_task(r);
      result.original.push_back(t);
    }
    if (whole.kind != task_kind::collective && whole.kind != task_kind::wait && cut[t] != piecewise::no)
      result.longer += nanoseconds(time.count() * count - whole.duration.count());
  }
  result.tasks = std::move(b).build();
  return result;
}

}  // namespace shardweave::inline v0
