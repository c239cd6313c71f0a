#pragma once

#include <shardweave/core/random.hpp>
#include <shardweave/placement/move.hpp>
#include <shardweave/solve/detail/min_plus.hpp>
#include <shardweave/solve/search/detail/label_costs.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Blocks of variables that induce a forest, and their optimal labels while all others stay.

namespace shardweave::inline v0::detail {

/// Prices per unit of usage, by row; prices of one row add up.
class block_row_prices {
 public:
  void clear() {
    if (!empty()) std::fill(prices_.begin() + first_, prices_.begin() + last_, 0.0);
    first_ = last_ = 0;
  }
  [[nodiscard]] bool empty() const { return first_ == last_; }
  void add(std::uint32_t row, double price) {
    if (row >= prices_.size()) prices_.resize(row + std::size_t{1});
    prices_[row] += price;
    first_ = empty() ? row : std::min(first_, row);
    last_ = std::max(last_, row + 1);
  }
  /// To be called after the last `add`.
  /// Complexity: O(rows from the first priced one to the last)
  void finish() {
    sums_.resize(last_ - first_ + std::size_t{1});
    sums_[0] = 0;
    for (std::size_t r = first_; r < last_; ++r) sums_[r - first_ + 1] = sums_[r - first_] + prices_[r];
  }
  /// The sum of the prices of rows [begin, end).
  [[nodiscard]] double over(std::uint32_t begin, std::uint32_t end) const {
    return sums_[std::clamp(end, first_, last_) - first_] - sums_[std::clamp(begin, first_, last_) - first_];
  }

 private:
  std::vector<double> prices_;  ///< zero outside [first, last)
  std::vector<double> sums_ = {0};
  std::uint32_t first_ = 0, last_ = 0;
};

/// The objective of a block: scaled costs, prices of rows, and forbidden pairs either excluded or penalized by weights.
struct block_terms {
  double cost_scale = 1;
  std::span<const double> conflict_weight = {};  ///< per edge; empty: forbidden pairs are excluded
  block_row_prices rows = {};
};

/// Grows random induced forests, and optimizes them by dynamic programming on class tables.
/// Source: F. Hamze, N. de Freitas, From fields to trees, UAI 2004 (tree blocks given the rest).
template <cost_value Cost>
class forest_block {
 public:
  explicit forest_block(const compact_problem<Cost>& problem) : p_(&problem), seen_(problem.size()) {}

  /// The number of variables of the block; each stands after its parent.
  [[nodiscard]] std::size_t size() const { return members_.size(); }

  /// Collects up to `most` variables around the roots: a variable joins if at most one of its neighbours is
  /// inside. Variables with one label never do.
  /// Complexity: O(sum of the degrees of the members)
  void grow(std::span<const std::uint32_t> roots, std::size_t most, random_source& random) {
    ++stamp_;
    members_.clear();
    frontier_.clear();
    for (const std::uint32_t root : roots) frontier_.push_back({root, none, {}});
    const double depth_first = random.unit();
    while (!frontier_.empty() && members_.size() < most) {
      const std::size_t at = random.chance(depth_first) ? frontier_.size() - 1 : random.below(frontier_.size());
      std::swap(frontier_[at], frontier_.back());
      const member next = frontier_.back();
      frontier_.pop_back();
      const mark& known = marked(next.variable);
      if (known.position != none || known.inside_neighbours != (next.parent == none ? 0U : 1U)) continue;
      join(next);
    }
  }

  /// Computes the costs of the members' labels with all neighbours outside of the block. To be called after `grow`,
  /// before `best_moves`.
  /// Complexity: O(sum over members of labels * degree)
  void price(const labeling_state<Cost>& state, const block_terms& terms) {
    start_values();
    for (std::size_t m = 0; m < members_.size(); ++m) price_member(members_[m].variable, m, state, terms);
  }
  /// The same from known label costs, with forbidden pairs excluded.
  /// Complexity: O(sum over members of labels)
  void price(const labeling_state<Cost>& state, const label_costs<Cost>& known) {
    start_values();
    allowed_.clear();
    conflicts_.clear();
    for (const member& m : members_) {
      const auto costs = known.allowed(m.variable);
      const auto conflicts = known.conflicts(m.variable);
      allowed_.insert(allowed_.end(), costs.begin(), costs.end());
      conflicts_.insert(conflicts_.end(), conflicts.begin(), conflicts.end());
    }
    for (std::size_t m = 0; m < members_.size(); ++m)  // the edges to parents are the only ones inside
      if (members_[m].parent != none) {
        const compact_link& up = members_[m].link;
        const std::uint32_t parent = members_[members_[m].parent].variable;
        take_off(up, m, state[parent]);
        take_off({up.edge, members_[m].variable, !up.is_first}, members_[m].parent, state[members_[m].variable]);
      }
    for (std::size_t i = 0; i < fixed_.size(); ++i)
      fixed_[i] = conflicts_[i] > 0 ? std::numeric_limits<double>::infinity() : static_cast<double>(allowed_[i]);
  }

