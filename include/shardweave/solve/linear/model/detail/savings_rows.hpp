#pragma once

#include <shardweave/overlap/budget_chains.hpp>
#include <shardweave/overlap/hideable.hpp>
#include <shardweave/overlap/savings.hpp>
#include <shardweave/placement/savings_terms.hpp>
#include <shardweave/solve/linear/model/detail/polytope_layout.hpp>
#include <shardweave/solve/linear/model/detail/savings_expressions.hpp>
#include <shardweave/solve/linear/model/linear_model.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Savings as rows of a linear program.

namespace shardweave::inline v0::detail {

/// Adds the chains of `budget_chains` to the model of a local polytope whose costs count all communication as hidden:
/// what stays exposed is a column that costs its amount, so no column costs less than nothing.
///
/// Per demand: exposed + claims >= communication. Per chain and stretch of segments up to one with claims:
/// budget + claims <= budget before + shares (or computation, where no other chain shares it). Where several chains
/// meet: shares <= computation. Amounts are scaled so that the greatest is about a thousand: weights of very different
/// size make backends err.
///
/// Names: column `exposed3` belongs to row `demand3` of the savings' demand 3, `hidden3.c1` is its claim on chain 1,
/// `left.c1.k5` what chain 1 hands on after segment 5 with row `chain1.k5`, `share.c1.k5` its part of the segment's
/// computation, limited by row `slot0.k5` of channel 0.
template <cost_value Cost>
class savings_rows {
 public:
  static constexpr std::uint32_t absent = polytope_layout::absent;

  /// \pre `terms` outlives this object
  savings_rows(const compact_problem<Cost>& p, const savings_terms<Cost>& terms, const presence& present,
               const polytope_layout& at, double cost_scale, linear_model& model)
      : terms_(&terms),
        scale_(cost_scale / exposed_cost),
        chains_(budget_chains_of(terms.demands, terms.slots())),
        covering_(chains_.covering()),
        price_row_(covering_.size(), absent) {
    const savings_expressions<Cost> amounts(p, terms, present, at);
    std::vector<linear_expression> computation(chains_.segments.size());
    for (std::size_t q = 0; q < amounts.offered.size(); ++q)
      if (const std::size_t k = chains_.segments.segment_of[q]; k != no_position) computation[k] += amounts.offered[q];
    for (linear_expression& sum : computation) sum.tidy();
    add_demands(amounts.wanted, model);
    add_shares(computation, model);
    add_chains(computation, model);
  }

  /// Prices of computation, as `chain_prices::values`, behind the multipliers of the model's rows.
  [[nodiscard]] std::vector<double> prices(std::span<const double> duals) const {
    const std::size_t slots = terms_->slots(), segments = chains_.segments.size();
    std::vector<double> result(terms_->channels * slots);
    for (std::size_t i = 0; i < price_row_.size(); ++i) {
      if (price_row_[i] == absent || !(duals[price_row_[i]] < 0)) continue;
      const window& run = chains_.segments.runs[i % segments];
      std::fill_n(result.begin() + static_cast<std::ptrdiff_t>(i / segments * slots + run.first),
                  run.last + 1 - run.first, std::min(1.0, -duals[price_row_[i]] / exposed_cost));
    }
    return result;
  }

  /// What is hidden per demand.
  [[nodiscard]] std::vector<double> hidden(std::span<const double> primal) const {
    std::vector<double> result(terms_->demands.size());
    for (std::size_t i = 0; i < claim_.size(); ++i)
      if (claim_[i] != absent) result[chains_.claims[i].place] += primal[claim_[i]] / scale_;
    return result;
  }

