#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/solve/bound/detail/ascent_memory.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/search/detail/bounded_search.hpp>
#include <shardweave/solve/search/detail/split.hpp>
#include <shardweave/solve/search/detail/strong_branching.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

/// \file
/// A lower bound by best-first branching, for problems too large to be solved.

namespace shardweave::inline v0::detail {

/// Bounds subproblems of one problem that is never built anew: all share one ascent, in which labels that a subproblem
/// excludes have a high cost, and each keeps only its own prices and messages. The one of least bound is raised by a
/// few steps at a time, and branched once that gains little.
template <cost_value Cost>
class in_place_relaxation {
 public:
  /// A position that is given up where too many are kept.
  struct kept_position {
    std::shared_ptr<const ascent_position> at;
    double bound;
  };
  /// Where the ascent goes on: its own position, or that of its parent.
  struct memory {
    std::shared_ptr<kept_position> from = {};
    double mark = -std::numeric_limits<double>::infinity();  ///< the bound at the start of this pace
    std::size_t steps = 0;                                   ///< since then
  };
  using part = open_part<memory>;
  static constexpr search_order order = search_order::least_bound_first;

  /// \pre all references outlive this object
  in_place_relaxation(const compact_problem<Cost>& p, ascent_position first, const incumbent<Cost>& best,
                      const deadline& limit)
      : p_(p),
        best_(best),
        limit_(limit),
        origin_(origin_of(p)),
        ascent_(p),
        first_(std::make_shared<const ascent_position>(std::move(first))),
        branch_(p.size()) {}

  [[nodiscard]] bool goes_on(std::size_t) const { return !is_stuck_ && !limit_.expired(); }
  [[nodiscard]] bool closes(double bound) const { return best_.closes(bound); }
  [[nodiscard]] bool is_unfinished(const part&) const { return !is_slow_ || limit_.expired(); }

  [[nodiscard]] bool open(const part& here, const part_visit&) {
    allowed_ = here.allowed;
    for (std::size_t x = 0; x < p_.size(); ++x) {
      const auto begin = allowed_.begin() + static_cast<std::ptrdiff_t>(p_.label_start(x));
      if (std::count(begin, begin + static_cast<std::ptrdiff_t>(p_.label_count(x)), 1) == 0) return false;
    }
    go_to_part(ascent_, here.known.from ? *here.known.from->at : *first_, allowed_, here.bound, best_);
    return true;
  }
  void raise(part& here, const part_visit&) {
    is_slow_ = false;
    for (std::size_t i = 0; i < steps_at_once && !limit_.expired(); ++i, ++here.known.steps)
      if (!ascent_.step(best_.upper())) is_slow_ = true;
    here.bound = std::max(here.bound, ascent_.bound());
    if (here.known.steps >= steps_of_pace || is_slow_) {
      is_slow_ = is_slow_ || here.bound - here.known.mark < worthwhile * best_.gap_above(here.bound);
      here.known.mark = here.bound;
      here.known.steps = 0;
    }
    if (is_slow_) {
      least_ = ascent_.label_bounds();
      here.bound = std::max(here.bound, ascent_.bound());
    }
    here.known.from = kept(ascent_.position(), here.bound);
  }
  [[nodiscard]] static bool is_decided() { return false; }
  [[nodiscard]] const compact_problem<Cost>& root() const { return p_; }
  [[nodiscard]] const variable_origin& origin() const { return origin_; }
  [[nodiscard]] const std::vector<char>& allowed() const { return allowed_; }
  [[nodiscard]] const std::vector<double>& label_bounds() const { return least_; }
  [[nodiscard]] static bool settles(const part&) { return false; }
  [[nodiscard]] branching split(part& here) {
    branching chosen = branch_.choose<Cost>(p_, origin_, ascent_, here.allowed, least_, here.bound, best_,
                                            [&] { return limit_.expired(); });
    is_stuck_ = chosen.parts.empty();
    ascent_position again = *here.known.from->at;
    again.step = first_step;
    here.known = {kept(std::move(again), here.bound)};
    return chosen;
  }
  static void expanded(std::size_t, double) {}

 private:
  static constexpr std::size_t steps_at_once = 10;  ///< before the subproblem of least bound is chosen again
  static constexpr std::size_t steps_of_pace = 60;  ///< after which the gain is compared with `worthwhile`
  static constexpr double worthwhile = 0.005;       ///< share of the gap
  static constexpr double first_step = 0.01;        ///< step length of a new subproblem, whose prices are nearly right
  /// Subproblems that keep a position of their own, those of least bound; the others restart from the first one.
  static constexpr std::size_t most_positions = 24;

  [[nodiscard]] std::shared_ptr<kept_position> kept(ascent_position at, double bound) {
    auto result = std::make_shared<kept_position>(std::make_shared<const ascent_position>(std::move(at)), bound);
    std::erase_if(positions_, [](const auto& p) { return p.expired(); });
    positions_.push_back(result);
    if (positions_.size() > most_positions) {
      const auto worst = std::max_element(positions_.begin(), positions_.end(), [](const auto& a, const auto& b) {
        return a.lock()->bound < b.lock()->bound;
      });
      worst->lock()->at = first_;
      positions_.erase(worst);
    }
    return result;
  }

  const compact_problem<Cost>& p_;
  const incumbent<Cost>& best_;
  const deadline& limit_;
  variable_origin origin_;
  price_ascent<Cost> ascent_;
  std::shared_ptr<const ascent_position> first_;
  strong_branching branch_;
  std::vector<std::weak_ptr<kept_position>> positions_ = {};
  std::vector<char> allowed_ = {};  ///< in the present subproblem
  std::vector<double> least_ = {};  ///< bounds of its labels
  bool is_slow_ = false, is_stuck_ = false;
};

/// A lower bound on one problem by branch and bound in which nothing is solved: the least bound of an open subproblem.
/// See `in_place_relaxation` and `strong_branching`.
template <cost_value Cost>
class bound_cases {
 public:
  /// \param from   position of an ascent on `p`
  /// \param known  a lower bound on all labelings
  /// \pre all references outlive this object
  bound_cases(const compact_problem<Cost>& p, ascent_position from, double known, const incumbent<Cost>& best,
              const deadline& limit)
      : relaxation_(p, std::move(from), best, limit), search_(p, best, relaxation_, record_, never), bound_(known) {
    search_.start({}, {}, known);
  }
  bound_cases(const bound_cases&) = delete;
  bound_cases& operator=(const bound_cases&) = delete;

  /// A lower bound on every labeling that beats the incumbent; if there is none, the incumbent's cost or slightly less.
  [[nodiscard]] double bound() const { return bound_; }
  [[nodiscard]] std::size_t explored() const { return search_.explored(); }

  /// Raises or branches the subproblem of the least bound. \returns whether another call may raise the bound
  bool work() {
    bound_ = std::max(bound_, search_.go_on(1));
    return search_.is_cut_short() && relaxation_.goes_on(search_.explored());
  }

 private:
  static constexpr double never = 2;  ///< share of labels that must be removed for another round: there is none

  in_place_relaxation<Cost> relaxation_;
  no_record record_;
  bounded_search<Cost, in_place_relaxation<Cost>> search_;
  double bound_;
};

}  // namespace shardweave::inline v0::detail
