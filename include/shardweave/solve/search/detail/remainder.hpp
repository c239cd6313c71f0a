#pragma once

#include <shardweave/placement/restrict.hpp>
#include <shardweave/solve/bound/detail/ascent_memory.hpp>
#include <shardweave/solve/bound/dual_bound.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/bound/trws.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/search/detail/reduced_view.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// The labelings that may still be better than the best one known.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// A problem of which labels are ruled out that no better labeling has, what is left reduced, and the ascent on it. A
/// bound on what is left bounds all labelings: those that were ruled out cost no less than the best.
///
/// Source: reduced-cost fixing; here the bounds of labels are those of `price_ascent`.
template <cost_value Cost>
class remainder {
 public:
  /// \param whole  outlives this
  explicit remainder(const compact_problem<Cost>& whole)
      : whole_(&whole), first_(std::make_unique<price_ascent<Cost>>(whole)) {}

  [[nodiscard]] bool is_whole() const { return !part_; }
  [[nodiscard]] const compact_problem<Cost>& problem() const { return part_ ? part_->problem() : *whole_; }
  /// \pre !is_whole()
  [[nodiscard]] std::shared_ptr<const compact_problem<Cost>> shared_part() const { return part_->shared_problem(); }
  [[nodiscard]] price_ascent<Cost>& ascent() { return part_ascent_ ? *part_ascent_ : ascent_on_whole(); }
  /// The one that knows all labels; it rests while there is a part.
  [[nodiscard]] price_ascent<Cost>& ascent_on_whole() {
    if (!first_) first_ = std::make_unique<price_ascent<Cost>>(*whole_);
    return *first_;
  }
  /// Frees the ascent that rests, if one does. It would begin anew.
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
  /// A bound that needs no ascent.
  void raise_without_ascent() {
    bound_ = dual_bound(
        *whole_, {std::vector<double>(dual_offsets(*whole_).back()), std::vector<double>(whole_->rows().size())});
  }
  /// What is left costs at least so much.
  void raise(double reached, const incumbent<Cost>& best) {
    bound_ = std::max(bound_, std::min(reached, best.settled()));
  }
  /// One step of the ascent. \returns whether another may gain
  bool step(const incumbent<Cost>& best) {
    const bool more = ascent().step(best.upper());
    if (part_) raise(ascent().bound(), best);
    return more;
  }

  /// Rules out labels by their bounds. Where nothing, or one labeling, is left, the bound says so.
  /// \param worthwhile  share of the labels; with fewer nothing is done
  /// \param offer       told of the labeling that is left, in labels of the whole
  /// \returns how many labels went
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
      return gone;
    }
    if (problem().size() == 0) {
      const double before = best.settled();
      offer(part_->lift({}));
      bound_ = std::max(bound_, std::min(before, best.upper()));
      return gone;
    }
    part_ascent_ = std::make_unique<price_ascent<Cost>>(problem());
    part_ascent_->start(known, part_->origin(), 0);
    return gone;
  }

 private:
  /// Of the ascent that goes on, in the words of the whole.
  [[nodiscard]] ascent_memory memory() {
    if (part_) return part_ascent_->memory(part_->origin());
    variable_origin all;
    for (std::uint32_t x = 0; x < whole_->size(); ++x) {
      auto& labels = all.emplace_back(x, std::vector<strategy>(whole_->label_count(x))).second;
      std::iota(labels.begin(), labels.end(), strategy{0});
    }
    return ascent_on_whole().memory(all);
  }

  const compact_problem<Cost>* whole_;
  std::unique_ptr<price_ascent<Cost>> first_;
  std::optional<reduced_view<Cost>> part_ = {};
  std::unique_ptr<price_ascent<Cost>> part_ascent_ = {};
  double bound_ = -std::numeric_limits<double>::infinity();
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave
