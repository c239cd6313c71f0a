#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/detail/certificate_shape.hpp>
#include <shardweave/placement/detail/eliminate.hpp>
#include <shardweave/placement/detail/exact_problem.hpp>
#include <shardweave/placement/detail/number_range.hpp>
#include <shardweave/placement/detail/whole_numbers.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/stated_form.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// The bounds that multipliers prove, in exact arithmetic.

namespace shardweave::inline v0::detail {

/// The problem in integers, in units of 2^-bits. After the time limit results are meaningless.
/// \pre Whole is wide enough for all sums; all references outlive this object
template <cost_value Cost, class Whole>
class exact_check {
 public:
  using problem = exact_problem<Whole>;

  exact_check(const placement_description<Cost>& d, const stated_form<Cost>& form, const number_range& range,
              const deadline& limit)
      : d_(d),
        form_(form),
        range_(range),
        limit_(limit),
        whole_(std::make_shared<const problem>(in_numbers<Whole>(
            form, [this](Cost c, std::int64_t times) { return of_cost(c, times); },
            [&limit] { return limit.expired(); }))) {}

  /// All of the problem.
  [[nodiscard]] std::shared_ptr<const problem> whole() const { return whole_; }

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

  /// What is left of a problem once unknowns are eliminated.
  /// \param left  on return, of what is left
  /// \returns nothing if something is wrong with the reduction, which `wrong` then is
  [[nodiscard]] std::shared_ptr<const problem> reduced(const placement_reduction& r, const problem& from,
                                                       strategies_left& left, complaint& wrong) const {
    problem kept = from;
    wrong = keep_rows(r, kept);
    if (wrong) return nullptr;
    elimination<Whole> work(std::move(kept), std::move(left));
    for (std::size_t i = 0; i < r.steps.size(); ++i) {
      if (i % 64 == 0 && limit_.expired()) return nullptr;
      std::vector<std::uint32_t> unknowns;
      for (const std::uint32_t v : r.steps[i]) {
        unknowns.push_back(from.named(form_.unknown_of(v)));
        if (unknowns.back() == from.size() || !work.is_there(unknowns.back())) {
          wrong = "eliminates vertex " + std::to_string(r.steps[i][0]) + " by vertex " + std::to_string(v) +
                  ", which is not there any more";
          return nullptr;
        }
        if (unknowns.size() > 1 && !work.are_neighbours(unknowns[0], unknowns.back())) {
          wrong = "eliminates vertex " + std::to_string(r.steps[i][0]) + " by vertex " + std::to_string(v) +
                  ", but there is no edge between them";
          return nullptr;
        }
      }
      work.eliminate(unknowns.front(), std::span(unknowns).subspan(1));
    }
    auto [rest, its_left] = std::move(work).finish();
    left = std::move(its_left);
    return std::make_shared<const problem>(std::move(rest));
  }

  /// What multipliers name that a problem, after eliminations, does not have; nothing if they name nothing else.
  [[nodiscard]] complaint complaint_about(const placement_multipliers& m, const problem& p) const {
    for (std::size_t i = 0; i < m.messages.size(); ++i) {
      const moved_cost one = m.messages[i];
      const std::uint32_t a = p.named(form_.unknown_of(one.first)), b = p.named(form_.unknown_of(one.second));
      if (a == p.size() || b == p.size() || p.pair_between(a, b) == p.pairs.size())
        return "the message from vertex " + std::to_string(one.first) + " to " + std::to_string(one.second) +
               ": there is no edge between them";
    }
    for (const row_price& price : m.prices)
      if (!p.keeps_all_rows && price.price != 0 && limit_number(p, price) == p.limits.size())
        return "the price of budget " + std::to_string(price.budget) + " at time " + std::to_string(price.time) +
               " is against a row that was not kept";
    return std::nullopt;
  }

  /// The reparametrized costs of the remaining strategies, by unknown: a lower bound is the sum of `apart` and of the
  /// least cost of each unknown.
  struct priced_form {
    Whole apart = 0;
    std::vector<std::vector<Whole>> belief;
    std::vector<const Whole*> least;  ///< per unknown: its cheapest remaining strategy; null if none remains

