#pragma once

#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/priced_savings.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/placement/savings_terms.hpp>
#include <shardweave/placement/stated_form.hpp>
#include <shardweave/solve/bound/chain_prices.hpp>
#include <shardweave/solve/bound/detail/ascent_memory.hpp>
#include <shardweave/solve/bound/dual_bound.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/bound/priced_problem.hpp>
#include <shardweave/solve/bound/savings_ascent.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/proof/detail/label_beliefs.hpp>
#include <shardweave/solve/proof/detail/proof_at_hand.hpp>
#include <shardweave/solve/proof/detail/proof_effort.hpp>
#include <shardweave/solve/proof/detail/proof_record.hpp>
#include <shardweave/solve/proof/detail/stated_multipliers.hpp>
#include <shardweave/solve/proof/detail/stated_prices.hpp>
#include <shardweave/solve/search/detail/bounded_search.hpp>
#include <shardweave/solve/search/detail/climb.hpp>
#include <shardweave/solve/search/detail/part_problem.hpp>
#include <shardweave/solve/search/detail/savings_memory.hpp>
#include <shardweave/solve/search/detail/split.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

/// \file
/// The relaxation of a search for a proof, whose bounds can be certified.

namespace shardweave::inline v0::detail {

/// Bounds the subproblems of a search for a proof by multipliers that a certificate can state: `price_ascent` raises
/// them, nothing is reduced, and labels are fixed by the multipliers' own bounds. Subproblems whose bound reaches the
/// cost of the given assignment are pruned. With savings, their prices are found first (`savings_ascent`), which leave
/// a problem without savings; branching is as in `overlapped`.
template <cost_value Cost>
class proof_relaxation {
 public:
  /// Warm starts of an ascent, and of one with savings.
  struct memory {
    std::shared_ptr<const ascent_memory> messages = {};
    std::shared_ptr<const savings_memory<Cost>> prices = {};
  };
  using part = open_part<memory>;
  static constexpr search_order order = search_order::least_bound_first;

  /// \param p     the problem's, or one with other costs; then savings do not count
  /// \param best   the incumbent, which prunes subproblems
  /// \param proofs  checks `record`, and decides when to end
  /// \pre all references outlive this object
  proof_relaxation(const placement_problem<Cost>& problem, const compact_problem<Cost>& p,
                   const stated_multipliers<Cost>& in_stated, const incumbent<Cost>& best, proof_at_hand<Cost>& proofs,
                   const proof_effort& effort, proof_record<Cost>& record)
      : problem_(problem),
        in_stated_(in_stated),
        best_(best),
        proofs_(proofs),
        effort_(effort),
        record_(record),
        root_(p),
        whole_(part_problem<Cost>::whole(saves() ? problem : placement_problem<Cost>(p))) {
    if (!counts()) return;
    priced_.emplace(*problem.description());
    in_positions_.emplace(priced_->layout(), priced_->channels(), problem);
    std::vector<double> nothing(saves() ? problem.savings()->channels * problem.savings()->slots() : 0);
    record.begin_with(record.add((*in_positions_)(nothing)));
  }

  [[nodiscard]] bool goes_on(std::size_t parts) {
    proofs_.look();
    return (parts == 0 || record_.size() < effort_.nodes) && !is_over();
  }
  [[nodiscard]] bool is_over() const { return proofs_.expired(); }
  [[nodiscard]] bool closes(double bound) const { return proves_claim(best_, bound); }
  [[nodiscard]] bool is_unfinished(const part&) const { return is_over(); }

  [[nodiscard]] bool open(const part& here, const part_visit&) {
    prices_.reset();
    ascent_.reset();
    now_ = whole_.with(root_, here.allowed);
    return now_.has_value();
  }
  void raise(part& here, const part_visit& visit) {
    const double bound = saves() ? with_savings(here, visit) : without_savings(here, visit);
    here.bound = is_decided() ? bound : std::max(here.bound, bound);
  }
  [[nodiscard]] bool is_decided() const { return now_->compact().size() == 0; }
  [[nodiscard]] const compact_problem<Cost>& root() const { return root_; }
  [[nodiscard]] const variable_origin& origin() const { return now_->origin; }
  [[nodiscard]] std::vector<char> allowed() const { return allowed_in(root_, now_->kept); }
  [[nodiscard]] const std::vector<double>& label_bounds() const { return by_multipliers_; }
  [[nodiscard]] static bool settles(const part&) { return false; }
  static void expanded(std::size_t, double) {}
  [[nodiscard]] branching split(const part&) {
    const compact_problem<Cost>& p = now_->compact();
    const std::vector<double> least = prices_ ? prices_->label_bounds() : ascent_->label_bounds();
    if (prices_) {
      branching chosen = split_by_mixture(p, *now_->problem.savings(), *prices_, least, best_);
      if (!chosen.parts[0].empty() && !chosen.parts[1].empty()) return chosen;
    }
    const std::vector<double> of_rows = prices_ ? prices_->best_rows() : ascent_->prices();
    return split_by_usage(p, std::span<const double>(of_rows), std::span<const double>(least),
                          near_bound(least, best_));
  }

