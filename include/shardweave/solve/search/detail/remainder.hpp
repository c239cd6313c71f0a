#pragma once

#include <shardweave/placement/restrict.hpp>
#include <shardweave/solve/bound/detail/ascent_memory.hpp>
#include <shardweave/solve/bound/dual_bound.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/reduce/reduction.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// The labelings that may beat the incumbent, as a reduced problem.

namespace shardweave::inline v0::detail {

/// A problem that restrictions and reductions leave of the root, with the way back.
template <cost_value Cost>
class reduced_view {
 public:
  static reduced_view of(restricted_problem<Cost> rest) {
    reduced_view v;
    v.origin_ = origin_of(rest);
    v.kept_ = rest.kept;
    v.take(std::move(rest));
    return v;
  }
  void narrow(restricted_problem<Cost> rest) {
    variable_origin inner;
    for (std::size_t x = 0; x < rest.kept.size(); ++x) note(x, rest.kept[x]);
    for (const std::uint32_t x : rest.open) inner.push_back(through(x, rest.kept[x]));
    origin_ = std::move(inner);
    take(std::move(rest));
  }
  /// \returns false if no labeling is feasible
  bool reduce(const solve_control& control) {
    const auto step = std::make_shared<reduction<Cost>>(problem(), reduction_limits{}, control);
    if (step->is_infeasible()) return false;
    variable_origin inner;
    for (const auto& [x, labels] : step->origin()) {
      note(x, labels);
      inner.push_back(through(x, labels));
    }
    origin_ = std::move(inner);
    lift_ = [step, outer = std::move(lift_)](std::span<const strategy> labels) { return outer(step->lift(labels)); };
    problem_ = step->take_kernel();
    return true;
  }

  [[nodiscard]] const compact_problem<Cost>& problem() const { return *problem_; }
  [[nodiscard]] std::shared_ptr<const compact_problem<Cost>> shared_problem() const { return problem_; }
  [[nodiscard]] std::vector<strategy> lift(std::span<const strategy> labels) const { return lift_(labels); }
  [[nodiscard]] const variable_origin& origin() const { return origin_; }
  /// The root's labels that are left; for variables that were removed, those left at that time.
  [[nodiscard]] std::vector<char> allowed_in(const compact_problem<Cost>& root) const {
    return detail::allowed_in(root, kept_);
  }

 private:
  using lift_to_root = std::function<std::vector<strategy>(std::span<const strategy>)>;

  void take(restricted_problem<Cost> rest) {
    problem_ = rest.problem.shared_compact();
    rest.problem = placement_problem<Cost>(compact_problem<Cost>{});  // only the way back is kept
    const auto step = std::make_shared<const restricted_problem<Cost>>(std::move(rest));
    lift_ = [step, outer = std::move(lift_)](std::span<const strategy> labels) {
      return outer ? outer(step->lift(labels)) : step->lift(labels);
    };
  }
  std::pair<std::uint32_t, std::vector<strategy>> through(std::size_t x, std::span<const strategy> labels) const {
    std::pair<std::uint32_t, std::vector<strategy>> result{origin_[x].first, {}};
    for (const strategy l : labels) result.second.push_back(origin_[x].second[l]);
    return result;
  }
  void note(std::size_t x, std::span<const strategy> labels) { kept_[origin_[x].first] = through(x, labels).second; }

  std::shared_ptr<const compact_problem<Cost>> problem_;
  variable_origin origin_;                   ///< per variable: that of the root, and its labels there
  std::vector<std::vector<strategy>> kept_;  ///< per variable of the root
  lift_to_root lift_;
};

/// A problem without the labels that no better labeling has, reduced, with the ascent on it. A bound on the rest is
/// valid for all labelings, since those that were removed cost no less than the incumbent.
///
/// Source: reduced-cost fixing, with label bounds by `price_ascent`.
template <cost_value Cost>
class remainder {
 public:
  /// \param whole  outlives this
  explicit remainder(const compact_problem<Cost>& whole)
      : whole_(&whole), first_(std::make_unique<price_ascent<Cost>>(whole)) {}

