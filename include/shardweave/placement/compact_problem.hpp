#pragma once

#include <shardweave/core/interning.hpp>
#include <shardweave/core/range_sums.hpp>
#include <shardweave/placement/cost_table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

/// \file
/// The form of problems that solvers use: variables with labels, pairwise cost tables, and rows that limit usage.

namespace shardweave::inline v0 {

/// The cost between two variables, rows for the labels of `first`, columns for those of `second`.
struct compact_edge {
  std::uint32_t first = 0;
  std::uint32_t second = 0;  ///< first < second, and no two edges join the same two
  std::uint32_t table = 0;
};

/// An edge as seen from one of its ends.
struct compact_link {
  std::uint32_t edge = 0;
  std::uint32_t other = 0;
  bool is_first = false;  ///< this end is the edge's first
};

/// A linear limit on usage: of a budget, or of a budget at one time.
struct usage_row {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  std::uint32_t budget = 0;  ///< index of the stated budget
  std::int64_t time = 0;
};

/// What a variable adds to the usage of rows [begin, end): one amount per label.
struct usage_segment {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::vector<double> usage;
};

template <cost_value Cost>
class compact_builder;

/// minimise   constant + sum of unary costs + sum of table costs
/// subject to low_r <= sum of the usages of all segments that cover row r <= high_r   for every row
///
/// Variables stand for vertices or groups of tied vertices, labels for the strategies that are left to them. Every
/// label has a finite unary cost and, over every edge, a partner of finite cost. Immutable; made by `compact_builder`.
template <cost_value Cost>
class compact_problem {
 public:
  using cost_type = Cost;
  using table_pointer = std::shared_ptr<const cost_table<Cost>>;

  [[nodiscard]] std::size_t size() const { return label_start_.size() - 1; }
  [[nodiscard]] std::size_t label_count(std::size_t x) const { return label_start_[x + 1] - label_start_[x]; }
  /// Position of the first label of variable `x` in an array over all labels of all variables.
  [[nodiscard]] std::size_t label_start(std::size_t x) const { return label_start_[x]; }
  [[nodiscard]] std::size_t total_labels() const { return label_start_.back(); }
  [[nodiscard]] std::span<const Cost> unary(std::size_t x) const {
    return std::span(unary_).subspan(label_start_[x], label_count(x));
  }
  [[nodiscard]] Cost constant() const { return constant_; }

  [[nodiscard]] std::span<const compact_edge> edges() const { return edges_; }
  [[nodiscard]] const cost_table<Cost>& table(const compact_edge& e) const { return *tables_[e.table]; }
  [[nodiscard]] std::span<const table_pointer> tables() const { return tables_; }
  /// Per table its class costs in double, rows `stride` apart and forbidden ones +infinity. Computed at the first call,
  /// and shared while a caller keeps them; may be called concurrently.
  [[nodiscard]] std::shared_ptr<const std::vector<std::vector<double>>> costs_in_double() const {
    const std::lock_guard lock(in_double_->asked);
    if (auto known = in_double_->costs.lock()) return known;
    std::vector<std::vector<double>> all;
    for (const table_pointer& t : tables_) {
      std::vector<double>& costs = all.emplace_back();
      costs.reserve(t->row_classes() * t->stride());
      for (std::size_t i = 0; i < t->row_classes(); ++i)
        for (std::size_t j = 0; j < t->stride(); ++j) costs.push_back(in_double(t->class_row(i)[j]));
    }
    auto made = std::make_shared<const std::vector<std::vector<double>>>(std::move(all));
    in_double_->costs = made;
    return made;
  }
  /// The edges of a variable, those to earlier variables first.
  [[nodiscard]] std::span<const compact_link> links(std::size_t x) const {
    return std::span(links_).subspan(link_start_[x], link_start_[x + 1] - link_start_[x]);
  }
  /// Cost of a link when this end has label `own` and the other `others`.
  [[nodiscard]] Cost link_cost(const compact_link& link, strategy own, strategy others) const {
    const cost_table<Cost>& t = *tables_[edges_[link.edge].table];
    return link.is_first ? t(own, others) : t(others, own);
  }

  [[nodiscard]] std::span<const usage_row> rows() const { return rows_; }
  [[nodiscard]] std::span<const usage_segment> segments(std::size_t x) const {
    return std::span(segments_).subspan(segment_start_[x], segment_start_[x + 1] - segment_start_[x]);
  }

  /// The cost of a labeling, without regard to rows.
  /// Complexity: O(variables + edges)
  [[nodiscard]] Cost cost(std::span<const strategy> labels) const {
    Cost total = constant_;
    for (std::size_t x = 0; x < size(); ++x) total = plus(total, unary_[label_start_[x] + labels[x]]);
    for (const compact_edge& e : edges_) total = plus(total, table(e)(labels[e.first], labels[e.second]));
    return total;
  }

  /// The usage of every row by a labeling.
  /// Complexity: O(segments + rows)
  [[nodiscard]] std::vector<double> usage(std::span<const strategy> labels) const {
    range_sums used(rows_.size());
    for (std::size_t x = 0; x < size(); ++x)
      for (const usage_segment& s : segments(x)) used.add(s.begin, s.end, s.usage[labels[x]]);
    return used.values();
  }

  /// Whether all rows are kept, to within `tolerance` (1e-6 in stated budgets).
  [[nodiscard]] bool keeps_rows(std::span<const strategy> labels, double tolerance = 1e-6) const {
    const std::vector<double> used = usage(labels);
    for (std::size_t r = 0; r < used.size(); ++r)
      if (used[r] > rows_[r].high + tolerance || used[r] < rows_[r].low - tolerance) return false;
    return true;
  }

