#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/detail/certificate_shape.hpp>
#include <shardweave/placement/detail/exact_problem.hpp>
#include <shardweave/placement/detail/number_range.hpp>
#include <shardweave/placement/detail/whole_numbers.hpp>
#include <shardweave/placement/knapsack_room.hpp>
#include <shardweave/placement/knapsack_sums.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/stated_form.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// What rows of budgets take part with in a proof, in exact arithmetic: limits that rule strategies out, prices of
/// usage, and knapsacks.

namespace shardweave::inline v0::detail {

/// What strategies cost with priced usage and without what is put into knapsacks, by unknown.
template <class Whole>
struct priced_costs {
  Whole apart = 0;  ///< what no strategy changes
  std::vector<std::vector<Whole>> belief = {};
  bool breaks_limits = false;  ///< even the least usage exceeds a knapsack's limit
  /// Per unknown and strategy how much more knapsacks come to with it; nothing if no selection with it fits. Empty
  /// without knapsacks, or if not asked for.
  std::vector<std::vector<std::optional<Whole>>> more = {};
};

/// The rows of a problem, in units of 2^-bits of their budget. After the time limit results are meaningless.
/// \pre Whole is wide enough for all sums; all references outlive this object
template <cost_value Cost, class Whole>
class exact_rows {
 public:
  using problem = exact_problem<Whole>;

  exact_rows(const placement_description<Cost>& d, const stated_form<Cost>& form, const number_range& range,
             const deadline& limit)
      : d_(d), form_(form), range_(range), limit_(limit) {}

  /// Removes strategies that a limit rules out. \returns what is wrong, if the proof is
  [[nodiscard]] complaint rule_out(const strategies_ruled_out& r, strategies_left& left) const {
    const budget& b = d_.constraints.budgets[r.budget];
    if (std::isinf(r.of_lower_limit ? b.low : b.high)) return "names a limit that is not there";
    const int bits = range_.usage[r.budget];
    const auto used = form_.template usage<Whole>(b, r.time, [&](double u) { return whole_of<Whole>(u, bits); });
    const auto most_or_least = [&](std::uint32_t x) {
      std::optional<Whole> found;
      for (std::size_t s = 0; s < used[x].size(); ++s)
        if (left[x][s] != 0 && (!found || (r.of_lower_limit ? used[x][s] > *found : used[x][s] < *found)))
          found = used[x][s];
      return found.value_or(Whole(0));
    };
    const std::uint32_t x = form_.unknown_of(r.vertex);
    Whole others = 0;
    for (std::uint32_t y = 0; y < form_.size(); ++y)
      if (y != x) others += most_or_least(y);
    const Whole limit = limit_of(r.budget, !r.of_lower_limit);
    for (const strategy s : r.strategies) {
      const Whole total = others + (used[x].empty() ? Whole(0) : used[x][s]);
      if (r.of_lower_limit ? total >= limit : total <= limit)
        return "rules out strategy " + std::to_string(s) + " of vertex " + std::to_string(r.vertex) +
               ", with which the limit can be kept";
      left[x][s] = 0;
    }
    return std::nullopt;
  }

  /// What multipliers name that a problem, after eliminations, does not have; nothing if they name nothing else.
  [[nodiscard]] complaint complaint_about(const placement_multipliers& m, const problem& p) const {
    for (std::size_t i = 0; i < m.messages.size(); ++i) {
      const moved_cost one = m.messages[i];
      const std::uint32_t a = p.named(form_.unknown_of(one.first)), b = p.named(form_.unknown_of(one.second));
      if (a == p.size() || b == p.size())
        return "the message from vertex " + std::to_string(one.first) + " to " + std::to_string(one.second) +
               ": one of them was eliminated";
    }
    for (const row_price& price : m.prices)
      if (!p.keeps_all_rows && price.price != 0 && limit_number(p, limit_named(price)) == p.limits.size())
        return "the price of budget " + std::to_string(price.budget) + " at time " + std::to_string(price.time) +
               " is against a row that was not kept";
    for (const row_knapsack& k : m.knapsacks) {
      const std::string which =
          "the knapsack of budget " + std::to_string(k.budget) + " at time " + std::to_string(k.time);
      if (!p.keeps_all_rows && limit_number(p, limit_named(k)) == p.limits.size())
        return which + " is of a row that was not kept";
      for (const row_knapsack::member& one : k.members)
        if (p.named(form_.unknown_of(one.vertex)) == p.size())
          return which + " has vertex " + std::to_string(one.vertex) + ", which was eliminated";
    }
    return std::nullopt;
  }