  /// The moves from the state's labels to the block's optimal ones, with the present prices of rows in `terms`.
  /// Complexity: O(sum over members of labels and segments, and of pairs of classes to the parent)
  void best_moves(const labeling_state<Cost>& state, const block_terms& terms, std::vector<relabel>& moves) {
    price_usage(terms);
    for (std::size_t m = members_.size(); m-- > 0;)
      if (members_[m].parent != none) send_to_parent(m, terms);
    moves.clear();
    label_.resize(members_.size());
    for (std::size_t m = 0; m < members_.size(); ++m) {
      const member& own = members_[m];
      const std::uint32_t x = own.variable;
      if (own.parent == none) {
        const auto first = values_.begin() + static_cast<std::ptrdiff_t>(value_start_[m]);
        const auto last = first + static_cast<std::ptrdiff_t>(p_->label_count(x));
        const double current = first[state[x]];
        const auto best = std::min_element(first, last);
        label_[m] = *best < current ? static_cast<strategy>(best - first) : state[x];
      } else {
        label_[m] = answer_to_parent(m, label_[own.parent], terms);
      }
      if (label_[m] != state[x]) moves.push_back({x, label_[m]});
    }
  }

 private:
  static constexpr std::uint32_t none = ~0U;
  static constexpr double infinite = std::numeric_limits<double>::infinity();
  struct member {
    std::uint32_t variable = 0;
    std::uint32_t parent = none;  ///< its position among the members
    compact_link link = {};       ///< to the parent, from this variable
  };
  struct mark {
    std::uint64_t stamp = 0;
    std::uint32_t position = none;
    std::uint32_t inside_neighbours = 0;
  };

  mark& marked(std::uint32_t x) {
    if (seen_[x].stamp != stamp_) seen_[x] = {stamp_, none, 0};
    return seen_[x];
  }
  [[nodiscard]] bool inside(std::uint32_t x) const { return seen_[x].stamp == stamp_ && seen_[x].position != none; }

  void join(const member& next) {
    const auto position = static_cast<std::uint32_t>(members_.size());
    marked(next.variable).position = position;
    members_.push_back(next);
    for (const compact_link& link : p_->links(next.variable)) {
      mark& other = marked(link.other);
      ++other.inside_neighbours;
      if (other.position == none && other.inside_neighbours == 1 && p_->label_count(link.other) > 1)
        frontier_.push_back({link.other, position, {link.edge, next.variable, !link.is_first}});
    }
  }

  [[nodiscard]] static double price(Cost c, std::uint32_t edge, const block_terms& terms) {
    if (!is_forbidden(c)) return terms.cost_scale * static_cast<double>(c);
    return terms.conflict_weight.empty() ? std::numeric_limits<double>::infinity() : terms.conflict_weight[edge];
  }

  void start_values() {
    value_start_.clear();
    std::size_t values = 0;
    for (const member& m : members_) {
      value_start_.push_back(values);
      values += p_->label_count(m.variable);
    }
    fixed_.resize(values);
  }

  void price_member(std::uint32_t x, std::size_t m, const labeling_state<Cost>& state, const block_terms& terms) {
    double* const own = fixed_.data() + value_start_[m];
    const auto unary = p_->unary(x);
    for (std::size_t k = 0; k < unary.size(); ++k) own[k] = terms.cost_scale * static_cast<double>(unary[k]);
    for (const compact_link& link : p_->links(x)) {
      if (inside(link.other)) continue;
      const cost_table<Cost>& t = p_->table(p_->edges()[link.edge]);
      const auto own_class = link.is_first ? t.row_class() : t.column_class();
      const std::size_t c = link.is_first ? t.column_class(state[link.other]) : t.row_class(state[link.other]);
      for (std::size_t k = 0; k < own_class.size(); ++k)
        own[k] +=
            price(link.is_first ? t.class_cost(own_class[k], c) : t.class_cost(c, own_class[k]), link.edge, terms);
    }
  }

  /// Subtracts the costs of member m's labels with a neighbour inside of the block, whose label is `other`.
  void take_off(const compact_link& link, std::size_t m, strategy other) {
    const cost_table<Cost>& t = p_->table(p_->edges()[link.edge]);
    const auto own_class = link.is_first ? t.row_class() : t.column_class();
    const std::size_t c = link.is_first ? t.column_class(other) : t.row_class(other);
    Cost* const allowed = allowed_.data() + value_start_[m];
    std::int32_t* const conflicts = conflicts_.data() + value_start_[m];
    for (std::size_t k = 0; k < own_class.size(); ++k) {
      const Cost cost = link.is_first ? t.class_cost(own_class[k], c) : t.class_cost(c, own_class[k]);
      if (is_forbidden(cost)) {
        --conflicts[k];
      } else {
        allowed[k] -= cost;
      }
    }
  }

