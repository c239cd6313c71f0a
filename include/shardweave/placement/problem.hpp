#pragma once

#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/description.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// The compiled problem that all solvers share.

namespace shardweave::inline v0 {

template <cost_value Cost>
struct evaluation;
template <cost_value Cost>
struct savings_terms;

/// A compact problem, with the mapping to the stated vertices and strategies.
///
/// Made by `compile` (placement/compile.hpp) from a description, or directly from a compact problem, whose
/// variables and labels are then the vertices and strategies. Copies share all data.
template <cost_value Cost>
class placement_problem {
 public:
  using cost_type = Cost;

  /// A problem without names and cost parts, as reductions make it.
  explicit placement_problem(compact_problem<Cost> compact)
      : placement_problem(std::make_shared<const compact_problem<Cost>>(std::move(compact))) {}
  /// The same with a shared compact problem.
  /// \pre not null
  explicit placement_problem(std::shared_ptr<const compact_problem<Cost>> compact) : compact_(std::move(compact)) {}

  /// The strategies of labels.
  struct label_names {
    std::vector<std::uint32_t> list_of;        ///< per variable
    std::vector<std::vector<strategy>> lists;  ///< per label its strategy, ascending; equal lists once
  };

  /// \param description  the problem as stated; its savings are added by `with_savings`
  /// \param variable_of  variable of each vertex
  /// \param strategies   of each variable
  placement_problem(compact_problem<Cost> compact, std::shared_ptr<const placement_description<Cost>> description,
                    std::vector<std::uint32_t> variable_of, label_names strategies)
      : compact_(std::make_shared<const compact_problem<Cost>>(std::move(compact))),
        description_(std::move(description)),
        origin_(std::make_shared<const origin>(origin{std::move(variable_of), std::move(strategies)})) {}

  /// The problem for solvers. Its costs do not include savings.
  [[nodiscard]] const compact_problem<Cost>& compact() const { return *compact_; }
  [[nodiscard]] std::shared_ptr<const compact_problem<Cost>> shared_compact() const { return compact_; }
  /// The savings, which the objective subtracts from the costs; null if there are none.
  [[nodiscard]] const savings_terms<Cost>* savings() const { return savings_.get(); }
  /// The objective of a labeling, without regard to rows.
  [[nodiscard]] Cost objective(std::span<const strategy> labels) const {
    const Cost cost = compact_->cost(labels);
    return savings_ == nullptr || is_forbidden(cost) ? cost : cost - saved(labels);
  }
  /// The savings of a labeling.
  /// \pre `savings()` is not null
  [[nodiscard]] Cost saved(std::span<const strategy> labels) const { return counting_->measure(*savings_, labels); }
  /// An upper bound on the savings of any labeling (`savings_terms::most`).
  /// \pre `savings()` is not null
  [[nodiscard]] Cost most_saved() const { return counting_->most(*savings_); }
  /// Computes the savings of an assignment by the description: a part of `evaluate`.
  /// \pre `description()` is not null, and has the strategies of `choice`
  void evaluate_savings(std::span<const strategy> choice, evaluation<Cost>& result) const {
    if (counting_ != nullptr) counting_->evaluate(*description_, choice, result);
  }
  /// The problem as stated, or null for one that was made from a compact problem.
  [[nodiscard]] const placement_description<Cost>* description() const { return description_.get(); }
  [[nodiscard]] std::shared_ptr<const placement_description<Cost>> shared_description() const { return description_; }
  /// Vertices as stated; one strategy for each makes an assignment.
  [[nodiscard]] std::size_t vertex_count() const { return origin_ ? origin_->variable_of.size() : compact_->size(); }
  /// The variable of a vertex.
  [[nodiscard]] std::uint32_t variable_of(std::size_t vertex) const {
    return origin_ ? origin_->variable_of[vertex] : static_cast<std::uint32_t>(vertex);
  }
  /// The stated strategy of a label.
  [[nodiscard]] strategy strategy_of(std::size_t variable, strategy label) const {
    return origin_ ? origin_->strategies_of(variable)[label] : label;
  }