    [[nodiscard]] bool is_empty() const { return std::find(least.begin(), least.end(), nullptr) != least.end(); }
    /// \pre not empty
    [[nodiscard]] Whole bound() const {
      Whole total = apart;
      for (const Whole* of : least) total += *of;
      return total;
    }
  };
  /// \pre the multipliers name nothing that `p` does not have
  [[nodiscard]] priced_form priced(const placement_multipliers& m, const problem& p,
                                   const strategies_left& left) const {
    const bool with_costs = !m.only_limits;
    priced_form result;
    if (with_costs) {
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
    const std::vector<std::vector<Whole>> amounts = amounts_of(m, p);
    for (std::size_t i = 0; i < p.pairs.size(); ++i) {
      if ((!with_costs && amounts[i].empty()) || limit_.expired()) continue;
      move(p.pairs[i], amounts[i], with_costs, left, result.belief);
    }
    for (std::uint32_t x = 0; x < left.size(); ++x) {
      const Whole*& least = result.least.emplace_back();
      for (std::size_t s = 0; s < left[x].size(); ++s)
        if (left[x][s] != 0 && (least == nullptr || result.belief[x][s] < *least)) least = &result.belief[x][s];
    }
    return result;
  }

  /// The lower bound of the remaining strategies under multipliers; nothing if an unknown has none left, or limits are
  /// exceeded. With `only_limits` any other result bounds no costs.
  [[nodiscard]] std::optional<Whole> bound(const placement_multipliers& m, const problem& p,
                                           const strategies_left& left) const {
    const priced_form at = priced(m, p, left);
    if (at.is_empty()) return std::nullopt;
    const Whole total = at.bound();
    if (m.only_limits && total > 0) return std::nullopt;
    return total;
  }

  /// Removes the strategies whose bound is at least the cutoff; with `only_limits` those with which limits are
  /// exceeded. The bound of a strategy counts what it costs its neighbours. \returns the unknowns that lost some
  [[nodiscard]] std::vector<std::uint32_t> narrow(const placement_multipliers& m, const placement_certificate<Cost>& c,
                                                  const problem& p, strategies_left& left) const {
    std::vector<std::uint32_t> changed;
    priced_form at = priced(m, p, left);
    if (at.is_empty() || (c.infeasible && !m.only_limits)) return changed;
    const Whole total = at.bound();
    std::vector<std::vector<Whole>> above(p.size());  // of each strategy above the least of its unknown
    for (std::uint32_t x = 0; x < p.size(); ++x)
      for (const Whole& belief : at.belief[x]) above[x].push_back(belief - *at.least[x]);
    std::vector<std::vector<Whole>> with_neighbours = above;
    const std::vector<std::vector<Whole>> amounts = amounts_of(m, p);
    for (std::size_t i = 0; i < p.pairs.size(); ++i) {
      if ((m.only_limits && amounts[i].empty()) || limit_.expired()) continue;
      add_neighbours(p.pairs[i], amounts[i], !m.only_limits, left, above, with_neighbours);
    }
    for (std::uint32_t x = 0; x < left.size(); ++x) {
      bool any = false;
      for (std::size_t s = 0; s < left[x].size(); ++s) {
        if (left[x][s] == 0) continue;
        const Whole with = total + with_neighbours[x][s];
        if (!(m.only_limits ? with > 0 : reaches(with, c.cutoff.value_or(c.lower_bound)))) continue;
        left[x][s] = 0;
        any = true;
      }
      if (any) changed.push_back(x);
    }
    return changed;
  }

  /// Whether the bound of a case proves the claim.
  [[nodiscard]] bool proves(const std::optional<Whole>& found, const placement_certificate<Cost>& c) const {
    if (!found || c.infeasible) return !found;
    return reaches(*found, c.lower_bound);
  }
  /// As a cost: rounded down for floating-point costs, up for integers.
  [[nodiscard]] Cost in_costs(const Whole& value) const {
    if constexpr (std::floating_point<Cost>) {
      const auto near = static_cast<double>(std::ldexp(static_cast<long double>(value), -range_.bits));
      const bool is_above = whole_of<Whole>(near, range_.bits) > value;
      return static_cast<Cost>(is_above ? std::nextafter(near, -std::numeric_limits<double>::infinity()) : near);
    } else {
      const Whole rounded = -shifted<Whole>(Whole(-value), -range_.bits);
      const Whole most = std::numeric_limits<Cost>::max() - 1;
      return static_cast<Cost>(std::clamp<Whole>(rounded, Whole(-most), most));
    }
  }

 private:
  /// Whether a bound proves that no objective is below a cost.
  [[nodiscard]] bool reaches(const Whole& found, Cost cost) const {
    const Whole claimed = whole_of<Whole>(cost, range_.bits);
    if constexpr (std::floating_point<Cost>) {
      return found >= claimed;
    } else {
      return found > claimed - shifted<Whole>(Whole(1), range_.bits);
    }
  }
  [[nodiscard]] Whole of_cost(Cost c, std::int64_t times) const {
    if (times == 0 || is_forbidden(c)) return Whole(0);
    return whole_of<Whole>(c, range_.bits - form_.bits()) * Whole(times);
  }

  /// A limit with the tolerance, rounded to the precision of usages, in their unit.
  [[nodiscard]] Whole limit_of(std::uint32_t b, bool is_high) const {
    const double limit = is_high ? d_.constraints.budgets[b].high : -d_.constraints.budgets[b].low;
    const int finest = std::max({range_.usage[b], tolerance_bits, fraction_bits(limit)});
    const Whole within = whole_of<Whole>(limit, finest) + shifted<Whole>(Whole(1), finest - tolerance_bits);
    const Whole rounded = shifted<Whole>(within, range_.usage[b] - finest);
    return is_high ? rounded : Whole(-rounded);
  }

  /// Keeps the rows that a reduction names, and no others. \returns what is wrong
  [[nodiscard]] complaint keep_rows(const placement_reduction& r, problem& p) const {
    std::vector<kept_limit> wanted;
    for (const budget_row& row : r.rows)
      for (const bool is_low : {false, true}) {
        const budget& b = d_.constraints.budgets[row.budget];
        if (!std::isinf(is_low ? b.low : b.high)) wanted.push_back({row.budget, row.time, is_low});
      }
    std::vector<std::vector<typename problem::usage>> usages(p.size());
    std::vector<Whole> used(wanted.size());
    if (p.keeps_all_rows) {
      for (std::uint32_t b = 0; b < d_.constraints.budgets.size(); ++b) add_usage(b, wanted, usages);
    } else {
      for (std::uint32_t i = 0; i < wanted.size(); ++i) {
        const auto known = std::ranges::find(p.limits, wanted[i]);
        if (known == p.limits.end())
          return "keeps budget " + std::to_string(wanted[i].budget) + " at time " + std::to_string(wanted[i].time) +
                 ", which was not kept before";
        const auto number = static_cast<std::uint32_t>(known - p.limits.begin());
        used[i] = p.used[number];
        for (std::uint32_t x = 0; x < p.size(); ++x)
          for (const auto& of : p.usages[x])
            if (of.limit == number) usages[x].push_back({i, of.amounts});
      }
    }
    p.keeps_all_rows = false;
    p.limits = std::move(wanted);
    p.used = std::move(used);
    p.usages = std::move(usages);
    return std::nullopt;
  }
  /// Adds, per unknown, its usage of the limits of a budget.
  void add_usage(std::uint32_t number, const std::vector<kept_limit>& limits,
                 std::vector<std::vector<typename problem::usage>>& usages) const {
    std::vector<std::pair<std::int64_t, std::uint32_t>> by_time;
    for (std::uint32_t i = 0; i < limits.size(); ++i)
      if (limits[i].budget == number) by_time.emplace_back(limits[i].time, i);
    std::sort(by_time.begin(), by_time.end());
    for (const budget_term& term : d_.constraints.budgets[number].terms) {
      const auto before = [](const auto& one, std::int64_t time) { return one.first < time; };
      const auto at = [&](std::int64_t time) { return std::lower_bound(by_time.begin(), by_time.end(), time, before); };
      const auto first = term.live ? at(term.live->first) : by_time.begin();
      const auto end = term.live ? at(term.live->end) : by_time.end();
      if (first >= end || limit_.expired()) continue;
      auto& all = usages[form_.unknown_of(term.vertex)];
      std::vector<Whole> amounts;
      for (const double u : term.usage) amounts.push_back(whole_of<Whole>(u, range_.usage[number]));
      const auto shared = std::make_shared<const std::vector<Whole>>(std::move(amounts));
      for (auto one = first; one != end; ++one) all.push_back({one->second, shared});
    }
    for (auto& all : usages) add_up(all);
  }
  /// Orders usages by limit, and adds up those of one.
  static void add_up(std::vector<typename problem::usage>& all) {
    std::ranges::stable_sort(all, {}, &problem::usage::limit);
    std::vector<typename problem::usage> once;
    for (auto& one : all)
      if (!once.empty() && once.back().limit == one.limit) {
        std::vector<Whole> sum = *once.back().amounts;
        for (std::size_t s = 0; s < sum.size(); ++s) sum[s] += (*one.amounts)[s];
        once.back().amounts = std::make_shared<const std::vector<Whole>>(std::move(sum));
      } else {
        once.push_back(std::move(one));
      }
    all = std::move(once);
  }
  [[nodiscard]] static std::size_t limit_number(const problem& p, const row_price& price) {
    const auto at = std::ranges::find(p.limits, kept_limit{price.budget, price.time, price.price < 0});
    return static_cast<std::size_t>(at - p.limits.begin());
  }

  /// Adds the price of a row of the stated problem to the costs of strategies, and takes it off the bound.
  void add_price(const row_price& price, int price_bits, priced_form& to) const {
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
  void add_prices(const placement_multipliers& m, const problem& p, priced_form& to) const {
    const auto shift_of = [&](std::uint32_t b) { return range_.bits - m.price_bits - range_.usage[b]; };
    std::vector<Whole> prices(p.limits.size());
    for (const row_price& price : m.prices) {
      if (price.price == 0) continue;
      const std::size_t number = limit_number(p, price);
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

  /// Per pair the amounts of its message; none where there is none.
  [[nodiscard]] std::vector<std::vector<Whole>> amounts_of(const placement_multipliers& m, const problem& p) const {
    std::vector<std::vector<Whole>> result(p.pairs.size());
    for (std::size_t i = 0; i < m.messages.size(); ++i) {
      const moved_cost one = m.messages[i];
      auto& of = result[p.pair_between(p.named(form_.unknown_of(one.first)), p.named(form_.unknown_of(one.second)))];
      for (const std::int64_t a : one.amounts) of.push_back(shifted<Whole>(Whole(a), range_.bits - m.message_bits));
    }
    return result;
  }
  /// Per column class of a pair's table the largest amount for a remaining strategy.
  [[nodiscard]] static std::vector<std::optional<Whole>> largest_amounts(const typename problem::pair& pair,
                                                                         const std::vector<Whole>& amounts,
                                                                         const std::vector<char>& left) {
    std::vector<std::optional<Whole>> most(pair.table->columns);
    for (std::size_t s = 0; s < left.size(); ++s) {
      if (left[s] == 0) continue;
      const Whole given = amounts.empty() ? Whole(0) : amounts[s];
      auto& at = most[pair.table->column_class[s]];
      if (!at || given > *at) at = given;
    }
    return most;
  }
  /// Per row class what the message leaves of a pair's costs at least; nothing where no pair is allowed.
  [[nodiscard]] static std::vector<std::optional<Whole>> rests(const typename problem::pair& pair,
                                                               const std::vector<Whole>& amounts, bool with_costs,
                                                               const strategies_left& left) {
    const auto& t = *pair.table;
    const std::vector<std::optional<Whole>> most = largest_amounts(pair, amounts, left[pair.second]);
    const std::vector<char> wanted =
        classes_left(t.rows, left[pair.first], [&](std::size_t s) { return t.row_class[s]; });
    std::vector<std::optional<Whole>> least(t.rows);
    for (std::size_t i = 0; i < least.size(); ++i)
      for (std::size_t j = 0; wanted[i] != 0 && j < t.columns; ++j) {
        if (!most[j] || t.allowed[i * t.columns + j] == 0) continue;
        Whole rest = with_costs ? Whole(t.costs[i * t.columns + j] - *most[j]) : Whole(-*most[j]);
        if (!least[i] || rest < *least[i]) least[i] = std::move(rest);
      }
    return least;
  }

  /// Adds a message to the second unknown of a pair, and the rest of the pair's costs to the first.
  /// \param amounts  of the message; empty: zero
  static void move(const typename problem::pair& pair, const std::vector<Whole>& amounts, bool with_costs,
                   const strategies_left& left, std::vector<std::vector<Whole>>& belief) {
    for (std::size_t s = 0; s < left[pair.second].size() && !amounts.empty(); ++s)
      if (left[pair.second][s] != 0) belief[pair.second][s] += amounts[s];
    const std::vector<std::optional<Whole>> least = rests(pair, amounts, with_costs, left);
    for (std::size_t s = 0; s < left[pair.first].size(); ++s)
      if (const auto& rest = least[pair.table->row_class[s]]; rest && left[pair.first][s] != 0)
        belief[pair.first][s] += *rest;
  }

  /// Adds to what strategies cost above the least of their unknowns what they cost the other end of a pair at least:
  /// its own excess, and what the pair costs beyond the message and the rest.
  /// \pre every remaining strategy has a partner
  static void add_neighbours(const typename problem::pair& pair, const std::vector<Whole>& amounts, bool with_costs,
                             const strategies_left& left, const std::vector<std::vector<Whole>>& above,
                             std::vector<std::vector<Whole>>& to) {
    const auto& t = *pair.table;
    const std::vector<std::optional<Whole>> rest = rests(pair, amounts, with_costs, left);
    std::vector<std::optional<Whole>> of_rows(t.rows), of_columns(t.columns);  // the least excess of each class
    const auto lower = [](std::optional<Whole>& at, Whole value) {
      if (!at || value < *at) at = std::move(value);
    };
    const auto amount = [&](std::size_t s) { return amounts.empty() ? Whole(0) : amounts[s]; };
    for (std::size_t s = 0; s < left[pair.first].size(); ++s)
      if (const auto& less = rest[t.row_class[s]]; less && left[pair.first][s] != 0)
        lower(of_rows[t.row_class[s]], above[pair.first][s] - *less);
    for (std::size_t s = 0; s < left[pair.second].size(); ++s)
      if (left[pair.second][s] != 0) lower(of_columns[t.column_class[s]], above[pair.second][s] - amount(s));
    std::vector<std::optional<Whole>> to_first(t.rows), to_second(t.columns);
    for (std::size_t i = 0; i < t.rows; ++i)
      for (std::size_t j = 0; j < t.columns; ++j) {
        if (t.allowed[i * t.columns + j] == 0) continue;
        const Whole cost = with_costs ? t.costs[i * t.columns + j] : Whole(0);
        if (of_columns[j]) lower(to_first[i], *of_columns[j] + cost);
        if (of_rows[i]) lower(to_second[j], *of_rows[i] + cost);
      }
    for (std::size_t s = 0; s < left[pair.first].size(); ++s)
      if (const auto& more = to_first[t.row_class[s]]; more && left[pair.first][s] != 0)
        to[pair.first][s] += *more - *rest[t.row_class[s]];
    for (std::size_t s = 0; s < left[pair.second].size(); ++s)
      if (const auto& more = to_second[t.column_class[s]]; more && left[pair.second][s] != 0)
        to[pair.second][s] += *more - amount(s);
  }

  const placement_description<Cost>& d_;
  const stated_form<Cost>& form_;
  const number_range& range_;
  const deadline& limit_;
  std::shared_ptr<const problem> whole_;
};

}  // namespace shardweave::inline v0::detail
