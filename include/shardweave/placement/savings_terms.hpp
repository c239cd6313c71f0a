#pragma once

#include <shardweave/overlap/savings.hpp>
#include <shardweave/placement/compact_problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// Savings of a compact problem: computation that hides, and communication that may be hidden, by labels.

namespace shardweave::inline v0 {

/// Communication that the computation of the slots in a window may hide.
struct savings_demand {
  window where = {};
  std::uint32_t channel = 0;  ///< computation hides once per channel
};

/// The amount that a variable adds to a slot's computation or to a demand, per label.
template <cost_value Cost>
struct label_amount {
  std::uint32_t at = 0;  ///< slot or demand
  std::uint32_t variable = 0;
  std::vector<Cost> amount;  ///< not negative
};

/// The amount that two variables together add to a demand, `count` times: rows are labels of `first`, columns of
/// `second`.
template <cost_value Cost>
struct pair_amount {
  std::uint32_t demand = 0;
  std::uint32_t first = 0;
  std::uint32_t second = 0;  ///< first < second, and an edge of the compact problem may join them
  std::uint32_t table = 0;
  std::uint32_t count = 1;
};

/// The savings of a compact problem, to be subtracted from its cost: the most communication that can be hidden when
/// a unit of computation hides at most one unit per channel.
///
/// Positions that are in the same windows form one slot, communication with the same window one demand. Tied vertices
/// are one variable, but each has its computation at its own position.
template <cost_value Cost>
struct savings_terms {
  using table_pointer = std::shared_ptr<const cost_table<Cost>>;

  std::vector<savings_demand> demands = {};
  std::uint32_t channels = 1;
  std::vector<Cost> computation = {};           ///< per slot: computation that does not depend on labels
  std::vector<Cost> amount = {};                ///< per demand: communication that does not depend on labels
  std::vector<label_amount<Cost>> offers = {};  ///< computation at slots, by label
  std::vector<label_amount<Cost>> own = {};     ///< communication that depends on one variable
  std::vector<pair_amount<Cost>> joint = {};    ///< communication that depends on two variables
  std::vector<table_pointer> tables = {};       ///< not negative
  std::vector<std::uint32_t> slot_of = {};      ///< per stated vertex; `no_slot` if it hides nothing
  std::vector<std::uint32_t> channel_of = {};   ///< per channel: its number in the layout

  static constexpr std::uint32_t no_slot = ~0U;

  [[nodiscard]] bool empty() const { return demands.empty(); }
  [[nodiscard]] std::size_t slots() const { return computation.size(); }

  /// Computes computation per slot and communication per demand for a labeling.
  /// Complexity: O(terms)
  void measure(std::span<const strategy> labels, std::vector<Cost>& offered, std::vector<Cost>& wanted) const {
    offered = computation;
    wanted = amount;
    for (const auto& t : offers) offered[t.at] += t.amount[labels[t.variable]];
    for (const auto& t : own) wanted[t.at] += t.amount[labels[t.variable]];
    for (const auto& t : joint)
      wanted[t.demand] += static_cast<Cost>(t.count) * (*tables[t.table])(labels[t.first], labels[t.second]);
  }

  /// An upper bound on the savings of any labeling: on each channel the lesser of all computation and all
  /// communication.
  [[nodiscard]] Cost most() const {
    Cost offered{};
    for (const Cost c : computation) offered += c;
    for (const auto& t : offers) offered += *std::max_element(t.amount.begin(), t.amount.end());
    std::vector<Cost> wanted(channels);
    for (std::size_t d = 0; d < demands.size(); ++d) wanted[demands[d].channel] += amount[d];
    for (const auto& t : own) wanted[demands[t.at].channel] += *std::max_element(t.amount.begin(), t.amount.end());
    for (const auto& t : joint)
      wanted[demands[t.demand].channel] += static_cast<Cost>(t.count) * tables[t.table]->most();
    Cost total{};
    for (const Cost w : wanted) total += std::min(w, offered);
    return total;
  }

