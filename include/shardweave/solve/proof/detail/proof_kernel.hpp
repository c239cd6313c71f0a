#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/restrict.hpp>
#include <shardweave/placement/stated_form.hpp>
#include <shardweave/solve/bound/detail/ascent_memory.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/proof/detail/label_beliefs.hpp>
#include <shardweave/solve/proof/detail/proof_at_hand.hpp>
#include <shardweave/solve/proof/detail/proof_record.hpp>
#include <shardweave/solve/proof/detail/proof_rest.hpp>
#include <shardweave/solve/proof/detail/stated_multipliers.hpp>
#include <shardweave/solve/search/detail/climb.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

/// \file
/// What eliminations leave at the root of a search for a proof.

namespace shardweave::inline v0::detail {

/// Eliminates unknowns at the root, if there are any to eliminate, raises the bound on what is left, removes labels by
/// it, and begins again, until hardly any go. Mostly a small problem is left, for a search; each round is a case of the
/// proof, of which the next is the rest.
template <cost_value Cost>
class proof_kernel final : public proof_so_far<Cost> {
 public:
  /// \param left  strategies of the stated problem that are left
  /// \pre all references outlive this object
  proof_kernel(const placement_description<Cost>& d, const compact_problem<Cost>& p, const stated_form<Cost>& form,
               const stated_multipliers<Cost>& in_stated, strategies_left left, const incumbent<Cost>& best,
               proof_at_hand<Cost>& proofs, const deadline& limit)
      : best_(best),
        proofs_(proofs),
        limit_(limit),
        reduce_(d, form, in_stated, limit),
        rest_{std::shared_ptr<const compact_problem<Cost>>(std::shared_ptr<const void>(), &p), origin_of(p),
              std::move(left)} {}

  /// \param root_steps  of the ascent in the first round
  /// \returns whether there is a rest to search; if not, there was no time for one
  bool run(std::size_t root_steps) {
    for (std::size_t steps = root_steps; !proofs_.expired() && reduce(); steps = later_steps) {
      proofs_.follow(*this);
      proofs_.look(true);
      if (!narrow(steps)) break;
    }
    return base_ != nullptr;
  }

  /// Whether nothing is left to prove.
  [[nodiscard]] bool is_proven() const { return is_proven_; }
  /// What the last elimination left. \pre there is a rest
  [[nodiscard]] const std::shared_ptr<const proof_rest<Cost>>& base() const { return base_; }
  /// Which of its labels are left: some may have gone since then, too few for another elimination.
  [[nodiscard]] std::vector<char> allowed() const {
    std::vector<char> result(base_->problem->total_labels(), 1);
    for (const std::size_t label : gone_) result[label] = 0;
    return result;
  }
  /// Reduces what is left further.
  [[nodiscard]] const stated_reduction<Cost>& reduce_further() const { return reduce_; }
  /// Where the ascent on it ended; null if there was none. In variables of the compiled problem.
  [[nodiscard]] std::shared_ptr<const ascent_memory> memory() const { return known_; }

  /// What proves the rest. \pre it outlives this object
  void follow(const proof_so_far<Cost>& search) { search_ = &search; }

  [[nodiscard]] std::size_t size() const override { return steps_.size() + (search_ == nullptr ? 1 : search_->size()); }
  void write(placement_certificate<Cost>& c) const override {
    const auto is_next = [&] { return std::vector{static_cast<std::uint32_t>(c.cases.size() + 1)}; };
    const std::size_t first = c.reductions.size();
    std::size_t own = 0;
    for (const step& one : steps_)
      if (one.reduction) {
        ++own;
        c.cases.push_back(
            {.reduction = static_cast<std::uint32_t>(c.reductions.size()), .parts = {}, .cases = is_next()});
        c.reductions.push_back(*one.reduction);
      } else {
        c.cases.push_back(
            {.multipliers = static_cast<std::uint32_t>(c.multipliers.size()), .parts = {}, .cases = is_next()});
        c.multipliers.push_back(one.multipliers);
      }
    if (search_ != nullptr) {
      search_->write(c);
    } else {
      c.cases.push_back({.multipliers = static_cast<std::uint32_t>(c.multipliers.size()), .parts = {}, .cases = {}});
      c.multipliers.push_back(last_);
    }
    std::set<std::pair<std::uint32_t, std::int64_t>> priced;
    for (const placement_multipliers& m : c.multipliers) m.add_rows(priced);
    for (std::size_t i = first; i < first + own; ++i)
      for (const auto& [budget, time] : priced) c.reductions[i].rows.push_back({budget, time});
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
    auto r = reduce_(rest_, false);
    if (!r) return false;
    steps_.push_back({.reduction = std::move(*r)});
    gone_.clear();
    base_ = std::make_shared<const proof_rest<Cost>>(rest_);
    last_ = {};
    return true;
  }

