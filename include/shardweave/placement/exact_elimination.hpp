#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/detail/exact_problem.hpp>
#include <shardweave/placement/detail/exact_reduction.hpp>
#include <shardweave/placement/detail/number_range.hpp>
#include <shardweave/placement/detail/whole_numbers.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/stated_form.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

/// \file
/// The eliminations of `placement_reduction` in the checker's exact arithmetic, for code that searches for proofs.

namespace shardweave::inline v0 {

/// What eliminations leave of a stated problem, its costs rounded to doubles.
class rounded_problem {
 public:
  /// \param exact  what it was rounded from
  explicit rounded_problem(detail::exact_problem<double> p, std::shared_ptr<const void> exact = nullptr)
      : p_(std::move(p)), exact_(std::move(exact)) {}

  /// For `exact_elimination`: an `exact_problem` of its numbers.
  [[nodiscard]] const std::shared_ptr<const void>& exact() const { return exact_; }

  /// The number of unknowns.
  [[nodiscard]] std::size_t size() const { return p_.size(); }
  [[nodiscard]] std::size_t strategies(std::uint32_t x) const { return p_.costs[x].size(); }
  /// Per unknown which one of the stated form it is, rising.
  [[nodiscard]] const std::vector<std::uint32_t>& names() const { return p_.name; }
  /// The constant part of the cost.
  [[nodiscard]] double apart() const { return p_.apart; }
  /// What a strategy costs.
  [[nodiscard]] double cost(std::uint32_t x, strategy s) const { return p_.costs[x][s]; }
  /// The unknowns that have a table, `first` before `second`; by first, then by second.
  [[nodiscard]] const std::vector<detail::exact_problem<double>::pair>& pairs() const { return p_.pairs; }
  /// The number of a pair; `pairs().size()` if there is none. \pre first < second
  [[nodiscard]] std::size_t pair_between(std::uint32_t first, std::uint32_t second) const {
    return p_.pair_between(first, second);
  }
  /// Removes strategies without a partner over some pair, until every one has one.
  void propagate(strategies_left& left) const { p_.propagate(left); }
  /// What a pair of unknowns costs with two strategies; infinity where it is forbidden.
  [[nodiscard]] double cost_of_pair(std::size_t number, strategy a, strategy b) const {
    const auto& t = *p_.pairs[number].table;
    const std::size_t at = t.row_class[a] * t.columns + t.column_class[b];
    return t.allowed[at] != 0 ? t.costs[at] : std::numeric_limits<double>::infinity();
  }

 private:
  detail::exact_problem<double> p_;
  std::shared_ptr<const void> exact_;
};

namespace detail {
/// A problem rounded to doubles, without usage.
template <class Whole>
[[nodiscard]] rounded_problem in_doubles(std::shared_ptr<const exact_problem<Whole>> exact, int bits) {
  const exact_problem<Whole>& p = *exact;
  const long double unit = std::ldexp(1.0L, -bits);
  const auto rounded = [unit](const Whole& value) {
    return static_cast<double>(static_cast<long double>(value) * unit);
  };
  const auto all = [&](const std::vector<Whole>& values) {
    std::vector<double> result;
    result.reserve(values.size());
    for (const Whole& value : values) result.push_back(rounded(value));
    return result;
  };
  exact_problem<double> result;
  result.apart = rounded(p.apart);
  result.name = p.name;
  for (const auto& of : p.costs) result.costs.push_back(all(of));
  std::map<const summed_table<Whole>*, std::shared_ptr<const summed_table<double>>> known;
  for (const auto& pair : p.pairs) {
    auto& table = known[pair.table.get()];
    if (!table) {
      const auto& t = *pair.table;
      table = std::make_shared<const summed_table<double>>(
          summed_table<double>{t.row_class, t.column_class, t.rows, t.columns, all(t.costs), t.allowed, t.forbids});
    }
    result.pairs.push_back({pair.first, pair.second, table});
  }
  result.link();
  return rounded_problem(std::move(result), std::move(exact));
}

}  // namespace detail

/// Eliminates unknowns of a stated problem, and strategies that others dominate, in the exact arithmetic of
/// `check_certificate`. Rows are not kept: usage is no part of the result.
/// Complexity: that of reading the problem, once; per step the strategies of an unknown times classes of its
/// neighbours; per call that of rounding what is left
template <cost_value Cost>
class exact_elimination {
 public:
  /// \pre all outlive this object
  exact_elimination(const placement_description<Cost>& d, const stated_form<Cost>& form, const deadline& limit) {
    placement_certificate<Cost> all;
    all.reductions.emplace_back().steps.resize(form.size());
    number_range_ =
        std::make_unique<const detail::number_range>(detail::range_of(d, detail::range_of_costs(form), all));
    if (detail::fits_128(*number_range_)) {
      begin<detail::whole_128>(d, form, limit);
    } else {
      begin<detail::whole_of_any_size>(d, form, limit);
    }
  }

  /// \param left  strategies that are left, per unknown of `from`; on return, per unknown of the result
  /// \param from  what an earlier call left, of which this one eliminates more; null: all of the problem
  /// \returns what is left; nothing if the time is up, or a step names what is not there
  [[nodiscard]] std::optional<rounded_problem> operator()(const placement_reduction& r, strategies_left& left,
                                                          const rounded_problem* from = nullptr) const {
    return reduce_(r, left, from);
  }

 private:
  template <class Whole>
  void begin(const placement_description<Cost>& d, const stated_form<Cost>& form, const deadline& limit) {
    const auto exact = std::make_shared<const detail::exact_reduction<Cost, Whole>>(d, form, *number_range_, limit);
    reduce_ = [exact, bits = number_range_->bits](const placement_reduction& r, strategies_left& left,
                                                  const rounded_problem* from) -> std::optional<rounded_problem> {
      using problem = detail::exact_problem<Whole>;
      const auto before = from == nullptr ? exact->whole() : std::static_pointer_cast<const problem>(from->exact());
      detail::complaint wrong;
      auto rest = exact->reduced(r, *before, left, wrong);
      if (!rest) return std::nullopt;
      return detail::in_doubles(std::move(rest), bits);
    };
  }

  std::unique_ptr<const detail::number_range> number_range_;
  std::function<std::optional<rounded_problem>(const placement_reduction&, strategies_left&, const rounded_problem*)>
      reduce_;
};

}  // namespace shardweave::inline v0
