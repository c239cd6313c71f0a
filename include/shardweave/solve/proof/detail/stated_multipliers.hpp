#pragma once

#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/placement/stated_form.hpp>
#include <shardweave/solve/bound/detail/ascent_memory.hpp>
#include <shardweave/solve/bound/dual_bound.hpp>
#include <shardweave/solve/proof/detail/row_sums.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Multipliers of a compiled problem, or of a part of it, restated for the problem before compilation.

namespace shardweave::inline v0::detail {

/// The exponent of the least power of two that exceeds a magnitude.
inline int magnitude_bits(double most) { return most > 0 ? std::ilogb(most) + 1 : 0; }

inline std::int64_t rounded_down(double value, int bits) {
  constexpr double most = 0x1p60;
  return static_cast<std::int64_t>(std::floor(std::clamp(std::ldexp(value, bits), -most, most)));
}

/// Multipliers of numbers that a certificate can state. Those of a subproblem without a labeling, whose bound rises
/// without end, are scaled down: a bound is concave in them, so that what is left of it is large, too.
[[nodiscard]] inline dual_values tamed(dual_values dual) {
  constexpr double most_stated = 0x1p50;
  double most = 0;
  for (const std::vector<double>* all : {&dual.of_class, &dual.of_row})
    for (const double m : *all)
      if (std::isfinite(m)) most = std::max(most, std::abs(m));
  if (most <= most_stated) return dual;
  for (std::vector<double>* all : {&dual.of_class, &dual.of_row})
    for (double& m : *all) m *= most_stated / most;
  return dual;
}

/// The remaining labels of each variable of the compiled problem.
using kept_labels = std::vector<std::vector<strategy>>;

/// \tparam Form  the problem that the multipliers are for: the stated one, or what eliminations leave of it, in doubles
template <cost_value Cost, class Form = stated_form<Cost>>
class stated_multipliers {
 public:
  /// \pre the problem has a description, which `form` is of; both outlive this object
  stated_multipliers(const placement_problem<Cost>& problem, const Form& form)
      : form_(&form), unknown_(problem.compact().size()), vertex_(unknown_.size()), variable_(form.size()) {
    for (auto v = static_cast<std::uint32_t>(problem.vertex_count()); v-- > 0;) vertex_[problem.variable_of(v)] = v;
    for (std::uint32_t x = 0; x < unknown_.size(); ++x) {
      unknown_[x] = form.unknown_of(vertex_[x]);
      variable_[unknown_[x]] = x;
      std::vector<strategy>& labels = stated_.emplace_back(problem.compact().label_count(x));
      for (strategy l = 0; l < labels.size(); ++l) labels[l] = problem.strategy_of(x, l);
    }
  }
  /// For a problem of which each variable is an unknown of the form.
  /// \param vertices  per variable, the vertex that names it
  /// \param stated    per variable, the strategy that each label is
  stated_multipliers(const Form& form, std::vector<std::uint32_t> vertices, std::vector<std::vector<strategy>> stated)
      : form_(&form),
        unknown_(vertices.size()),
        vertex_(std::move(vertices)),
        variable_(form.size()),
        stated_(std::move(stated)) {
    std::iota(unknown_.begin(), unknown_.end(), 0U);
    std::iota(variable_.begin(), variable_.end(), 0U);
  }