  /// Costs and priced usage of strategies, less what is put into knapsacks; without messages.
  [[nodiscard]] priced_costs<Whole> priced(const placement_multipliers& m, const problem& p,
                                           const strategies_left& left, bool with_each) const {
    priced_costs<Whole> result;
    if (!m.only_limits) {
      result.belief = p.costs;
      result.apart = p.apart;
    } else {
      for (const auto& of : p.costs) result.belief.emplace_back(of.size());
    }
    if (p.keeps_all_rows) {
      for (const row_price& price : m.prices)
        if (price.price != 0 && !limit_.expired()) add_price(price, m.price_bits, result);
    } else {
      add_prices(m, p, result);
    }
    if (!m.knapsacks.empty() && std::ranges::none_of(left, none_left)) put_in_all(m, p, left, with_each, result);
    return result;
  }

 private:
  /// A limit with the tolerance, rounded to the precision of usages, in their unit.
  [[nodiscard]] Whole limit_of(std::uint32_t b, bool is_high) const {
    const double limit = is_high ? d_.constraints.budgets[b].high : -d_.constraints.budgets[b].low;
    const int finest = std::max({range_.usage[b], tolerance_bits, fraction_bits(limit)});
    const Whole within = whole_of<Whole>(limit, finest) + shifted<Whole>(Whole(1), finest - tolerance_bits);
    const Whole rounded = shifted<Whole>(within, range_.usage[b] - finest);
    return is_high ? rounded : Whole(-rounded);
  }

  [[nodiscard]] static kept_limit limit_named(const row_price& price) {
    return {price.budget, price.time, price.price < 0};
  }
  [[nodiscard]] static kept_limit limit_named(const row_knapsack& k) { return {k.budget, k.time, false}; }
  /// Which of the kept limits it is; their number if it is none.
  [[nodiscard]] static std::size_t limit_number(const problem& p, const kept_limit& limit) {
    return static_cast<std::size_t>(std::ranges::find(p.limits, limit) - p.limits.begin());
  }

  /// Adds the price of a row of the stated problem to the costs of strategies, and takes it off the bound.
  void add_price(const row_price& price, int price_bits, priced_costs<Whole>& to) const {
    const int shift = range_.bits - price_bits - range_.usage[price.budget];
    const auto priced_usage = [&](const Whole& u) { return shifted<Whole>(Whole(price.price) * u, shift); };
    to.apart -= priced_usage(limit_of(price.budget, price.price > 0));
    for (const budget_term& term : d_.constraints.budgets[price.budget].terms) {
      if (term.live && (price.time < term.live->first || price.time >= term.live->end)) continue;
      auto& of = to.belief[form_.unknown_of(term.vertex)];
      for (std::size_t s = 0; s < of.size(); ++s)
        if (term.usage[s] != 0) of[s] += priced_usage(whole_of<Whole>(term.usage[s], range_.usage[price.budget]));
    }
  }
  /// Likewise all prices, of rows that were kept.
  void add_prices(const placement_multipliers& m, const problem& p, priced_costs<Whole>& to) const {
    const auto shift_of = [&](std::uint32_t b) { return range_.bits - m.price_bits - range_.usage[b]; };
    std::vector<Whole> prices(p.limits.size());
    for (const row_price& price : m.prices) {
      if (price.price == 0) continue;
      const std::size_t number = limit_number(p, limit_named(price));
      const Whole rest = limit_of(price.budget, price.price > 0) - p.used[number];
      prices[number] += price.price;
      to.apart -= shifted<Whole>(Whole(price.price) * rest, shift_of(price.budget));
    }
    for (std::uint32_t x = 0; x < p.size(); ++x) {
      const auto& all = p.usages[x];
      for (std::size_t i = 0; i < all.size();) {
        const auto& amounts = all[i].amounts;
        const int shift = shift_of(p.limits[all[i].limit].budget);
        Whole price = 0;  // of the rows that share these amounts
        for (; i < all.size() && all[i].amounts == amounts; ++i) price += prices[all[i].limit];
        for (std::size_t s = 0; s < amounts->size() && price != 0; ++s)
          to.belief[x][s] += shifted<Whole>(Whole(price * (*amounts)[s]), shift);
      }
    }
  }

