#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/placement/move.hpp>
#include <shardweave/solve/search/detail/forest_block.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

/// \file
/// Repair of a labeling that breaks constraints.

namespace shardweave::inline v0::detail {

/// Optimizes forest blocks around forbidden pairs and exceeded rows for the least weighted violation. At a local
/// minimum the weights of violated constraints are increased until it is left (breakout).
/// Source: P. Morris, The breakout method for escaping from local minima, AAAI 1993, here with tree blocks.
template <cost_value Cost>
class label_repair {
 public:
  label_repair(labeling_state<Cost>& state, forest_block<Cost>& block)
      : p_(state.problem()),
        state_(state),
        block_(block),
        position_(p_.edges().size(), none),
        edge_weight_(p_.edges().size(), 1.0),
        row_weight_(p_.rows().size(), 1.0) {
    double largest = 1;
    for (std::size_t x = 0; x < p_.size(); ++x)
      for (const Cost c : p_.unary(x)) largest = std::max(largest, std::abs(static_cast<double>(c)));
    for (const auto& t : p_.tables())
      for (std::size_t i = 0; i < t->row_classes(); ++i)
        for (std::size_t j = 0; j < t->column_classes(); ++j)
          if (!is_forbidden(t->class_cost(i, j)))
            largest = std::max(largest, std::abs(static_cast<double>(t->class_cost(i, j))));
    terms_.cost_scale = 1e-3 / largest;  // costs only break ties between equal violations
    for (std::uint32_t e = 0; e < p_.edges().size(); ++e) note(e);
    for (std::uint32_t r = 0; r < p_.rows().size(); ++r) {
      const usage_row& row = p_.rows()[r];
      row_weight_[r] = 1 / std::max(1e-3, std::abs(std::isfinite(row.high) ? row.high : row.low));
    }
  }

  /// \returns whether the state keeps all constraints
  bool run(std::size_t steps, const deadline& limit, random_source& random) {
    find_broken_rows();
    for (std::size_t i = 0, idle = 0; i < steps && p_.size() > 0 && !limit.expired(); ++i) {
      if (broken_edges_.empty() && broken_rows_.empty()) return true;
      const bool gained = random.chance(0.5) ? forest_step(random) : response_step(random);
      idle = gained ? 0 : idle + 1;
      if (idle > 10) {
        for (const std::uint32_t e : broken_edges_) edge_weight_[e] += 1;
        for (const std::uint32_t r : broken_rows_) row_weight_[r] *= 1.5;
        idle = 0;
      }
    }
    return broken_edges_.empty() && broken_rows_.empty();
  }

 private:
  static constexpr std::uint32_t none = ~0U;

  /// Sets one variable to its best label, half of the time together with a random label of another one: this can
  /// satisfy rows with two limits, which prices cannot.
  bool response_step(random_source& random) {
    const std::uint32_t x = broken_variable(random);
    relabel companion{static_cast<std::uint32_t>(random.below(p_.size())), 0};
    companion.label = static_cast<strategy>(random.below(p_.label_count(companion.variable)));
    const bool together =
        companion.variable != x && companion.label != state_[companion.variable] && random.chance(0.5);
    moves_.clear();
    if (together) moves_.push_back(companion);
    moves_.push_back({x, state_[x]});
    strategy best = state_[x];
    double least = std::numeric_limits<double>::infinity();
    for (strategy k = 0; k < p_.label_count(x); ++k) {
      if (k == state_[x] && !together) continue;
      moves_.back().label = k;
      const double change = row_change() + trial_conflict_change();
      if (change < least) {
        least = change;
        best = k;
      }
    }
    if (!(least <= 1e-12)) return false;
    moves_.back().label = best;
    state_.apply(moves_);
    accept();
    return least < -1e-12;
  }

  [[nodiscard]] double row_change() {
    double change = 0;
    state_.for_each_row(moves_, [&](std::size_t r, double before, double after) {
      change += row_weight_[r] * (state_.excess_of(r, after) - state_.excess_of(r, before));
    });
    return change;
  }

  [[nodiscard]] double trial_conflict_change() {
    double change = 0;
    for (const relabel& m : moves_)
      for (const compact_link& link : p_.links(m.variable)) {
        strategy other = state_[link.other];
        bool is_later = false;  // a pair of two movers is counted once, at the later one
        for (const relabel& n : moves_)
          if (n.variable == link.other) {
            other = n.label;
            is_later = &n > &m;
          }
        if (is_later) continue;
        change += edge_weight_[link.edge] *
                  ((is_forbidden(p_.link_cost(link, m.label, other)) ? 1 : 0) - (position_[link.edge] != none ? 1 : 0));
      }
    return change;
  }

  /// Updates the lists of violated constraints after moves.
  void accept() {
    for (const relabel& m : moves_)
      for (const compact_link& link : p_.links(m.variable)) note(link.edge);
    find_broken_rows();
  }

