#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/detail/certificate_shape.hpp>
#include <shardweave/placement/detail/eliminate.hpp>
#include <shardweave/placement/detail/exact_problem.hpp>
#include <shardweave/placement/detail/number_range.hpp>
#include <shardweave/placement/detail/number_room.hpp>
#include <shardweave/placement/detail/whole_numbers.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/stated_form.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// The reductions of a certificate, in exact arithmetic.

namespace shardweave::inline v0::detail {

/// The stated problem in integers, in units of 2^-bits. After the time limit it may be a part.
/// \pre Whole is wide enough for all sums
template <class Whole, cost_value Cost>
[[nodiscard]] std::shared_ptr<const exact_problem<Whole>> in_integers(const stated_form<Cost>& form,
                                                                      const number_range& range,
                                                                      const deadline& limit) {
  const auto of_cost = [&](Cost c, std::int64_t times) {
    if (times == 0 || is_forbidden(c)) return Whole(0);
    return Whole(whole_of<Whole>(c, range.bits - form.bits()) * Whole(times));
  };
  return std::make_shared<const exact_problem<Whole>>(
      in_numbers<Whole>(form, of_cost, [&limit] { return limit.expired(); }));
}

/// The stated problem in integers, and what reductions leave of it. After the time limit results are meaningless.
/// \pre Whole is wide enough for all sums; all references outlive this object
template <cost_value Cost, class Whole>
class exact_reduction {
 public:
  using problem = exact_problem<Whole>;

  exact_reduction(const placement_description<Cost>& d, const stated_form<Cost>& form, const number_range& range,
                  const deadline& limit)
      : d_(d),
        form_(form),
        range_(range),
        limit_(limit),
        whole_(in_integers<Whole>(form, range, limit)),
        room_(room_beside(*whole_)) {}

  /// All of the problem.
  [[nodiscard]] std::shared_ptr<const problem> whole() const { return whole_; }

  /// What is left of a problem once unknowns are eliminated.
  /// \param left  on return, of what is left
  /// \returns nothing if something is wrong with the reduction, which `wrong` then is
  [[nodiscard]] std::shared_ptr<const problem> reduced(const placement_reduction& r, const problem& from,
                                                       strategies_left& left, complaint& wrong) const {
    problem kept = from;
    wrong = keep_rows(r, kept);
    if (wrong) return nullptr;
    elimination<Whole> work(std::move(kept), std::move(left), room_);
    auto next = r.dominated.begin();
    const auto drop_before = [&](std::size_t step) {
      for (std::size_t i = 0; next != r.dominated.end() && next->step <= step; ++next, ++i) {
        if (i % 64 == 63 && limit_.expired()) return;
        const std::uint32_t x = from.named(form_.unknown_of(next->vertex));
        if (x == from.size() || !work.is_there(x)) {
          wrong = "removes a strategy of vertex " + std::to_string(next->vertex) + ", which is not there any more";
          return;
        }
        work.drop_dominated(x, next->removed, next->by);
      }
    };
    for (std::size_t i = 0; i < r.steps.size(); ++i) {
      drop_before(i);
      if (wrong || (i % 64 == 0 && limit_.expired())) return nullptr;
      std::vector<std::uint32_t> unknowns;
      for (const std::uint32_t v : r.steps[i]) {
        unknowns.push_back(from.named(form_.unknown_of(v)));
        if (unknowns.back() == from.size() || !work.is_there(unknowns.back())) {
          wrong = "eliminates vertex " + std::to_string(r.steps[i][0]) + " by vertex " + std::to_string(v) +
                  ", which is not there any more";
          return nullptr;
        }
        // a table that has become costs of its ends is none any more
        if (unknowns.size() > 1 && !work.are_neighbours(unknowns[0], unknowns.back())) unknowns.pop_back();
      }
      work.eliminate(unknowns.front(), std::span(unknowns).subspan(1));
      if (!work.has_room()) {
        wrong = "eliminates vertex " + std::to_string(r.steps[i][0]) + ", which makes more than " +
                std::to_string(room_.most()) + " numbers: too many for this problem";
        return nullptr;
      }
    }
    drop_before(r.steps.size());
    if (wrong || limit_.expired()) return nullptr;
    auto [rest, its_left] = std::move(work).finish();
    left = std::move(its_left);
    return std::make_shared<const problem>(std::move(rest));
  }

  /// How many numbers what a proof asks for may hold at once.
  [[nodiscard]] std::size_t room() const { return room_.most(); }