  [[nodiscard]] bool is_whole() const { return !part_; }
  /// Whether no labeling is left: there is no ascent on the rest, and nothing to search.
  [[nodiscard]] bool is_finished() const { return is_finished_; }
  [[nodiscard]] const compact_problem<Cost>& problem() const { return part_ ? part_->problem() : *whole_; }
  /// \pre !is_whole()
  [[nodiscard]] std::shared_ptr<const compact_problem<Cost>> shared_part() const { return part_->shared_problem(); }
  [[nodiscard]] price_ascent<Cost>& ascent() { return part_ascent_ ? *part_ascent_ : ascent_on_whole(); }
  /// The ascent on the whole problem; it pauses while there is a remainder.
  [[nodiscard]] price_ascent<Cost>& ascent_on_whole() {
    if (!first_) first_ = std::make_unique<price_ascent<Cost>>(*whole_);
    return *first_;
  }
  /// Frees the paused ascent, if there is one; it would start anew.
  void forget_ascent_on_whole() {
    if (!part_ascent_) return;
    bound_ = bound();
    first_.reset();
  }
  [[nodiscard]] std::vector<strategy> lift(std::span<const strategy> labels) const {
    return part_ ? part_->lift(labels) : std::vector<strategy>(labels.begin(), labels.end());
  }

  /// A lower bound on the cost of every labeling of the whole.
  [[nodiscard]] double bound() const { return first_ ? std::max(first_->bound(), bound_) : bound_; }
  /// Computes a trivial bound, without multipliers.
  void raise_without_ascent() {
    bound_ = dual_bound(
        *whole_, {std::vector<double>(dual_offsets(*whole_).back()), std::vector<double>(whole_->rows().size())});
  }
  /// Raises the bound by that of the remainder.
  void raise(double reached, const incumbent<Cost>& best) {
    bound_ = std::max(bound_, std::min(reached, best.settled()));
  }
  /// One step of the ascent. \returns whether another may gain
  bool step(const incumbent<Cost>& best) {
    const bool more = ascent().step(best.upper());
    if (part_) raise(ascent().bound(), best);
    return more;
  }

  /// Removes labels by their bounds (reduced-cost fixing), and reduces the rest. If nothing or one labeling is left,
  /// the bound becomes final.
  /// \param worthwhile  share of the labels; if fewer can go nothing is done
  /// \param offer       called with the only labeling left, in labels of the whole problem
  /// \returns how many labels were removed
  template <class Offer>
  std::size_t rule_out(const incumbent<Cost>& best, double worthwhile, const solve_control& limit, Offer offer) {
    const std::vector<double> least = ascent().label_bounds();
    if (part_) raise(ascent().bound(), best);
    restriction<Cost> narrowed(problem());
    const std::size_t gone = narrowed.forbid_if([&](std::size_t label) { return best.closes(least[label]); });
    if (gone == 0 || static_cast<double>(gone) < worthwhile * static_cast<double>(problem().total_labels())) return 0;
    const ascent_memory known = memory();
    auto left = narrowed.build();
    if (left && part_) part_->narrow(*std::move(left));
    if (left && !part_) part_ = reduced_view<Cost>::of(*std::move(left));
    part_ascent_.reset();
    if (!left || !part_->reduce(limit)) {
      bound_ = std::max(bound_, best.settled());
      is_finished_ = true;
      return gone;
    }
    if (problem().size() == 0) {
      const double before = best.settled();
      offer(part_->lift({}));
      bound_ = std::max(bound_, std::min(before, best.upper()));
      is_finished_ = true;
      return gone;
    }
    part_ascent_ = std::make_unique<price_ascent<Cost>>(problem());
    part_ascent_->start(known, part_->origin(), 0);
    return gone;
  }

 private:
  /// The multipliers of the running ascent, in terms of the whole problem.
  [[nodiscard]] ascent_memory memory() {
    if (part_) return part_ascent_->memory(part_->origin());
    return ascent_on_whole().memory(origin_of(*whole_));
  }

  const compact_problem<Cost>* whole_;
  std::unique_ptr<price_ascent<Cost>> first_;
  std::optional<reduced_view<Cost>> part_ = {};
  std::unique_ptr<price_ascent<Cost>> part_ascent_ = {};
  double bound_ = -std::numeric_limits<double>::infinity();
  bool is_finished_ = false;
};

}  // namespace shardweave::inline v0::detail
