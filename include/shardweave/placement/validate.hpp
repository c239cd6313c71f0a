#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/placement/description.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

/// \file
/// Validation of a description before anything is built from it.

namespace shardweave::inline v0 {
namespace detail {

[[noreturn]] inline void refuse_input(const std::string& message) { refuse(error_category::input, message); }

template <cost_value Cost>
void check_vertex_index(const placement_description<Cost>& d, std::uint32_t v, const std::string& where) {
  if (v >= d.vertices.size())
    refuse_input(where + " names vertex " + std::to_string(v) + ", but there are only " +
                 number_text(d.vertices.size(), "vertex", "vertices"));
}

template <cost_value Cost>
void check_strategy_index(const placement_description<Cost>& d, std::uint32_t v, strategy s, const std::string& where) {
  if (s >= d.vertices[v].compute.size())
    refuse_input(where + " names strategy " + std::to_string(s) + " of " + d.name_of(v) + ", which has only " +
                 std::to_string(d.vertices[v].compute.size()));
}

template <cost_value Cost, class Where>
void check_cost(Cost c, const Where& where) {
  if constexpr (std::floating_point<Cost>) {
    if (std::isnan(c) || c == -forbidden<Cost>)
      refuse_input(where() + (std::isnan(c) ? " is not a number" : " is -infinity"));
  } else {
    static_cast<void>(c);
    static_cast<void>(where);
  }
}

template <cost_value Cost>
void validate_vertices(const placement_description<Cost>& d) {
  const auto check_count = [&](std::size_t v, std::size_t found, const char* what) {
    if (found != 0 && found != d.vertices[v].compute.size())
      refuse_input(d.name_of(v) + " has " + number_text(found, what) + " for " +
                   number_text(d.vertices[v].compute.size(), "strategy", "strategies"));
  };
  for (std::size_t v = 0; v < d.vertices.size(); ++v) {
    const auto& vertex = d.vertices[v];
    if (vertex.compute.empty()) refuse_input(d.name_of(v) + " has no strategies");
    for (std::size_t s = 0; s < vertex.compute.size(); ++s)
      check_cost(vertex.compute[s],
                 [&] { return "the cost of strategy " + std::to_string(s) + " of " + d.name_of(v); });
    check_count(v, vertex.labels.size(), "label");
    check_count(v, vertex.memory.size(), "memory size");
  }
}

template <cost_value Cost>
void validate_edges(const placement_description<Cost>& d) {
  for (std::size_t t = 0; t < d.tables.size(); ++t) {
    if (d.tables[t] == nullptr) refuse_input("table " + std::to_string(t) + " is absent (a null pointer)");
    for (std::size_t i = 0; i < d.tables[t]->row_classes(); ++i)
      for (std::size_t j = 0; j < d.tables[t]->column_classes(); ++j)
        check_cost(d.tables[t]->class_cost(i, j), [&] { return "an entry of table " + std::to_string(t); });
  }
  for (std::size_t e = 0; e < d.edges.size(); ++e) {
    const auto& edge = d.edges[e];
    if (std::max(edge.from, edge.to) >= d.vertices.size())
      for (const std::uint32_t end : {edge.from, edge.to}) check_vertex_index(d, end, "edge " + std::to_string(e));
    for (const std::uint32_t t : {edge.communication, edge.transition}) {
      if (t == no_table) continue;
      if (t >= d.tables.size())
        refuse_input(d.name_of_edge(e) + " names table " + std::to_string(t) + ", but there are only " +
                     std::to_string(d.tables.size()) + " tables");
      const std::size_t rows = d.vertices[edge.from].compute.size();
      const std::size_t columns = d.vertices[edge.to].compute.size();
      if (d.tables[t]->rows() != rows || d.tables[t]->columns() != columns)
        refuse_input(d.name_of_edge(e) + " names table " + std::to_string(t) + " of " +
                     std::to_string(d.tables[t]->rows()) + " x " + std::to_string(d.tables[t]->columns()) +
                     " costs, but its ends have " + std::to_string(rows) + " and " + std::to_string(columns) +
                     " strategies");
    }
  }
}

/// Upper bound on sums of floating-point costs: solvers add and subtract sums, so the type's largest value itself would
/// be too much.
template <std::floating_point Number>
inline constexpr Number largest_sum = std::numeric_limits<Number>::max() / 16;

template <std::floating_point Number>
[[nodiscard]] std::string floating_limit(Number most) {
  char digits[32] = {};
  std::snprintf(digits, sizeof digits, "%Lg", static_cast<long double>(most));
  return std::string(digits) + ", what sums of floating-point numbers are kept below";
}

/// Checks that sums of costs, under any assignment, stay within their type, also where solvers subtract them, and with
/// savings those of what may hide.
template <cost_value Cost>
void validate_totals(const placement_description<Cost>& d) {
  using number = std::conditional_t<std::floating_point<Cost>, Cost, std::uint64_t>;
  number most{}, total{};
  if constexpr (std::floating_point<Cost>) {
    most = largest_sum<Cost>;
  } else {
    most = (static_cast<std::uint64_t>(forbidden<Cost>) - 1) / 4;
  }
  const auto magnitude = [](Cost c) -> number {
    if (is_forbidden(c)) return 0;
    if constexpr (std::floating_point<Cost>) {
      return std::abs(c);
    } else {
      return c < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(c) : static_cast<std::uint64_t>(c);
    }
  };
  const auto add = [&](number largest, auto name) {
    if (largest > most - total) {
      std::string limit = "a quarter of what 64-bit integers hold, which sums are kept below";
      if constexpr (std::floating_point<Cost>) limit = floating_limit(most) + "; infinity forbids a choice";
      refuse_input("the costs of all vertices and edges up to " + name() + " may add up to more than " + limit);
    }
    total += largest;
  };
  for (std::size_t v = 0; v < d.vertices.size(); ++v) {
    number largest{};
    for (const Cost c : d.vertices[v].compute) largest = std::max(largest, magnitude(c));
    add(largest, [&] { return d.name_of(v); });
  }
  std::vector<number> of_table;
  for (const auto& table : d.tables) {
    number& largest = of_table.emplace_back();
    for (std::size_t i = 0; i < table->row_classes(); ++i)
      for (std::size_t j = 0; j < table->column_classes(); ++j)
        largest = std::max(largest, magnitude(table->class_cost(i, j)));
  }
  for (std::size_t e = 0; e < d.edges.size(); ++e)
    for (const std::uint32_t t : {d.edges[e].communication, d.edges[e].transition})
      if (t != no_table) add(of_table[t], [&] { return d.name_of_edge(e); });
  if (d.counted == savings_form::off) return;
  for (const hideable_edge& h : d.overlap)  // each may save all of it
    if (h.edge < d.edges.size() && d.edges[h.edge].communication != no_table)
      add(of_table[d.edges[h.edge].communication], [&] { return d.name_of_edge(h.edge); });
}

template <cost_value Cost>
void validate_budgets(const placement_description<Cost>& d) {
  for (const budget& b : d.constraints.budgets) {
    const std::string where = "budget '" + b.name + "'";
    if (std::isnan(b.low) || std::isnan(b.high) || b.low > b.high)
      refuse_input(where + " asks for a usage from " + number_text(b.low) + " to " + number_text(b.high));
    double total = 0;
    for (const budget_term& term : b.terms) {
      check_vertex_index(d, term.vertex, where);
      if (term.usage.size() != d.vertices[term.vertex].compute.size())
        refuse_input(where + " has " + number_text(term.usage.size(), "usage") + " for the " +
                     number_text(d.vertices[term.vertex].compute.size(), "strategy", "strategies") + " of " +
                     d.name_of(term.vertex));
      for (std::size_t s = 0; s < term.usage.size(); ++s)
        if (!(term.usage[s] >= 0) || std::isinf(term.usage[s]))
          refuse_input("the usage " + number_text(term.usage[s]) + " of strategy " + std::to_string(s) + " of " +
                       d.name_of(term.vertex) + " in " + where + " is negative or not a finite number");
      total += term.usage.empty() ? 0 : *std::max_element(term.usage.begin(), term.usage.end());
      if (!(total <= largest_sum<double>))
        refuse_input("the usages of " + where + " up to " + d.name_of(term.vertex) + " may add up to more than " +
                     floating_limit(largest_sum<double>));
      if (term.live && !std::isinf(b.low))
        refuse_input(where + " has a lower limit and terms with live intervals, which is not supported");
    }
  }
}

}  // namespace detail

/// Checks every index, count and number of a description.
/// \throws error (input) naming the first culprit, what was found and what was expected
/// Complexity: linear in the description
template <cost_value Cost>
void validate(const placement_description<Cost>& d) {
  detail::validate_vertices(d);
  detail::validate_edges(d);
  detail::validate_totals(d);
  for (const fixed_strategies& fixed : d.constraints.fixed) {
    const std::string where = "constraint '" + fixed.why + "'";
    detail::check_vertex_index(d, fixed.vertex, where);
    for (const strategy s : fixed.allowed) detail::check_strategy_index(d, fixed.vertex, s, where);
  }
  for (const tie& t : d.constraints.ties)
    for (const std::uint32_t v : t.vertices) {
      detail::check_vertex_index(d, v, "tie '" + t.why + "'");
      if (d.vertices[v].compute.size() != d.vertices[t.vertices.front()].compute.size())
        detail::refuse_input("tie '" + t.why + "' joins " + d.name_of(t.vertices.front()) + " with " +
                             std::to_string(d.vertices[t.vertices.front()].compute.size()) + " strategies to " +
                             d.name_of(v) + " with " + std::to_string(d.vertices[v].compute.size()));
    }
  for (const pairing& pair : d.constraints.pairs) {
    const std::string where = "pairing '" + pair.why + "'";
    detail::check_vertex_index(d, pair.a, where);
    detail::check_vertex_index(d, pair.b, where);
    for (const auto& [a, b] : pair.allowed) {
      detail::check_strategy_index(d, pair.a, a, where);
      detail::check_strategy_index(d, pair.b, b, where);
    }
  }
  detail::validate_budgets(d);
  for (const hideable_edge& h : d.overlap) {
    if (h.edge >= d.edges.size())
      detail::refuse_input("the overlap section names edge " + std::to_string(h.edge) + ", but there are only " +
                           number_text(d.edges.size(), "edge"));
    if (h.direction == hiding::none && (h.first > h.last || h.first >= d.vertices.size()))
      detail::refuse_input("the overlap section gives " + d.name_of_edge(h.edge) + " the window from " +
                           std::to_string(h.first) + " to " + std::to_string(h.last) + " of " +
                           std::to_string(d.vertices.size()) + " positions");
  }
}

}  // namespace shardweave::inline v0
