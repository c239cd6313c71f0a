#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/check_certificate.hpp>
#include <shardweave/placement/detail/certificate_shape.hpp>
#include <shardweave/placement/detail/exact_check.hpp>
#include <shardweave/placement/detail/exact_reduction.hpp>
#include <shardweave/placement/detail/number_range.hpp>
#include <shardweave/placement/detail/whole_numbers.hpp>
#include <shardweave/placement/priced_savings.hpp>
#include <shardweave/placement/validate.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

/// \file
/// Definition of `check_certificate`.

namespace shardweave::inline v0 {
namespace detail {

/// A cost with all its digits.
template <cost_value Cost>
[[nodiscard]] std::string text_of(Cost c) {
  char digits[40];
  return {digits, std::to_chars(digits, digits + sizeof digits, c).ptr};
}

/// The stated problem at prices of savings, one at a time: a certificate may have many lists of prices, and each of
/// few.
template <cost_value Cost>
class priced_forms {
 public:
  /// \pre both outlive this object
  priced_forms(const placement_description<Cost>& d, const placement_certificate<Cost>& c) : d_(d), c_(c) {
    if (!c.savings.empty()) savings_.emplace(d);
  }

  /// What is wrong with a list of prices.
  [[nodiscard]] complaint complaint_about(std::size_t number) const {
    return savings_->complaint_about(c_.savings[number]);
  }
  /// The problem at a list of prices, until the next call. \pre nothing is wrong with it
  [[nodiscard]] const stated_form<Cost>& operator()(std::size_t number) {
    form_.reset();
    costs_.emplace(savings_->costs_at(c_.savings[number]));
    return form_.emplace(d_, &*costs_);
  }

