#pragma once

#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/stated_form.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

/// \file
/// Whether a certificate refers only to what the problem has.

namespace shardweave::inline v0::detail {

/// What is wrong with a certificate, for `certificate_verdict::failure`; nothing if it is valid.
using complaint = std::optional<std::string>;

/// Whether indices and sizes of a certificate are those of the problem.
template <cost_value Cost>
class certificate_shape {
 public:
  certificate_shape(const placement_description<Cost>& d, const stated_form<Cost>& form) : d_(d), form_(form) {}

  [[nodiscard]] complaint of(const strategies_ruled_out& r) const {
    if (auto wrong = of_row(r.budget)) return wrong;
    if (r.vertex >= d_.vertices.size()) return no_vertex(r.vertex);
    return of_strategies(r.vertex, r.strategies);
  }
  [[nodiscard]] complaint of(const placement_multipliers& m, const placement_certificate<Cost>& c) const {
    if (m.savings && *m.savings >= c.savings.size())
      return "names prices " + std::to_string(*m.savings) + " of savings, but there are only " +
             std::to_string(c.savings.size());
    if (!m.savings && !m.only_limits && c.counted != savings_form::off)
      return "leaves savings out, which the proof counts: it needs prices of savings";
    for (const int bits : {m.message_bits, m.price_bits})
      if (bits < 0 || bits > most_bits)
        return "has units of " + std::to_string(bits) + " bits, expected 0 to " + std::to_string(most_bits);
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    for (std::size_t i = 0; i < m.messages.size(); ++i) {
      const moved_cost one = m.messages[i];
      for (const std::uint32_t v : {one.first, one.second})
        if (v >= d_.vertices.size()) return no_vertex(v);
      const std::uint32_t a = form_.unknown_of(one.first), b = form_.unknown_of(one.second);
      const auto where = [&] {
        return "the message from vertex " + std::to_string(one.first) + " to " + std::to_string(one.second);
      };
      // eliminations make edges of their own
      if (a >= b || (c.reductions.empty() && form_.pair_between(a, b) == form_.pairs().size()))
        return where() + ": there is no edge between them, or the second is not after the first";
      if (!seen.emplace(a, b).second) return where() + " is there twice";
      if (one.amounts.size() != form_.strategies(b))
        return where() + " has " + std::to_string(one.amounts.size()) + " amounts for " +
               std::to_string(form_.strategies(b)) + " strategies";
    }
    for (const row_price& p : m.prices) {
      if (auto wrong = of_row(p.budget)) return wrong;
      const budget& b = d_.constraints.budgets[p.budget];
      if (p.price != 0 && std::isinf(p.price > 0 ? b.high : b.low))
        return "the price of budget " + std::to_string(p.budget) + " is against a limit that is not there";
    }
    for (const row_knapsack& k : m.knapsacks)
      if (auto wrong = of(k)) return "has a knapsack that " + *wrong;
    return std::nullopt;
  }
  [[nodiscard]] complaint of(const placement_reduction& r, const placement_certificate<Cost>& c) const {
    if (c.counted != savings_form::off) return "eliminates vertices, but the proof counts savings";
    for (const budget_row& row : r.rows)
      if (auto wrong = of_row(row.budget)) return wrong;
    for (const auto& step : r.steps) {
      if (step.empty() || step.size() > 3)
        return "has a step of " + std::to_string(step.size()) + " vertices, expected 1 to 3";
      std::set<std::uint32_t> unknowns;
      for (const std::uint32_t v : step) {
        if (v >= d_.vertices.size()) return no_vertex(v);
        if (!unknowns.insert(form_.unknown_of(v)).second)
          return "eliminates vertex " + std::to_string(step.front()) + " with vertex " + std::to_string(v) +
                 " twice in a step";
      }
    }
    std::size_t before = 0;
    for (const dominated_strategy& one : r.dominated) {
      if (one.vertex >= d_.vertices.size()) return no_vertex(one.vertex);
      if (auto wrong = of_strategies(one.vertex, std::array{one.removed, one.by})) return wrong;
      if (one.step < before || one.step > r.steps.size())
        return "removes a strategy of vertex " + std::to_string(one.vertex) + " before step " +
               std::to_string(one.step) + ", expected from " + std::to_string(before) + " to " +
               std::to_string(r.steps.size());
      before = one.step;
    }
    return std::nullopt;
  }
  /// \param number  of the case among those of the certificate
  [[nodiscard]] complaint of(const placement_case& one, std::size_t number,
                             const placement_certificate<Cost>& c) const {
    const std::size_t cases = c.cases.size();
    if (!one.elimination_order.empty() && !one.multipliers)
      return "has an elimination order, expected multipliers for it";
    const auto names = [](const char* what, std::size_t which, std::size_t count) {
      return std::string("names ") + what + " " + std::to_string(which) + ", but there are only " +
             std::to_string(count);
    };
    if (one.reduction) {
      if (*one.reduction >= c.reductions.size()) return names("reduction", *one.reduction, c.reductions.size());
      if (one.multipliers || !one.parts.empty() || one.cases.size() != 1)
        return "is reduced, expected neither multipliers nor parts, and one case";
    } else if (one.multipliers) {
      if (*one.multipliers >= c.multipliers.size()) return names("multipliers", *one.multipliers, c.multipliers.size());
      for (const std::uint32_t v : one.elimination_order)
        if (v >= d_.vertices.size()) return no_vertex(v);
      if (!one.elimination_order.empty() && !one.cases.empty())
        return "has an elimination order, and " + std::to_string(one.cases.size()) + " cases, expected none";
      if (!one.parts.empty() || one.cases.size() > 1)
        return "has multipliers, " + std::to_string(one.parts.size()) + " parts and " +
               std::to_string(one.cases.size()) + " cases, expected no part and one case at most";
    } else {
      if (one.vertex >= d_.vertices.size()) return no_vertex(one.vertex);
      if (one.parts.empty() || one.parts.size() != one.cases.size())
        return "has " + std::to_string(one.parts.size()) + " parts and " + std::to_string(one.cases.size()) +
               " cases for them, expected equally many, at least one";
      for (const auto& part : one.parts)
        if (auto wrong = of_strategies(one.vertex, part)) return wrong;
    }
    for (const std::uint32_t next : one.cases)
      if (next <= number || next >= cases)
        return "leads to case " + std::to_string(next) + ", expected one from " + std::to_string(number + 1) + " to " +
               std::to_string(cases - 1);
    return std::nullopt;
  }

