#pragma once

#include <shardweave/core/interning.hpp>
#include <shardweave/core/range_sums.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/evaluation.hpp>
#include <shardweave/placement/problem.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Restriction of a problem to a part of its labels.

namespace shardweave::inline v0 {

/// A problem on the variables and labels that a `restriction` leaves.
template <cost_value Cost>
struct restricted_problem {
  placement_problem<Cost> problem{compact_problem<Cost>{}};
  std::vector<std::vector<strategy>> kept;  ///< per outer variable, the labels that are left; one if decided
  std::vector<std::uint32_t> open;          ///< outer variable of each inner one
  std::vector<std::uint32_t> row_of;        ///< outer row of each inner one

  /// Outer labels from inner ones; costs and usage are the same.
  /// Complexity: O(outer variables)
  [[nodiscard]] std::vector<strategy> lift(std::span<const strategy> labels) const {
    std::vector<strategy> outer(kept.size());
    for (std::size_t x = 0; x < outer.size(); ++x) outer[x] = kept[x].front();
    for (std::size_t i = 0; i < open.size(); ++i) outer[open[i]] = kept[open[i]][labels[i]];
    return outer;
  }
  /// Inner labels from outer ones; empty if these have a label that is not left, or are empty.
  /// Complexity: O(outer labels)
  [[nodiscard]] std::vector<strategy> narrowed(std::span<const strategy> outer) const {
    std::vector<strategy> inner;
    for (std::size_t x = 0, i = 0; x < outer.size(); ++x) {
      const auto at = std::ranges::find(kept[x], outer[x]);
      if (at == kept[x].end()) return {};
      if (i == open.size() || open[i] != x) continue;
      inner.push_back(static_cast<strategy>(at - kept[x].begin()));
      ++i;
    }
    return inner;
  }
};

/// A restriction of a compact problem: variables are fixed, labels removed, unary costs changed. `build` makes the
/// remaining problem; tables without changes are shared. The problem must outlive the restriction, but not its result.
template <cost_value Cost>
class restriction {
 public:
  explicit restriction(const compact_problem<Cost>& problem)
      : p_(&problem), allowed_(problem.total_labels(), true), extra_(problem.total_labels()) {}

  /// Fixes a variable to a label.
  restriction& fix(std::size_t x, strategy label) { return keep(x, std::span(&label, 1)); }
  /// Removes the labels that are not listed, in addition to those removed before.
  restriction& keep(std::size_t x, std::span<const strategy> labels) {
    for (strategy l = 0; l < p_->label_count(x); ++l)
      if (std::find(labels.begin(), labels.end(), l) == labels.end()) forbid(x, l);
    return *this;
  }
  restriction& forbid(std::size_t x, strategy label) {
    allowed_[p_->label_start(x) + label] = false;
    return *this;
  }
  /// Removes every label for which `goes` returns true, called with its position among all labels. \returns how many
  template <class Goes>
  std::size_t forbid_if(Goes goes) {
    std::size_t gone = 0;
    for (std::size_t i = 0; i < allowed_.size(); ++i)
      if (goes(i)) {
        allowed_[i] = false;
        ++gone;
      }
    return gone;
  }
  /// Adds to a unary cost; a forbidden sum removes the label.
  restriction& add_unary(std::size_t x, strategy label, Cost c) {
    Cost& at = extra_[p_->label_start(x) + label];
    at = plus(at, c);
    return *this;
  }

  /// Restricts the savings of the problem, too, if it has any.
  /// \pre `whole` has the compact problem that is restricted, and outlives this object
  restriction& with_savings(const placement_problem<Cost>& whole) {
    whole_ = &whole;
    return *this;
  }

  /// The remaining problem, after removal of labels without a partner of finite cost. Fixed variables become constants,
  /// unary costs and usage. Nothing if some variable has no label left, or the fixed variables alone break a row.
  /// Complexity: O(labels + edges + changed tables + segments + rows), and arc consistency from what changed
  [[nodiscard]] std::optional<restricted_problem<Cost>> build() const {
    auto kept = consistent_labels();
    if (!kept) return std::nullopt;
    restricted_problem<Cost> result{.kept = *std::move(kept), .open = {}, .row_of = {}};
    std::vector<std::uint32_t> inner(p_->size(), none);
    compact_builder<Cost> builder;
    builder.add_constant(p_->constant());
    for (std::uint32_t x = 0; x < p_->size(); ++x) {
      std::vector<Cost> unary;
      for (const strategy l : result.kept[x]) unary.push_back(plus(p_->unary(x)[l], extra_[p_->label_start(x) + l]));
      if (unary.size() == 1) {
        builder.add_constant(unary[0]);
      } else {
        inner[x] = builder.add_variable(unary);
        result.open.push_back(x);
      }
    }
    add_edges(builder, result.kept, inner);
    if (!add_rows(builder, result, inner)) return std::nullopt;
    result.problem = placement_problem<Cost>(builder.build());
    if (whole_ != nullptr) result.problem = result.problem.with_savings_of(*whole_, result.kept, inner);
    return result;
  }

 private:
  static constexpr std::uint32_t none = ~0U;

