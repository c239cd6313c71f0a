#pragma once

#include <shardweave/core/interning.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/placement/savings_layout.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// The savings of a stated problem, in terms of the variables and labels of its compact form.

namespace shardweave::inline v0::detail {

/// State of one collection.
template <cost_value Cost>
class savings_collector {
 public:
  /// \pre the problem has a description, and outlives this object
  explicit savings_collector(const placement_problem<Cost>& problem) : d_(*problem.description()) {
    for (std::size_t v = 0; v < d_.vertices.size(); ++v) variable_of_.push_back(problem.variable_of(v));
    interner<std::vector<strategy>, sequence_hash> lists;
    for (std::uint32_t x = 0; x < problem.compact().size(); ++x) {
      auto& labels = kept_.emplace_back();
      for (strategy l = 0; l < problem.compact().label_count(x); ++l) labels.push_back(problem.strategy_of(x, l));
      domain_.push_back(lists(labels));
    }
  }

  [[nodiscard]] savings_terms<Cost> run() {
    const savings_layout layout = layout_of(d_);
    for (const hiding_place& place : layout.places) add_demand(place);
    find_slots(layout);
    if (pending_.empty()) return {};
    place_demands();
    add_offers();
    return std::move(result_);
  }

 private:
  static constexpr std::uint32_t none = ~0U;

  /// The communication of an edge by labels, before slots are determined.
  struct pending {
    window where;  ///< in positions, later in slots
    std::size_t channel;
    std::uint32_t first, second, table;
  };

  void add_demand(const hiding_place& w) {
    const described_edge& edge = d_.edges[w.edge];
    if (edge.communication == no_table) return;
    const std::uint32_t a = variable_of_[edge.from], b = variable_of_[edge.to];
    const bool flipped = a > b;
    const auto [at, fresh] = number_of_.try_emplace({edge.communication, flipped, domain_[a], domain_[b]}, none);
    if (fresh) {
      const cost_table<Cost>& stated = *d_.tables[edge.communication];
      const cost_table<Cost> part = stated.selected(kept_[a], kept_[b]);
      std::vector<std::uint32_t> rows(part.row_class().begin(), part.row_class().end());
      std::vector<std::uint32_t> columns(part.column_class().begin(), part.column_class().end());
      cost_table<Cost> amounts = cost_table<Cost>::from_classes(
          std::move(rows), std::move(columns), part.row_classes(), part.column_classes(),
          [&](std::size_t i, std::size_t j) { return amount_of(part.class_cost(i, j)); });
      if (amounts.most() > Cost{}) {
        at->second = static_cast<std::uint32_t>(result_.tables.size());
        result_.tables.push_back(
            std::make_shared<const cost_table<Cost>>(flipped ? amounts.transposed() : std::move(amounts)));
      }
    }
    if (at->second != none) pending_.push_back({w.where, w.channel, std::min(a, b), std::max(a, b), at->second});
  }

  /// Groups positions that compute into slots: a slot ends where a window begins or ends. Other positions do not count.
  void find_slots(const savings_layout& layout) {
    const std::size_t n = d_.vertices.size();
    std::vector<std::size_t> before(n + 1);  // number of computing positions before each
    for (std::size_t q = 0; q < n && !pending_.empty(); ++q) {
      const std::uint32_t v = layout.order[q];
      const auto& labels = kept_[variable_of_[v]];
      const bool computes = !layout.idle[v] && std::any_of(labels.begin(), labels.end(), [&](strategy s) {
        return amount_of(d_.vertices[v].compute[s]) > Cost{};
      });
      before[q + 1] = before[q] + (computes ? 1 : 0);
    }
    const std::size_t computing = before.back();
    for (pending& p : pending_) {  // from here on, positions count only those that compute
      const auto end = before[std::min(p.where.last + 1, n)];
      const bool leaves_out = p.where.except != no_position && before[p.where.except] != before[p.where.except + 1];
      p.where = {before[p.where.first], end, leaves_out ? before[p.where.except] : no_position};
    }
    std::erase_if(pending_, [](const pending& p) { return p.where.first == p.where.last; });
    std::vector<int> covering(computing + 1);
    std::vector<bool> cut(computing + 1);
    for (const pending& p : pending_) {
      ++covering[p.where.first];
      --covering[p.where.last];
      cut[p.where.first] = cut[p.where.last] = true;
      if (p.where.except != no_position) cut[p.where.except] = cut[p.where.except + 1] = true;
    }
    std::uint32_t slots = 0;
    std::vector<std::uint32_t> slot(computing, none);
    int open = 0;
    for (std::size_t q = 0; q < computing; ++q) {
      open += covering[q];
      if (open > 0) slot[q] = cut[q] || slots == 0 ? slots++ : slots - 1;
    }
    for (pending& p : pending_)
      p.where = {slot[p.where.first], slot[p.where.last - 1],
                 p.where.except == no_position ? no_position : slot[p.where.except]};
    std::erase_if(pending_,
                  [](const pending& p) { return p.where.first == p.where.last && p.where.except == p.where.first; });
    slot_of_.assign(n, none);
    result_.slot_of.assign(n, savings_terms<Cost>::no_slot);
    for (std::size_t q = 0; q < n; ++q)
      if (before[q] != before[q + 1]) result_.slot_of[layout.order[q]] = slot_of_[layout.order[q]] = slot[before[q]];
    result_.computation.assign(slots, Cost{});
  }