 private:
  /// Room for what eliminations make, and for usages: memory grows with what the problem states, whatever a proof asks
  /// for. The contest's K, whose proof keeps 3,651 rows, takes a third of it.
  [[nodiscard]] number_room room_beside(const problem& p) const {
    constexpr std::size_t least_room = std::size_t{1} << 23, times_stated = 64;
    std::size_t stated = 0;
    for (const auto& of : p.costs) stated += of.size();
    std::set<const void*> seen;
    for (const auto& pair : p.pairs)
      if (seen.insert(pair.table.get()).second) stated += pair.table->costs.size();
    for (const budget& b : d_.constraints.budgets)
      for (const budget_term& term : b.terms) stated += term.usage.size();
    return number_room(std::max(least_room, times_stated * stated));
  }

  /// Keeps the rows that a reduction names, and no others. \returns what is wrong
  [[nodiscard]] complaint keep_rows(const placement_reduction& r, problem& p) const {
    std::vector<kept_limit> wanted;
    std::set<std::tuple<std::uint32_t, std::int64_t, bool>> named;  // a row may be named twice
    for (const budget_row& row : r.rows)
      for (const bool is_low : {false, true}) {
        const budget& b = d_.constraints.budgets[row.budget];
        if (std::isinf(is_low ? b.low : b.high) || !named.emplace(row.budget, row.time, is_low).second) continue;
        wanted.push_back({row.budget, row.time, is_low});
      }
    std::vector<std::vector<typename problem::usage>> usages(p.size());
    std::vector<Whole> used(wanted.size());
    if (p.keeps_all_rows) {
      std::size_t rest = room_.most();
      for (std::uint32_t b = 0; b < d_.constraints.budgets.size(); ++b)
        if (!add_usage(b, wanted, usages, rest))
          return "keeps rows of budget " + std::to_string(b) + " that use more than " + std::to_string(room_.most()) +
                 " numbers: too many for this problem";
      for (auto& all : usages) add_up(all);
    } else {
      std::vector<std::optional<std::uint32_t>> number(p.limits.size());  // by the present one
      for (std::uint32_t i = 0; i < wanted.size(); ++i) {
        const auto known = std::ranges::find(p.limits, wanted[i]);
        if (known == p.limits.end())
          return "keeps budget " + std::to_string(wanted[i].budget) + " at time " + std::to_string(wanted[i].time) +
                 ", which was not kept before";
        const auto before = static_cast<std::size_t>(known - p.limits.begin());
        number[before] = i;
        used[i] = p.used[before];
      }
      for (std::uint32_t x = 0; x < p.size(); ++x) {
        for (const auto& of : p.usages[x])
          if (const auto now = number[of.limit]) usages[x].push_back({*now, of.amounts});
        std::ranges::sort(usages[x], {}, &problem::usage::limit);
      }
    }
    p.keeps_all_rows = false;
    p.limits = std::move(wanted);
    p.used = std::move(used);
    p.usages = std::move(usages);
    return std::nullopt;
  }
  /// Adds, per unknown, its usage of the limits of a budget.
  /// \param rest  how many usages there may be; on return how many more
  /// \returns whether there was room for all
  [[nodiscard]] bool add_usage(std::uint32_t number, const std::vector<kept_limit>& limits,
                               std::vector<std::vector<typename problem::usage>>& usages, std::size_t& rest) const {
    std::vector<std::pair<std::int64_t, std::uint32_t>> by_time;
    for (std::uint32_t i = 0; i < limits.size(); ++i)
      if (limits[i].budget == number) by_time.emplace_back(limits[i].time, i);
    if (by_time.empty()) return true;
    std::sort(by_time.begin(), by_time.end());
    for (const budget_term& term : d_.constraints.budgets[number].terms) {
      const auto before = [](const auto& one, std::int64_t time) { return one.first < time; };
      const auto at = [&](std::int64_t time) { return std::lower_bound(by_time.begin(), by_time.end(), time, before); };
      const auto first = term.live ? at(term.live->first) : by_time.begin();
      const auto end = term.live ? at(term.live->end) : by_time.end();
      if (first >= end || limit_.expired()) continue;
      if (static_cast<std::size_t>(end - first) > rest) return false;
      rest -= static_cast<std::size_t>(end - first);
      auto& all = usages[form_.unknown_of(term.vertex)];
      std::vector<Whole> amounts;
      for (const double u : term.usage) amounts.push_back(whole_of<Whole>(u, range_.usage[number]));
      const auto shared = std::make_shared<const std::vector<Whole>>(std::move(amounts));
      for (auto one = first; one != end; ++one) all.push_back({one->second, shared});
    }
    return true;
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

  const placement_description<Cost>& d_;
  const stated_form<Cost>& form_;
  const number_range& range_;
  const deadline& limit_;
  std::shared_ptr<const problem> whole_;
  number_room room_;
};

}  // namespace shardweave::inline v0::detail