  /// The same problem with these savings. Defined in placement/evaluate.hpp: hosts whose problems have none do not
  /// compile the code that counts them.
  /// \pre a description, if there is one, counts savings, and `terms` are what it says: `evaluate` goes by it
  [[nodiscard]] placement_problem with_savings(savings_terms<Cost> terms) const;

  /// The same problem with what a restriction leaves of the savings of `whole`, if that has any; only `with_savings`
  /// compiles how.
  /// \param kept   per variable of `whole`, the labels that are left
  /// \param inner  per variable of `whole`, its number in this problem; see `savings_terms::restricted`
  [[nodiscard]] placement_problem with_savings_of(const placement_problem& whole,
                                                  const std::vector<std::vector<strategy>>& kept,
                                                  std::span<const std::uint32_t> inner) const {
    return whole.savings_ == nullptr ? *this : whole.counting_->restrict(*this, *whole.savings_, kept, inner);
  }

  /// The same problem without savings, description included: what `compile` makes of a description that counts none.
  /// Everything else is shared, above all tables.
  [[nodiscard]] placement_problem without_savings() const {
    placement_problem plain = *this;
    plain.savings_ = nullptr;
    plain.counting_ = nullptr;
    if (description_ != nullptr && description_->counted != savings_form::off) {
      auto stated = std::make_shared<placement_description<Cost>>(*description_);
      stated->counted = savings_form::off;
      plain.description_ = std::move(stated);
    }
    return plain;
  }

  /// The assignment of a labeling.
  [[nodiscard]] assignment lift(std::span<const strategy> labels) const {
    assignment result(vertex_count());
    for (std::size_t v = 0; v < result.size(); ++v) {
      const std::uint32_t x = variable_of(v);
      result[v] = strategy_of(x, labels[x]);
    }
    return result;
  }

  /// The labeling of an assignment; nothing if it uses a strategy that no feasible assignment has, or breaks a tie.
  [[nodiscard]] std::optional<std::vector<strategy>> labels_of(std::span<const strategy> choice) const {
    constexpr strategy unset = ~strategy{0};
    std::vector<strategy> labels(compact_->size(), unset);
    if (choice.size() != vertex_count()) return std::nullopt;
    for (std::size_t v = 0; v < choice.size(); ++v) {
      const std::uint32_t x = variable_of(v);
      strategy label = choice[v];
      if (origin_) {
        const auto& known = origin_->strategies_of(x);
        const auto at = std::lower_bound(known.begin(), known.end(), choice[v]);
        if (at == known.end() || *at != choice[v]) return std::nullopt;
        label = static_cast<strategy>(at - known.begin());
      } else if (label >= compact_->label_count(x)) {
        return std::nullopt;
      }
      if (labels[x] != unset && labels[x] != label) return std::nullopt;
      labels[x] = label;
    }
    return labels;
  }

 private:
  /// What counts savings: hosts whose problems have none do not even read it.
  struct savings_functions {
    Cost (*measure)(const savings_terms<Cost>&, std::span<const strategy>);
    Cost (*most)(const savings_terms<Cost>&);
    void (*evaluate)(const placement_description<Cost>&, std::span<const strategy>, evaluation<Cost>&);
    placement_problem (*restrict)(const placement_problem&, const savings_terms<Cost>&,
                                  const std::vector<std::vector<strategy>>&, std::span<const std::uint32_t>);
  };
  struct origin {
    std::vector<std::uint32_t> variable_of;
    label_names strategies;

    [[nodiscard]] const std::vector<strategy>& strategies_of(std::size_t variable) const {
      return strategies.lists[strategies.list_of[variable]];
    }
  };
  std::shared_ptr<const compact_problem<Cost>> compact_;
  std::shared_ptr<const savings_terms<Cost>> savings_;
  const savings_functions* counting_ = nullptr;
  std::shared_ptr<const placement_description<Cost>> description_;
  std::shared_ptr<const origin> origin_;
};

}  // namespace shardweave::inline v0