 private:
  friend class compact_builder<Cost>;
  struct lent_costs {
    std::mutex asked;
    std::weak_ptr<const std::vector<std::vector<double>>> costs;
  };

  Cost constant_{};
  std::vector<std::size_t> label_start_{0};
  std::vector<Cost> unary_;
  std::vector<compact_edge> edges_;
  std::vector<table_pointer> tables_;
  std::vector<std::size_t> link_start_{0};
  std::vector<compact_link> links_;
  std::vector<usage_row> rows_;
  std::vector<std::size_t> segment_start_{0};
  std::vector<usage_segment> segments_;
  /// Shared by copies, which have the same tables.
  std::shared_ptr<lent_costs> in_double_ = std::make_shared<lent_costs>();
};

/// Builds a compact problem: variables first, then edges and rows in any order.
template <cost_value Cost>
class compact_builder {
 public:
  using table_pointer = std::shared_ptr<const cost_table<Cost>>;

  void add_constant(Cost c) { problem_.constant_ = plus(problem_.constant_, c); }
  /// Adds a variable with one label per cost and returns its number.
  std::uint32_t add_variable(std::span<const Cost> unary) {
    problem_.unary_.insert(problem_.unary_.end(), unary.begin(), unary.end());
    problem_.label_start_.push_back(problem_.unary_.size());
    segments_.emplace_back();
    return static_cast<std::uint32_t>(problem_.size() - 1);
  }
  /// Adds to a unary cost.
  void add_unary(std::uint32_t x, strategy label, Cost c) {
    Cost& at = problem_.unary_[problem_.label_start_[x] + label];
    at = plus(at, c);
  }
  /// Adds a table whose rows are labels of `first`. A table that does not depend on one side is a unary
  /// cost, one that depends on none a constant.
  /// \pre first < second, and this is the only edge between them
  void add_edge(std::uint32_t first, std::uint32_t second, table_pointer table) {
    if (table->row_classes() == 1 && table->column_classes() == 1) {
      add_constant(table->class_cost(0, 0));
    } else if (table->column_classes() == 1) {
      for (strategy a = 0; a < table->rows(); ++a) add_unary(first, a, table->class_cost(table->row_class(a), 0));
    } else if (table->row_classes() == 1) {
      for (strategy b = 0; b < table->columns(); ++b)
        add_unary(second, b, table->class_cost(0, table->column_class(b)));
    } else {
      const std::uint32_t number = table_number_(table.get());
      if (number == problem_.tables_.size()) problem_.tables_.push_back(std::move(table));
      problem_.edges_.push_back({first, second, number});
    }
  }
  std::uint32_t add_row(const usage_row& row) {
    problem_.rows_.push_back(row);
    return static_cast<std::uint32_t>(problem_.rows_.size() - 1);
  }
  /// Adds usage of a variable; segments over the same rows are combined.
  void add_segment(std::uint32_t x, usage_segment segment) {
    const auto same = std::find_if(segments_[x].begin(), segments_[x].end(), [&](const usage_segment& s) {
      return s.begin == segment.begin && s.end == segment.end;
    });
    if (same == segments_[x].end()) {
      segments_[x].push_back(std::move(segment));
    } else {
      for (std::size_t k = 0; k < segment.usage.size(); ++k) same->usage[k] += segment.usage[k];
    }
  }

  /// \pre every row that a segment covers was added
  [[nodiscard]] compact_problem<Cost> build() {
    auto& p = problem_;
    sort_edges(&compact_edge::second);
    sort_edges(&compact_edge::first);
    std::vector<std::size_t> degree(p.size() + 1);
    for (const compact_edge& e : p.edges_) {
      ++degree[e.first + 1];
      ++degree[e.second + 1];
    }
    for (std::size_t x = 0; x < p.size(); ++x) degree[x + 1] += degree[x];
    p.link_start_ = degree;
    p.links_.resize(2 * p.edges_.size());
    // edges sorted by (first, second): links to earlier variables must come first, so seconds go before firsts
    for (const bool is_first : {false, true})
      for (std::uint32_t e = 0; e < p.edges_.size(); ++e) {
        const compact_edge& edge = p.edges_[e];
        const std::uint32_t own = is_first ? edge.first : edge.second;
        p.links_[degree[own]++] = {e, is_first ? edge.second : edge.first, is_first};
      }
    p.segment_start_.reserve(p.size() + 1);
    for (const auto& of_variable : segments_) p.segment_start_.push_back(p.segment_start_.back() + of_variable.size());
    p.segments_.reserve(p.segment_start_.back());
    for (auto& of_variable : segments_)
      std::move(of_variable.begin(), of_variable.end(), std::back_inserter(p.segments_));
    segments_.clear();
    p.label_start_.shrink_to_fit();
    p.unary_.shrink_to_fit();
    p.edges_.shrink_to_fit();
    p.rows_.shrink_to_fit();
    return std::move(problem_);
  }

 private:
  /// Sorts the edges by an end; those with the same one stay in their order.
  void sort_edges(std::uint32_t compact_edge::*end) {
    std::vector<std::size_t> place(problem_.size() + 1);
    for (const compact_edge& e : problem_.edges_) ++place[e.*end + 1];
    for (std::size_t x = 0; x < problem_.size(); ++x) place[x + 1] += place[x];
    std::vector<compact_edge> sorted(problem_.edges_.size());
    for (const compact_edge& e : problem_.edges_) sorted[place[e.*end]++] = e;
    problem_.edges_ = std::move(sorted);
  }

  compact_problem<Cost> problem_;
  std::vector<std::vector<usage_segment>> segments_;
  interner<const cost_table<Cost>*> table_number_;
};

}  // namespace shardweave::inline v0
