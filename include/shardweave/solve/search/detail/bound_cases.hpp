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
/// A lower bound by best-first branching, for problems that are too large to be searched.

namespace shardweave::inline v0::detail {

/// The open leaves of a branch-and-bound tree: in each, some variables have a given label, and every labeling lies in
/// one of them. The least of their bounds bounds the problem.
///
/// Prices and messages see a mean of labelings. Where many variables are next to one, as all layers of a network to
/// what they share, each picks from that mean what suits it; once the one is decided, none can. So the leaf with the
/// least bound climbs, and when it climbs slowly it is branched: one leaf per label of a variable, by strong branching
/// the one of a few that are undecided and have many neighbours whose leaves gain most in a trial. All leaves share one
/// ascent: labels that are not given are made dear, and a leaf keeps prices and messages of its own and nothing else.
template <cost_value Cost>
class bound_cases {
 public:
  struct part {
    std::vector<std::pair<std::uint32_t, strategy>> given = {};  ///< in the order in which they were decided
    std::shared_ptr<const ascent_position> from = {};            ///< its own, or of what it was parted from
    double bound = -std::numeric_limits<double>::infinity();
    double mark = -std::numeric_limits<double>::infinity();  ///< the bound some steps ago
    std::size_t steps = 0;                                   ///< since then
    bool is_slow = false;
  };

  /// \param from   where an ascent on `p` got to
  /// \param known  a bound on all labelings
  bound_cases(const compact_problem<Cost>& p, ascent_position from, double known)
      : p_(&p), ascent_(p), first_(std::make_shared<const ascent_position>(std::move(from))), worth_(p.size(), 1.0) {
    cases_.push_back({.from = first_, .bound = known, .is_slow = true});
  }

  /// A lower bound on every labeling that is better than the best one known; +infinity if there is none.
  [[nodiscard]] double bound() const {
    return cases_.empty() ? infinity : std::min_element(cases_.begin(), cases_.end(), by_bound)->bound;
  }
  [[nodiscard]] std::size_t size() const { return cases_.size(); }

  /// Some steps of the least case, or others in its place. \returns whether another call may gain
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
  static constexpr std::size_t steps_at_once = 10, steps_of_pace = 60, steps_of_survey = 50;
  static constexpr std::size_t steps_of_trial = 100;  ///< of all cases of a variable together
  static constexpr std::size_t most_tried = 6;        ///< variables; three times as many if none of them is worthwhile
  static constexpr std::size_t most_positions = 24;   ///< of least cases; others go on from where the first began
  static constexpr double worthwhile = 0.005;         ///< share of the gap, to be gained in a pace or a trial
  static constexpr double first_step = 0.01;          ///< of a case, whose prices are nearly right

  static bool by_bound(const part& a, const part& b) { return a.bound < b.bound; }
  [[nodiscard]] static part& least_of(parts& cases) { return *std::min_element(cases.begin(), cases.end(), by_bound); }
  [[nodiscard]] static double gap(double bound, const incumbent<Cost>& best) {
    return best.is_known() ? best.upper() - bound : std::max(std::abs(bound), 1.0);
  }

  /// The ascent, where a case is.
  [[nodiscard]] price_ascent<Cost>& ascent_at(const part& c, const incumbent<Cost>& best) {
    std::vector<std::size_t> others;
    for (const auto& [x, label] : c.given)
      for (strategy l = 0; l < p_->label_count(x); ++l)
        if (l != label) others.push_back(p_->label_start(x) + l);
    // not so dear that sums lose digits
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

  /// Puts the cases of one variable in the place of a case. \returns whether that gains
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

  /// How often each label is the best one while prices move: where they settle, an optimum of the relaxation.
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

  /// Variables that are not decided, those first that more is next to.
  [[nodiscard]] std::vector<std::uint32_t> most_promising(const std::vector<double>& mean,
                                                          const std::vector<double>& least, double room) const {
    constexpr double near = 1e-3, tie = 1e-3;  // without rows nothing moves, but ties tell what is not decided
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
  std::vector<double> worth_;  ///< per variable, what trials of it have gained
  parts cases_ = {};
};

}  // namespace shardweave::inline v0::detail
