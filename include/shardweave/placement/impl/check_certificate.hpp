#pragma once

#include <shardweave/placement/check_certificate.hpp>
#include <shardweave/placement/priced_savings.hpp>
#include <shardweave/placement/stated_form.hpp>
#include <shardweave/placement/validate.hpp>

#include <boost/multiprecision/cpp_int.hpp>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

/// \file
/// How proofs are checked.

namespace shardweave {
inline namespace v0 {
namespace detail {

__extension__ typedef __int128 whole_128;
using whole_of_any_size = boost::multiprecision::cpp_int;

/// The least k from 0 on with which value * 2^k is whole.
[[nodiscard]] inline int fraction_bits(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  int exponent = 0;
  const auto digits = static_cast<std::int64_t>(std::ldexp(std::frexp(std::abs(value), &exponent), 53));
  return std::max(0, 53 - exponent - std::countr_zero(static_cast<std::uint64_t>(digits)));
}
[[nodiscard]] inline int fraction_bits(std::int64_t) { return 0; }

/// a * 2^bits; rounded down where bits are below zero. \pre it fits
template <class Whole>
[[nodiscard]] Whole shifted(Whole a, int bits) {
  if (bits >= 0) return a * (Whole(1) << bits);  // a may be negative
  const Whole unit = Whole(1) << -bits;
  Whole result = a / unit;
  if (result * unit > a) result -= 1;
  return result;
}

/// value * 2^bits. \pre it is whole and fits
template <class Whole>
[[nodiscard]] Whole whole_of(double value, int bits) {
  if (value == 0) return Whole(0);
  int exponent = 0;
  const auto digits = static_cast<std::int64_t>(std::ldexp(std::frexp(value, &exponent), 53));
  return shifted<Whole>(Whole(digits), exponent - 53 + bits);
}
template <class Whole>
[[nodiscard]] Whole whole_of(std::int64_t value, int bits) {
  return shifted<Whole>(Whole(value), bits);
}

/// What is wrong with a certificate, for `certificate_verdict::failure`; nothing if nothing is.
using complaint = std::optional<std::string>;

/// How far beyond a limit usage may be: 2^-18, a little more than the 10^-6 of `budget_tolerance`.
inline constexpr int tolerance_bits = 18;

/// The size of all numbers of a check: how fine they are, and what their sums stay below.
struct number_range {
  int bits = 0;            ///< everything is a multiple of 2^-bits
  double magnitude = 0;    ///< of all sums, in units of cost, generously
  std::vector<int> usage;  ///< per budget: usages and the limits that count are multiples of 2^-usage

  void add(double value, double times = 1) { magnitude += std::abs(value) * times; }
  template <cost_value Cost>
  void see(Cost c) {
    if (!is_forbidden(c)) bits = std::max(bits, fraction_bits(c));
  }
};

/// Whether indices and sizes of a certificate are those of the problem.
template <cost_value Cost>
class certificate_shape {
 public:
  certificate_shape(const placement_description<Cost>& d, const stated_form<Cost>& form) : d_(d), form_(form) {}

  [[nodiscard]] complaint of(const strategies_ruled_out& r) const {
    if (auto wrong = of_row(r.budget)) return wrong;
    if (r.vertex >= d_.vertices.size()) return no_vertex(r.vertex);
    return of_strategies(r.vertex, r.strategies);
  }
  [[nodiscard]] complaint of(const placement_multipliers& m, const placement_certificate<Cost>& c) const {
    if (m.savings && *m.savings >= c.savings.size())
      return "names prices " + std::to_string(*m.savings) + " of savings, but there are only " +
             std::to_string(c.savings.size());
    if (!m.savings && !m.only_limits && c.counted != savings_form::off)
      return "leaves savings out, which the proof counts: it needs prices of savings";
    for (const int bits : {m.message_bits, m.price_bits})
      if (bits < 0 || bits > most_bits)
        return "has units of " + std::to_string(bits) + " bits, expected 0 to " + std::to_string(most_bits);
    std::vector<char> seen(form_.pairs().size());
    for (const moved_cost& one : m.messages) {
      for (const std::uint32_t v : {one.first, one.second})
        if (v >= d_.vertices.size()) return no_vertex(v);
      const std::uint32_t a = form_.unknown_of(one.first), b = form_.unknown_of(one.second);
      const std::string where =
          "the message from vertex " + std::to_string(one.first) + " to " + std::to_string(one.second);
      const std::size_t at = a < b ? form_.pair_between(a, b) : seen.size();
      if (at == seen.size()) return where + ": there is no edge between them, or the second is not after the first";
      if (std::exchange(seen[at], 1) != 0) return where + " is there twice";
      if (one.amounts.size() != form_.strategies(b))
        return where + " has " + std::to_string(one.amounts.size()) + " amounts for " +
               std::to_string(form_.strategies(b)) + " strategies";
    }
    for (const row_price& p : m.prices) {
      if (auto wrong = of_row(p.budget)) return wrong;
      const budget& b = d_.constraints.budgets[p.budget];
      if (p.price != 0 && std::isinf(p.price > 0 ? b.high : b.low))
        return "the price of budget " + std::to_string(p.budget) + " is against a limit that is not there";
    }
    return std::nullopt;
  }
  [[nodiscard]] complaint of(const placement_case& c, std::size_t number, std::size_t cases,
                             std::size_t multipliers) const {
    if (c.multipliers) {
      if (*c.multipliers >= multipliers)
        return "names multipliers " + std::to_string(*c.multipliers) + ", but there are only " +
               std::to_string(multipliers);
      if (!c.parts.empty() || c.cases.size() > 1)
        return "has multipliers, " + std::to_string(c.parts.size()) + " parts and " + std::to_string(c.cases.size()) +
               " cases, expected no part and one case at most";
    } else {
      if (c.vertex >= d_.vertices.size()) return no_vertex(c.vertex);
      if (c.parts.empty() || c.parts.size() != c.cases.size())
        return "has " + std::to_string(c.parts.size()) + " parts and " + std::to_string(c.cases.size()) +
               " cases for them, expected equally many, at least one";
      for (const auto& part : c.parts)
        if (auto wrong = of_strategies(c.vertex, part)) return wrong;
    }
    for (const std::uint32_t next : c.cases)
      if (next <= number || next >= cases)
        return "leads to case " + std::to_string(next) + ", expected one from " + std::to_string(number + 1) + " to " +
               std::to_string(cases - 1);
    return std::nullopt;
  }

 private:
  static constexpr int most_bits = 1200;

  [[nodiscard]] complaint of_row(std::uint32_t b) const {
    if (b < d_.constraints.budgets.size()) return std::nullopt;
    return "names budget " + std::to_string(b) + ", but there are only " +
           std::to_string(d_.constraints.budgets.size());
  }
  [[nodiscard]] complaint no_vertex(std::uint32_t v) const {
    return "names vertex " + std::to_string(v) + ", but there are only " + std::to_string(d_.vertices.size());
  }
  [[nodiscard]] complaint of_strategies(std::uint32_t v, std::span<const strategy> list) const {
    for (const strategy s : list)
      if (s >= d_.vertices[v].compute.size())
        return "names strategy " + std::to_string(s) + " of vertex " + std::to_string(v) + ", which has only " +
               std::to_string(d_.vertices[v].compute.size());
    return std::nullopt;
  }

  const placement_description<Cost>& d_;
  const stated_form<Cost>& form_;
};

/// How fine and how large the numbers of a check are.
/// \pre the certificate has the problem's shape
template <cost_value Cost>
[[nodiscard]] number_range range_of(const placement_description<Cost>& d, const stated_form<Cost>& form,
                                    const placement_certificate<Cost>& c) {
  number_range range;
  const auto most_of = [&](auto&& costs) {
    double most = 0;
    for (const Cost cost : costs) {
      range.see(cost);
      if (!is_forbidden(cost)) most = std::max(most, std::abs(static_cast<double>(cost)));
    }
    return most;
  };
  const auto times_of = [&](const auto& term) { return std::ldexp(static_cast<double>(term.times), -form.bits()); };
  for (std::uint32_t x = 0; x < form.size(); ++x) {
    for (const auto& l : form.lists(x))
      if (l.times != 0) range.add(most_of(l.costs), times_of(l));
    for (const auto& t : form.diagonals(x))
      for (strategy s = 0; t.times != 0 && s < form.strategies(x); ++s) {
        const Cost cost = t.at(s, s);
        range.see(cost);
        if (!is_forbidden(cost)) range.add(static_cast<double>(cost), times_of(t));
      }
  }
  std::vector<double> of_table;
  for (const auto& t : form.tables()) {
    double& most = of_table.emplace_back();
    for (const auto& term : t.terms) {
      if (term.times == 0) continue;
      double of_term = 0;
      for (std::size_t i = 0; i < term.table->row_classes(); ++i)
        of_term = std::max(of_term, most_of(std::span(term.table->class_row(i), term.table->column_classes())));
      most += of_term * times_of(term);
    }
  }
  for (const auto& p : form.pairs()) range.add(of_table[p.table], 4);
  range.bits += form.bits();

  for (const budget& b : d.constraints.budgets) {
    int& bits = range.usage.emplace_back();
    for (const budget_term& term : b.terms)
      for (const double u : term.usage) bits = std::max(bits, fraction_bits(u));
  }
  std::vector<double> of_budget;
  for (const budget& b : d.constraints.budgets) {
    double& most = of_budget.emplace_back(1);
    for (const double limit : {b.low, b.high})
      if (std::isfinite(limit)) most += std::abs(limit);
    for (const budget_term& term : b.terms)
      if (!term.usage.empty()) most += *std::max_element(term.usage.begin(), term.usage.end());
  }
  double largest = 0;
  for (const placement_multipliers& m : c.multipliers) {
    range.bits = std::max(range.bits, m.message_bits);
    number_range one;
    for (const moved_cost& message : m.messages) {
      double most = 0;
      for (const std::int64_t a : message.amounts) most = std::max(most, std::abs(static_cast<double>(a)));
      one.add(std::ldexp(most, -m.message_bits), 4);
    }
    for (const row_price& p : m.prices) {
      range.bits = std::max(range.bits, m.price_bits + range.usage[p.budget]);
      one.add(std::ldexp(static_cast<double>(p.price), -m.price_bits), of_budget[p.budget]);
    }
    largest = std::max(largest, one.magnitude);
  }
  range.add(largest, 2);
  range.see(c.lower_bound);
  range.add(static_cast<double>(c.lower_bound));
  // limits and usages are compared in a unit of their own, before they are rounded to it
  for (std::size_t b = 0; b < of_budget.size(); ++b) {
    int finest = std::max(range.usage[b], tolerance_bits);
    for (const double limit : {d.constraints.budgets[b].low, d.constraints.budgets[b].high})
      finest = std::max(finest, fraction_bits(limit));
    range.add(std::ldexp(of_budget[b], std::max(0, finest - range.bits)));
  }
  return range;
}

/// A cost with all its digits.
template <cost_value Cost>
[[nodiscard]] std::string text_of(Cost c) {
  char digits[40];
  return {digits, std::to_chars(digits, digits + sizeof digits, c).ptr};
}

/// The problem in whole numbers of 2^-bits.
/// \pre Whole holds all sums
template <cost_value Cost, class Whole>
class exact_check {
 public:
  exact_check(const placement_description<Cost>& d, const stated_form<Cost>& form, const number_range& range)
      : d_(d), form_(form), range_(range) {
    for (std::uint32_t x = 0; x < form.size(); ++x) {
      auto& costs = unary_.emplace_back(form.strategies(x));
      for (strategy s = 0; s < costs.size(); ++s) {
        for (const auto& l : form.lists(x)) costs[s] += of_cost(l.costs[s], l.times);
        for (const auto& t : form.diagonals(x)) costs[s] += of_cost(t.at(s, s), t.times);
      }
    }
    for (const auto& t : form.tables()) {
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

  /// \returns what is wrong; otherwise the strategies are dropped
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

  /// What all that is left costs at least, by unknown and strategy: the sum of `apart` and of what one strategy of each
  /// unknown has come to.
  struct priced_form {
    Whole apart = 0;
    std::vector<std::vector<Whole>> belief;
    std::vector<const Whole*> least;  ///< per unknown, of the strategies that are left; null if there are none

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
      if (p.price == 0) continue;
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
    std::vector<const moved_cost*> message_of(form_.pairs().size());
    for (const moved_cost& one : m.messages)
      message_of[form_.pair_between(form_.unknown_of(one.first), form_.unknown_of(one.second))] = &one;
    for (std::size_t p = 0; p < message_of.size(); ++p) {
      if (!with_costs && message_of[p] == nullptr) continue;
      move(p, message_of[p], range_.bits - m.message_bits, with_costs, left, result.belief);
    }
    for (std::uint32_t x = 0; x < left.size(); ++x) {
      const Whole*& least = result.least.emplace_back();
      for (std::size_t s = 0; s < left[x].size(); ++s)
        if (left[x][s] != 0 && (least == nullptr || result.belief[x][s] < *least)) least = &result.belief[x][s];
    }
    return result;
  }

  /// The bound of what is left by multipliers; nothing if nothing is left, or what is left breaks limits. With
  /// `only_limits` anything else is no bound of costs.
  [[nodiscard]] std::optional<Whole> bound(const placement_multipliers& m, const strategies_left& left) const {
    const priced_form at = priced(m, left);
    if (at.is_empty()) return std::nullopt;
    const Whole total = at.bound();
    if (m.only_limits && total > 0) return std::nullopt;
    return total;
  }

  /// Drops the strategies with which all that is left costs what is claimed at least; with `only_limits` those with
  /// which it breaks limits. \returns the unknowns that lost some
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

  /// Whether a bound of a case says what is claimed of all.
  [[nodiscard]] bool proves(const std::optional<Whole>& found, const placement_certificate<Cost>& c) const {
    if (!found || c.infeasible) return !found;
    const Whole claimed = whole_of<Whole>(c.lower_bound, range_.bits);
    if constexpr (std::floating_point<Cost>) {
      return *found >= claimed;
    } else {
      return *found > claimed - shifted<Whole>(Whole(1), range_.bits);
    }
  }
  /// As a cost: of floating costs rounded down, of whole ones up.
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

  /// A limit with the tolerance, rounded to what usages can be, in their unit.
  [[nodiscard]] Whole limit_of(std::uint32_t b, bool is_high) const {
    const double limit = is_high ? d_.constraints.budgets[b].high : -d_.constraints.budgets[b].low;
    const int finest = std::max({range_.usage[b], tolerance_bits, fraction_bits(limit)});
    const Whole within = whole_of<Whole>(limit, finest) + shifted<Whole>(Whole(1), finest - tolerance_bits);
    const Whole rounded = shifted<Whole>(within, range_.usage[b] - finest);
    return is_high ? rounded : Whole(-rounded);
  }

  /// Gives the second end of a pair its message, and the first what is left of the costs.
  void move(std::size_t p, const moved_cost* message, int shift, bool with_costs, const strategies_left& left,
            std::vector<std::vector<Whole>>& belief) const {
    const auto& pair = form_.pairs()[p];
    const auto& t = form_.tables()[pair.table];
    const std::vector<Whole>& costs = tables_[pair.table];
    const std::size_t columns = t.column.size();
    std::vector<std::optional<Whole>> most(columns);  // per column class: the largest message of those that are left
    for (std::size_t s = 0; s < left[pair.second].size(); ++s) {
      if (left[pair.second][s] == 0) continue;
      Whole given = message == nullptr ? Whole(0) : shifted<Whole>(Whole(message->amounts[s]), shift);
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
  std::vector<std::vector<Whole>> unary_, tables_;
};

/// The cases of a certificate, one after another.
/// \param forms   the problem, then as it is at the prices of savings that the certificate lists
/// \param claims  its claim counts
template <cost_value Cost, class Whole>
[[nodiscard]] certificate_verdict<Cost> checked(const placement_description<Cost>& d,
                                                const std::deque<stated_form<Cost>>& forms, const number_range& range,
                                                const placement_certificate<Cost>& c, bool claims) {
  const stated_form<Cost>& form = forms.front();
  std::deque<exact_check<Cost, Whole>> at_prices;
  for (const stated_form<Cost>& one : forms) at_prices.emplace_back(d, one, range);
  const exact_check<Cost, Whole>& exact = at_prices.front();
  const auto exact_at = [&](const placement_multipliers& m) -> const exact_check<Cost, Whole>& {
    return at_prices[m.savings ? *m.savings + 1 : 0];
  };
  certificate_verdict<Cost> verdict{.bound = forbidden<Cost>};
  std::optional<Whole> least;
  bool rests_on_claim = false;  // what was dropped costs no less than is claimed, and nothing more is known of it
  const auto fails = [&](const std::string& step, const std::string& what) {
    verdict.failure = step + " " + what;
    return verdict;
  };
  auto all = std::make_shared<strategies_left>(form.all_left());
  form.propagate(*all);
  for (std::size_t i = 0; i < c.ruled_out.size(); ++i) {
    if (auto wrong = exact.rule_out(c.ruled_out[i], *all)) return fails("ruled_out[" + std::to_string(i) + "]", *wrong);
    form.propagate(*all, {form.unknown_of(c.ruled_out[i].vertex)});
    ++verdict.steps;
  }
  struct open_case {
    std::uint32_t number = 0;
    std::shared_ptr<const strategies_left> above;
    const std::vector<strategy>* part = nullptr;  ///< of `vertex`, what is left of it here
    std::uint32_t vertex = 0;
  };
  std::vector<char> seen(c.cases.size());
  std::vector<open_case> open{{0, all}};
  while (!open.empty()) {
    const open_case at = std::move(open.back());
    open.pop_back();
    const placement_case& one = c.cases[at.number];
    const std::string step = "cases[" + std::to_string(at.number) + "]";
    if (std::exchange(seen[at.number], 1) != 0) return fails(step, "is a part of two others, or twice of one");
    auto left = at.above;
    if (at.part != nullptr) {
      auto less = std::make_shared<strategies_left>(*at.above);
      const std::uint32_t x = form.unknown_of(at.vertex);
      for (strategy s = 0; s < (*less)[x].size(); ++s)
        if (std::find(at.part->begin(), at.part->end(), s) == at.part->end()) (*less)[x][s] = 0;
      form.propagate(*less, {x});
      left = std::move(less);
    }
    if (one.multipliers && !one.cases.empty()) {
      const placement_multipliers& m = c.multipliers[*one.multipliers];
      auto less = std::make_shared<strategies_left>(*left);
      if (const auto changed = exact_at(m).narrow(m, c, *less); !changed.empty()) {
        form.propagate(*less, changed);
        rests_on_claim = rests_on_claim || !m.only_limits;
      }
      open.push_back({one.cases.front(), std::move(less)});
      ++verdict.steps;
      continue;
    }
    if (one.multipliers) {
      const placement_multipliers& m = c.multipliers[*one.multipliers];
      const std::optional<Whole> found = exact_at(m).bound(m, *left);
      if (found && m.only_limits) return fails(step, "is not shown to break a limit, which only_limits is for");
      if (found && (!least || *found < *least)) least = found;
      if (claims && !exact.proves(found, c)) {
        const std::string claimed =
            c.infeasible ? "that nothing is feasible" : "no less than " + text_of(c.lower_bound) + ", which is claimed";
        return fails(step, "is bounded by " + text_of(exact.in_costs(*found)) + ", expected " + claimed);
      }
      ++verdict.steps;
      continue;
    }
    const std::uint32_t x = form.unknown_of(one.vertex);
    std::vector<char> covered((*left)[x].size());
    for (const auto& part : one.parts)
      for (const strategy s : part) covered[s] = 1;
    for (std::size_t s = 0; s < covered.size(); ++s)
      if ((*left)[x][s] != 0 && covered[s] == 0)
        return fails(step,
                     "has no part with strategy " + std::to_string(s) + " of vertex " + std::to_string(one.vertex));
    for (std::size_t i = one.parts.size(); i-- > 0;) open.push_back({one.cases[i], left, &one.parts[i], one.vertex});
    ++verdict.steps;
  }
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (seen[i] == 0) return fails("cases[" + std::to_string(i) + "]", "is a part of no other");
  verdict.accepted = true;
  if (least) verdict.bound = exact.in_costs(*least);
  if (rests_on_claim) verdict.bound = std::min(verdict.bound, c.lower_bound);
  return verdict;
}

template <cost_value Cost>
[[nodiscard]] certificate_verdict<Cost> run_check(const placement_description<Cost>& d,
                                                  const placement_certificate<Cost>& c, bool claims,
                                                  const costs_in_place<Cost>* other) {
  validate(d);
  std::deque<stated_form<Cost>> forms;
  forms.emplace_back(d, other);
  const certificate_shape<Cost> shape(d, forms.front());
  const auto fails = [](const std::string& what) { return certificate_verdict<Cost>{.failure = what}; };
  const auto at = [](const char* list, std::size_t i, const std::string& what) {
    return std::string(list) + "[" + std::to_string(i) + "] " + what;
  };
  if (c.counted != d.counted || (c.counted == savings_form::windows && c.windows != d.windows))
    return fails("counts savings in form '" + std::string(name_of(c.counted)) + "', but the problem in form '" +
                 std::string(name_of(d.counted)) + "', or with other settings");
  if (c.counted == savings_form::off && !c.savings.empty()) return fails("has prices of savings that do not count");
  std::deque<costs_in_place<Cost>> priced;  // outlives the forms' use of it
  if (!c.savings.empty()) {
    const priced_savings<Cost> savings(d);
    for (std::size_t i = 0; i < c.savings.size(); ++i) {
      if (auto wrong = savings.complaint_about(c.savings[i])) return fails(at("savings", i, *wrong));
      priced.push_back(savings.costs_at(c.savings[i]));
      forms.emplace_back(d, &priced.back());
    }
  }
  for (std::size_t i = 0; i < c.ruled_out.size(); ++i)
    if (auto wrong = shape.of(c.ruled_out[i])) return fails(at("ruled_out", i, *wrong));
  for (std::size_t i = 0; i < c.multipliers.size(); ++i)
    if (auto wrong = shape.of(c.multipliers[i], c)) return fails(at("multipliers", i, *wrong));
  if (c.cases.empty()) return fails("there are no cases, expected one at least");
  for (std::size_t i = 0; i < c.cases.size(); ++i)
    if (auto wrong = shape.of(c.cases[i], i, c.cases.size(), c.multipliers.size()))
      return fails(at("cases", i, *wrong));
  bool is_number = !is_forbidden(c.lower_bound);
  if constexpr (std::floating_point<Cost>) is_number = std::isfinite(c.lower_bound);
  if (!is_number) return fails("the lower bound is no number");
  number_range range = range_of(d, forms.front(), c);
  for (std::size_t i = 1; i < forms.size(); ++i) {
    const number_range one = range_of(d, forms[i], c);
    range.bits = std::max(range.bits, one.bits);
    range.magnitude = std::max(range.magnitude, one.magnitude);
  }
  // everything that is ever added up is below an eighth of this; one bit is the sign's
  const bool fits = std::isfinite(range.magnitude) && std::ldexp(range.magnitude + 1, range.bits) < 0x1p122;
  return fits ? checked<Cost, whole_128>(d, forms, range, c, claims)
              : checked<Cost, whole_of_any_size>(d, forms, range, c, claims);
}

}  // namespace detail

template <cost_value Cost>
certificate_verdict<Cost> check_certificate(const placement_description<Cost>& d, const placement_certificate<Cost>& c,
                                            const costs_in_place<Cost>* other) {
  return detail::run_check(d, c, true, other);
}

template <cost_value Cost>
certificate_verdict<Cost> proven_by(const placement_description<Cost>& d, const placement_certificate<Cost>& c,
                                    const costs_in_place<Cost>* other) {
  return detail::run_check(d, c, false, other);
}

}  // namespace v0
}  // namespace shardweave