 private:
  const placement_description<Cost>& d_;
  const placement_certificate<Cost>& c_;
  std::optional<priced_savings<Cost>> savings_ = std::nullopt;
  std::optional<costs_in_place<Cost>> costs_ = std::nullopt;
  std::optional<stated_form<Cost>> form_ = std::nullopt;
};

/// Checks the cases of a certificate one after another.
/// \param at_prices  the problem at each of the certificate's prices of savings
/// \param claims     whether its claim counts
/// \param limit      results after it are not used
template <cost_value Cost, class Whole>
[[nodiscard]] certificate_verdict<Cost> checked(const placement_description<Cost>& d, const stated_form<Cost>& form,
                                                priced_forms<Cost>& at_prices, const number_range& range,
                                                const placement_certificate<Cost>& c, bool claims,
                                                const deadline& limit) {
  const exact_reduction<Cost, Whole> reduction(d, form, range, limit);
  const exact_check<Cost, Whole> exact(d, form, range, limit);
  // savings count at the prices of the multipliers, in problems that are never reduced
  std::optional<std::uint32_t> priced_by;
  std::shared_ptr<const exact_problem<Whole>> priced;
  const auto on = [&](const placement_multipliers& m,
                      const std::shared_ptr<const exact_problem<Whole>>& p) -> const exact_problem<Whole>& {
    if (!m.savings) return *p;
    if (priced_by != m.savings) {
      priced.reset();
      priced = in_integers<Whole>(at_prices(*m.savings), range, limit);
      priced_by = m.savings;
    }
    return *priced;
  };
  certificate_verdict<Cost> verdict{.bound = forbidden<Cost>};
  std::optional<Whole> least;
  // whether strategies were removed because their bound reaches the cutoff, so that no more than that is proven
  bool rests_on_cutoff = false;
  const auto fails = [&](const std::string& step, const std::string& what) {
    verdict.failure = step + " " + what;
    return verdict;
  };
  const auto ends_at = [&](const std::string& step) { return fails(step, "was not checked before the stop"); };
  auto all = std::make_shared<strategies_left>(form.all_left());
  form.propagate(*all);
  for (std::size_t i = 0; i < c.ruled_out.size(); ++i) {
    if (limit.expired()) return ends_at("ruled_out[" + std::to_string(i) + "]");
    if (auto wrong = exact.rows().rule_out(c.ruled_out[i], *all))
      return fails("ruled_out[" + std::to_string(i) + "]", *wrong);
    form.propagate(*all, {form.unknown_of(c.ruled_out[i].vertex)});
    ++verdict.steps;
  }
  struct open_case {
    std::uint32_t number = 0;
    std::shared_ptr<const exact_problem<Whole>> problem;
    std::shared_ptr<const strategies_left> above;
    const std::vector<strategy>* part = nullptr;  ///< remaining strategies of `vertex` in this case
    std::uint32_t vertex = 0;
    std::optional<Whole> known = std::nullopt;  ///< the best bound of the cases above this one
  };
  std::vector<char> seen(c.cases.size());
  std::vector<open_case> open{{0, reduction.whole(), all}};
  while (!open.empty()) {
    const open_case at = std::move(open.back());
    open.pop_back();
    const placement_case& one = c.cases[at.number];
    const exact_problem<Whole>& p = *at.problem;
    const std::string step = "cases[" + std::to_string(at.number) + "]";
    if (limit.expired()) return ends_at(step);
    if (std::exchange(seen[at.number], 1) != 0) return fails(step, "is a part of two others, or twice of one");
    auto left = at.above;
    if (at.part != nullptr) {
      auto less = std::make_shared<strategies_left>(*at.above);
      const std::uint32_t x = p.named(form.unknown_of(at.vertex));
      for (strategy s = 0; s < (*less)[x].size(); ++s)
        if (std::find(at.part->begin(), at.part->end(), s) == at.part->end()) (*less)[x][s] = 0;
      p.propagate(*less, {x});
      left = std::move(less);
    }
    if (one.reduction) {
      auto less = std::make_shared<strategies_left>(*left);
      complaint wrong;
      auto rest = reduction.reduced(c.reductions[*one.reduction], p, *less, wrong);
      if (wrong) return fails("reductions[" + std::to_string(*one.reduction) + "]", *wrong);
      if (limit.expired()) return ends_at(step);
      open.push_back(
          {.number = one.cases.front(), .problem = std::move(rest), .above = std::move(less), .known = at.known});
      ++verdict.steps;
      continue;
    }
    if (one.multipliers)
      if (auto wrong = exact.rows().complaint_about(c.multipliers[*one.multipliers], p))
        return fails("multipliers[" + std::to_string(*one.multipliers) + "]", "in " + step + ": " + *wrong);
    if (one.multipliers && !one.cases.empty()) {
      const placement_multipliers& m = c.multipliers[*one.multipliers];
      auto less = std::make_shared<strategies_left>(*left);
      const exact_problem<Whole>& on_prices = on(m, at.problem);
      if (limit.expired()) return ends_at(step);  // it may be a part of the problem
      auto [changed, bound] = exact.narrow(m, c, on_prices, *less);
      if (limit.expired()) return ends_at(step);
      if (!changed.empty()) {
        p.propagate(*less, changed);
        rests_on_cutoff = rests_on_cutoff || !m.only_limits;
      }
      if (!bound || (at.known && *at.known > *bound)) bound = at.known;
      open.push_back(
          {.number = one.cases.front(), .problem = at.problem, .above = std::move(less), .known = std::move(bound)});
      ++verdict.steps;
      continue;
    }
    if (one.multipliers) {
      const placement_multipliers& m = c.multipliers[*one.multipliers];
      const exact_problem<Whole>& on_prices = on(m, at.problem);
      if (limit.expired()) return ends_at(step);
      complaint wrong;
      std::optional<Whole> found =
          one.elimination_order.empty()
              ? exact.bound(m, on_prices, *left)
              : exact.least(m, on_prices, *left, one.elimination_order, reduction.room(), wrong);
      if (wrong) return fails(step, *wrong);
      if (limit.expired()) return ends_at(step);
      if (found && m.only_limits) return fails(step, "is not shown to break a limit, which only_limits is for");
      if (found && at.known && *at.known > *found) found = at.known;
      if (found && (!least || *found < *least)) least = found;
      if (claims && !exact.proves(found, c)) {
        const std::string claimed =
            c.infeasible ? "that nothing is feasible" : "no less than " + text_of(c.lower_bound) + ", which is claimed";
        return fails(step, "is bounded by " + text_of(exact.in_costs(*found)) + ", expected " + claimed);
      }
      ++verdict.steps;
      continue;
    }
    const std::uint32_t x = p.named(form.unknown_of(one.vertex));
    if (x == p.size()) return fails(step, "splits vertex " + std::to_string(one.vertex) + ", which was eliminated");
    std::vector<char> covered((*left)[x].size());
    for (const auto& part : one.parts)
      for (const strategy s : part) covered[s] = 1;
    // if an unknown has no strategy left there is nothing to bound, whatever the parts are
    const bool is_empty =
        std::ranges::any_of(*left, [](const auto& of) { return std::ranges::count(of, 0) == std::ssize(of); });
    for (std::size_t s = 0; s < covered.size() && !is_empty; ++s)
      if ((*left)[x][s] != 0 && covered[s] == 0)
        return fails(step,
                     "has no part with strategy " + std::to_string(s) + " of vertex " + std::to_string(one.vertex));
    for (std::size_t i = one.parts.size(); i-- > 0;)
      open.push_back({one.cases[i], at.problem, left, &one.parts[i], one.vertex, at.known});
    ++verdict.steps;
  }
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (seen[i] == 0) return fails("cases[" + std::to_string(i) + "]", "is a part of no other");
  verdict.accepted = true;
  if (least) verdict.bound = exact.in_costs(*least);
  if (rests_on_cutoff) verdict.bound = std::min(verdict.bound, c.cutoff.value_or(c.lower_bound));
  return verdict;
}

template <cost_value Cost>
[[nodiscard]] certificate_verdict<Cost> run_check(const placement_description<Cost>& d,
                                                  const placement_certificate<Cost>& c, bool claims,
                                                  const costs_in_place<Cost>* other, const solve_control& control) {
  const deadline limit(control);
  validate(d);
  const auto fails = [](const std::string& what) { return certificate_verdict<Cost>{.failure = what}; };
  const std::string too_late = "cases[0] was not checked before the stop";
  if (limit.expired()) return fails(too_late);
  const stated_form<Cost> form(d, other);
  if (limit.expired()) return fails(too_late);
  const certificate_shape<Cost> shape(d, form);
  const auto at = [](const char* list, std::size_t i, const std::string& what) {
    return std::string(list) + "[" + std::to_string(i) + "] " + what;
  };
  const savings_form counted =
      other == nullptr ? d.counted : savings_form::off;  // other costs replace those of savings
  if (c.counted != counted || (counted == savings_form::windows && c.windows != d.windows))
    return fails("counts savings in form '" + std::string(name_of(c.counted)) + "', but the problem in form '" +
                 std::string(name_of(counted)) + "', or with other settings");
  if (c.counted == savings_form::off && !c.savings.empty()) return fails("has prices of savings that do not count");
  priced_forms<Cost> at_prices(d, c);
  for (std::size_t i = 0; i < c.savings.size(); ++i)
    if (auto wrong = at_prices.complaint_about(i)) return fails(at("savings", i, *wrong));
  for (std::size_t i = 0; i < c.ruled_out.size(); ++i)
    if (auto wrong = shape.of(c.ruled_out[i])) return fails(at("ruled_out", i, *wrong));
  for (std::size_t i = 0; i < c.multipliers.size(); ++i)
    if (auto wrong = shape.of(c.multipliers[i], c)) return fails(at("multipliers", i, *wrong));
  for (std::size_t i = 0; i < c.reductions.size(); ++i)
    if (auto wrong = shape.of(c.reductions[i], c)) return fails(at("reductions", i, *wrong));
  if (c.cases.empty()) return fails("there are no cases, expected one at least");
  for (std::size_t i = 0; i < c.cases.size(); ++i)
    if (auto wrong = shape.of(c.cases[i], i, c)) return fails(at("cases", i, *wrong));
  bool is_number = !is_forbidden(c.lower_bound);
  if constexpr (std::floating_point<Cost>) is_number = std::isfinite(c.lower_bound);
  if (!is_number) return fails("the lower bound is no number");
  if (c.cutoff && (is_forbidden(*c.cutoff) || !(*c.cutoff >= c.lower_bound)))
    return fails("the cutoff is " + text_of(*c.cutoff) + ", expected a number no less than the lower bound");
  if (limit.expired()) return fails(too_late);
  number_range of_costs = range_of_costs(form);
  for (std::size_t i = 0; i < c.savings.size(); ++i) {
    if (limit.expired()) return fails(too_late);
    const number_range one = range_of_costs(at_prices(i));
    of_costs.bits = std::max(of_costs.bits, one.bits);
    of_costs.magnitude = std::max(of_costs.magnitude, one.magnitude);
  }
  if (limit.expired()) return fails(too_late);
  const number_range range = range_of(d, std::move(of_costs), c);
  return fits_128(range) ? checked<Cost, whole_128>(d, form, at_prices, range, c, claims, limit)
                         : checked<Cost, whole_of_any_size>(d, form, at_prices, range, c, claims, limit);
}
}  // namespace detail

template <cost_value Cost>
certificate_verdict<Cost> check_certificate(const placement_description<Cost>& d, const placement_certificate<Cost>& c,
                                            const costs_in_place<Cost>* other) {
  return detail::run_check(d, c, true, other, {});
}

template <cost_value Cost>
certificate_verdict<Cost> proven_by(const placement_description<Cost>& d, const placement_certificate<Cost>& c,
                                    const costs_in_place<Cost>* other, const solve_control& control) {
  return detail::run_check(d, c, false, other, control);
}

}  // namespace shardweave::inline v0
