#pragma once

#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/solve/bound/detail/ascent_memory.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/search/detail/split.hpp>

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
/// Strong branching: the variable is chosen by trials.

namespace shardweave::inline v0::detail {

/// Moves an ascent to a subproblem of its problem, where labels that are not allowed have a high cost.
/// \param allowed  per label: whether it is in the subproblem
/// \param bound    that of the subproblem
template <cost_value Cost>
void go_to_part(price_ascent<Cost>& ascent, const ascent_position& from, std::span<const char> allowed, double bound,
                const incumbent<Cost>& best) {
  std::vector<std::size_t> others;
  for (std::size_t at = 0; at < allowed.size(); ++at)
    if (allowed[at] == 0) others.push_back(at);
  // above the other costs, but not so high that sums lose digits
  const double dear = std::max({1.0, std::abs(bound), best.is_known() ? std::abs(best.upper()) : 0.0});
  ascent.go_to(from, std::move(others), dear);
}

/// Chooses the variable whose labels, each as a subproblem of its own, have the greatest least bound after some steps
/// of the ascent.
///
/// The relaxation averages over labelings: where one variable has many neighbours, such as a value that all layers of a
/// network share, each of them may be paired with a different label of it. Fixing that variable removes this freedom.
/// So those are tried that are undecided in the relaxation and have many neighbours, or gained in earlier trials.
class strong_branching {
 public:
  /// \param names  of variables of all problems that it will be asked about
  explicit strong_branching(std::size_t names) : worth_(names, 1.0) {}

  /// \param origin   the name of each variable of the problem
  /// \param ascent   on the problem, `ascent.position()` at the subproblem; afterwards it is somewhere else
  /// \param allowed  per label: whether it is in the subproblem
  /// \param least    lower bounds on labelings with each label
  /// \param bound    that of the subproblem, below the incumbent's
  /// \param is_over  asked between steps: whether the time is up
  /// \returns a part for each label whose bound is below the incumbent's, and one for all others, with bounds. No parts
  ///          if no variable raises the bound, or the time is up
  /// Complexity: `steps_of_survey` steps of the ascent, and `steps_of_trial` for each variable that is tried
  template <cost_value Cost, class IsOver>
  [[nodiscard]] branching choose(const compact_problem<Cost>& p, const variable_origin& origin,
                                 price_ascent<Cost>& ascent, std::span<const char> allowed,
                                 std::span<const double> least, double bound, const incumbent<Cost>& best,
                                 const IsOver& is_over) {
    const auto start = std::make_shared<ascent_position>(ascent.position());
    start->step = first_step;
    const double room = best.gap_above(bound);
    const std::vector<double> mean = mean_labels(p, ascent, best, is_over);
    branching chosen;
    double gained = 0;
    std::size_t tried = 0;
    for (const std::uint32_t x : most_promising(p, origin, allowed, mean, least, room)) {
      if (tried >= (gained >= worthwhile * room ? most_tried : 3 * most_tried)) break;
      ++tried;
      branching parts = tried_on<Cost>(x, p, ascent, start, allowed, least, bound, best, is_over);
      if (parts.parts.size() < 2 || is_over()) continue;
      const double gain = std::min(room, *std::min_element(parts.bounds.begin(), parts.bounds.end()) - bound);
      double& worth = worth_[origin[x].first];
      worth = (worth + std::min(1.0, gain / (worthwhile * room))) / 2;
      if (gain <= gained) continue;
      gained = gain;
      chosen = std::move(parts);
    }
    return is_over() ? branching() : chosen;
  }

  /// The number of steps of all ascents in its trials.
  [[nodiscard]] std::size_t steps() const { return steps_; }

  /// Subproblems with fewer labels are split by usage at once.
  static constexpr std::size_t least_labels = 1000;

  /// Branches by trials of a subproblem that is all of `p` if that raises the bound by enough, and by usage if not.
  /// \param prices  of the rows
  /// \returns no parts if the time is up
  template <cost_value Cost, class IsOver>
  [[nodiscard]] branching choose_or_split_by_usage(const compact_problem<Cost>& p, const variable_origin& origin,
                                                   price_ascent<Cost>& ascent, std::span<const double> prices,
                                                   std::span<const double> least, double bound,
                                                   const incumbent<Cost>& best, const IsOver& is_over) {
    if (to_skip_ > 0) {
      --to_skip_;
    } else if (p.total_labels() >= least_labels) {
      const std::vector<char> all(p.total_labels(), 1);
      branching chosen = choose<Cost>(p, origin, ascent, all, least, bound, best, is_over);
      if (is_over()) return {};
      const double needed = p.total_labels() < many_labels ? much * best.gap_above(bound) : 0;
      if (!chosen.parts.empty() && *std::min_element(chosen.bounds.begin(), chosen.bounds.end()) - bound >= needed) {
        failures_ = 0;
        return chosen;
      }
      to_skip_ = std::size_t{1} << std::min<std::size_t>(failures_++, 20);
    }
    return split_by_usage(p, prices, least, near_bound(least, best));
  }

