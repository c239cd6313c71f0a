#pragma once

#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/diff.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/placement/explain.hpp>
#include <shardweave/report/text_table.hpp>
#include <shardweave/report/unit_text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// Explanations and differences of assignments, for people.

namespace shardweave::inline v0 {

namespace detail {

/// Vertices of one operation that change in the same way.
template <cost_value Cost>
struct change_group {
  std::tuple<std::string, std::string, std::string> key;  ///< operation, strategy before, strategy after
  std::size_t count = 0;
  std::uint32_t first = 0;  ///< vertex
  Cost before{}, after{};
};

template <cost_value Cost>
[[nodiscard]] std::string change_text(Cost before, Cost after) {
  if (is_forbidden(before) || is_forbidden(after)) return "";
  const Cost change = after - before;
  return (change > Cost{} ? "+" : "") + cost_text(change);
}

/// What a budget uses at most, before and after.
template <cost_value Cost>
[[nodiscard]] std::string budgets_text(const assignment_difference<Cost>& told) {
  text_table table({{"budget"}, {"before", text_side::right}, {"after", text_side::right}});
  for (std::size_t b = 0; b < told.before.budgets.size(); ++b)
    table.row({told.before.budgets[b].name, fixed_text(told.before.budgets[b].used, 3),
               fixed_text(told.after.budgets[b].used, 3)});
  return table.empty() ? "" : "\n" + table.text();
}

}  // namespace detail

/// The explanation for people: what the vertex costs by part, then its edges, then what hides behind it. Of what hides
/// together, the largest `most` are named.
template <cost_value Cost>
[[nodiscard]] std::string to_text(const vertex_explanation<Cost>& told, const placement_description<Cost>& d,
                                  std::size_t most = 3) {
  const auto cost = [](Cost c) { return is_forbidden(c) ? std::string("forbidden") : detail::cost_text(c); };
  const auto largest = [&](std::vector<hidden_part<Cost>> shares, auto name) {
    std::stable_sort(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.amount > b.amount; });
    std::string text;
    for (std::size_t i = 0; i < std::min(most, shares.size()); ++i)
      text += (i > 0 ? ", " : "") + name(shares[i]) + " " + cost(shares[i].amount);
    if (shares.size() > most) text += " and " + count_text(shares.size() - most) + " more";
    return text;
  };
  const bool counts = d.counted != savings_form::off;
  const std::string unit = d.unit.empty() ? "" : " " + d.unit;
  std::string text = d.name_of(told.vertex) + " takes strategy " + d.name_of_strategy(told.vertex, told.chosen) +
                     " and costs " + cost(told.price.total()) + unit + "\n";
  const text_table::column number{"", text_side::right};
  text_table parts({{}, number});
  parts.row({"computation", cost(told.price.parts.compute)});
  parts.row({"communication of inputs", cost(told.price.parts.communication)});
  parts.row({"transition of inputs", cost(told.price.parts.transition)});
  if (counts) parts.row({"less savings of inputs", cost(told.price.hidden)});
  text += parts.text(2);
  const auto edges = [&](const char* heading, const std::vector<explained_edge<Cost>>& listed) {
    if (listed.empty()) return;
    std::vector<text_table::column> columns = {
        {heading}, {"communication", text_side::right}, {"transition", text_side::right}};
    if (counts) columns.insert(columns.end(), {{"hidden", text_side::right}, {"behind"}});
    text_table table(std::move(columns));
    for (const explained_edge<Cost>& e : listed) {
      std::vector<std::string> cells = {d.name_of_edge(e.edge), cost(e.parts.communication), cost(e.parts.transition)};
      if (counts)
        cells.insert(cells.end(),
                     {cost(e.hidden), largest(e.behind, [&](const auto& part) { return d.name_of(part.behind); })});
      table.row(std::move(cells));
    }
    text += "\n" + table.text();
  };
  edges("input", told.inputs);
  edges("output", told.outputs);
  if (!told.hides.empty())
    text += "\nits computation hides " +
            largest(told.hides, [&](const auto& part) { return d.name_of_edge(part.edge); }) + "\n";
  return text;
}

