#pragma once

#include <shardweave/placement/move.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// \file
/// The costs of all labels, given the labels of their neighbours.

namespace shardweave::inline v0::detail {

/// For every label of every variable: its unary cost plus the costs with the current labels of all neighbours, updated
/// with each move. Moves are tried often and made rarely, so a trial only reads.
///
/// Floating-point sums drift by rounding; `refresh` recomputes them.
template <cost_value Cost>
class label_costs {
 public:
  /// Complexity: O(sum over edges of labels)
  explicit label_costs(const labeling_state<Cost>& state) : p_(&state.problem()) { refresh(state); }

  void refresh(const labeling_state<Cost>& state) {
    allowed_.resize(p_->total_labels());
    forbidden_.assign(p_->total_labels(), 0);
    for (std::size_t x = 0; x < p_->size(); ++x)
      for (std::size_t l = 0; l < p_->label_count(x); ++l) allowed_[p_->label_start(x) + l] = p_->unary(x)[l];
    for (std::uint32_t x = 0; x < p_->size(); ++x)
      for (const compact_link& link : p_->links(x)) add(link, state[x], 1);
  }

  /// Costs of the labels of a variable, without forbidden pairs.
  [[nodiscard]] std::span<const Cost> allowed(std::size_t x) const {
    return std::span(allowed_).subspan(p_->label_start(x), p_->label_count(x));
  }
  /// The number of forbidden pairs that each label would be in.
  [[nodiscard]] std::span<const std::int32_t> conflicts(std::size_t x) const {
    return std::span(forbidden_).subspan(p_->label_start(x), p_->label_count(x));
  }

  /// To be called before the state applies the moves.
  /// Complexity: O(labels of the neighbours of what moves)
  void change(const labeling_state<Cost>& state, std::span<const relabel> moves) {
    for (const relabel& move : moves)
      for (const compact_link& link : p_->links(move.variable)) {
        add(link, state[move.variable], -1);
        add(link, move.label, 1);
      }
  }

 private:
  /// Adds (sign 1) or removes (-1) the costs of label `own` of this end to the labels of the other one.
  void add(const compact_link& link, strategy own, int sign) {
    const cost_table<Cost>& t = p_->table(p_->edges()[link.edge]);
    Cost* const allowed = allowed_.data() + p_->label_start(link.other);
    std::int32_t* const forbidden = forbidden_.data() + p_->label_start(link.other);
    const auto classes = link.is_first ? t.column_class() : t.row_class();
    const std::size_t c = link.is_first ? t.row_class(own) : t.column_class(own);
    for (std::size_t k = 0; k < classes.size(); ++k) {
      const Cost cost = link.is_first ? t.class_cost(c, classes[k]) : t.class_cost(classes[k], c);
      if (is_forbidden(cost)) {
        forbidden[k] += sign;
      } else if (sign > 0) {
        allowed[k] += cost;
      } else {
        allowed[k] -= cost;
      }
    }
  }

  const compact_problem<Cost>* p_;
  std::vector<Cost> allowed_;
  std::vector<std::int32_t> forbidden_;
};

}  // namespace shardweave::inline v0::detail
