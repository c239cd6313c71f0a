#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/solve/bound/detail/ascent_memory.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/detail/incumbent.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

/// \file
/// A lower bound by best-first branching, for problems too large to be solved.

namespace shardweave::inline v0::detail {

/// The open leaves of a branch-and-bound tree: in each, some variables are fixed to a label, and every labeling belongs
/// to one leaf. The least of their bounds is a lower bound.
///
/// The relaxation averages over labelings: where one variable has many neighbours, such as a value that all layers of a
/// network share, each of them may be paired with a different label of it. Fixing that variable removes this freedom.
/// So the leaf with the least bound is improved by the ascent, and branched once that gains little: one leaf per label
/// of a variable, chosen by strong branching among undecided variables with many neighbours. All leaves share one
/// ascent, in which labels that a leaf excludes get a high cost; a leaf stores only its own prices and messages.
template <cost_value Cost>
class bound_cases {
 public:
  struct part {
    std::vector<std::pair<std::uint32_t, strategy>> given = {};  ///< fixed labels, in the order of branching
    /// Where its ascent continues: its own position, or that of its parent.
    std::shared_ptr<const ascent_position> from = {};
    double bound = -std::numeric_limits<double>::infinity();
    double mark = -std::numeric_limits<double>::infinity();  ///< the bound at the start of this pace
    std::size_t steps = 0;                                   ///< steps since then
    bool is_slow = false;
  };

  /// \param from   position of an ascent on `p`
  /// \param known  a lower bound on all labelings
  bound_cases(const compact_problem<Cost>& p, ascent_position from, double known)
      : p_(&p), ascent_(p), first_(std::make_shared<const ascent_position>(std::move(from))), worth_(p.size(), 1.0) {
    cases_.push_back({.from = first_, .bound = known, .is_slow = true});
  }

  /// A lower bound on every labeling that beats the incumbent; +infinity if there is none.
  [[nodiscard]] double bound() const {
    return cases_.empty() ? infinity : std::min_element(cases_.begin(), cases_.end(), by_bound)->bound;
  }
  [[nodiscard]] std::size_t size() const { return cases_.size(); }

  /// Improves or branches the leaf of the least bound. \returns whether another call may raise the bound
  bool work(const incumbent<Cost>& best, const deadline& limit) {
    std::erase_if(cases_, [&](const part& c) { return best.closes(c.bound); });
    if (best.closes(bound()) || limit.expired()) return false;
    part& least = least_of(cases_);
    if (least.is_slow) return divide(least, best, limit);
    climb(least, best, limit);
    return true;
  }

 private:
  using parts = std::vector<part>;
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr std::size_t steps_at_once = 10;    ///< of one leaf, before the leaf of least bound is chosen again
  static constexpr std::size_t steps_of_pace = 60;    ///< after which the gain of a leaf is compared with `worthwhile`
  static constexpr std::size_t steps_of_survey = 50;  ///< over which `mean_labels` averages
  static constexpr std::size_t steps_of_trial = 100;  ///< of all children of a variable together
  /// Variables in strong branching; three times as many while none gains enough.
  static constexpr std::size_t most_tried = 6;
  /// Leaves that keep a position of their own, those of least bound; the others restart from the first position.
  static constexpr std::size_t most_positions = 24;
  /// Share of the gap that `steps_of_pace` steps of a leaf, or the trial of a variable, must gain.
  static constexpr double worthwhile = 0.005;
  static constexpr double first_step = 0.01;  ///< step length of a new leaf, whose prices are nearly right

  static bool by_bound(const part& a, const part& b) { return a.bound < b.bound; }
  [[nodiscard]] static part& least_of(parts& cases) { return *std::min_element(cases.begin(), cases.end(), by_bound); }
  [[nodiscard]] static double gap(double bound, const incumbent<Cost>& best) {
    return best.is_known() ? best.upper() - bound : std::max(std::abs(bound), 1.0);
  }

  /// The shared ascent, moved to a leaf.
  [[nodiscard]] price_ascent<Cost>& ascent_at(const part& c, const incumbent<Cost>& best) {
    std::vector<std::size_t> others;
    for (const auto& [x, label] : c.given)
      for (strategy l = 0; l < p_->label_count(x); ++l)
        if (l != label) others.push_back(p_->label_start(x) + l);
    // above the other costs, but not so high that sums lose digits
    const double dear = std::max({1.0, std::abs(c.bound), best.is_known() ? std::abs(best.upper()) : 0.0});
    ascent_.go_to(*c.from, std::move(others), dear);
    return ascent_;
  }

  void climb(part& c, const incumbent<Cost>& best, const deadline& limit) {
    price_ascent<Cost>& ascent = ascent_at(c, best);
    for (std::size_t i = 0; i < steps_at_once && !limit.expired(); ++i, ++c.steps)
      if (!ascent.step(best.upper())) c.is_slow = true;
    c.bound = std::max(c.bound, ascent.bound());
    c.from = std::make_shared<const ascent_position>(ascent.position());
    if (c.steps < steps_of_pace) return;
    c.is_slow = c.is_slow || c.bound - c.mark < worthwhile * gap(c.bound, best);
    c.mark = c.bound;
    c.steps = 0;
  }

