#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/core/range_sums.hpp>
#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/solve/detail/order_by.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// A greedy initial labeling.

namespace shardweave::inline v0::detail {

/// Labels variables in order, each by its cost with the variables before it plus the least cost over edges to later
/// ones. Arc consistency removes labels that a choice rules out, and rows reserve the least usage of all other
/// variables; a label that leaves some variable without labels, or exceeds a row, is chosen only if there is no other.
template <cost_value Cost>
class greedy_labels {
 public:
  explicit greedy_labels(const compact_problem<Cost>& problem) : p_(&problem), least_over_(problem.tables().size()) {}

  /// \param noise  scores are raised by up to this share at random, so that runs differ
  /// \returns nothing if the deadline came first; otherwise a labeling that may break constraints
  /// Complexity: O(sum over edges of labels), and the rows that candidates cover
  [[nodiscard]] std::optional<std::vector<strategy>> operator()(const deadline& limit, random_source& random,
                                                                double noise) {
    reset();
    for (std::uint32_t x = 0; x < p_->size(); ++x) {
      if (limit.expired()) return std::nullopt;
      score(x);
      if (noise > 0)
        for (double& s : scores_) s += noise * random.unit() * (1 + std::abs(s));
      order_by(std::span<const double>(scores_), order_);
      labels_[x] = chosen(x);
    }
    return labels_;
  }

 private:
  struct least_costs {
    std::vector<double> of_row, of_column;
    bool forbids = false;
  };

  void reset() {
    labels_.assign(p_->size(), 0);
    allowed_.assign(p_->total_labels(), true);
    for (std::size_t t = 0; t < least_over_.size(); ++t)
      if (least_over_[t].of_row.empty()) measure(*p_->tables()[t], least_over_[t]);
    range_sums used(p_->rows().size());
    least_.clear();
    for (std::size_t x = 0; x < p_->size(); ++x)
      for (const usage_segment& s : p_->segments(x)) {
        const double least = *std::min_element(s.usage.begin(), s.usage.end());
        least_.push_back(least);
        used.add(s.begin, s.end, least);
      }
    used_ = used.values();
  }

  static void measure(const cost_table<Cost>& t, least_costs& least) {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    least.of_row.assign(t.row_classes(), infinite);
    least.of_column.assign(t.column_classes(), infinite);
    for (std::size_t i = 0; i < t.row_classes(); ++i)
      for (std::size_t j = 0; j < t.column_classes(); ++j) {
        const Cost c = t.class_cost(i, j);
        if (is_forbidden(c)) {
          least.forbids = true;
        } else {
          least.of_row[i] = std::min(least.of_row[i], static_cast<double>(c));
          least.of_column[j] = std::min(least.of_column[j], static_cast<double>(c));
        }
      }
  }

  void score(std::uint32_t x) {
    scores_.clear();
    for (const Cost c : p_->unary(x)) scores_.push_back(static_cast<double>(c));
    for (const compact_link& link : p_->links(x)) {
      const std::uint32_t number = p_->edges()[link.edge].table;
      const cost_table<Cost>& t = *p_->tables()[number];
      const auto own_class = link.is_first ? t.row_class() : t.column_class();
      if (link.other > x) {
        const auto& least = link.is_first ? least_over_[number].of_row : least_over_[number].of_column;
        for (std::size_t k = 0; k < scores_.size(); ++k) scores_[k] += least[own_class[k]];
      } else {
        for (strategy k = 0; k < scores_.size(); ++k) {
          const Cost c = p_->link_cost(link, k, labels_[link.other]);
          scores_[k] += is_forbidden(c) ? conflict : static_cast<double>(c);
        }
      }
    }
  }

  /// The best label that keeps all later variables labelable, and the rows if any label does. Propagates it.
  [[nodiscard]] strategy chosen(std::uint32_t x) {
    std::size_t tried = 0;
    for (const bool must_fit : {true, false})
      for (const strategy k : order_) {
        if (!allowed_[p_->label_start(x) + k] || (must_fit && !fits(x, k))) continue;
        if (++tried > 64) break;  // the rest would hardly be consistent either
        if (rule_out_others(x, k, must_fit)) return k;
      }
    const strategy k = order_.front();  // breaks a constraint, which repair has to mend
    for (strategy l = 0; l < p_->label_count(x); ++l) allowed_[p_->label_start(x) + l] = l == k;
    open_.assign(1, x);
    reserve(false);
    return k;
  }