  bool forest_step(random_source& random) {
    const std::uint32_t root = broken_variable(random);
    std::size_t most = std::size_t{1} << random.below(7);
    if (most > 1) most = most / 2 + 1 + random.below(most);
    const std::uint32_t other = static_cast<std::uint32_t>(random.below(p_.size()));
    const std::uint32_t roots[] = {root, other};
    block_.grow(std::span(roots, broken_rows_.empty() || random.chance(0.5) ? 1 : 2), most, random);
    terms_.conflict_weight = edge_weight_;
    terms_.rows.clear();
    for (const std::uint32_t r : broken_rows_) price(r, row_weight_[r]);
    block_.price(state_, terms_);
    for (int attempt = 0; attempt < 4; ++attempt) {
      terms_.rows.finish();
      block_.best_moves(state_, terms_, moves_);
      if (moves_.empty()) return false;
      double change = 0;
      bool priced = false;
      state_.for_each_row(moves_, [&](std::size_t r, double before, double after) {
        const double was = state_.excess_of(r, before), is = state_.excess_of(r, after);
        change += row_weight_[r] * (is - was);
        if (is > was) {
          price(static_cast<std::uint32_t>(r), row_weight_[r]);
          priced = true;
        }
      });
      change -= weight_of_conflicts();
      const Cost cost_change = state_.delta(moves_).cost;
      back_.clear();
      for (const relabel& m : moves_) back_.push_back({m.variable, state_[m.variable]});
      state_.apply(moves_);
      change += weight_of_conflicts();
      if (change < -1e-12 || (change <= 1e-12 && cost_change <= Cost{} && random.chance(0.5))) {
        accept();
        return change < -1e-12;
      }
      state_.apply(back_);
      if (!priced) return false;
    }
    return false;
  }

  void price(std::uint32_t r, double weight) {
    terms_.rows.add(r, state_.usage()[r] < p_.rows()[r].low ? -weight : weight);
  }

  /// An end of a forbidden pair, or a variable that uses an exceeded row.
  [[nodiscard]] std::uint32_t broken_variable(random_source& random) const {
    if (!broken_edges_.empty() && (broken_rows_.empty() || random.chance(0.7))) {
      const compact_edge& e = p_.edges()[broken_edges_[random.below(broken_edges_.size())]];
      return random.chance(0.5) ? e.first : e.second;
    }
    const std::uint32_t r = broken_rows_[random.below(broken_rows_.size())];
    const std::size_t start = random.below(p_.size());
    for (std::size_t i = 0; i < p_.size(); ++i) {
      const std::size_t x = start + i < p_.size() ? start + i : start + i - p_.size();
      if (p_.label_count(x) == 1) continue;
      for (const usage_segment& s : p_.segments(x))
        if (s.begin <= r && r < s.end) return static_cast<std::uint32_t>(x);
    }
    return static_cast<std::uint32_t>(start);
  }

  [[nodiscard]] bool is_broken(std::uint32_t e) const {
    const compact_edge& edge = p_.edges()[e];
    return is_forbidden(p_.table(edge)(state_[edge.first], state_[edge.second]));
  }
  /// Updates the list of violated edges.
  void note(std::uint32_t e) {
    const bool broken = is_broken(e);
    if (broken == (position_[e] != none)) return;
    if (broken) {
      position_[e] = static_cast<std::uint32_t>(broken_edges_.size());
      broken_edges_.push_back(e);
    } else {
      position_[broken_edges_.back()] = position_[e];
      broken_edges_[position_[e]] = broken_edges_.back();
      broken_edges_.pop_back();
      position_[e] = none;
    }
  }
  void find_broken_rows() {
    broken_rows_.clear();
    for (std::uint32_t r = 0; r < p_.rows().size(); ++r)
      if (state_.excess(r) > 0) broken_rows_.push_back(r);
  }

  /// The weight of forbidden pairs at variables that move; a pair of two of them counts once.
  [[nodiscard]] double weight_of_conflicts() {
    touched_.clear();
    for (const relabel& m : moves_)
      for (const compact_link& link : p_.links(m.variable))
        if (is_broken(link.edge)) touched_.push_back(link.edge);
    std::sort(touched_.begin(), touched_.end());
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    double sum = 0;
    for (const std::uint32_t e : touched_) sum += edge_weight_[e];
    return sum;
  }

  const compact_problem<Cost>& p_;
  labeling_state<Cost>& state_;
  forest_block<Cost>& block_;
  block_terms terms_;
  std::vector<std::uint32_t> position_;  ///< of an edge among the violated ones
  std::vector<std::uint32_t> broken_edges_, broken_rows_, touched_;
  std::vector<double> edge_weight_, row_weight_;
  std::vector<relabel> moves_, back_;
};

}  // namespace shardweave::inline v0::detail
