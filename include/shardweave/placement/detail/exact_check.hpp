#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/detail/certificate_shape.hpp>
#include <shardweave/placement/detail/exact_problem.hpp>
#include <shardweave/placement/detail/number_range.hpp>
#include <shardweave/placement/detail/whole_numbers.hpp>
#include <shardweave/placement/dynamic_program.hpp>
#include <shardweave/placement/knapsack_room.hpp>
#include <shardweave/placement/knapsack_sums.hpp>
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
#include <string>
#include <utility>
#include <vector>

/// \file
/// The bounds that multipliers prove, in exact arithmetic.

namespace shardweave::inline v0::detail {

/// Bounds of problems in integers, in units of 2^-bits. After the time limit results are meaningless.
/// \pre Whole is wide enough for all sums; all references outlive this object
template <cost_value Cost, class Whole>
class exact_check {
 public:
  using problem = exact_problem<Whole>;

  exact_check(const placement_description<Cost>& d, const stated_form<Cost>& form, const number_range& range,
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

  /// What a message moves of a table.
  struct moved_table {
    bool counts = true;               ///< whether the table counts at all
    std::vector<Whole> amounts = {};  ///< of the message; empty: zeros
    std::vector<std::optional<Whole>>
        rests;  ///< per row class the least that is left of it; nothing if none is allowed

    [[nodiscard]] Whole amount(std::size_t s) const { return amounts.empty() ? Whole(0) : amounts[s]; }
  };
  /// The reparametrized costs of the remaining strategies, by unknown: a lower bound is the sum of `apart` and of the
  /// least cost of each unknown.
  struct priced_form {
    Whole apart = 0;
    std::vector<std::vector<Whole>> belief;
    std::vector<const Whole*> least;  ///< per unknown: its cheapest remaining strategy; null if none remains
    std::vector<moved_table> moved;   ///< per pair
    bool breaks_limits = false;       ///< even the least usage exceeds a knapsack's limit
    /// Per unknown and strategy how much more knapsacks come to with it; nothing if no selection with it fits. Empty
    /// without knapsacks, or if not asked for.
    std::vector<std::vector<std::optional<Whole>>> more = {};

    [[nodiscard]] bool is_empty() const {
      return breaks_limits || std::find(least.begin(), least.end(), nullptr) != least.end();
    }
    /// \pre not empty
    [[nodiscard]] Whole bound() const {
      Whole total = apart;
      for (const Whole* of : least) total += *of;
      return total;
    }
  };
  /// \param with_each  whether `more` is asked for
  /// \pre the multipliers name nothing that `p` does not have
  [[nodiscard]] priced_form priced(const placement_multipliers& m, const problem& p, const strategies_left& left,
                                   bool with_each) const {
    const bool with_costs = !m.only_limits;
    priced_form result = without_messages(m, p, left, with_each);
    result.moved = moved_by(m, p);
    for (std::size_t i = 0; i < p.pairs.size() && !limit_.expired(); ++i)
      if (result.moved[i].counts) move(p.pairs[i], result.moved[i], with_costs, left, result.belief);
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
    const priced_form at = priced(m, p, left, false);
    if (at.is_empty()) return std::nullopt;
    const Whole total = at.bound();
    if (m.only_limits && total > 0) return std::nullopt;
    return total;
  }

  /// The least cost of the remaining strategies with priced usage and knapsacks, by a dynamic program that eliminates
  /// the unknowns of vertices in an order, and then those that it does not name; nothing if no choice is allowed, or
  /// limits are exceeded. Messages do not count.
  /// \param room  most numbers that it may hold
  /// \param wrong  set if that does not suffice, or a vertex is not there or there twice
  [[nodiscard]] std::optional<Whole> least(const placement_multipliers& m, const problem& p,
                                           const strategies_left& left, const std::vector<std::uint32_t>& order,
                                           std::size_t room, complaint& wrong) const {
    std::vector<char> is_named(p.size());
    std::vector<std::uint32_t> unknowns;
    for (const std::uint32_t v : order) {
      const std::uint32_t x = p.named(form_.unknown_of(v));
      if (x == p.size() || std::exchange(is_named[x], 1) != 0)
        wrong = "eliminates vertex " + std::to_string(v) + ", which " +
                (x == p.size() ? "was eliminated before" : "it eliminates already");
      if (wrong) return std::nullopt;
      unknowns.push_back(x);
    }
    for (std::uint32_t x = 0; x < p.size(); ++x) {
      if (none_left(left[x])) return std::nullopt;
      if (is_named[x] == 0) unknowns.push_back(x);
    }
    priced_form at = without_messages(m, p, left, false);
    if (at.breaks_limits) return std::nullopt;
    std::vector<typename dynamic_program<Whole>::choices> own(p.size());
    for (std::uint32_t x = 0; x < p.size(); ++x)
      for (std::size_t s = 0; s < left[x].size(); ++s)
        own[x].push_back(left[x][s] != 0 ? std::optional(std::move(at.belief[x][s])) : std::nullopt);
    dynamic_program<Whole> program(std::move(own), room);
    program.add(at.apart);
    for (std::size_t i = 0; i < p.pairs.size() && !limit_.expired() && program.has_room(); ++i) {
      const auto& [x, y, table] = p.pairs[i];
      program.add({{x, table->row_class}, {y, table->column_class}}, {table->rows, table->columns},
                  m.only_limits ? std::vector<Whole>(table->costs.size()) : table->costs, table->allowed);
    }
    for (const std::uint32_t x : unknowns) program.eliminate(x, [this] { return limit_.expired(); });
    if (!program.has_room()) {
      wrong = "eliminates vertices in an order that takes more than " + std::to_string(room) + " numbers";
      return std::nullopt;
    }
    std::optional<Whole> found = program.least();
    if (found && m.only_limits && *found > 0) return std::nullopt;
    return found;
  }

  /// Removes the strategies whose bound is at least the cutoff; with `only_limits` those with which limits are
  /// exceeded. The bound of a strategy counts what it costs its neighbours, and how much more knapsacks come to with
  /// it. \returns the unknowns that lost some
  [[nodiscard]] std::vector<std::uint32_t> narrow(const placement_multipliers& m, const placement_certificate<Cost>& c,
                                                  const problem& p, strategies_left& left) const {
    std::vector<std::uint32_t> changed;
    const priced_form at = priced(m, p, left, true);
    if (at.is_empty() || (c.infeasible && !m.only_limits)) return changed;
    const Whole total = at.bound();
    std::vector<std::vector<Whole>> above(p.size());  // of each strategy above the least of its unknown
    for (std::uint32_t x = 0; x < p.size(); ++x)
      for (const Whole& belief : at.belief[x]) above[x].push_back(belief - *at.least[x]);
    std::vector<std::vector<Whole>> with_neighbours = above;
    for (std::size_t i = 0; i < p.pairs.size() && !limit_.expired(); ++i)
      if (at.moved[i].counts) add_neighbours(p.pairs[i], at.moved[i], !m.only_limits, left, above, with_neighbours);
    for (std::uint32_t x = 0; x < left.size(); ++x) {
      bool any = false;
      for (std::size_t s = 0; s < left[x].size(); ++s) {
        if (left[x][s] == 0) continue;
        const std::optional<Whole> more = at.more.empty() ? Whole(0) : at.more[x][s];
        if (more) {
          const Whole with = total + with_neighbours[x][s] + *more;
          if (!(m.only_limits ? with > 0 : reaches(with, c.cutoff.value_or(c.lower_bound)))) continue;
        }
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
  /// Costs and priced usage of strategies, less what is put into knapsacks; without messages.
  [[nodiscard]] priced_form without_messages(const placement_multipliers& m, const problem& p,
                                             const strategies_left& left, bool with_each) const {
    priced_form result;
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

  /// Whether a bound proves that no objective is below a cost.
  [[nodiscard]] bool reaches(const Whole& found, Cost cost) const {
    const Whole claimed = whole_of<Whole>(cost, range_.bits);
    if constexpr (std::floating_point<Cost>) {
      return found >= claimed;
    } else {
      return found > claimed - shifted<Whole>(Whole(1), range_.bits);
    }
  }
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
                  priced_form& to) const {
    for (std::size_t x = 0; with_each && x < left.size(); ++x) to.more.emplace_back(left[x].size(), Whole(0));
    for (const row_knapsack& k : m.knapsacks) put_in(k, range_.bits - m.message_bits, p, left, to);
  }
  void put_in(const row_knapsack& k, int shift, const problem& p, const strategies_left& left, priced_form& to) const {
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

  /// Per pair the amounts of its message; with `only_limits` tables without one do not count. Messages of pairs without
  /// a table, which a reduction may leave, move nothing.
  [[nodiscard]] std::vector<moved_table> moved_by(const placement_multipliers& m, const problem& p) const {
    std::vector<moved_table> result(p.pairs.size(), moved_table{.counts = !m.only_limits, .rests = {}});
    for (std::size_t i = 0; i < m.messages.size(); ++i) {
      const moved_cost one = m.messages[i];
      const std::size_t at =
          p.pair_between(p.named(form_.unknown_of(one.first)), p.named(form_.unknown_of(one.second)));
      if (at == p.pairs.size()) continue;
      moved_table& of = result[at];
      of.counts = true;
      for (const std::int64_t a : one.amounts)
        of.amounts.push_back(shifted<Whole>(Whole(a), range_.bits - m.message_bits));
    }
    return result;
  }

  /// Adds a message to the second unknown of a pair, and the rest of the pair's costs to the first.
  static void move(const typename problem::pair& pair, moved_table& moved, bool with_costs, const strategies_left& left,
                   std::vector<std::vector<Whole>>& belief) {
    const auto& t = *pair.table;
    std::vector<std::optional<Whole>> most(t.columns);  // per column class the largest amount for a remaining strategy
    for (std::size_t s = 0; s < left[pair.second].size(); ++s) {
      if (left[pair.second][s] == 0) continue;
      Whole given = moved.amount(s);
      belief[pair.second][s] += given;
      auto& at = most[t.column_class[s]];
      if (!at || given > *at) at = std::move(given);
    }
    const std::vector<char> wanted =
        classes_left(t.rows, left[pair.first], [&](std::size_t s) { return t.row_class[s]; });
    moved.rests.resize(t.rows);
    for (std::size_t i = 0; i < t.rows; ++i)
      for (std::size_t j = 0; wanted[i] != 0 && j < t.columns; ++j) {
        if (!most[j] || t.allowed[i * t.columns + j] == 0) continue;
        Whole rest = with_costs ? Whole(t.costs[i * t.columns + j] - *most[j]) : Whole(-*most[j]);
        if (auto& least = moved.rests[i]; !least || rest < *least) least = std::move(rest);
      }
    for (std::size_t s = 0; s < left[pair.first].size(); ++s)
      if (const auto& rest = moved.rests[t.row_class[s]]; rest && left[pair.first][s] != 0)
        belief[pair.first][s] += *rest;
  }

  /// Adds to what strategies cost above the least of their unknowns what they cost the other end of a pair at least:
  /// its own excess, and what the pair costs beyond the message and the rest.
  /// \pre every remaining strategy has a partner
  static void add_neighbours(const typename problem::pair& pair, const moved_table& moved, bool with_costs,
                             const strategies_left& left, const std::vector<std::vector<Whole>>& above,
                             std::vector<std::vector<Whole>>& to) {
    const auto& t = *pair.table;
    const std::vector<std::optional<Whole>>& rest = moved.rests;
    std::vector<std::optional<Whole>> of_rows(t.rows), of_columns(t.columns);  // the least excess of each class
    const auto lower = [](std::optional<Whole>& at, Whole value) {
      if (!at || value < *at) at = std::move(value);
    };
    for (std::size_t s = 0; s < left[pair.first].size(); ++s)
      if (const auto& less = rest[t.row_class[s]]; less && left[pair.first][s] != 0)
        lower(of_rows[t.row_class[s]], above[pair.first][s] - *less);
    for (std::size_t s = 0; s < left[pair.second].size(); ++s)
      if (left[pair.second][s] != 0) lower(of_columns[t.column_class[s]], above[pair.second][s] - moved.amount(s));
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
        to[pair.second][s] += *more - moved.amount(s);
  }

  const placement_description<Cost>& d_;
  const stated_form<Cost>& form_;
  const number_range& range_;
  const deadline& limit_;
};

}  // namespace shardweave::inline v0::detail