 private:
  static constexpr int most_bits = 1200;
  static constexpr std::uint32_t most_cells = 4096;  ///< of a knapsack: the time and memory of its check

  [[nodiscard]] complaint of(const row_knapsack& k) const {
    if (auto wrong = of_row(k.budget)) return wrong;
    if (std::isinf(d_.constraints.budgets[k.budget].high))
      return "is of budget " + std::to_string(k.budget) + ", which has no upper limit";
    if (k.cells < 1 || k.cells > most_cells)
      return "has " + std::to_string(k.cells) + " cells, expected 1 to " + std::to_string(most_cells);
    std::set<std::uint32_t> members;
    for (const row_knapsack::member& one : k.members) {
      if (one.vertex >= d_.vertices.size()) return no_vertex(one.vertex);
      const std::uint32_t x = form_.unknown_of(one.vertex);
      if (!members.insert(x).second) return "names vertex " + std::to_string(one.vertex) + ", or one tied to it, twice";
      if (one.amounts.size() != form_.strategies(x))
        return "has " + std::to_string(one.amounts.size()) + " amounts for " + std::to_string(form_.strategies(x)) +
               " strategies of vertex " + std::to_string(one.vertex);
    }
    return std::nullopt;
  }

  [[nodiscard]] complaint of_row(std::uint32_t b) const {
    if (b < d_.constraints.budgets.size()) return std::nullopt;
    return "names budget " + std::to_string(b) + ", but there are only " +
           std::to_string(d_.constraints.budgets.size());
  }
  [[nodiscard]] complaint no_vertex(std::uint32_t v) const {
    return "names vertex " + std::to_string(v) + ", but there are only " + std::to_string(d_.vertices.size());
  }
  [[nodiscard]] complaint of_strategies(std::uint32_t v, std::span<const strategy> list) const {
    for (const strategy s : list)
      if (s >= d_.vertices[v].compute.size())
        return "names strategy " + std::to_string(s) + " of vertex " + std::to_string(v) + ", which has only " +
               std::to_string(d_.vertices[v].compute.size());
    return std::nullopt;
  }

  const placement_description<Cost>& d_;
  const stated_form<Cost>& form_;
};

}  // namespace shardweave::inline v0::detail