  /// Takes what is put into knapsacks off the costs of strategies, and adds their least sums.
  /// \pre every unknown has a strategy left
  void put_in_all(const placement_multipliers& m, const problem& p, const strategies_left& left, bool with_each,
                  priced_costs<Whole>& to) const {
    for (std::size_t x = 0; with_each && x < left.size(); ++x) to.more.emplace_back(left[x].size(), Whole(0));
    for (const row_knapsack& k : m.knapsacks) put_in(k, range_.bits - m.message_bits, p, left, to);
  }
  void put_in(const row_knapsack& k, int shift, const problem& p, const strategies_left& left,
              priced_costs<Whole>& to) const {
    std::vector<std::uint32_t> members;
    for (const row_knapsack::member& one : k.members) members.push_back(p.named(form_.unknown_of(one.vertex)));
    const knapsack_room<Whole> room = room_of(k, p, left, members);
    to.breaks_limits = to.breaks_limits || room.is_exceeded();
    if (room.is_exceeded()) return;
    knapsack_sums<Whole> sums(room.cells(), members.size());
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (limit_.expired()) return;
      const std::uint32_t x = members[i];
      std::vector<typename knapsack_sums<Whole>::option> options;
      for (std::size_t s = 0; s < left[x].size(); ++s) {
        if (left[x][s] == 0) continue;
        options.push_back({room.weight(x, s), shifted<Whole>(Whole(k.members[i].amounts[s]), shift)});
        to.belief[x][s] -= options.back().amount;
      }
      sums.add(std::move(options));
    }
    to.apart += sums.least();
    for (std::size_t i = members.size(); i-- > 0 && !to.more.empty();) {
      if (limit_.expired()) return;
      const std::vector<std::optional<Whole>> excess = sums.excess(i);
      auto of_next = excess.begin();
      for (std::size_t s = 0; s < left[members[i]].size(); ++s) {
        if (left[members[i]][s] == 0) continue;
        auto& more = to.more[members[i]][s];
        if (more && *of_next) {
          *more += **of_next;
        } else {
          more.reset();
        }
        ++of_next;
      }
    }
  }
  /// What the limit of a knapsack leaves for usage.
  [[nodiscard]] knapsack_room<Whole> room_of(const row_knapsack& k, const problem& p, const strategies_left& left,
                                             const std::vector<std::uint32_t>& members) const {
    typename knapsack_room<Whole>::row_usage used(p.size());
    Whole limit = limit_of(k.budget, true);
    if (p.keeps_all_rows) {
      const int bits = range_.usage[k.budget];
      auto all = form_.template usage<Whole>(d_.constraints.budgets[k.budget], k.time,
                                             [&](double u) { return whole_of<Whole>(u, bits); });
      for (std::uint32_t x = 0; x < p.size(); ++x)
        if (!all[x].empty()) used[x] = std::make_shared<const std::vector<Whole>>(std::move(all[x]));
    } else {
      const std::size_t number = limit_number(p, limit_named(k));
      limit -= p.used[number];
      for (std::uint32_t x = 0; x < p.size(); ++x) {
        const auto at = std::ranges::lower_bound(p.usages[x], number, {}, &problem::usage::limit);
        if (at != p.usages[x].end() && at->limit == number) used[x] = at->amounts;
      }
    }
    return {std::move(used), std::move(limit), left, members, k.cells};
  }

  const placement_description<Cost>& d_;
  const stated_form<Cost>& form_;
  const number_range& range_;
  const deadline& limit_;
};

}  // namespace shardweave::inline v0::detail
