#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/exact_elimination.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/restrict.hpp>
#include <shardweave/placement/stated_form.hpp>
#include <shardweave/solve/bound/detail/ascent_memory.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/reduce/reduction.hpp>
#include <shardweave/solve/search/detail/climb.hpp>
#include <shardweave/solve/search/detail/label_beliefs.hpp>
#include <shardweave/solve/search/detail/proof_at_hand.hpp>
#include <shardweave/solve/search/detail/proof_record.hpp>
#include <shardweave/solve/search/detail/stated_multipliers.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// What eliminations leave at the root of a search for a proof.

namespace shardweave::inline v0::detail {

/// Eliminates unknowns at the root, raises the bound on what is left, removes labels by it, and begins again, until
/// hardly any go. Mostly a small problem is left, for a search; each round is a case of the proof, of which the next is
/// the rest.
template <cost_value Cost>
class proof_kernel final : public proof_so_far<Cost> {
 public:
  using stated = stated_multipliers<Cost, rounded_problem>;

  /// \param left  strategies of the stated problem that are left
  /// \pre all references outlive this object
  proof_kernel(const placement_description<Cost>& d, const compact_problem<Cost>& p, const stated_form<Cost>& form,
               const stated_multipliers<Cost>& in_stated, strategies_left left, const incumbent<Cost>& best,
               proof_at_hand<Cost>& proofs, const deadline& limit)
      : form_(form),
        in_stated_(in_stated),
        best_(best),
        proofs_(proofs),
        limit_(limit),
        eliminate_(d, form, limit),
        left_(std::move(left)),
        problem_(std::shared_ptr<const void>(), &p),
        names_(form.size()) {
    std::iota(names_.begin(), names_.end(), 0U);
    for (std::uint32_t x = 0; x < p.size(); ++x) {
      auto& labels = origin_.emplace_back(x, std::vector<strategy>(p.label_count(x))).second;
      std::iota(labels.begin(), labels.end(), strategy{0});
    }
  }

  /// \param root_steps  of the ascent in the first round
  /// \returns whether anything was eliminated; if not, this is of no use
  bool run(std::size_t root_steps) {
    for (std::size_t steps = root_steps; !proofs_.expired() && reduce(); steps = later_steps) {
      proofs_.follow(*this);
      proofs_.look(true);
      narrowed_from_.reset();
      const std::size_t before = steps_.size();
      if (narrow(steps)) continue;
      steps_.resize(before);  // the search begins with what there was
      return true;
    }
    // labels that went since the last elimination go again in the search
    if (narrowed_from_) std::tie(problem_, origin_) = *std::move(narrowed_from_);
    return in_kernel_.has_value();
  }

  /// Whether nothing is left to prove.
  [[nodiscard]] bool is_proven() const { return is_proven_; }
  /// What is left.
  [[nodiscard]] const compact_problem<Cost>& problem() const { return *problem_; }
  /// Its multipliers, as those of the stated problem. \pre something was eliminated
  [[nodiscard]] const stated& in_kernel() const { return *in_kernel_; }
  /// Where the ascent on it ended; null if there was none. In variables of `problem`.
  [[nodiscard]] std::shared_ptr<const ascent_memory> memory() const { return memory_; }

  /// What proves the rest. \pre it outlives this object
  void follow(const proof_so_far<Cost>& rest) { rest_ = &rest; }

  [[nodiscard]] std::size_t size() const override { return steps_.size() + (rest_ == nullptr ? 1 : rest_->size()); }
  void write(placement_certificate<Cost>& c) const override {
    const auto is_next = [&] { return std::vector{static_cast<std::uint32_t>(c.cases.size() + 1)}; };
    for (const step& one : steps_)
      if (one.reduction) {
        c.cases.push_back(
            {.reduction = static_cast<std::uint32_t>(c.reductions.size()), .parts = {}, .cases = is_next()});
        c.reductions.push_back(*one.reduction);
      } else {
        c.cases.push_back(
            {.multipliers = static_cast<std::uint32_t>(c.multipliers.size()), .parts = {}, .cases = is_next()});
        c.multipliers.push_back(one.multipliers);
      }
    if (rest_ != nullptr) {
      rest_->write(c);
    } else {
      c.cases.push_back({.multipliers = static_cast<std::uint32_t>(c.multipliers.size()), .parts = {}, .cases = {}});
      c.multipliers.push_back(last_);
    }
    std::set<std::pair<std::uint32_t, std::int64_t>> priced;
    for (const placement_multipliers& m : c.multipliers)
      for (const row_price& price : m.prices)
        if (price.price != 0) priced.emplace(price.budget, price.time);
    for (placement_reduction& r : c.reductions)
      for (const auto& [budget, time] : priced) r.rows.push_back({budget, time});
  }