  /// The same terms for a restriction; fixed variables become constants.
  /// \param kept   per variable, the labels that are left
  /// \param inner  per variable, its new number; ~0 if it is fixed, and then one label is left
  [[nodiscard]] savings_terms restricted(const std::vector<std::vector<strategy>>& kept,
                                         std::span<const std::uint32_t> inner) const {
    constexpr std::uint32_t decided = ~0U;
    savings_terms result{demands, channels, computation, amount, {}, {}, {}, {}, slot_of, channel_of};
    const auto take = [&](const label_amount<Cost>& t, std::vector<Cost>& constant,
                          std::vector<label_amount<Cost>>& to) {
      const auto& labels = kept[t.variable];
      if (inner[t.variable] == decided) {
        constant[t.at] += t.amount[labels.front()];
      } else {
        std::vector<Cost> left;
        for (const strategy l : labels) left.push_back(t.amount[l]);
        to.push_back({t.at, inner[t.variable], std::move(left)});
      }
    };
    for (const auto& t : offers) take(t, result.computation, result.offers);
    for (const auto& t : own) take(t, result.amount, result.own);
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> known;
    for (const auto& t : joint) {
      const cost_table<Cost>& table = *tables[t.table];
      const auto &rows = kept[t.first], &columns = kept[t.second];
      const auto count = static_cast<Cost>(t.count);
      const bool first = inner[t.first] != decided, second = inner[t.second] != decided;
      if (!first && !second) {
        result.amount[t.demand] += count * table(rows[0], columns[0]);
      } else if (!first || !second) {
        std::vector<Cost> left;
        for (const strategy l : first ? rows : columns)
          left.push_back(count * (first ? table(l, columns[0]) : table(rows[0], l)));
        result.own.push_back({t.demand, inner[first ? t.first : t.second], std::move(left)});
      } else {
        const auto [at, fresh] =
            known.try_emplace({t.table, t.first, t.second}, static_cast<std::uint32_t>(result.tables.size()));
        if (fresh)
          result.tables.push_back(rows.size() == table.rows() && columns.size() == table.columns()
                                      ? tables[t.table]
                                      : std::make_shared<const cost_table<Cost>>(table.selected(rows, columns)));
        const cost_table<Cost>& left = *result.tables[at->second];
        if (left.row_classes() == 1 && left.column_classes() == 1) {
          result.amount[t.demand] += count * left.class_cost(0, 0);
        } else if (left.row_classes() == 1 || left.column_classes() == 1) {
          const bool by_row = left.column_classes() == 1;
          std::vector<Cost> line;
          for (strategy l = 0; l < (by_row ? left.rows() : left.columns()); ++l)
            line.push_back(count * (by_row ? left(l, 0) : left(0, l)));
          result.own.push_back({t.demand, inner[by_row ? t.first : t.second], std::move(line)});
        } else {
          result.joint.push_back({t.demand, inner[t.first], inner[t.second], at->second, t.count});
        }
      }
    }
    return result;
  }
};

/// Computes savings for given computation and communication, repeatedly.
///
/// On each channel every slot serves the released demand whose window ends first (earliest deadline first), as `hide`
/// does.
template <cost_value Cost>
class savings_sweep {
 public:
  /// \pre `terms` outlives this object
  explicit savings_sweep(const savings_terms<Cost>& terms) : t_(&terms) {
    by_release_.resize(terms.channels);
    for (std::uint32_t d = 0; d < terms.demands.size(); ++d) {
      by_release_[terms.demands[d].channel].push_back(d);
      has_gaps_ = has_gaps_ || terms.demands[d].where.except != no_position;
    }
    for (auto& of_channel : by_release_)
      std::stable_sort(of_channel.begin(), of_channel.end(), [&](std::uint32_t a, std::uint32_t b) {
        return terms.demands[a].where.first < terms.demands[b].where.first;
      });
  }

  /// \param offered  computation per slot
  /// \param wanted   communication per demand
  /// Complexity: O(slots * channels + demands log demands)
  [[nodiscard]] Cost operator()(std::span<const Cost> offered, std::span<const Cost> wanted) {
    if (has_gaps_) return with_gaps(offered, wanted);
    Cost total{};
    left_.assign(wanted.begin(), wanted.end());
    for (const auto& of_channel : by_release_) {
      open_.clear();
      auto next = of_channel.begin();
      for (std::size_t q = 0; q < offered.size(); ++q) {
        for (; next != of_channel.end() && t_->demands[*next].where.first <= q; ++next) {
          if (!(left_[*next] > Cost{})) continue;
          open_.emplace_back(t_->demands[*next].where.last, *next);
          std::push_heap(open_.begin(), open_.end(), std::greater<>{});
        }
        Cost room = offered[q];
        while (room > Cost{} && !open_.empty()) {
          const auto [last, d] = open_.front();
          const Cost now = last < q ? Cost{} : std::min(room, left_[d]);
          left_[d] -= now;
          room -= now;
          total += now;
          if (last < q || !(left_[d] > Cost{})) {
            std::pop_heap(open_.begin(), open_.end(), std::greater<>{});
            open_.pop_back();
          }
        }
      }
    }
    return total;
  }

 private:
  Cost with_gaps(std::span<const Cost> offered, std::span<const Cost> wanted) const {
    std::vector<hideable<Cost>> demands;
    for (std::size_t d = 0; d < wanted.size(); ++d)
      demands.push_back({t_->demands[d].where, wanted[d], t_->demands[d].channel});
    return hide(offered, demands).total;
  }

  const savings_terms<Cost>* t_;
  bool has_gaps_ = false;
  std::vector<std::vector<std::uint32_t>> by_release_;  ///< demands per channel
  std::vector<Cost> left_;
  std::vector<std::pair<std::size_t, std::uint32_t>> open_;  ///< heap of (last slot, demand)
};

/// The savings of a labeling.
/// Complexity: O(terms + slots + demands log demands)
template <cost_value Cost>
[[nodiscard]] Cost savings_of(const savings_terms<Cost>& terms, std::span<const strategy> labels) {
  std::vector<Cost> offered, wanted;
  terms.measure(labels, offered, wanted);
  return savings_sweep<Cost>(terms)(std::span<const Cost>(offered), std::span<const Cost>(wanted));
}

}  // namespace shardweave::inline v0