  /// Restricts `x` to label k and propagates (arc consistency).
  /// \returns false, with all labels as before, if some variable would have none
  /// Source: A. Mackworth, Consistency in networks of relations, Artificial Intelligence 8 (1977).
  bool rule_out_others(std::uint32_t x, strategy k, bool must_fit) {
    removed_.clear();
    open_.assign(1, x);
    for (strategy l = 0; l < p_->label_count(x); ++l)
      if (l != k) remove(x, l);
    for (std::size_t at = 0; at < open_.size(); ++at) {
      const std::uint32_t from = open_[at];
      for (const compact_link& link : p_->links(from)) {
        if (link.other < x || !least_over_[p_->edges()[link.edge].table].forbids) continue;
        if (revise(from, link)) continue;
        for (const std::size_t i : removed_) allowed_[i] = true;
        return false;
      }
    }
    if (reserve(must_fit)) return true;
    for (const std::size_t i : removed_) allowed_[i] = true;
    return false;
  }

  /// Raises the reserved usage of the variables in `open_` to the least of their remaining labels.
  /// \returns false, with all as before, if the rows must be kept and are not
  bool reserve(bool must_fit) {
    raised_.clear();
    for (const std::uint32_t x : open_)
      for (const usage_segment& s : p_->segments(x)) {
        double least = std::numeric_limits<double>::infinity();
        for (strategy l = 0; l < s.usage.size(); ++l)
          if (allowed_[p_->label_start(x) + l]) least = std::min(least, s.usage[l]);
        double& known = least_[static_cast<std::size_t>(&s - p_->segments(0).data())];
        const double more = least - known;
        if (!(more > 0)) continue;
        raised_.emplace_back(&s, known);
        known = least;
        bool keeps = true;
        for (std::uint32_t r = s.begin; r < s.end; ++r) {
          used_[r] += more;
          keeps &= used_[r] <= p_->rows()[r].high + budget_tolerance / 2;
        }
        if (keeps || !must_fit) continue;
        while (!raised_.empty()) {
          const auto [segment, before] = raised_.back();
          double& now = least_[static_cast<std::size_t>(segment - p_->segments(0).data())];
          for (std::uint32_t r = segment->begin; r < segment->end; ++r) used_[r] -= now - before;
          now = before;
          raised_.pop_back();
        }
        return false;
      }
    return true;
  }

  void remove(std::uint32_t x, strategy l) {
    const std::size_t i = p_->label_start(x) + l;
    if (!allowed_[i]) return;
    allowed_[i] = false;
    removed_.push_back(i);
  }

  /// Removes the labels of the other end that have no partner left.
  /// \returns false if none are left
  bool revise(std::uint32_t from, const compact_link& link) {
    const cost_table<Cost>& t = p_->table(p_->edges()[link.edge]);
    const auto other_class = link.is_first ? t.column_class() : t.row_class();
    mark_partners(
        t, link.is_first, [&](strategy l) { return allowed_[p_->label_start(from) + l]; }, there_, supported_);
    const std::size_t before = removed_.size();
    bool any = false;
    for (strategy l = 0; l < other_class.size(); ++l) {
      if (supported_[other_class[l]] == 0) remove(link.other, l);
      any |= allowed_[p_->label_start(link.other) + l];
    }
    if (removed_.size() > before) open_.push_back(link.other);
    return any;
  }

  [[nodiscard]] bool fits(std::uint32_t x, strategy k) const {
    for (const usage_segment& s : p_->segments(x)) {
      const double more = s.usage[k] - least_[static_cast<std::size_t>(&s - p_->segments(0).data())];
      if (more <= 0) continue;
      for (std::uint32_t r = s.begin; r < s.end; ++r)
        if (used_[r] + more > p_->rows()[r].high + budget_tolerance / 2) return false;
    }
    return true;
  }

  static constexpr double conflict = 1e30;  ///< cost of a forbidden pair in scores: above any real cost, but finite, so
                                            ///< that labels with fewer such pairs come first

  const compact_problem<Cost>* p_;
  std::vector<least_costs> least_over_;  ///< per table
  std::vector<strategy> labels_, order_;
  std::vector<bool> allowed_;  ///< consistent with the labels chosen so far
  std::vector<std::size_t> removed_;
  std::vector<std::uint32_t> open_;
  std::vector<char> there_, supported_;
  std::vector<double> used_;   ///< per row: reserved usage of all variables
  std::vector<double> least_;  ///< per segment: least usage of the remaining labels
  std::vector<std::pair<const usage_segment*, double>> raised_;
  std::vector<double> scores_;
};

}  // namespace shardweave::inline v0::detail