 private:
  /// A reduction, or multipliers that remove labels.
  struct step {
    std::optional<placement_reduction> reduction = std::nullopt;
    placement_multipliers multipliers = {};
  };
  static constexpr std::size_t later_steps = 300;  ///< of the ascent after the first round
  static constexpr double worthwhile = 0.02;       ///< share of the labels that must go for another round

  /// \returns whether something was eliminated
  bool reduce() {
    // no label goes but by what the proof says: not by another that is better, nor by a row
    const reduction<Cost> made(*problem_, {.dominance = false, .rows = false}, limit_.rest_for_part());
    if (limit_.expired() || made.is_infeasible()) return false;
    placement_reduction r;
    std::vector<char> is_variable(names_.size());
    const auto place = [&](std::uint32_t unknown) {
      return static_cast<std::size_t>(std::ranges::lower_bound(names_, unknown) - names_.begin());
    };
    for (const auto& [x, labels] : origin_) is_variable[place(in_stated_.unknown(x))] = 1;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (is_variable[i] != 0) continue;
      if (std::ranges::count(left_[i], 1) != 1) return false;  // only what is decided is no variable
      r.steps.push_back({form_.first_vertex(names_[i])});
    }
    for (const auto& removal : made.removals()) {
      auto& vertices = r.steps.emplace_back();
      for (const std::uint32_t x : removal) vertices.push_back(in_stated_.vertex(origin_[x].first));
    }
    if (r.steps.empty()) return false;
    variable_origin origin;
    for (const auto& [x, labels] : made.origin()) {
      auto& of_root = origin.emplace_back(origin_[x].first, std::vector<strategy>()).second;
      for (const strategy l : labels) of_root.push_back(origin_[x].second[l]);
    }
    strategies_left left = left_;
    auto rounded = eliminate_(r, left);
    if (!rounded || rounded->size() != origin.size()) return false;
    std::vector<std::uint32_t> vertices;
    std::vector<std::vector<strategy>> strategies;
    for (std::size_t i = 0; i < origin.size(); ++i) {
      const auto& [x, labels] = origin[i];
      if (rounded->names()[i] != in_stated_.unknown(x)) return false;
      vertices.push_back(in_stated_.vertex(x));
      auto& of = strategies.emplace_back();
      for (const strategy l : labels) of.push_back(in_stated_.stated(x, l));
    }
    problem_ = std::make_shared<const compact_problem<Cost>>(made.kernel());
    left_ = std::move(left);
    origin_ = std::move(origin);
    rounded_ = std::make_unique<const rounded_problem>(*std::move(rounded));
    names_ = rounded_->names();
    in_kernel_.emplace(*rounded_, std::move(vertices), std::move(strategies));
    steps_.push_back({.reduction = std::move(r)});
    last_ = {};
    memory_ = nullptr;
    return true;
  }

