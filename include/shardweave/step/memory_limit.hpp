#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/memory/held_values.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/cost_table.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/work_model.hpp>
#include <shardweave/step/step_work.hpp>
#include <shardweave/step/work_table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// A limit on memory in a placement problem and its work: whether a value is kept or recomputed becomes a choice beside
/// those of the placement.

namespace shardweave::inline v0 {

/// Adds a vertex for every value, whose strategies are its fates: kept in one of its forms; recomputed, if it can be
/// and what it is made from is available; or dropped, if nothing reads it. Costs do not change. Vertex
/// `d.vertices.size() + i` is that of value i. A last vertex, of one strategy, stands for what is always held.
/// \throws error (input) if a list is not of its vertex's strategies, or a value is made from a later one
/// Complexity: linear in the strategies of all forms
[[nodiscard]] inline placement_description<double> with_policies(placement_description<double> d,
                                                                 const held_values& held) {
  const auto check = [&](const held_value& v, std::uint32_t vertex, const std::vector<double>& list) {
    if (vertex >= d.vertices.size() || list.size() != d.vertices[vertex].compute.size())
      refuse(error_category::input,
             "held value '" + v.name + "' tells " + std::to_string(list.size()) + " strategies of vertex " +
                 std::to_string(vertex) +
                 (vertex < d.vertices.size() ? ", expected " + std::to_string(d.vertices[vertex].compute.size())
                                             : ", which is not there"));
  };
  const auto first = static_cast<std::uint32_t>(d.vertices.size());
  const auto columns = [](const held_value& v) {
    return v.forms.size() + (v.again.empty() ? 0U : 1U) + (v.is_read ? 0U : 1U);
  };
  for (std::uint32_t i = 0; i < held.values.size(); ++i) {
    const held_value& v = held.values[i];
    for (const held_form& form : v.forms) check(v, form.vertex, form.bytes);
    if (!v.again.empty()) check(v, v.maker, v.again);
    if (columns(v) == 0)
      refuse(error_category::input, "held value '" + v.name + "' is read, but has no form and is not made again");
    for (const std::uint32_t u : v.from)
      if (u >= i)
        refuse(error_category::input, "held value '" + v.name + "' is made from value " + std::to_string(u) +
                                          ", expected one before it, which is " + std::to_string(i));
  }
  const std::pair<const char*, const std::vector<held_form>*> there[] = {
      {"always", &held.always}, {"at work", &held.at_work}, {"beside", &held.beside}};
  for (const auto& [name, forms] : there)
    for (const held_form& form : *forms) check({.name = name}, form.vertex, form.bytes);

  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, std::uint32_t> forbidding;  // tables by size
  for (const held_value& v : held.values) {
    const auto at = static_cast<std::uint32_t>(d.vertices.size());
    described_vertex<double> made{.name = "held " + v.name, .op = "held"};
    made.compute.assign(columns(v), 0.0);
    d.vertices.push_back(std::move(made));
    if (v.again.empty()) continue;
    for (const std::uint32_t u : v.from) {
      if (held.values[u].is_read) continue;  // available anyway
      const std::size_t rows = columns(held.values[u]), width = columns(v);
      const auto [known, fresh] =
          forbidding.try_emplace({rows, width, v.forms.size()}, static_cast<std::uint32_t>(d.tables.size()));
      if (fresh) {  // dropped, so nothing can be recomputed from it
        std::vector<double> entries(rows * width);
        entries[(rows - 1) * width + v.forms.size()] = forbidden<double>;
        d.tables.push_back(
            std::make_shared<const cost_table<double>>(cost_table<double>::from_entries(rows, width, entries)));
      }
      d.edges.push_back({.from = first + u, .to = at, .slot = 0, .communication = known->second});
    }
  }
  described_vertex<double> rest{.name = "held always", .op = "held"};
  rest.compute.assign(1, 0.0);
  d.vertices.push_back(std::move(rest));
  return d;
}

/// The work of a problem with the vertices of `with_policies`, with one more channel: bytes that are held, limited to
/// `limit`. Recomputing a value is work of the compute stream after vertex `held.moment`, and so is its first
/// computation if it is late (`late_work`).
/// \param limit     in bytes
/// \param vertices  how many the problem has without those that `with_policies` adds
/// \pre `held` was accepted by `with_policies` of the problem
/// Complexity: linear in the strategies of all forms times their number of alternatives, and in the tables of `work`
[[nodiscard]] inline step_work with_policies(step_work work, const held_values& held, double limit,
                                             std::size_t vertices) {
  const auto first = static_cast<std::uint32_t>(vertices);
  const std::size_t channel = work.channels++;
  work.limits.push_back(limit);
  for (work_table& t : work.tables) {
    t.loads.emplace_back();
    for (auto& loads : t.otherwise) loads.emplace_back();
  }
  std::map<std::size_t, std::uint32_t> idle;  // lists of zeros, by length
  const auto add_vertex = [&](std::size_t strategies) {
    const auto [at, fresh] = idle.try_emplace(strategies, static_cast<std::uint32_t>(work.times.size()));
    if (fresh) work.times.emplace_back(strategies, 0.0);
    work.times_of.push_back(at->second);
  };
  // an edge with load `entry(a, b)` on channel `on`
  const auto add_edge = [&](std::uint32_t from, std::uint32_t to, std::size_t on, std::size_t rows, std::size_t width,
                            std::uint32_t since, const auto& entry) {
    std::vector<std::uint32_t> all_rows(rows), all_columns(width);
    std::iota(all_rows.begin(), all_rows.end(), 0U);
    std::iota(all_columns.begin(), all_columns.end(), 0U);
    edge_work taken{.loads = std::vector<double>(work.channels)};
    work.tables.push_back(work_table_builder(work.channels, "what is held")
                              .table(all_rows, all_columns, [&](std::uint32_t a, std::uint32_t b) {
                                taken.loads[on] = entry(a, b);
                                return taken;
                              }));
    work.edges.push_back({.from = from,
                          .to = to,
                          .table = static_cast<std::uint32_t>(work.tables.size() - 1),
                          .share = static_cast<std::uint32_t>(work.shares++),
                          .since = since});
  };
  for (std::uint32_t i = 0; i < held.values.size(); ++i) {
    const held_value& v = held.values[i];
    const std::size_t width = v.forms.size() + (v.again.empty() ? 0U : 1U) + (v.is_read ? 0U : 1U);
    add_vertex(width);
    for (std::size_t f = 0; f < v.forms.size(); ++f)
      add_edge(v.forms[f].vertex, first + i, channel, v.forms[f].bytes.size(), width, work_edge::no_vertex,
               [&](auto a, auto b) { return b == f ? v.count * v.forms[f].bytes[a] : 0.0; });
    if (!v.again.empty())
      add_edge(v.maker, first + i, 0, v.again.size(), width, held.moment,
               [&](auto a, auto b) { return b == v.forms.size() ? v.count * v.again[a] : 0.0; });
    if (v.again.empty() || v.late.empty()) continue;
    std::vector<double> time;
    for (strategy s = 0; s < v.again.size(); ++s) time.push_back(work.time(v.maker, s));
    if (std::ranges::all_of(time, [](double t) { return t == 0; })) continue;
    std::vector<std::uint32_t> late = v.late;
    std::ranges::sort(late);
    work.late.push_back({static_cast<std::uint32_t>(work.edges.size()), std::move(late)});
    add_edge(v.maker, first + i, 0, v.again.size(), width, held.moment,
             [&](auto a, auto b) { return b == v.forms.size() ? v.count * time[a] : 0.0; });
  }
  add_vertex(1);
  for (const auto* forms : {&held.always, &held.at_work, &held.beside})
    for (const held_form& form : *forms)
      add_edge(form.vertex, first + static_cast<std::uint32_t>(held.values.size()), channel, form.bytes.size(), 1,
               work_edge::no_vertex, [&](auto a, auto) { return form.bytes[a]; });
  return work;
}

/// Extends an assignment to the problem of `with_policies`: values that are read are kept in their last form, others
/// dropped.
/// Complexity: O(values)
[[nodiscard]] inline assignment keeping_all(assignment choice, const held_values& held) {
  for (const held_value& v : held.values)
    choice.push_back(static_cast<strategy>(v.is_read ? (v.forms.empty() ? 0 : v.forms.size() - 1)
                                                     : v.forms.size() + (v.again.empty() ? 0U : 1U)));
  choice.push_back(0);
  return choice;
}

}  // namespace shardweave::inline v0