  /// Adds the prices of rows to the fixed costs.
  void price_usage(const block_terms& terms) {
    values_ = fixed_;
    if (terms.rows.empty()) return;
    for (std::size_t m = 0; m < members_.size(); ++m)
      for (const usage_segment& s : p_->segments(members_[m].variable)) {
        const double each = terms.rows.over(s.begin, s.end);
        if (each == 0) continue;
        double* const own = values_.data() + value_start_[m];
        for (std::size_t k = 0; k < s.usage.size(); ++k) own[k] += each * s.usage[k];
      }
  }

  /// Adds to each label of the parent the least cost of the subtree below.
  void send_to_parent(std::size_t m, const block_terms& terms) {
    const member& own = members_[m];
    const cost_table<Cost>& t = p_->table(p_->edges()[own.link.edge]);
    const auto parent_class = own.link.is_first ? t.column_class() : t.row_class();
    find_least(m);
    message_.resize(own.link.is_first ? t.stride() : t.row_classes());
    bool is_priced = false;
    if constexpr (std::same_as<Cost, double>) {
      if (terms.cost_scale == 1 && terms.conflict_weight.empty()) {  // the original costs
        const double_table costs{t.class_row(0), t.row_classes(), t.column_classes(), t.stride()};
        own.link.is_first ? min_plus_columns(costs, least_.data(), message_.data())
                          : min_plus_rows(costs, least_.data(), message_.data());
        is_priced = true;
      }
    }
    if (!is_priced) send_prices(t, own.link, terms);
    double* const above = values_.data() + value_start_[own.parent];
    for (std::size_t k = 0; k < parent_class.size(); ++k) above[k] += message_[parent_class[k]];
  }

  void send_prices(const cost_table<Cost>& t, const compact_link& link, const block_terms& terms) {
    const double scale = terms.cost_scale, of_forbidden = price(forbidden<Cost>, link.edge, terms);
    const auto price_of = [&](Cost c) { return is_forbidden(c) ? of_forbidden : scale * static_cast<double>(c); };
    std::fill(message_.begin(), message_.end(), infinite);
    for (std::size_t r = 0; r < t.row_classes(); ++r) {  // in the order of memory
      const Cost* const costs = t.class_row(r);
      if (link.is_first) {
        if (const double least = least_[r]; least != infinite)
          for (std::size_t c = 0; c < t.column_classes(); ++c)
            message_[c] = std::min(message_[c], least + price_of(costs[c]));
      } else {
        double least = infinite;
        for (std::size_t c = 0; c < t.column_classes(); ++c) least = std::min(least, least_[c] + price_of(costs[c]));
        message_[r] = least;
      }
    }
  }

  /// The label of least cost when the parent has the given one.
  [[nodiscard]] strategy answer_to_parent(std::size_t m, strategy of_parent, const block_terms& terms) {
    const compact_link& link = members_[m].link;
    const cost_table<Cost>& t = p_->table(p_->edges()[link.edge]);
    const std::size_t c = link.is_first ? t.column_class(of_parent) : t.row_class(of_parent);
    find_least(m);
    double least = infinite;
    strategy best = 0;
    for (std::size_t i = 0; i < least_label_.size(); ++i) {
      const double total = least_[i] + price(link.is_first ? t.class_cost(i, c) : t.class_cost(c, i), link.edge, terms);
      if (!(total < least)) continue;
      least = total;
      best = least_label_[i];
    }
    return best;
  }

  /// The least value of a member, with its label, for each class of the edge to its parent; padded like rows of tables.
  void find_least(std::size_t m) {
    const compact_link& link = members_[m].link;
    const cost_table<Cost>& t = p_->table(p_->edges()[link.edge]);
    const auto own_class = link.is_first ? t.row_class() : t.column_class();
    least_.assign(link.is_first ? t.row_classes() : t.stride(), infinite);
    least_label_.assign(link.is_first ? t.row_classes() : t.column_classes(), 0);
    const double* const value = values_.data() + value_start_[m];
    for (strategy k = 0; k < own_class.size(); ++k)
      if (value[k] < least_[own_class[k]]) {
        least_[own_class[k]] = value[k];
        least_label_[own_class[k]] = k;
      }
  }

  const compact_problem<Cost>* p_;
  std::vector<mark> seen_;
  std::uint64_t stamp_ = 0;
  std::vector<member> members_, frontier_;
  std::vector<double> values_, fixed_;  ///< with and without prices of rows
  std::vector<Cost> allowed_;
  std::vector<std::int32_t> conflicts_;
  std::vector<std::size_t> value_start_;
  std::vector<double> least_, message_;
  std::vector<strategy> least_label_, label_;
};

}  // namespace shardweave::inline v0::detail
