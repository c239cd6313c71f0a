#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/detail/exact_problem.hpp>
#include <shardweave/placement/detail/exact_rows.hpp>
#include <shardweave/placement/detail/number_range.hpp>
#include <shardweave/placement/detail/whole_numbers.hpp>
#include <shardweave/placement/dynamic_program.hpp>
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

/// Bounds of problems in integers, in units of 2^-bits. After the time limit results are meaningless.
/// \pre Whole is wide enough for all sums; all references outlive this object
template <cost_value Cost, class Whole>
class exact_check {
 public:
  using problem = exact_problem<Whole>;

  exact_check(const placement_description<Cost>& d, const stated_form<Cost>& form, const number_range& range,
              const deadline& limit)
      : form_(form), range_(range), limit_(limit), rows_(d, form, range, limit) {}

  [[nodiscard]] const exact_rows<Cost, Whole>& rows() const { return rows_; }

  /// What a message moves of a table.
  struct moved_table {
    bool counts = true;               ///< whether the table counts at all
    std::vector<Whole> amounts = {};  ///< of the message; empty: zeros
    std::vector<std::optional<Whole>>
        rests;  ///< per row class the least that is left of it; nothing if none is allowed

    [[nodiscard]] Whole amount(std::size_t s) const { return amounts.empty() ? Whole(0) : amounts[s]; }
  };
  /// The reparametrized costs of the remaining strategies, by unknown: a lower bound is the sum of `costs.apart` and of
  /// the least cost of each unknown.
  struct priced_form {
    priced_costs<Whole> costs;
    std::vector<const Whole*> least;  ///< per unknown: its cheapest remaining strategy; null if none remains
    std::vector<moved_table> moved;   ///< per pair

    [[nodiscard]] bool is_empty() const {
      return costs.breaks_limits || std::find(least.begin(), least.end(), nullptr) != least.end();
    }
    /// \pre not empty
    [[nodiscard]] Whole bound() const {
      Whole total = costs.apart;
      for (const Whole* of : least) total += *of;
      return total;
    }
  };
  /// \param with_each  whether `more` is asked for
  /// \pre the multipliers name nothing that `p` does not have
  [[nodiscard]] priced_form priced(const placement_multipliers& m, const problem& p, const strategies_left& left,
                                   bool with_each) const {
    const bool with_costs = !m.only_limits;
    priced_form result{rows_.priced(m, p, left, with_each), {}, moved_by(m, p)};
    for (std::size_t i = 0; i < p.pairs.size() && !limit_.expired(); ++i)
      if (result.moved[i].counts) move(p.pairs[i], result.moved[i], with_costs, left, result.costs.belief);
    for (std::uint32_t x = 0; x < left.size(); ++x) {
      const Whole*& least = result.least.emplace_back();
      for (std::size_t s = 0; s < left[x].size(); ++s)
        if (left[x][s] != 0 && (least == nullptr || result.costs.belief[x][s] < *least))
          least = &result.costs.belief[x][s];
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
    priced_costs<Whole> at = rows_.priced(m, p, left, false);
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

  struct narrowing {
    std::vector<std::uint32_t> changed = {};    ///< unknowns that lost strategies
    std::optional<Whole> bound = std::nullopt;  ///< of what was left before, if the multipliers give one
  };
  /// Removes the strategies whose bound is at least the cutoff; with `only_limits` those with which limits are
  /// exceeded. The bound of a strategy counts what it costs its neighbours, and how much more knapsacks come to with
  /// it.
  [[nodiscard]] narrowing narrow(const placement_multipliers& m, const placement_certificate<Cost>& c, const problem& p,
                                 strategies_left& left) const {
    narrowing result;
    const priced_form at = priced(m, p, left, true);
    if (at.is_empty() || (c.infeasible && !m.only_limits)) return result;
    const Whole total = at.bound();
    if (!m.only_limits) result.bound = total;
    std::vector<std::vector<Whole>> above(p.size());  // of each strategy above the least of its unknown
    for (std::uint32_t x = 0; x < p.size(); ++x)
      for (const Whole& belief : at.costs.belief[x]) above[x].push_back(belief - *at.least[x]);
    std::vector<std::vector<Whole>> with_neighbours = above;
    for (std::size_t i = 0; i < p.pairs.size() && !limit_.expired(); ++i)
      if (at.moved[i].counts) add_neighbours(p.pairs[i], at.moved[i], !m.only_limits, left, above, with_neighbours);
    for (std::uint32_t x = 0; x < left.size(); ++x) {
      bool any = false;
      for (std::size_t s = 0; s < left[x].size(); ++s) {
        if (left[x][s] == 0) continue;
        const std::optional<Whole> more = at.costs.more.empty() ? Whole(0) : at.costs.more[x][s];
        if (more) {
          const Whole with = total + with_neighbours[x][s] + *more;
          if (!(m.only_limits ? with > 0 : reaches(with, c.cutoff.value_or(c.lower_bound)))) continue;
        }
        left[x][s] = 0;
        any = true;
      }
      if (any) result.changed.push_back(x);
    }
    return result;
  }

  /// Whether the bound of a case proves the claim.
  [[nodiscard]] bool proves(const std::optional<Whole>& found, const placement_certificate<Cost>& c) const {
    if (!found || c.infeasible) return !found;
    return reaches(*found, c.lower_bound);
  }
  /// As a cost: rounded down for floating-point costs, up for integers.
  [[nodiscard]] Cost in_costs(const Whole& value) const {
    if constexpr (std::floating_point<Cost>) {
      constexpr double most = std::numeric_limits<double>::max();  // infinity is no whole number
      const double near =
          std::clamp(static_cast<double>(std::ldexp(static_cast<long double>(value), -range_.bits)), -most, most);
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

  const stated_form<Cost>& form_;
  const number_range& range_;
  const deadline& limit_;
  exact_rows<Cost, Whole> rows_;
};

}  // namespace shardweave::inline v0::detail
