#pragma once

#include <shardweave/placement/restrict.hpp>
#include <shardweave/placement/savings_terms.hpp>
#include <shardweave/solve/bound/detail/ascent_memory.hpp>
#include <shardweave/solve/bound/savings_ascent.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/search/detail/bounded_search.hpp>
#include <shardweave/solve/search/detail/cut_front.hpp>
#include <shardweave/solve/search/detail/part_problem.hpp>
#include <shardweave/solve/search/detail/repair.hpp>
#include <shardweave/solve/search/detail/savings_descent.hpp>
#include <shardweave/solve/search/detail/savings_memory.hpp>
#include <shardweave/solve/search/detail/split.hpp>
#include <shardweave/solve/solution.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// The branch and bound behind `overlapped`.

namespace shardweave::inline v0::detail {

/// The settings of `overlapped`.
struct savings_effort {
  std::size_t nodes, root_steps, node_steps, patience;
  savings_ascent_options ascent;
};

/// Bounds the subproblems of the search behind `overlapped` by `savings_ascent`. At the root it also looks for
/// labelings that no prices lead to (`front_bound`).
template <cost_value Cost>
class savings_search {
 public:
  struct memory {
    savings_memory<Cost> prices = {};
    std::shared_ptr<const part_problem<Cost>> whole = {};  ///< the parent subproblem
  };
  using part = open_part<memory>;
  static constexpr search_order order = search_order::depth_first;

  /// \pre `how` and `root` outlive this object
  savings_search(const savings_effort& settings, const solve_control& how, const placement_problem<Cost>& root)
      : options_(settings),
        control_(how),
        limit_(how),
        best_(how.gap),
        root_(root),
        whole_(part_problem<Cost>::whole(root)) {
    if (const std::vector<strategy> start = start_labels(root, how); !start.empty()) offer(start);
  }

  [[nodiscard]] const incumbent<Cost>& best() const { return best_; }
  [[nodiscard]] const deadline& limit() const { return limit_; }
  [[nodiscard]] std::size_t steps() const { return steps_; }
  [[nodiscard]] double root_bound() const { return root_bound_; }

  [[nodiscard]] bool goes_on(std::size_t parts) {
    explored_ = parts + 1;
    const bool is_idle = control_.gap > 0 && explored_ > 3 * gained_at_ + options_.patience;
    return parts < options_.nodes && parts < control_.iterations && !is_idle && !is_over();
  }
  [[nodiscard]] bool is_over() const { return limit_.expired(); }
  [[nodiscard]] bool closes(double bound) const { return best_.closes(bound); }
  [[nodiscard]] bool is_unfinished(const part&) const { return is_over(); }

  [[nodiscard]] bool open(const part& here, const part_visit&) {
    ascent_.reset();
    auto left = (here.known.whole ? *here.known.whole : whole_).with(root_.compact(), here.allowed);
    if (!left) return false;
    now_ = std::make_shared<const part_problem<Cost>>(*std::move(left));
    return true;
  }
  void raise(part& here, const part_visit& visit) {
    if (is_decided()) {
      offer(now_->lift({}));
      here.bound = infinity;
      return;
    }
    const compact_problem<Cost>& p = now_->compact();
    const savings_terms<Cost>& terms = now_->problem.savings() == nullptr ? nothing_ : *now_->problem.savings();
    ascent_.emplace(p, terms, options_.ascent, here.known.prices.cuts);
    here.known.prices.start(*ascent_, p);
    climb(p, visit.is_root() ? options_.root_steps : options_.node_steps);
    if (visit.is_root()) {
      root_bound_ = ascent_->bound();
      if (best_.is_known() && !closes(root_bound_)) improve_best();
      if (best_.is_known() && !closes(root_bound_)) guess(p, terms, *ascent_);
    }
    here.bound = std::max(here.bound, ascent_->bound());
    if (closes(here.bound)) return;
    least_ = ascent_->label_bounds();
    here.bound = std::max(here.bound, ascent_->bound());
    here.known = {savings_memory<Cost>(*ascent_, p), now_};
  }
  [[nodiscard]] bool is_decided() const { return now_->compact().size() == 0; }
  [[nodiscard]] const compact_problem<Cost>& root() const { return root_.compact(); }
  [[nodiscard]] const variable_origin& origin() const { return now_->origin; }
  [[nodiscard]] std::vector<char> allowed() const { return allowed_in(root_.compact(), now_->kept); }
  [[nodiscard]] const std::vector<double>& label_bounds() const { return least_; }
  [[nodiscard]] static bool settles(const part&) { return false; }
  /// The half with the greater share in the mixture of labelings comes first.
  [[nodiscard]] branching split(const part&) const {
    const savings_terms<Cost>* terms = now_->problem.savings();
    return split_by_mixture(now_->compact(), terms == nullptr ? nothing_ : *terms, *ascent_, least_, best_);
  }
  static void expanded(std::size_t, double) {}

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr std::size_t most_guesses = 5;  ///< rounds of removing labels
  static constexpr double worthwhile = 0.05;      ///< share of labels that a round must remove