  /// Sets the columns of savings to the best that the labels allow.
  /// Complexity: that of the sweep, and O(columns)
  void set_values(std::span<const strategy> labels, std::span<double> value) const {
    std::vector<Cost> offered, wanted;
    terms_->measure(labels, offered, wanted);
    std::vector<hideable<double>> demands;
    for (std::size_t d = 0; d < wanted.size(); ++d)
      demands.push_back(
          {terms_->demands[d].where, scale_ * static_cast<double>(wanted[d]), terms_->demands[d].channel});
    std::vector<double> computation;
    for (const Cost c : offered) computation.push_back(scale_ * static_cast<double>(c));
    computation = chains_.segments.sums(computation);
    for (auto& d : demands) d.where = chains_.segments(d.where);
    std::vector<double> saved(demands.size());
    std::map<std::pair<std::size_t, std::size_t>, double> share;  // by chain and segment
    for (const hidden_piece<double>& piece : hide_in_pieces(computation, demands)) {
      const std::size_t i = claim_at(piece.demand, piece.position);
      if (claim_[i] != absent) value[claim_[i]] += piece.amount;
      share[{chains_.claims[i].chain, piece.position}] += piece.amount;
      saved[piece.demand] += piece.amount;
    }
    for (std::size_t d = 0; d < demands.size(); ++d)
      if (exposed_[d] != absent) value[exposed_[d]] = std::max(0.0, demands[d].amount - saved[d]);
    for (const auto& [at, column] : share_)
      if (const auto found = share.find(at); found != share.end()) value[column] = found->second;
    set_budgets(computation, share, value);
  }

  void name(linear_names& names) const {
    const auto id = [](const char* what, std::size_t i) { return what + std::to_string(i); };
    for (std::size_t d = 0; d < exposed_.size(); ++d)
      if (exposed_[d] != absent) {
        names.columns[exposed_[d]] = id("exposed", d);
        names.rows[demand_[d]] = id("demand", d);
      }
    for (std::size_t i = 0; i < claim_.size(); ++i)
      if (claim_[i] != absent)
        names.columns[claim_[i]] = id("hidden", chains_.claims[i].place) + id(".c", chains_.claims[i].chain);
    for (const auto& [at, column] : share_) names.columns[column] = id("share.c", at.first) + id(".k", at.second);
    const std::size_t segments = chains_.segments.size();
    for (std::size_t i = 0; i < covering_.size(); ++i)
      if (covering_[i].size() > 1 && price_row_[i] != absent)
        names.rows[price_row_[i]] = id("slot", i / segments) + id(".k", i % segments);
    for (const link& l : links_) {
      names.rows[l.row] = id("chain", l.chain) + id(".k", l.segment);
      names.columns[l.budget] = id("left.c", l.chain) + id(".k", l.segment);
    }
  }

 private:
  static constexpr double exposed_cost = 0x1p10;  ///< of a unit of the scaled amounts, in the model's costs

  /// A row of a chain, at a segment with claims.
  struct link {
    std::size_t chain, segment;
    std::uint32_t row;
    std::uint32_t budget;  ///< column of what is handed on
  };

  void add_demands(const std::vector<linear_expression>& wanted, linear_model& model) {
    exposed_.assign(wanted.size(), absent);
    demand_.assign(wanted.size(), absent);
    for (std::size_t d = 0; d < wanted.size(); ++d) {
      if (wanted[d].is_zero()) continue;
      demand_[d] = model.add_row({.low = scale_ * wanted[d].constant});
      exposed_[d] = model.add_column({.objective = exposed_cost});
      model.add_entry(demand_[d], exposed_[d], 1);
      for (const auto& [column, weight] : wanted[d].weights) model.add_entry(demand_[d], column, -scale_ * weight);
    }
    for (const budget_claim& claim : chains_.claims) {
      claim_.push_back(exposed_[claim.place] == absent ? absent : model.add_column({}));
      if (claim_.back() != absent) model.add_entry(demand_[claim.place], claim_.back(), 1);
    }
  }

  void add_shares(const std::vector<linear_expression>& computation, linear_model& model) {
    const std::size_t segments = chains_.segments.size();
    for (std::size_t i = 0; i < covering_.size(); ++i) {
      if (covering_[i].size() < 2) continue;
      const linear_expression& sum = computation[i % segments];
      price_row_[i] = model.add_row({.high = scale_ * sum.constant});
      for (const auto& [column, weight] : sum.weights) model.add_entry(price_row_[i], column, -scale_ * weight);
      for (const std::size_t c : covering_[i]) {
        const std::uint32_t share = model.add_column({});
        share_.emplace(std::pair(c, i % segments), share);
        model.add_entry(price_row_[i], share, 1);
      }
    }
  }

