#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/detail/certificate_shape.hpp>
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
#include <optional>
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
  exact_check(const placement_description<Cost>& d, const stated_form<Cost>& form, const number_range& range,
              const deadline& limit)
      : d_(d), form_(form), range_(range), limit_(limit) {
    for (std::uint32_t x = 0; x < form.size() && !limit.expired(); ++x) {
      auto& costs = unary_.emplace_back(form.strategies(x));
      for (strategy s = 0; s < costs.size(); ++s) {
        for (const auto& l : form.lists(x)) costs[s] += of_cost(l.costs[s], l.times);
        for (const auto& t : form.diagonals(x)) costs[s] += of_cost(t.at(s, s), t.times);
      }
    }
    for (const auto& t : form.tables()) {
      if (limit.expired()) return;
      auto& costs = tables_.emplace_back();
      costs.reserve(t.row.size() * t.column.size());
      for (const strategy a : t.row)
        for (const strategy b : t.column) {
          Whole sum = 0;
          for (const auto& term : t.terms) sum += of_cost(term.at(a, b), term.times);
          costs.push_back(std::move(sum));
        }
    }
  }

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
  [[nodiscard]] priced_form priced(const placement_multipliers& m, const strategies_left& left) const {
    const bool with_costs = !m.only_limits;
    priced_form result;
    if (with_costs) {
      result.belief = unary_;
    } else {
      for (const auto& of : unary_) result.belief.emplace_back(of.size());
    }
    for (const row_price& p : m.prices) {
      if (p.price == 0 || limit_.expired()) continue;
      const int shift = range_.bits - m.price_bits - range_.usage[p.budget];
      result.apart -= shifted<Whole>(Whole(p.price) * limit_of(p.budget, p.price > 0), shift);
      const budget& b = d_.constraints.budgets[p.budget];
      for (const budget_term& term : b.terms) {
        if (term.live && (p.time < term.live->first || p.time >= term.live->end)) continue;
        auto& of = result.belief[form_.unknown_of(term.vertex)];
        for (std::size_t s = 0; s < of.size(); ++s)
          if (term.usage[s] != 0)
            of[s] += shifted<Whole>(Whole(p.price) * whole_of<Whole>(term.usage[s], range_.usage[p.budget]), shift);
      }
    }
    std::vector<std::span<const std::int64_t>> amounts_of(form_.pairs().size());
    for (std::size_t i = 0; i < m.messages.size(); ++i) {
      const moved_cost one = m.messages[i];
      amounts_of[form_.pair_between(form_.unknown_of(one.first), form_.unknown_of(one.second))] = one.amounts;
    }
    for (std::size_t p = 0; p < amounts_of.size(); ++p) {
      if ((!with_costs && amounts_of[p].empty()) || limit_.expired()) continue;
      move(p, amounts_of[p], range_.bits - m.message_bits, with_costs, left, result.belief);
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
  [[nodiscard]] std::optional<Whole> bound(const placement_multipliers& m, const strategies_left& left) const {
    const priced_form at = priced(m, left);
    if (at.is_empty()) return std::nullopt;
    const Whole total = at.bound();
    if (m.only_limits && total > 0) return std::nullopt;
    return total;
  }

  /// Removes the strategies whose bound is at least the claim; with `only_limits` those with which limits are exceeded.
  /// \returns the unknowns that lost some
  [[nodiscard]] std::vector<std::uint32_t> narrow(const placement_multipliers& m, const placement_certificate<Cost>& c,
                                                  strategies_left& left) const {
    std::vector<std::uint32_t> changed;
    const priced_form at = priced(m, left);
    if (at.is_empty() || (c.infeasible && !m.only_limits)) return changed;
    const Whole total = at.bound();
    for (std::uint32_t x = 0; x < left.size(); ++x) {
      bool any = false;
      for (std::size_t s = 0; s < left[x].size(); ++s) {
        if (left[x][s] == 0) continue;
        const Whole with = total - *at.least[x] + at.belief[x][s];
        if (!(m.only_limits ? with > 0 : proves(with, c))) continue;
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
    const Whole claimed = whole_of<Whole>(c.lower_bound, range_.bits);
    if constexpr (std::floating_point<Cost>) {
      return *found >= claimed;
    } else {
      return *found > claimed - shifted<Whole>(Whole(1), range_.bits);
    }
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

  /// Adds a message to the second unknown of a pair, and the rest of the pair's costs to the first.
  /// \param amounts  of the message; empty: zero
  void move(std::size_t p, std::span<const std::int64_t> amounts, int shift, bool with_costs,
            const strategies_left& left, std::vector<std::vector<Whole>>& belief) const {
    const auto& pair = form_.pairs()[p];
    const auto& t = form_.tables()[pair.table];
    const std::vector<Whole>& costs = tables_[pair.table];
    const std::size_t columns = t.column.size();
    // per column class: the largest message of the remaining strategies
    std::vector<std::optional<Whole>> most(columns);
    for (std::size_t s = 0; s < left[pair.second].size(); ++s) {
      if (left[pair.second][s] == 0) continue;
      Whole given = amounts.empty() ? Whole(0) : shifted<Whole>(Whole(amounts[s]), shift);
      belief[pair.second][s] += given;
      auto& at = most[t.column_class[s]];
      if (!at || given > *at) at = std::move(given);
    }
    std::vector<char> wanted(t.row.size());
    for (std::size_t s = 0; s < left[pair.first].size(); ++s)
      if (left[pair.first][s] != 0) wanted[t.row_class[s]] = 1;
    std::vector<Whole> least(t.row.size());
    for (std::size_t i = 0; i < least.size(); ++i) {
      bool any = false;
      for (std::size_t j = 0; wanted[i] != 0 && j < columns; ++j) {
        if (!most[j] || t.allowed[i * columns + j] == 0) continue;
        Whole rest = with_costs ? Whole(costs[i * columns + j] - *most[j]) : Whole(-*most[j]);
        if (!any || rest < least[i]) least[i] = std::move(rest);
        any = true;
      }
    }
    for (std::size_t s = 0; s < left[pair.first].size(); ++s)
      if (left[pair.first][s] != 0) belief[pair.first][s] += least[t.row_class[s]];
  }

  const placement_description<Cost>& d_;
  const stated_form<Cost>& form_;
  const number_range& range_;
  const deadline& limit_;
  std::vector<std::vector<Whole>> unary_, tables_;
};

}  // namespace shardweave::inline v0::detail