 private:
  [[nodiscard]] bool saves() const { return problem_.savings() != nullptr; }
  [[nodiscard]] bool counts() const { return problem_.description()->counted != savings_form::off; }

  double without_savings(part& here, const part_visit& visit) {
    const compact_problem<Cost>& p = now_->compact();
    ascent_.emplace(p);
    if (here.known.messages) ascent_->start(*here.known.messages, now_->origin, 0);
    raise(*ascent_, p, visit.is_first() ? effort_.root_steps : effort_.node_steps);
    if (!proofs_.may_check()) return here.bound;
    return bounded(here, p, *ascent_, in_stated_, counts() ? std::optional(0U) : std::nullopt);
  }

  /// Prices of savings first, then messages and prices on rows of the problem that they leave.
  double with_savings(part& here, const part_visit& visit) {
    const compact_problem<Cost>& p = now_->compact();
    const savings_terms<Cost>& terms = *now_->problem.savings();
    std::vector<double> chain;
    if (p.size() == 0) {
      // the prices of a least cut make the bound of a decided labeling tight
      const std::vector<double> offered(terms.computation.begin(), terms.computation.end());
      chain = cut_prices(terms, offered, {terms.amount.begin(), terms.amount.end()});
    } else {
      const savings_memory<Cost> known = here.known.prices ? *here.known.prices : savings_memory<Cost>();
      prices_.emplace(p, terms, savings_ascent_options{}, known.cuts);
      known.start(*prices_, p);
      const std::size_t most = visit.is_first() ? effort_.price_steps : effort_.price_steps / 6;
      for (std::size_t i = 0; i < most && !is_over(); ++i)
        if (!prices_->step(best_.upper()) || closes(prices_->bound())) break;
      if (prices_->best_chain().empty()) prices_->step(best_.upper());
      chain = prices_->best_chain();
    }
    const std::uint32_t number = record_.add((*in_positions_)(chain));
    chain_prices<Cost> rounded(terms);
    rounded.values() = chain;
    rounded.update();
    const compact_problem<double> plain = priced_problem<Cost>(p, terms).with_prices(rounded);
    price_ascent<double> ascent(plain);
    if (here.known.messages) {
      ascent.start(*here.known.messages, now_->origin, 0);
    } else if (prices_) {
      ascent.start(prices_->best_rows());
    }
    raise(ascent, plain, effort_.node_steps);
    if (!proofs_.may_check()) return here.bound;
    const costs_in_place<Cost> costs = priced_->costs_at(record_.savings(number));
    const stated_form<Cost> form(*problem_.description(), &costs);
    const double bound = bounded(here, plain, ascent, stated_multipliers<Cost>(problem_, form), number);
    if (prices_) {
      here.known.prices = std::make_shared<const savings_memory<Cost>>(*prices_, p);
    }
    return bound;
  }

  template <cost_value C>
  void raise(price_ascent<C>& ascent, const compact_problem<C>& p, std::size_t most) const {
    climb(
        ascent, p.size(), most, [&] { return best_.upper(); },
        [&](std::size_t, bool) { return !closes(ascent.bound()) && !is_over(); });
  }

  /// Records the multipliers. \returns the bound that they prove
  template <cost_value C>
  double bounded(part& here, const compact_problem<C>& p, price_ascent<C>& ascent,
                 const stated_multipliers<Cost>& in_stated, std::optional<std::uint32_t> savings) {
    dual_values dual = tamed(ascent.multipliers());
    if (p.size() == 0)
      dual.of_row.assign(p.rows().size(), 0.0);  // a decided labeling satisfies the rows without prices
    const bool is_priced = &in_stated != &in_stated_;
    placement_multipliers m = in_stated(p, now_->origin, now_->kept, dual, is_priced ? &now_->compact() : nullptr,
                                        is_priced ? &in_stated_ : nullptr);
    m.savings = savings;
    record_.bounded(here.number, std::move(m));
    label_beliefs beliefs = beliefs_by(p, dual);
    by_multipliers_ = std::move(beliefs.excess);
    for (double& b : by_multipliers_) b += beliefs.bound;
    if (p.size() > 0) here.known.messages = std::make_shared<const ascent_memory>(ascent.memory(now_->origin));
    return beliefs.bound;
  }

  const placement_problem<Cost>& problem_;
  const stated_multipliers<Cost>& in_stated_;
  const incumbent<Cost>& best_;
  proof_at_hand<Cost>& proofs_;
  proof_effort effort_;
  proof_record<Cost>& record_;
  const compact_problem<Cost>& root_;
  part_problem<Cost> whole_;
  std::optional<priced_savings<Cost>> priced_ = std::nullopt;  ///< if savings count
  std::optional<stated_prices> in_positions_ = std::nullopt;   ///< if savings count
  std::optional<part_problem<Cost>> now_ = std::nullopt;       ///< the present subproblem
  std::optional<price_ascent<Cost>> ascent_ = std::nullopt;    ///< on it, without savings
  std::optional<savings_ascent<Cost>> prices_ = std::nullopt;  ///< on it, with savings
  std::vector<double> by_multipliers_ = {};                    ///< bounds of its labels
};

}  // namespace shardweave::inline v0::detail