  /// Restates the multipliers of a part of the compiled problem.
  /// \param p       the part: edges, rows and labels are those of `dual`
  /// \param origin  variables and labels of `p` as those of the compiled problem
  /// \param kept    all remaining labels of the compiled problem
  /// \param base    if `p` has prices of savings: the part without them, which may lack edges of `p`
  /// \param in_base  the same for costs without prices
  /// \param rows    of `p`, as knapsacks
  template <cost_value C>  // of the part: double if savings are priced
  [[nodiscard]] placement_multipliers operator()(const compact_problem<C>& p, const variable_origin& origin,
                                                 const kept_labels& kept, const dual_values& dual,
                                                 const compact_problem<Cost>* base = nullptr,
                                                 const stated_multipliers* in_base = nullptr,
                                                 std::span<const row_amounts> rows = {}) const {
    placement_multipliers m;
    double most_price = 0;
    for (const double price : dual.of_row) most_price = std::max(most_price, std::abs(price));
    m.price_bits = std::clamp(48 - magnitude_bits(most_price), 0, 120);
    for (std::size_t r = 0; r < dual.of_row.size(); ++r) {
      const usage_row& row = p.rows()[r];
      const std::int64_t price = rounded_down(dual.of_row[r], m.price_bits);
      if (price != 0 && std::isfinite(price > 0 ? row.high : row.low))
        m.prices.push_back({row.budget, row.time, price});
    }
    struct message {
      std::uint32_t first = 0, second = 0;  ///< variables of the compiled problem
      std::vector<std::pair<strategy, double>> amounts;
    };
    std::vector<message> messages;
    std::set<std::pair<std::uint32_t, std::uint32_t>> of_base;
    if (base != nullptr)
      for (const compact_edge& e : base->edges()) of_base.emplace(e.first, e.second);
    std::vector<char> has_edge(form_->pairs().size());
    const std::vector<std::size_t> offsets = dual_offsets(p);
    for (std::size_t e = 0; e < p.edges().size(); ++e) {
      const compact_edge& edge = p.edges()[e];
      const auto& t = p.table(edge);
      const std::uint32_t first = origin[edge.first].first, second = origin[edge.second].first;
      const std::size_t at = form_->pair_between(unknown(first), unknown(second));
      // without rounding errors a table that eliminations leave may be a sum of costs of its ends, and be among these
      if (at == has_edge.size()) continue;
      message& one = messages.emplace_back(message{first, second, {}});
      for (strategy l = 0; l < t.columns(); ++l)
        one.amounts.emplace_back(stated(one.second, origin[edge.second].second[l]),
                                 -dual.of_class[offsets[e] + t.row_classes() + t.column_class(l)]);
      has_edge[at] = 1;
      const auto add = [&](const std::vector<std::pair<strategy, double>>& more) {
        for (std::size_t l = 0; l < more.size(); ++l) one.amounts[l].second += more[l].second;
      };
      if constexpr (!std::same_as<Form, stated_form<Cost>>) add(moved_to_second(at, origin, edge, t));
      if (base == nullptr) continue;
      if constexpr (std::same_as<Form, stated_form<Cost>>)
        add(taken_off_second(*in_base->form_, at, kept[one.first], kept[one.second]));
      // costs without prices were folded, what prices subtract was not
      if (!of_base.contains({edge.first, edge.second})) add(in_base->folded(at, kept[one.first], kept[one.second]));
    }
    // costs that restriction or compilation folded into one end: the second end's part becomes a message
    for (std::size_t i = 0; i < has_edge.size(); ++i) {
      const std::uint32_t a = variable_[form_->pairs()[i].first], b = variable_[form_->pairs()[i].second];
      if (has_edge[i] == 0 && kept[b].size() > 1) messages.push_back({a, b, folded(i, kept[a], kept[b])});
    }
    double most = 0;
    for (const message& one : messages)
      for (const auto& [s, amount] : one.amounts)
        if (std::isfinite(amount)) most = std::max(most, std::abs(amount));
    for (const row_amounts& row : rows)
      for (const row_amounts::member& one : row.members)
        for (const double amount : one.amounts) most = std::max(most, std::abs(amount));
    m.message_bits = std::clamp(52 - magnitude_bits(most), 0, 60);
    for (const message& one : messages) {
      std::vector<std::int64_t> amounts(form_->strategies(unknown(one.second)));
      for (const auto& [s, amount] : one.amounts) amounts[s] = rounded_down(amount, m.message_bits);
      if (std::any_of(amounts.begin(), amounts.end(), [](std::int64_t a) { return a != 0; }))
        m.messages.add({vertex_[one.first], vertex_[one.second], amounts});
    }
    for (const row_amounts& row : rows) m.knapsacks.push_back(stated(p.rows()[row.row], row, origin, m.message_bits));
    return m;
  }

  [[nodiscard]] std::uint32_t unknown(std::uint32_t variable) const { return unknown_[variable]; }
  [[nodiscard]] std::uint32_t vertex(std::uint32_t variable) const { return vertex_[variable]; }
  [[nodiscard]] strategy stated(std::uint32_t variable, strategy label) const { return stated_[variable][label]; }
  /// The remaining labels, as strategies of unknowns.
  [[nodiscard]] strategies_left left(const kept_labels& kept) const {
    strategies_left result(form_->size());
    for (std::uint32_t x = 0; x < kept.size(); ++x) {
      auto& of = result[unknown(x)];
      of.resize(form_->strategies(unknown(x)));
      for (const strategy l : kept[x]) of[stated(x, l)] = 1;
    }
    return result;
  }
  [[nodiscard]] const Form& form() const { return *form_; }