  [[nodiscard]] std::optional<std::vector<std::vector<strategy>>> consistent_labels() const {
    std::vector<bool> allowed = allowed_;
    std::vector<std::uint32_t> changed;
    std::vector<bool> queued(p_->size());
    const auto enqueue = [&](std::uint32_t x) {
      if (!queued[x]) changed.push_back(x);
      queued[x] = true;
    };
    for (std::uint32_t x = 0; x < p_->size(); ++x)
      for (std::size_t i = p_->label_start(x); i < p_->label_start(x + 1); ++i) {
        if (is_forbidden(extra_[i])) allowed[i] = false;
        if (!allowed[i]) enqueue(x);
      }
    for (std::size_t at = 0; at < changed.size(); ++at) {
      const std::uint32_t x = changed[at];
      queued[x] = false;
      for (const compact_link& link : p_->links(x))
        if (lost_support(x, link, allowed)) enqueue(link.other);
    }
    std::vector<std::vector<strategy>> kept(p_->size());
    for (std::uint32_t x = 0; x < p_->size(); ++x) {
      for (strategy l = 0; l < p_->label_count(x); ++l)
        if (allowed[p_->label_start(x) + l]) kept[x].push_back(l);
      if (kept[x].empty()) return std::nullopt;
    }
    return kept;
  }

  /// Removes the labels of the other end that have no partner left in `x`.
  bool lost_support(std::uint32_t x, const compact_link& link, std::vector<bool>& allowed) const {
    const cost_table<Cost>& t = p_->table(p_->edges()[link.edge]);
    const auto others = link.is_first ? t.column_class() : t.row_class();
    std::vector<char> there, supported;
    mark_partners(
        t, link.is_first, [&](strategy l) { return allowed[p_->label_start(x) + l]; }, there, supported);
    bool changed = false;
    for (std::size_t l = 0; l < others.size(); ++l)
      if (allowed[p_->label_start(link.other) + l] && supported[others[l]] == 0) {
        allowed[p_->label_start(link.other) + l] = false;
        changed = true;
      }
    return changed;
  }

  void add_edges(compact_builder<Cost>& builder, const std::vector<std::vector<strategy>>& kept,
                 const std::vector<std::uint32_t>& inner) const {
    interner<std::vector<strategy>, sequence_hash> lists;
    std::map<std::array<std::uint32_t, 3>, std::shared_ptr<const cost_table<Cost>>> selected;
    for (const compact_edge& e : p_->edges()) {
      const cost_table<Cost>& t = p_->table(e);
      const auto &rows = kept[e.first], &columns = kept[e.second];
      if (inner[e.first] == none && inner[e.second] == none) {
        builder.add_constant(t(rows[0], columns[0]));
      } else if (inner[e.first] == none) {
        for (strategy b = 0; b < columns.size(); ++b) builder.add_unary(inner[e.second], b, t(rows[0], columns[b]));
      } else if (inner[e.second] == none) {
        for (strategy a = 0; a < rows.size(); ++a) builder.add_unary(inner[e.first], a, t(rows[a], columns[0]));
      } else if (rows.size() == t.rows() && columns.size() == t.columns()) {
        builder.add_edge(inner[e.first], inner[e.second], p_->tables()[e.table]);
      } else {
        auto& table = selected[{e.table, lists(rows), lists(columns)}];
        if (!table) table = std::make_shared<const cost_table<Cost>>(t.selected(rows, columns));
        builder.add_edge(inner[e.first], inner[e.second], table);
      }
    }
  }

  /// Subtracts the usage of fixed variables from rows; rows that can no longer be broken are removed.
  bool add_rows(compact_builder<Cost>& builder, restricted_problem<Cost>& result,
                const std::vector<std::uint32_t>& inner) const {
    const std::size_t rows = p_->rows().size();
    range_sums of_least(rows), of_most(rows), of_decided(rows);
    for (std::uint32_t x = 0; x < p_->size(); ++x)
      for (const usage_segment& s : p_->segments(x)) {
        double low = std::numeric_limits<double>::infinity(), high = -low;
        for (const strategy l : result.kept[x]) {
          low = std::min(low, s.usage[l]);
          high = std::max(high, s.usage[l]);
        }
        of_least.add(s.begin, s.end, low);
        of_most.add(s.begin, s.end, high);
        if (inner[x] == none) of_decided.add(s.begin, s.end, low);
      }
    const std::vector<double> least = of_least.values(), most = of_most.values(), decided = of_decided.values();
    std::vector<std::uint32_t> before(rows + 1);  // number of kept rows before each
    for (std::size_t r = 0; r < rows; ++r) {
      const usage_row& row = p_->rows()[r];
      if (least[r] > row.high + budget_tolerance || most[r] < row.low - budget_tolerance) return false;
      const bool binds = most[r] > row.high || least[r] < row.low;
      before[r + 1] = before[r] + (binds ? 1 : 0);
      if (!binds) continue;
      builder.add_row({row.low - decided[r], row.high - decided[r], row.budget, row.time});
      result.row_of.push_back(static_cast<std::uint32_t>(r));
    }
    for (const std::uint32_t x : result.open)
      for (const usage_segment& s : p_->segments(x)) {
        if (before[s.begin] == before[s.end]) continue;
        usage_segment segment{before[s.begin], before[s.end], {}};
        for (const strategy l : result.kept[x]) segment.usage.push_back(s.usage[l]);
        builder.add_segment(inner[x], std::move(segment));
      }
    return true;
  }

  const compact_problem<Cost>* p_;
  const placement_problem<Cost>* whole_ = nullptr;
  std::vector<bool> allowed_;
  std::vector<Cost> extra_;
};

}  // namespace shardweave::inline v0