  void offer(std::span<const strategy> of_root) {
    const Cost objective = root_.objective(of_root);
    if (!best_.is_beaten_by(objective) || !root_.compact().keeps_rows(of_root)) return;
    if (!(best_.upper() - static_cast<double>(objective) <= 0.1 * control_.gap * std::abs(best_.upper())))
      gained_at_ = explored_;
    best_.offer(objective, std::vector<strategy>(of_root.begin(), of_root.end()), limit_.elapsed());
  }

  void climb(const compact_problem<Cost>& p, std::size_t most) {
    for (std::size_t i = 0; i < most; ++i) {
      const bool more = ascent_->step(best_.upper());
      ++steps_;
      std::vector<strategy> labels(ascent_->labels().begin(), ascent_->labels().end());
      if (!is_forbidden(p.cost(labels)) && (p.rows().empty() || detail::repair(p, std::span<strategy>(labels), limit_)))
        offer(now_->lift(labels));
      if (control_.progress)
        control_.progress({.stage = "overlapped",
                           .seconds = limit_.elapsed(),
                           .objective = best_.upper(),
                           .lower_bound = explored_ == 1 ? ascent_->bound() : root_bound_});
      if (!more || closes(ascent_->bound()) || is_over()) return;
    }
  }

  void improve_best() {
    std::vector<strategy> labels = best_.labels();
    if (savings_descent(root_.compact(), *root_.savings(), labels, limit_)) offer(labels);
  }

  /// Looks for labelings that no prices lead to, at first just above the bound: the lower the target, the fewer labels
  /// are left and the smaller are fronts.
  void guess(const compact_problem<Cost>& given, const savings_terms<Cost>& given_terms, savings_ascent<Cost>& root) {
    const double gap = best_.upper() - root.bound(), before = best_.upper();
    for (const double hope : {1.0 / 32, 1.0 / 8, 1.0 / 3}) {
      if (limit_.expired() || best_.upper() < before) break;
      try_fronts(given, given_terms, root, root.bound() + hope * gap, {0.05});
    }
    if (!limit_.expired() && !best_.closes(root.bound()))
      try_fronts(given, given_terms, root, best_.settled(), {0.05, 0.03, 0.02, 0.015, 0.01});
  }

  /// Removes the labels whose bound reaches a target, in rounds, and computes fronts of the rest, from coarse to fine
  /// while they stay within their limits.
  void try_fronts(const compact_problem<Cost>& given, const savings_terms<Cost>& given_terms,
                  savings_ascent<Cost>& root, double target, std::initializer_list<double> shares) {
    const placement_problem<Cost>* whole = &now_->problem;
    const compact_problem<Cost>* p = &given;
    const savings_terms<Cost>* terms = &given_terms;
    std::vector<restricted_problem<Cost>> parts;
    parts.reserve(most_guesses);
    std::optional<savings_ascent<Cost>> own;
    savings_ascent<Cost>* ascent = &root;
    const auto offer_lifted = [&](std::span<const strategy> of_part) {
      std::vector<strategy> labels(of_part.begin(), of_part.end());
      for (std::size_t i = parts.size(); i-- > 0;) labels = parts[i].lift(labels);
      offer(now_->lift(labels));
    };
    while (parts.size() < most_guesses) {
      const std::vector<double> least = ascent->label_bounds();
      const auto gone = std::count_if(least.begin(), least.end(), [&](double b) { return b >= target; });
      if (static_cast<double>(gone) < worthwhile * static_cast<double>(least.size())) break;
      restriction<Cost> left(*p);
      left.with_savings(*whole).forbid_if([&](std::size_t label) { return least[label] >= target; });
      auto rest = left.build();
      if (!rest || rest->problem.compact().size() == 0) break;
      parts.push_back(*std::move(rest));
      whole = &parts.back().problem;
      p = &whole->compact();
      terms = whole->savings();
      if (terms == nullptr) return;
      auto cuts = ascent->cuts();
      own.emplace(*p, *terms, options_.ascent, std::move(cuts));
      ascent = &*own;
      for (std::size_t i = 0; i < options_.node_steps && ascent->step(target); ++i) ++steps_;
    }
    for (const double share : shares) {
      const double before = best_.upper();
      const auto upper = [&] { return std::min(target, best_.settled()); };
      if (!front_bound(*p, *terms, *ascent, share, limit_, upper, offer_lifted)) return;
      if (shares.size() > 1 && best_.upper() < before) improve_best();
    }
  }

  savings_effort options_;
  const solve_control& control_;
  deadline limit_;
  incumbent<Cost> best_;
  const placement_problem<Cost>& root_;
  savings_terms<Cost> nothing_{};
  part_problem<Cost> whole_;
  std::shared_ptr<const part_problem<Cost>> now_ = {};         ///< the present subproblem
  std::optional<savings_ascent<Cost>> ascent_ = std::nullopt;  ///< on it
  std::vector<double> least_ = {};
  std::size_t explored_ = 0, steps_ = 0;
  std::size_t gained_at_ = 0;  ///< number of the last subproblem with a much better incumbent
  double root_bound_ = -infinity;
};

}  // namespace shardweave::inline v0::detail
