#pragma once

#include <shardweave/solve/detail/min_plus.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

/// \file
/// Message passing that raises a lower bound: the engine under `trws` and `budgeted`.

namespace shardweave {
inline namespace v0 {

/// Sequential tree-reweighted message passing over the variables of a compact problem in their order.
///
/// Rows are not seen: a caller prices them into the unary costs. The bound of a pass is valid for the unary
/// costs at that time whatever the messages are, so costs may change between passes and messages stay warm;
/// while they do not change the bound never falls. Messages are kept per class of the receiver's labels, so
/// a pass costs O(labels * degree + sum of row classes * column classes).
///
/// Source: V. Kolmogorov, Convergent tree-reweighted message passing for energy minimization, PAMI 28 (2006).
template <cost_value Cost>
class dual_ascent {
 public:
  /// \pre `problem` outlives this object
  explicit dual_ascent(const compact_problem<Cost>& problem) : p_(&problem), tables_(problem) {
    unary_.reserve(problem.total_labels());
    for (std::size_t x = 0; x < problem.size(); ++x)
      for (const Cost c : problem.unary(x)) unary_.push_back(static_cast<double>(c));
    share_.resize(problem.size());
    std::size_t most_classes = 0, most_labels = 0;
    for (const compact_edge& e : problem.edges()) {
      const auto& t = problem.table(e);
      to_first_.push_back(static_cast<std::uint32_t>(messages_.size()));
      messages_.resize(messages_.size() + padded(t.row_classes()));
      to_second_.push_back(static_cast<std::uint32_t>(messages_.size()));
      messages_.resize(messages_.size() + t.stride());
      most_classes = std::max({most_classes, padded(t.row_classes()), t.stride()});
    }
    for (std::size_t x = 0; x < problem.size(); ++x) {
      const auto links = problem.links(x);
      const auto later = static_cast<std::size_t>(
          std::count_if(links.begin(), links.end(), [](const compact_link& l) { return l.is_first; }));
      share_[x] = 1.0 / static_cast<double>(std::max<std::size_t>({later, links.size() - later, 1}));
      most_labels = std::max(most_labels, problem.label_count(x));
    }
    belief_.resize(most_labels);
    least_.resize(most_classes);
    out_.resize(most_classes);
  }

  /// The unary costs in force, for all labels of all variables; a caller may change them between passes.
  [[nodiscard]] std::span<double> unary() { return unary_; }

  /// The costs in force of one of the problem's tables, for a caller who changes them between passes: row classes
  /// times the table's stride, padding included. Stays valid; to be called once per table.
  [[nodiscard]] double* own_table(std::size_t table) { return tables_.own(table); }

  /// One pass in the order of the variables. \returns a valid lower bound, the problem's constant included
  ///
  /// `excess`, if not empty, takes for every label of every variable what it costs more than the best label of its
  /// variable when the pass comes by: the bound plus that is a bound on all labelings that use the label.
  double forward(std::span<double> excess = {}) { return pass(true, excess); }
  /// One pass in reverse order. \returns a valid lower bound, the problem's constant included
  double backward(std::span<double> excess = {}) { return pass(false, excess); }
  /// Largest change of a message in the last pass.
  [[nodiscard]] double last_change() const { return change_; }

  /// Labels by the messages: each variable in turn takes what is best with the exact costs to the variables
  /// decided before it and the messages of the others.
  void decode(std::span<strategy> labels) {
    for (std::size_t x = 0; x < p_->size(); ++x) {
      const std::size_t k = p_->label_count(x);
      load_unary(x, k);
      for (const compact_link& link : p_->links(x)) {
        if (!link.is_first) {
          const compact_edge& edge = p_->edges()[link.edge];
          const auto& classes = p_->table(edge);
          const double_table& t = tables_[edge.table];
          const double* costs = t.costs + classes.row_class(labels[link.other]) * t.stride;
          for (std::size_t l = 0; l < k; ++l) belief_[l] += costs[classes.column_class()[l]];
        } else {
          add_message(link, k);
        }
      }
      labels[x] = static_cast<strategy>(
          std::min_element(belief_.begin(), belief_.begin() + static_cast<std::ptrdiff_t>(k)) - belief_.begin());
    }
  }

  /// The label of least belief of every variable, each for itself.
  void choose(std::span<strategy> labels) {
    for (std::size_t x = 0; x < p_->size(); ++x) {
      const std::size_t k = load_belief(x);
      labels[x] = static_cast<strategy>(
          std::min_element(belief_.begin(), belief_.begin() + static_cast<std::ptrdiff_t>(k)) - belief_.begin());
    }
  }

  /// Messages, to be put back with `restore` after costs went astray.
  [[nodiscard]] std::vector<double> messages() const { return messages_; }
  void restore(const std::vector<double>& messages) { messages_ = messages; }

 private:
  static std::size_t padded(std::size_t n) {
    return (n + cost_table<Cost>::padding - 1) / cost_table<Cost>::padding * cost_table<Cost>::padding;
  }

  void load_unary(std::size_t x, std::size_t k) {
    std::copy_n(unary_.begin() + static_cast<std::ptrdiff_t>(p_->label_start(x)), k, belief_.begin());
  }
  void add_message(const compact_link& link, std::size_t k) {
    const auto& t = p_->table(p_->edges()[link.edge]);
    const auto classes = link.is_first ? t.row_class() : t.column_class();
    const double* message = messages_.data() + (link.is_first ? to_first_ : to_second_)[link.edge];
    for (std::size_t l = 0; l < k; ++l) belief_[l] += message[classes[l]];
  }
  std::size_t load_belief(std::size_t x) {
    const std::size_t k = p_->label_count(x);
    load_unary(x, k);
    for (const compact_link& link : p_->links(x)) add_message(link, k);
    return k;
  }

  double pass(bool ascending, std::span<double> excess) {
    change_ = 0;
    double bound = static_cast<double>(p_->constant()), magnitude = std::abs(bound);
    const auto count = [&](double amount) {
      bound += amount;
      magnitude += std::abs(amount);
    };
    for (std::size_t step = 0; step < p_->size(); ++step) {
      const std::size_t x = ascending ? step : p_->size() - 1 - step;
      const std::size_t k = load_belief(x);
      const double least = *std::min_element(belief_.begin(), belief_.begin() + static_cast<std::ptrdiff_t>(k));
      count(least);
      for (std::size_t l = 0; l < k; ++l) belief_[l] -= least;
      if (!excess.empty())
        std::copy_n(belief_.begin(), k, excess.begin() + static_cast<std::ptrdiff_t>(p_->label_start(x)));
      for (const compact_link& link : p_->links(x))
        if (link.is_first == ascending) count(send(link, k, share_[x]));
    }
    // every addition is off by half a unit in the last place at most, and the bound must not be too high
    const auto additions = static_cast<double>(p_->size() + p_->edges().size() + 4096);
    return bound - additions * std::numeric_limits<double>::epsilon() * magnitude;
  }

  /// The message along a link to a variable that this pass has yet to visit. \returns what was taken off it
  double send(const compact_link& link, std::size_t k, double share) {
    const auto& classes = p_->table(p_->edges()[link.edge]);
    const double_table& t = tables_[p_->edges()[link.edge].table];
    const auto own_class = link.is_first ? classes.row_class() : classes.column_class();
    const std::size_t own = link.is_first ? t.rows : t.columns;
    const std::size_t others = link.is_first ? t.columns : t.rows;
    const double* incoming = messages_.data() + (link.is_first ? to_first_ : to_second_)[link.edge];
    double* outgoing = messages_.data() + (link.is_first ? to_second_ : to_first_)[link.edge];

    std::fill_n(least_.begin(), own, std::numeric_limits<double>::infinity());
    for (std::size_t l = 0; l < k; ++l) least_[own_class[l]] = std::min(least_[own_class[l]], belief_[l]);
    for (std::size_t i = 0; i < own; ++i) least_[i] = share * least_[i] - incoming[i];
    if (link.is_first) {
      min_plus_columns(t, least_.data(), out_.data());
    } else {
      std::fill(least_.begin() + static_cast<std::ptrdiff_t>(own),
                least_.begin() + static_cast<std::ptrdiff_t>(t.stride), 0.0);
      min_plus_rows(t, least_.data(), out_.data());
    }
    const double taken = *std::min_element(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(others));
    for (std::size_t j = 0; j < others; ++j) {
      const double message = out_[j] - taken;
      change_ = std::max(change_, std::abs(message - outgoing[j]));
      outgoing[j] = message;
    }
    return taken;
  }

  const compact_problem<Cost>* p_;
  detail::double_tables<Cost> tables_;
  std::vector<double> unary_;
  std::vector<double> share_;
  std::vector<double> messages_;
  std::vector<std::uint32_t> to_first_, to_second_;  ///< where an edge's messages start
  std::vector<double> belief_, least_, out_;
  double change_ = 0;
  using double_table = detail::double_table;
};

}  // namespace v0
}  // namespace shardweave