/// The alternatives for people: the chosen strategy first, then the others, the least change first, `most` of them.
/// What they cost at the vertex stands by argument and for all its users together.
/// \param at_prices  change of each strategy at prices of time, in ns (`changes_at_prices`); empty: none is told
template <cost_value Cost>
[[nodiscard]] std::string to_text(const vertex_alternatives<Cost>& told, const placement_description<Cost>& d,
                                  std::size_t most = 12, std::span<const double> at_prices = {}) {
  const auto cost = [](Cost c) { return is_forbidden(c) ? std::string("forbidden") : detail::cost_text(c); };
  const text_side right = text_side::right;
  std::vector<text_table::column> columns = {{"strategy"}, {"computation", right}};
  for (const std::uint32_t e : told.inputs) columns.push_back({"argument " + std::to_string(d.edges[e].slot), right});
  columns.insert(columns.end(), {{"users", right}, {"objective", right}});
  if (!at_prices.empty()) columns.push_back({"at the step's prices", right});
  columns.emplace_back();
  text_table table(std::move(columns));
  std::vector<strategy> order(told.strategies.size());
  std::iota(order.begin(), order.end(), strategy{0});
  const auto rank = [&](strategy s) { return std::pair(s != told.chosen, told.strategies[s].change); };
  std::stable_sort(order.begin(), order.end(), [&](strategy a, strategy b) { return rank(a) < rank(b); });
  for (std::size_t i = 0; i < std::min(most + 1, order.size()); ++i) {
    const alternative<Cost>& other = told.strategies[order[i]];
    std::vector<std::string> cells = {d.name_of_strategy(told.vertex, order[i]), cost(other.compute)};
    for (const edge_parts<Cost>& part : other.inputs) cells.push_back(cost(plus(part.communication, part.transition)));
    Cost users{};
    for (const edge_parts<Cost>& part : other.outputs) users = plus(users, plus(part.communication, part.transition));
    const bool is_chosen = order[i] == told.chosen;
    const std::string sign = other.change > Cost{} && !is_forbidden(other.change) ? "+" : "";
    const std::string more = other.breaks.size() < 2 ? "" : " and " + count_text(other.breaks.size() - 1) + " more";
    cells.insert(cells.end(), {cost(users), is_chosen ? "" : sign + cost(other.change)});
    if (!at_prices.empty()) {
      const double us = at_prices[order[i]] / 1e3;
      cells.push_back(is_chosen || is_forbidden(other.change) ? "" : (us > 0 ? "+" : "") + fixed_text(us, 3));
    }
    cells.push_back(is_chosen ? "chosen" : other.breaks.empty() ? "" : other.breaks.front() + more);
    table.row(std::move(cells));
  }
  std::string text = d.name_of(told.vertex) + " and its other strategies";
  if (!told.along.empty()) text += ", which " + count_text(told.along.size()) + " tied to it would take too";
  text += ", if no other vertex changed" + (d.unit.empty() ? "" : ", " + d.unit) + "\n" + table.text();
  if (order.size() > most + 1) text += "and " + count_text(order.size() - most - 1) + " more\n";
  return text;
}

/// Every vertex on a line: its strategy, its computation, and what each argument costs, communication and transition
/// added up, less what is hidden; then the objective by part, what budgets use, and what is broken.
/// \throws error (input) as `evaluate`
/// Complexity: as `evaluate`
template <cost_value Cost>
[[nodiscard]] std::string assignment_text(const placement_description<Cost>& d, std::span<const strategy> choice) {
  const auto cost = [](Cost c) { return is_forbidden(c) ? std::string("forbidden") : detail::cost_text(c); };
  const evaluation<Cost> priced = evaluate(d, choice);
  std::vector<std::string> arguments(d.vertices.size());
  for (std::size_t e = 0; e < d.edges.size(); ++e) {
    const edge_parts<Cost> part = parts_of_edge(d, choice, e);
    std::string& paid = arguments[d.edges[e].to];
    if (!paid.empty()) paid += ", ";
    paid += part.communication == Cost{} && part.transition == Cost{} ? "0" : cost(part.communication);
    if (part.transition != Cost{}) paid += " + " + cost(part.transition);
    if (!priced.hidden.empty() && priced.hidden[e] != Cost{}) paid += " - " + cost(priced.hidden[e]);
  }
  const text_side right = text_side::right;
  text_table lines({{"vertex", right}, {"name"}, {"operation"}, {"strategy"}, {"computation", right}, {"arguments"}});
  for (std::size_t v = 0; v < d.vertices.size(); ++v) {
    const described_vertex<Cost>& vertex = d.vertices[v];
    lines.row({std::to_string(v), vertex.name, vertex.op, d.name_of_strategy(v, choice[v]),
               cost(vertex.compute[choice[v]]), arguments[v]});
  }
  text_table parts({{}, {"", right}});
  parts.row({"objective" + (d.unit.empty() ? "" : ", " + d.unit), cost(priced.objective)});
  parts.row({"  computation", cost(priced.parts.compute)});
  parts.row({"  communication", cost(priced.parts.communication)});
  parts.row({"  transition", cost(priced.parts.transition)});
  if (d.counted != savings_form::off) parts.row({"  less savings", cost(priced.savings)});
  for (const budget_use& use : priced.budgets)
    parts.row({"budget " + use.name, fixed_text(use.used, 3) + " of " + fixed_text(use.high, 3)});
  std::string text = lines.text() + "\n" + parts.text();
  for (const std::string& broken : priced.violations) text += "broken: " + broken + "\n";
  return text;
}