  void place_demands() {
    std::map<std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>, std::uint32_t> demands;
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>, std::size_t> joints;
    std::map<std::size_t, std::uint32_t> channels;  // channels that are still used
    for (const pending& p : pending_) {
      const std::uint32_t channel =
          channels.try_emplace(p.channel, static_cast<std::uint32_t>(channels.size())).first->second;
      const savings_demand demand{p.where, channel};
      const auto [known, fresh] = demands.try_emplace({p.where.first, p.where.last, p.where.except, channel},
                                                      static_cast<std::uint32_t>(result_.demands.size()));
      if (fresh) {
        result_.demands.push_back(demand);
        result_.amount.push_back(Cost{});
      }
      const cost_table<Cost>& table = *result_.tables[p.table];
      if (p.first == p.second) {
        std::vector<Cost> diagonal;
        for (strategy l = 0; l < table.rows(); ++l) diagonal.push_back(table(l, l));
        add_own(known->second, p.first, std::move(diagonal));
      } else if (table.row_classes() == 1 && table.column_classes() == 1) {
        result_.amount[known->second] += table.class_cost(0, 0);
      } else if (table.column_classes() == 1 || table.row_classes() == 1) {
        const bool by_row = table.column_classes() == 1;
        std::vector<Cost> line;
        for (strategy l = 0; l < (by_row ? table.rows() : table.columns()); ++l)
          line.push_back(by_row ? table(l, 0) : table(0, l));
        add_own(known->second, by_row ? p.first : p.second, std::move(line));
      } else {
        const auto [joint, first] =
            joints.try_emplace({known->second, p.first, p.second, p.table}, result_.joint.size());
        if (first) {
          result_.joint.push_back({known->second, p.first, p.second, p.table, 1});
        } else {
          ++result_.joint[joint->second].count;
        }
      }
    }
    result_.channels = static_cast<std::uint32_t>(channels.size());
    result_.channel_of.resize(channels.size());
    for (const auto& [of_layout, number] : channels) result_.channel_of[number] = static_cast<std::uint32_t>(of_layout);
  }

  void add_own(std::uint32_t of, std::uint32_t variable, std::vector<Cost> amounts) {
    add_to(result_.own, own_at_, of, variable, amounts);
  }
  using places = std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t>;
  static void add_to(std::vector<label_amount<Cost>>& terms, places& at, std::uint32_t where, std::uint32_t variable,
                     std::vector<Cost>& amounts) {
    const auto [known, fresh] = at.try_emplace({variable, where}, terms.size());
    if (fresh) {
      terms.push_back({where, variable, std::move(amounts)});
    } else {
      for (std::size_t l = 0; l < amounts.size(); ++l) terms[known->second].amount[l] += amounts[l];
    }
  }

  void add_offers() {
    places at;
    for (std::size_t v = 0; v < d_.vertices.size(); ++v) {
      if (slot_of_[v] == none) continue;
      const std::uint32_t x = variable_of_[v];
      std::vector<Cost> offered;
      for (const strategy s : kept_[x]) offered.push_back(amount_of(d_.vertices[v].compute[s]));
      add_to(result_.offers, at, slot_of_[v], x, offered);
    }
  }

  const placement_description<Cost>& d_;
  std::vector<std::uint32_t> variable_of_;
  std::vector<std::vector<strategy>> kept_;  // per variable: strategies that are left
  std::vector<std::uint32_t> domain_;
  std::map<std::tuple<std::uint32_t, bool, std::uint32_t, std::uint32_t>, std::uint32_t> number_of_;
  std::vector<pending> pending_;
  std::vector<std::uint32_t> slot_of_;
  places own_at_;
  savings_terms<Cost> result_;
};

}  // namespace shardweave::inline v0::detail