 private:
  static constexpr std::size_t steps_of_survey = 50;  ///< over which `mean_labels` averages
  static constexpr std::size_t steps_of_trial = 100;  ///< of all labels of a variable together
  static constexpr std::size_t steps_at_once = 10;    ///< of one label, before the one of least bound is chosen again
  /// Variables that are tried; three times as many while none gains enough.
  static constexpr std::size_t most_tried = 6;
  static constexpr double worthwhile = 0.005;  ///< share of the gap that a trial must gain
  /// The same where a split by usage could be made instead, of fewer than `many_labels`: in larger subproblems one
  /// variable uses too little to tell. With a fiftieth the proof of the contest's M is not closed in 40 s; with a tenth
  /// in 11.
  static constexpr double much = 0.1;
  static constexpr std::size_t many_labels = 5000;
  static constexpr double first_step =
      0.01;  ///< step length of the first trial of a label, whose prices are nearly right

  /// One variable, from one position.
  template <class Cost, class IsOver>
  [[nodiscard]] branching tried_on(std::uint32_t x, const compact_problem<Cost>& p, price_ascent<Cost>& ascent,
                                   const std::shared_ptr<const ascent_position>& start, std::span<const char> allowed,
                                   std::span<const double> least, double bound, const incumbent<Cost>& best,
                                   const IsOver& is_over) {
    branching result{.variable = x};
    std::vector<strategy> others;
    for (strategy l = 0; l < p.label_count(x); ++l) {
      const std::size_t at = p.label_start(x) + l;
      if (allowed[at] == 0) continue;
      if (best.closes(least[at])) {
        others.push_back(l);
        continue;
      }
      result.parts.push_back({l});
      result.bounds.push_back(std::max(bound, least[at]));
    }
    std::vector<std::shared_ptr<const ascent_position>> positions(result.parts.size(), start);
    std::vector<char> in_part(allowed.begin(), allowed.end());
    std::fill_n(in_part.begin() + static_cast<std::ptrdiff_t>(p.label_start(x)), p.label_count(x), 0);
    for (std::size_t steps = 0; steps < steps_of_trial && !positions.empty(); steps += steps_at_once) {
      const auto least_at = std::min_element(result.bounds.begin(), result.bounds.end());
      if (best.closes(*least_at) || is_over()) break;
      const auto i = static_cast<std::size_t>(least_at - result.bounds.begin());
      char& own = in_part[p.label_start(x) + result.parts[i].front()];
      own = 1;
      go_to_part(ascent, *positions[i], in_part, *least_at, best);
      own = 0;
      for (std::size_t k = 0; k < steps_at_once && !is_over(); ++k, ++steps_) ascent.step(best.upper());
      *least_at = std::max(*least_at, ascent.bound());
      positions[i] = std::make_shared<const ascent_position>(ascent.position());
    }
    if (others.empty()) return result;
    result.parts.push_back(std::move(others));
    result.bounds.push_back(std::numeric_limits<double>::infinity());
    return result;
  }

  /// How often each label is the best one over some steps of the ascent: an approximate optimum of the relaxation.
  template <class Cost, class IsOver>
  [[nodiscard]] std::vector<double> mean_labels(const compact_problem<Cost>& p, price_ascent<Cost>& ascent,
                                                const incumbent<Cost>& best, const IsOver& is_over) {
    std::vector<double> mean(p.total_labels());
    std::vector<strategy> labels(p.size());
    for (std::size_t i = 0; i < steps_of_survey && !is_over(); ++i) {
      ascent.step(best.upper());
      ++steps_;
      ascent.choose(labels);
      for (std::size_t x = 0; x < labels.size(); ++x)
        mean[p.label_start(x) + labels[x]] += 1.0 / static_cast<double>(steps_of_survey);
    }
    return mean;
  }

  /// Undecided variables, by estimated gain: how undecided they are, gains of earlier trials, number of neighbours.
  template <class Cost>
  [[nodiscard]] std::vector<std::uint32_t> most_promising(const compact_problem<Cost>& p, const variable_origin& origin,
                                                          std::span<const char> allowed, std::span<const double> mean,
                                                          std::span<const double> least, double room) const {
    // without rows all steps choose alike, so nearly equal bounds count as undecided, too
    constexpr double near = 1e-3, tie = 1e-3;
    std::vector<std::pair<double, std::uint32_t>> order;
    for (std::uint32_t x = 0; x < p.size(); ++x) {
      const std::size_t start = p.label_start(x), end = start + p.label_count(x);
      double lowest = std::numeric_limits<double>::infinity(), most = 0;
      for (std::size_t at = start; at < end; ++at) {
        if (allowed[at] != 0) lowest = std::min(lowest, least[at]);
        most = std::max(most, mean[at]);
      }
      std::size_t ties = 0;
      for (std::size_t at = start; at < end; ++at)
        ties += allowed[at] != 0 && least[at] < lowest + near * room ? 1U : 0U;
      const double open = std::max(0.0, 1 - most) + (ties > 1 ? tie : 0);
      if (ties > 0 && open >= tie)
        order.emplace_back(-open * worth_[origin[x].first] * static_cast<double>(1 + p.links(x).size()), x);
    }
    std::sort(order.begin(), order.end());
    std::vector<std::uint32_t> result;
    for (const auto& [score, x] : order) result.push_back(x);
    return result;
  }

  std::size_t steps_ = 0;
  std::size_t failures_ = 0;  ///< trials in a row that gained too little; after each twice as many splits do without
  std::size_t to_skip_ = 0;
  std::vector<double> worth_;  ///< per name: running average of its gains in trials, relative to `worthwhile`
};

}  // namespace shardweave::inline v0::detail
