#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/core/range_sums.hpp>
#include <shardweave/placement/evaluation.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

/// \file
/// Definition of `evaluate` for a compiled problem, and what all evaluations share.

namespace shardweave::inline v0 {

namespace detail {

/// Usage of a budget over time, as changes by time; terms without an interval count at every time.
inline std::pair<exact_sum, std::map<std::int64_t, exact_sum>> use_over_time(const budget& b,
                                                                             std::span<const strategy> choice) {
  exact_sum always;
  std::map<std::int64_t, exact_sum> change;
  for (const budget_term& term : b.terms) {
    const double amount = term.usage[choice[term.vertex]];
    if (!term.live) {
      always.add(amount);
    } else if (term.live->first < term.live->end) {
      change[term.live->first].add(amount);
      change[term.live->end].add(-amount);
    }
  }
  return {always, std::move(change)};
}

template <cost_value Cost>
void evaluate_budgets(const placement_description<Cost>& d, std::span<const strategy> choice,
                      evaluation<Cost>& result) {
  for (const budget& b : d.constraints.budgets) {
    const auto [always, change] = use_over_time(b, choice);
    budget_use use{b.name, always.value(), b.low, b.high, 0};
    exact_sum now = always;
    for (const auto& [time, step] : change) {
      now.add(step);
      if (now.value() > use.used) {
        use.used = now.value();
        use.time = time;
      }
    }
    if (use.used > b.high + budget_tolerance)
      result.violations.push_back("budget '" + b.name + "' uses " + number_text(use.used) +
                                  (change.empty() ? "" : " at time " + std::to_string(use.time)) +
                                  ", more than its limit " + number_text(b.high));
    if (use.used < b.low - budget_tolerance)
      result.violations.push_back("budget '" + b.name + "' uses " + number_text(use.used) + ", less than its least " +
                                  number_text(b.low));
    result.budgets.push_back(std::move(use));
  }
}

template <cost_value Cost>
void evaluate_costs(const placement_description<Cost>& d, std::span<const strategy> choice, evaluation<Cost>& result) {
  for (std::size_t v = 0; v < choice.size(); ++v) {
    const Cost c = d.vertices[v].compute[choice[v]];
    if (is_forbidden(c)) {
      result.violations.push_back(d.name_of(v) + " takes strategy " + d.name_of_strategy(v, choice[v]) +
                                  ", whose cost is infinite");
    } else {
      result.parts.compute += c;
    }
  }
  for (std::size_t e = 0; e < d.edges.size(); ++e) {
    const described_edge& edge = d.edges[e];
    const auto price = [&](std::uint32_t table, Cost& part) {
      if (table == no_table) return;
      const Cost c = (*d.tables[table])(choice[edge.from], choice[edge.to]);
      if (is_forbidden(c)) {
        result.violations.push_back(d.name_of_edge(e) + " joins strategies " +
                                    d.name_of_strategy(edge.from, choice[edge.from]) + " and " +
                                    d.name_of_strategy(edge.to, choice[edge.to]) + ", whose cost is infinite");
      } else {
        part += c;
      }
    };
    price(edge.communication, result.parts.communication);
    price(edge.transition, result.parts.transition);
  }
  result.objective = result.violations.empty() ? result.parts.total() : forbidden<Cost>;
}

template <cost_value Cost>
void evaluate_constraints(const placement_description<Cost>& d, std::span<const strategy> choice,
                          evaluation<Cost>& result) {
  for (const fixed_strategies& f : d.constraints.fixed)
    if (std::find(f.allowed.begin(), f.allowed.end(), choice[f.vertex]) == f.allowed.end())
      result.violations.push_back("constraint '" + f.why + "': " + d.name_of(f.vertex) + " takes strategy " +
                                  d.name_of_strategy(f.vertex, choice[f.vertex]));
  for (const tie& t : d.constraints.ties)
    for (const std::uint32_t v : t.vertices)
      if (choice[v] != choice[t.vertices.front()])
        result.violations.push_back("tie '" + t.why + "': " + d.name_of(v) + " takes strategy " +
                                    std::to_string(choice[v]) + ", " + d.name_of(t.vertices.front()) + " takes " +
                                    std::to_string(choice[t.vertices.front()]));
  for (const pairing& p : d.constraints.pairs)
    if (std::find(p.allowed.begin(), p.allowed.end(), std::pair(choice[p.a], choice[p.b])) == p.allowed.end())
      result.violations.push_back("pairing '" + p.why + "': " + d.name_of(p.a) + " takes strategy " +
                                  d.name_of_strategy(p.a, choice[p.a]) + " with " + d.name_of(p.b) + " at " +
                                  d.name_of_strategy(p.b, choice[p.b]));
}

/// \throws error (input) as `evaluate`
template <cost_value Cost>
void refuse_unknown_strategies(const placement_description<Cost>& d, std::span<const strategy> choice) {
  if (choice.size() != d.vertices.size())
    refuse(error_category::input, "the assignment has " + number_text(choice.size(), "strategy", "strategies") +
                                      " for " + number_text(d.vertices.size(), "vertex", "vertices"));
  for (std::size_t v = 0; v < choice.size(); ++v)
    if (choice[v] >= d.vertices[v].compute.size())
      refuse(error_category::input, "the assignment gives strategy " + std::to_string(choice[v]) + " to " +
                                        d.name_of(v) + ", which has only " +
                                        std::to_string(d.vertices[v].compute.size()));
}

/// \param add_savings  called with the evaluation of costs
template <cost_value Cost, class AddSavings>
evaluation<Cost> evaluate_stated(const placement_description<Cost>& d, std::span<const strategy> choice,
                                 AddSavings add_savings) {
  refuse_unknown_strategies(d, choice);
  evaluation<Cost> result;
  evaluate_costs(d, choice, result);
  add_savings(result);
  if (!is_forbidden(result.objective)) result.objective -= result.savings;
  evaluate_constraints(d, choice, result);
  evaluate_budgets(d, choice, result);
  return result;
}

}  // namespace detail

template <cost_value Cost>
evaluation<Cost> evaluate(const placement_problem<Cost>& problem, std::span<const strategy> choice) {
  if (const auto* stated = problem.description())
    return detail::evaluate_stated(*stated, choice,
                                   [&](evaluation<Cost>& result) { problem.evaluate_savings(choice, result); });
  evaluation<Cost> result;
  const compact_problem<Cost>& p = problem.compact();
  const auto labels = problem.labels_of(choice);
  if (!labels)
    refuse(error_category::input,
           "the assignment does not give one of its labels to each of " + std::to_string(p.size()) + " variables");
  result.parts.compute = p.constant();
  for (std::size_t x = 0; x < p.size(); ++x)
    result.parts.compute = plus(result.parts.compute, p.unary(x)[(*labels)[x]]);
  for (const compact_edge& e : p.edges())
    result.parts.communication = plus(result.parts.communication, p.table(e)((*labels)[e.first], (*labels)[e.second]));
  result.objective = result.parts.total();
  if (is_forbidden(result.objective)) {
    result.violations.push_back("a forbidden pair of labels is used");
  } else if (problem.savings() != nullptr) {
    result.savings = problem.saved(*labels);
    result.objective -= result.savings;
  }
  if (!p.keeps_rows(*labels, budget_tolerance)) result.violations.push_back("a row's limit is broken");
  return result;
}

}  // namespace shardweave::inline v0