  /// Raises the bound, and removes labels by it. \returns whether enough went for another round
  bool narrow(std::size_t most_steps) {
    const compact_problem<Cost>& p = *problem_;
    if (p.size() == 0) {
      is_proven_ = true;
      return false;
    }
    variable_origin whole;
    kept_labels kept;
    for (std::uint32_t x = 0; x < p.size(); ++x) {
      auto& labels = kept.emplace_back(p.label_count(x));
      std::iota(labels.begin(), labels.end(), strategy{0});
      whole.emplace_back(x, labels);
    }
    std::vector<double> least(p.total_labels(), -std::numeric_limits<double>::infinity());
    // once along the last multipliers, and once anew: either may remove labels that the other does not
    for (const bool anew : {false, true}) {
      if (anew && (known_ == nullptr || limit_.expired())) continue;
      price_ascent<Cost> ascent(p);
      if (!anew && known_ != nullptr) ascent.start(*known_, origin_, 0);
      climb(
          ascent, p.size(), most_steps, [&] { return best_.upper(); },
          [&](std::size_t, bool) { return !proves_claim(best_, ascent.bound()) && !proofs_.expired(); });
      if (!proofs_.may_check()) return false;
      const dual_values dual = ascent.multipliers();
      placement_multipliers m = (*in_kernel_)(p, whole, kept, dual);
      const label_beliefs beliefs = beliefs_by(p, dual);
      std::size_t gone = 0;
      for (std::size_t l = 0; l < least.size(); ++l) {
        const double bound = beliefs.bound + beliefs.excess[l];
        gone += proves_claim(best_, bound) && !proves_claim(best_, least[l]) ? 1U : 0U;
        least[l] = std::max(least[l], bound);
      }
      if (!anew || beliefs.bound > bound_) {
        last_ = m;
        bound_ = beliefs.bound;
        memory_ = std::make_shared<const ascent_memory>(ascent.memory(whole));
        next_known_ = std::make_shared<const ascent_memory>(ascent.memory(origin_));
      }
      if (proves_claim(best_, beliefs.bound)) {
        is_proven_ = true;
        return false;
      }
      if (gone > 0) steps_.push_back({.multipliers = std::move(m)});
    }
    known_ = next_known_;
    return remove(least);
  }

  /// Removes labels whose bound proves the claim. \returns whether enough of them do, and something is left
  bool remove(const std::vector<double>& least) {
    const compact_problem<Cost>& p = *problem_;
    restriction<Cost> narrowed(p);
    const std::size_t gone = narrowed.forbid_if([&](std::size_t label) { return proves_claim(best_, least[label]); });
    if (static_cast<double>(gone) < worthwhile * static_cast<double>(least.size())) return false;
    auto rest = narrowed.build();
    if (!rest) return false;  // the search finds out why nothing is left
    for (std::uint32_t x = 0; x < p.size(); ++x)
      for (strategy l = 0; l < p.label_count(x); ++l)
        if (proves_claim(best_, least[p.label_start(x) + l])) left_[x][in_kernel_->stated(x, l)] = 0;
    rounded_->propagate(left_);
    variable_origin origin;
    for (const std::uint32_t x : rest->open) {
      auto& labels = origin.emplace_back(origin_[x].first, std::vector<strategy>()).second;
      for (const strategy l : rest->kept[x]) labels.push_back(origin_[x].second[l]);
    }
    narrowed_from_.emplace(problem_, origin_);
    origin_ = std::move(origin);
    problem_ = rest->problem.shared_compact();
    return true;
  }

  const stated_form<Cost>& form_;
  const stated_multipliers<Cost>& in_stated_;
  const incumbent<Cost>& best_;
  proof_at_hand<Cost>& proofs_;
  const deadline& limit_;
  exact_elimination<Cost> eliminate_;
  std::vector<step> steps_ = {};
  strategies_left left_;  ///< of the unknowns of `rounded_`
  std::shared_ptr<const compact_problem<Cost>> problem_;
  variable_origin origin_ = {};  ///< its variables and labels, as those of the compiled problem
  /// Both before labels were removed, until the rest is reduced.
  std::optional<std::pair<std::shared_ptr<const compact_problem<Cost>>, variable_origin>> narrowed_from_ = std::nullopt;
  std::vector<std::uint32_t> names_;
  std::unique_ptr<const rounded_problem> rounded_ = nullptr;
  std::optional<stated> in_kernel_ = std::nullopt;
  std::shared_ptr<const ascent_memory> known_ = nullptr, next_known_ = nullptr, memory_ = nullptr;
  placement_multipliers last_ = {};
  double bound_ = 0;
  bool is_proven_ = false;
  const proof_so_far<Cost>* rest_ = nullptr;
};

}  // namespace shardweave::inline v0::detail