/// The difference for people: the objective by part, then the vertices that change their strategy, alike ones in one
/// row and the greatest change first, `most` rows of them; last what the others pay more or less.
template <cost_value Cost>
[[nodiscard]] std::string to_text(const assignment_difference<Cost>& told, const placement_description<Cost>& d,
                                  std::size_t most = 20) {
  const auto cost = [](Cost c) { return is_forbidden(c) ? std::string("forbidden") : detail::cost_text(c); };
  const text_side right = text_side::right;
  text_table parts({{d.unit}, {"before", right}, {"after", right}, {"change", right}});
  const auto row = [&](const char* name, Cost before, Cost after) {
    parts.row({name, cost(before), cost(after), detail::change_text(before, after)});
  };
  row("objective", told.before.objective, told.after.objective);
  row("  computation", told.before.parts.compute, told.after.parts.compute);
  row("  communication", told.before.parts.communication, told.after.parts.communication);
  row("  transition", told.before.parts.transition, told.after.parts.transition);
  if (d.counted != savings_form::off) row("  less savings", told.before.savings, told.after.savings);
  std::string text = parts.text() + detail::budgets_text(told);

  std::vector<detail::change_group<Cost>> groups;
  std::map<std::tuple<std::string, std::string, std::string>, std::size_t> group_of;
  Cost others_before{}, others_after{};
  std::size_t others = 0, changed = 0;
  for (const vertex_difference<Cost>& v : told.vertices) {
    if (!v.is_changed()) {
      ++others;
      others_before = plus(others_before, v.before.total());
      others_after = plus(others_after, v.after.total());
      continue;
    }
    ++changed;
    const described_vertex<Cost>& vertex = d.vertices[v.vertex];
    const std::tuple key(vertex.op.empty() ? d.name_of(v.vertex) : vertex.op,
                         d.name_of_strategy(v.vertex, v.chosen.first), d.name_of_strategy(v.vertex, v.chosen.second));
    const auto [at, is_new] = group_of.try_emplace(key, groups.size());
    if (is_new) groups.push_back({key, 0, v.vertex, Cost{}, Cost{}});
    detail::change_group<Cost>& group = groups[at->second];
    ++group.count;
    group.before = plus(group.before, v.before.total());
    group.after = plus(group.after, v.after.total());
  }
  const auto size = [](const detail::change_group<Cost>& g) {
    if (is_forbidden(g.before) || is_forbidden(g.after)) return forbidden<Cost>;
    return g.after > g.before ? g.after - g.before : g.before - g.after;
  };
  std::stable_sort(groups.begin(), groups.end(), [&](const auto& a, const auto& b) { return size(a) > size(b); });
  text_table table({{"changed"}, {"vertices", right}, {"first", right}, {"before"}, {"after"}, {"change", right}});
  for (std::size_t i = 0; i < std::min(most, groups.size()); ++i) {
    const auto& [operation, from, to] = groups[i].key;
    table.row({operation, count_text(groups[i].count), std::to_string(groups[i].first), from, to,
               detail::change_text(groups[i].before, groups[i].after)});
  }
  if (groups.size() > most) table.row({"and " + count_text(groups.size() - most, "more row")});
  if (others > 0)
    table.row({"same strategy", count_text(others), "", "", "", detail::change_text(others_before, others_after)});
  text += "\n" + count_text(changed) + " of " + count_text(d.vertices.size()) + " vertices change their strategy\n";
  if (!table.empty()) text += table.text();
  return text;
}

}  // namespace shardweave::inline v0