  void add_chains(const std::vector<linear_expression>& computation, linear_model& model) {
    std::map<std::pair<std::size_t, std::size_t>, std::vector<std::uint32_t>> claims;  // by chain and segment
    for (std::size_t i = 0; i < claim_.size(); ++i)
      if (claim_[i] != absent) claims[{chains_.claims[i].chain, chains_.claims[i].segment}].push_back(claim_[i]);
    const std::size_t segments = chains_.segments.size();
    for (std::size_t c = 0; c < chains_.chains.size(); ++c) {
      const budget_chain& chain = chains_.chains[c];
      linear_expression gained;
      std::vector<std::size_t> alone;  // segments whose computation went there directly
      std::uint32_t before = absent;
      for (std::size_t step = 0; step <= chain.last - chain.first; ++step) {
        const std::size_t k = chain.forward ? chain.first + step : chain.last - step;
        if (const auto share = share_.find({c, k}); share != share_.end()) {
          gained.weights.emplace_back(share->second, 1 / scale_);
        } else {
          gained += computation[k];
          alone.push_back(chain.channel * segments + k);
        }
        const auto here = claims.find({c, k});
        if (here == claims.end()) continue;
        gained.tidy();
        const link l{c, k, model.add_row({.high = scale_ * gained.constant}), model.add_column({})};
        for (const std::uint32_t claim : here->second) model.add_entry(l.row, claim, 1);
        model.add_entry(l.row, l.budget, 1);
        if (before != absent) model.add_entry(l.row, before, -1);
        for (const auto& [column, weight] : gained.weights) model.add_entry(l.row, column, -scale_ * weight);
        for (const std::size_t i : alone) price_row_[i] = l.row;
        links_.push_back(l);
        before = l.budget;
        gained = {};
        alone.clear();
      }
    }
  }

  /// The claim of a demand that may use a segment.
  [[nodiscard]] std::size_t claim_at(std::size_t of, std::size_t segment) const {
    auto at = std::lower_bound(chains_.claims.begin(), chains_.claims.end(), of,
                               [](const budget_claim& c, std::size_t d) { return c.place < d; });
    const auto pays = [&](const budget_claim& c) {
      const budget_chain& chain = chains_.chains[c.chain];
      return chain.forward ? chain.first <= segment && segment <= c.segment
                           : c.segment <= segment && segment <= chain.last;
    };
    while (!pays(*at)) ++at;
    return static_cast<std::size_t>(at - chains_.claims.begin());
  }

  /// What every link hands on.
  void set_budgets(const std::vector<double>& computation,
                   const std::map<std::pair<std::size_t, std::size_t>, double>& share, std::span<double> value) const {
    std::vector<double> claimed(links_.size());
    std::map<std::pair<std::size_t, std::size_t>, std::size_t> link_at;
    for (std::size_t i = 0; i < links_.size(); ++i) link_at[{links_[i].chain, links_[i].segment}] = i;
    for (std::size_t i = 0; i < claim_.size(); ++i)
      if (claim_[i] != absent)
        claimed[link_at.at({chains_.claims[i].chain, chains_.claims[i].segment})] += value[claim_[i]];
    double left = 0;
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const budget_chain& chain = chains_.chains[links_[i].chain];
      const bool is_first = i == 0 || links_[i - 1].chain != links_[i].chain;
      if (is_first) left = 0;
      const std::size_t to = links_[i].segment;
      const std::size_t from = chain.forward ? (is_first ? chain.first : links_[i - 1].segment + 1)
                                             : (is_first ? chain.last : links_[i - 1].segment - 1);
      for (std::size_t k = std::min(from, to); k <= std::max(from, to); ++k)
        if (!share_.contains({links_[i].chain, k})) {
          left += computation[k];
        } else if (const auto found = share.find({links_[i].chain, k}); found != share.end()) {
          left += found->second;
        }
      left = std::max(0.0, left - claimed[i]);  // below zero by rounding alone
      value[links_[i].budget] = left;
    }
  }

  const savings_terms<Cost>* terms_;
  double scale_;
  budget_chains chains_;
  std::vector<std::vector<std::size_t>> covering_;
  std::vector<std::uint32_t> exposed_, demand_;                         ///< column and row per demand
  std::vector<std::uint32_t> claim_;                                    ///< column per claim
  std::map<std::pair<std::size_t, std::size_t>, std::uint32_t> share_;  ///< column by chain and segment
  std::vector<std::uint32_t> price_row_;                                ///< by channel and segment
  std::vector<link> links_;                                             ///< chain by chain
};

}  // namespace shardweave::inline v0::detail