  /// Raises the bound, and removes labels by it. \returns whether enough went for another round
  bool narrow(std::size_t most_steps) {
    const compact_problem<Cost>& p = *base_->problem;
    if (p.size() == 0) {
      is_proven_ = true;
      return false;
    }
    const variable_origin whole = origin_of(p);
    kept_labels kept;
    for (const auto& [x, labels] : whole) kept.push_back(labels);
    // along the last multipliers, and anew where these remove too few. One list removes labels of one case: of what
    // that leaves a checker might find more that a second one removes, and this would go on with another rest
    for (const bool anew : {false, true}) {
      if (anew && (known_ == nullptr || limit_.expired())) continue;
      price_ascent<Cost> ascent(p);
      if (!anew && known_ != nullptr) ascent.start(*known_, base_->origin, 0);
      climb(
          ascent, p.size(), most_steps, [&] { return best_.upper(); },
          [&](std::size_t, bool) { return !proves_claim(best_, ascent.bound()) && !proofs_.expired(); });
      if (!proofs_.may_check()) return false;
      const dual_values dual = tamed(ascent.multipliers());
      placement_multipliers m = (*base_->in_rest)(p, whole, kept, dual);
      const label_beliefs beliefs = beliefs_by(p, dual);
      std::vector<double> least = beliefs.excess;
      for (double& bound : least) bound += beliefs.bound;
      if (!anew || beliefs.bound > bound_) {
        last_ = m;
        bound_ = beliefs.bound;
        next_known_ = std::make_shared<const ascent_memory>(ascent.memory(base_->origin));
      }
      if (proves_claim(best_, beliefs.bound)) {
        is_proven_ = true;
        return false;
      }
      if (!remove(least)) continue;
      steps_.push_back({.multipliers = std::move(m)});
      known_ = next_known_;
      return true;
    }
    known_ = next_known_;
    return false;
  }

  /// Removes labels whose bound proves the claim. \returns whether enough of them do, and something is left
  bool remove(const std::vector<double>& least) {
    const compact_problem<Cost>& p = *base_->problem;
    restriction<Cost> narrowed(p);
    const std::size_t gone = narrowed.forbid_if([&](std::size_t label) { return proves_claim(best_, least[label]); });
    if (static_cast<double>(gone) < worthwhile * static_cast<double>(least.size())) return false;
    auto rest = narrowed.build();
    if (!rest) return false;  // the search finds out why nothing is left
    rest_ = *base_;
    for (std::uint32_t x = 0; x < p.size(); ++x)
      for (strategy l = 0; l < p.label_count(x); ++l)
        if (const std::size_t at = p.label_start(x) + l; proves_claim(best_, least[at])) {
          rest_.left[x][base_->in_rest->stated(x, l)] = 0;
          gone_.push_back(at);
        }
    rest_.rounded->propagate(rest_.left);
    rest_.origin.clear();
    for (const std::uint32_t x : rest->open) {
      auto& labels = rest_.origin.emplace_back(base_->origin[x].first, std::vector<strategy>()).second;
      for (const strategy l : rest->kept[x]) labels.push_back(base_->origin[x].second[l]);
    }
    rest_.problem = rest->problem.shared_compact();
    return true;
  }

  const incumbent<Cost>& best_;
  proof_at_hand<Cost>& proofs_;
  const deadline& limit_;
  stated_reduction<Cost> reduce_;
  std::vector<step> steps_ = {};
  std::vector<std::size_t> gone_ = {};  ///< labels that were removed since the last reduction, by position
  proof_rest<Cost> rest_;               ///< what is left
  std::shared_ptr<const proof_rest<Cost>> base_ = nullptr;  ///< before labels were removed
  std::shared_ptr<const ascent_memory> known_ = nullptr, next_known_ = nullptr;
  placement_multipliers last_ = {};
  double bound_ = 0;
  bool is_proven_ = false;
  const proof_so_far<Cost>* search_ = nullptr;
};

}  // namespace shardweave::inline v0::detail