  /// Replaces a leaf by one leaf per label of a variable. \returns whether that raises the bound
  bool divide(part& whole, const incumbent<Cost>& best, const deadline& limit) {
    const double room = gap(whole.bound, best);
    price_ascent<Cost>& ascent = ascent_at(whole, best);
    const std::vector<double> mean = mean_labels(ascent, best, limit);
    const std::vector<double> least = ascent.label_bounds();
    parts chosen;
    double gained = 0;
    std::size_t tried = 0;
    for (const std::uint32_t x : most_promising(mean, least, room)) {
      if (tried >= (gained >= worthwhile * room ? most_tried : 3 * most_tried)) break;
      ++tried;
      parts cases = cases_of(whole, x, least, best);
      for (std::size_t i = 0; i < steps_of_trial && !cases.empty(); i += steps_at_once) {
        part& next = least_of(cases);
        if (best.closes(next.bound)) break;
        climb(next, best, limit);
      }
      if (limit.expired()) return false;
      const double gain = cases.empty() ? room : std::min(room, least_of(cases).bound - whole.bound);
      worth_[x] = (worth_[x] + std::min(1.0, gain / (worthwhile * room))) / 2;
      if (gain <= gained) continue;
      gained = gain;
      chosen = std::move(cases);
    }
    if (gained <= 0) return false;
    std::swap(whole, cases_.back());
    cases_.pop_back();
    cases_.insert(cases_.end(), chosen.begin(), chosen.end());
    if (cases_.size() > most_positions) {
      const auto rest = cases_.begin() + static_cast<std::ptrdiff_t>(most_positions);
      std::nth_element(cases_.begin(), rest, cases_.end(), by_bound);
      std::for_each(rest, cases_.end(), [&](part& c) { c.from = first_; });
    }
    return true;
  }

  [[nodiscard]] parts cases_of(const part& whole, std::uint32_t x, const std::vector<double>& least,
                               const incumbent<Cost>& best) const {
    auto from = std::make_shared<ascent_position>(*whole.from);
    from->step = first_step;
    parts cases;
    for (strategy l = 0; l < p_->label_count(x); ++l) {
      part c{.given = whole.given, .from = from, .bound = std::max(whole.bound, least[p_->label_start(x) + l])};
      c.given.emplace_back(x, l);
      if (!best.closes(c.bound)) cases.push_back(std::move(c));
    }
    return cases;
  }

  /// How often each label is the best one over some steps of the ascent: an approximate optimum of the relaxation.
  [[nodiscard]] std::vector<double> mean_labels(price_ascent<Cost>& ascent, const incumbent<Cost>& best,
                                                const deadline& limit) const {
    std::vector<double> mean(p_->total_labels());
    std::vector<strategy> labels(p_->size());
    for (std::size_t i = 0; i < steps_of_survey && !limit.expired(); ++i) {
      ascent.step(best.upper());
      ascent.choose(labels);
      for (std::size_t x = 0; x < labels.size(); ++x)
        mean[p_->label_start(x) + labels[x]] += 1.0 / static_cast<double>(steps_of_survey);
    }
    return mean;
  }

  /// Undecided variables, by estimated gain: how undecided they are, gains of earlier trials, number of neighbours.
  [[nodiscard]] std::vector<std::uint32_t> most_promising(const std::vector<double>& mean,
                                                          const std::vector<double>& least, double room) const {
    // without rows all steps choose alike, so nearly equal bounds count as undecided, too
    constexpr double near = 1e-3, tie = 1e-3;
    std::vector<std::pair<double, std::uint32_t>> order;
    for (std::uint32_t x = 0; x < p_->size(); ++x) {
      const auto of_x = std::span(mean).subspan(p_->label_start(x), p_->label_count(x));
      const auto bounds = std::span(least).subspan(p_->label_start(x), p_->label_count(x));
      const double lowest = *std::min_element(bounds.begin(), bounds.end());
      const auto ties = std::count_if(bounds.begin(), bounds.end(), [&](double b) { return b < lowest + near * room; });
      const double open = 1 - *std::max_element(of_x.begin(), of_x.end()) + (ties > 1 ? tie : 0);
      if (open >= tie) order.emplace_back(-open * worth_[x] * static_cast<double>(1 + p_->links(x).size()), x);
    }
    std::sort(order.begin(), order.end());
    std::vector<std::uint32_t> result;
    for (const auto& [score, x] : order) result.push_back(x);
    return result;
  }

  const compact_problem<Cost>* p_;
  price_ascent<Cost> ascent_;
  std::shared_ptr<const ascent_position> first_;
  std::vector<double> worth_;  ///< per variable: running average of its gains in trials, relative to `worthwhile`
  parts cases_ = {};
};

}  // namespace shardweave::inline v0::detail