 private:
  /// A row as a knapsack.
  /// \param bits  amounts are in units of 2^-bits
  [[nodiscard]] row_knapsack stated(const usage_row& row, const row_amounts& of, const variable_origin& origin,
                                    int bits) const {
    row_knapsack result{.budget = row.budget, .time = row.time, .cells = row_cells};
    for (const row_amounts::member& one : of.members) {
      const auto& [variable, labels] = origin[one.variable];
      auto& amounts = result.members.emplace_back(row_knapsack::member{.vertex = vertex_[variable]}).amounts;
      amounts.resize(form_->strategies(unknown(variable)));
      for (std::size_t l = 0; l < labels.size(); ++l)
        amounts[stated(variable, labels[l])] = rounded_down(one.amounts[l], bits);
    }
    return result;
  }
  /// What a reduction moved from a table to the costs of its second end, which what eliminations leave has in the
  /// table: the two differ by a cost for each end.
  template <class C>
  [[nodiscard]] std::vector<std::pair<strategy, double>> moved_to_second(std::size_t at, const variable_origin& origin,
                                                                         const compact_edge& edge,
                                                                         const cost_table<C>& t) const {
    const auto& [first, of_first] = origin[edge.first];
    const auto& [second, of_second] = origin[edge.second];
    std::vector<std::optional<double>> of_row(t.rows()), of_column(t.columns());
    const auto difference = [&](strategy k, strategy l) -> std::optional<double> {
      const C cost = t(k, l);
      if (is_forbidden(cost)) return std::nullopt;
      const double whole = form_->cost_of_pair(at, stated(first, of_first[k]), stated(second, of_second[l]));
      return std::isfinite(whole) ? std::optional(whole - static_cast<double>(cost)) : std::nullopt;
    };
    // from row to column and back, over what is not forbidden
    std::vector<strategy> rows;
    for (strategy begin = 0; begin < t.rows(); ++begin) {
      if (of_row[begin]) continue;
      of_row[begin] = 0;
      rows.push_back(begin);
      while (!rows.empty()) {
        const strategy k = rows.back();
        rows.pop_back();
        for (strategy l = 0; l < t.columns(); ++l) {
          if (of_column[l]) continue;
          const auto known = difference(k, l);
          if (!known) continue;
          of_column[l] = *known - *of_row[k];
          for (strategy other = 0; other < t.rows(); ++other)
            if (const auto next = of_row[other] ? std::nullopt : difference(other, l)) {
              of_row[other] = *next - *of_column[l];
              rows.push_back(other);
            }
        }
      }
    }
    std::vector<std::pair<strategy, double>> result;
    for (strategy l = 0; l < t.columns(); ++l)
      result.emplace_back(stated(second, of_second[l]), of_column[l].value_or(0));
    return result;
  }

  /// What prices of savings subtract from a pair where it depends on the second end alone, in whose unary costs it is.
  /// \param base  the form without prices
  [[nodiscard]] std::vector<std::pair<strategy, double>> taken_off_second(const stated_form<Cost>& base, std::size_t at,
                                                                          std::span<const strategy> of_first,
                                                                          std::span<const strategy> of_second) const {
    const auto& pair = form_->pairs()[at];
    std::vector<std::pair<strategy, double>> result;
    for (const strategy l : of_second) result.emplace_back(stated(variable_[pair.second], l), 0.0);
    for (const counted_table<Cost>& term : form_->tables()[pair.table].terms) {
      double times = std::ldexp(static_cast<double>(term.times), -form_->bits());
      for (const counted_table<Cost>& own : base.tables()[base.pairs()[at].table].terms)
        if (own.table == term.table && own.turned == term.turned) times -= static_cast<double>(own.times);
      if (times == 0) continue;
      std::vector<Cost> amounts;
      bool is_of_second = true;
      for (const auto& [b, sum] : result) {
        amounts.push_back(amount_of(term.at(stated(variable_[pair.first], of_first.front()), b)));
        for (const strategy k : of_first)
          is_of_second = is_of_second && amount_of(term.at(stated(variable_[pair.first], k), b)) == amounts.back();
      }
      for (std::size_t l = 0; l < result.size() && is_of_second; ++l)
        result[l].second += times * static_cast<double>(amounts[l]);
    }
    return result;
  }
  /// The least cost of a pair of unknowns, for each remaining strategy of the second.
  [[nodiscard]] std::vector<std::pair<strategy, double>> folded(std::size_t number, std::span<const strategy> of_first,
                                                                std::span<const strategy> of_second) const {
    const std::uint32_t first = variable_[form_->pairs()[number].first],
                        second = variable_[form_->pairs()[number].second];
    std::vector<std::pair<strategy, double>> result;
    for (const strategy l : of_second) {
      const strategy b = stated(second, l);
      double least = std::numeric_limits<double>::infinity();
      for (const strategy k : of_first) least = std::min(least, form_->cost_of_pair(number, stated(first, k), b));
      result.emplace_back(b, std::isfinite(least) ? least : 0);
    }
    return result;
  }

  const Form* form_;
  std::vector<std::uint32_t> unknown_;         ///< per variable
  std::vector<std::uint32_t> vertex_;          ///< per variable, the first that it stands for
  std::vector<std::uint32_t> variable_;        ///< per unknown
  std::vector<std::vector<strategy>> stated_;  ///< per variable and label
};

}  // namespace shardweave::inline v0::detail
