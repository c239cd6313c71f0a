#pragma once

#include <shardweave/placement/detail/arc_consistency.hpp>
#include <shardweave/placement/detail/exact_problem.hpp>
#include <shardweave/placement/detail/number_room.hpp>
#include <shardweave/placement/stated_form.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// Elimination of unknowns, and of strategies that others dominate, one after the other.

namespace shardweave::inline v0::detail {

/// Eliminates unknowns: what an unknown costs at least, and uses at least, is moved to some of its neighbours. What is
/// left costs no more than the whole, so that a lower bound on it is one on the whole, whatever is eliminated; it costs
/// as much where a neighbour's strategy leaves only one that is best in every way, or there are two neighbours and no
/// usage.
///
/// Source: R. Dechter and I. Rish, Mini-buckets: a general scheme for bounded inference, J. ACM 50 (2003).
template <class Number>
class elimination {
 public:
  /// \param left  arc consistent
  /// \param room  of all that is made, and is still there where that is passed on
  /// \pre `from` keeps chosen limits, or no usage matters
  elimination(exact_problem<Number> from, strategies_left left, number_room room)
      : p_(std::move(from)),
        left_(std::move(left)),
        room_(std::move(room)),
        tables_(p_.size()),
        is_there_(p_.size(), 1) {
    for (const auto& pair : p_.pairs) {
      tables_[pair.first].emplace(pair.second, side{pair.table, false});
      tables_[pair.second].emplace(pair.first, side{pair.table, true});
    }
  }

  [[nodiscard]] bool is_there(std::uint32_t x) const { return is_there_[x] != 0; }
  [[nodiscard]] bool are_neighbours(std::uint32_t x, std::uint32_t y) const { return tables_[x].contains(y); }

  /// Eliminates an unknown. Once some unknown has no strategy left nothing more is done, and once there is no room
  /// either; then results are meaningless.
  /// \param into  none, one or two of its neighbours, which get what it costs with them; tables to others are added to
  ///              the first of `into`, or to the others' own costs if there is none
  /// \pre all are there, and `into` are different neighbours of x
  /// Complexity: O(strategies of x times classes of `into`, times those of each other neighbour)
  void eliminate(std::uint32_t x, std::span<const std::uint32_t> into) {
    if (is_refuted_ || !has_room_) return;
    if (none_left(left_[x])) {
      is_refuted_ = true;
      return;
    }
    std::vector<Number> costs = std::move(p_.costs[x]);
    std::map<std::uint32_t, std::vector<Number>> own;  // its part of tables to other neighbours, by class
    for (const auto& [y, t] : tables_[x]) {
      if (std::ranges::find(into, y) != into.end()) continue;
      auto& of_class = own[y] = own_part(t, left_[x], left_[y]);
      for (std::size_t s = 0; s < costs.size(); ++s)
        if (left_[x][s] != 0) costs[s] += of_class[t.own_class(s)];
    }
    if (into.empty()) {
      settle(x, costs, own);
    } else {
      join(x, into, costs, own);
    }
    for (const auto& [y, t] : tables_[x]) tables_[y].erase(x);
    tables_[x].clear();
    p_.usages[x].clear();
    is_there_[x] = 0;
    propagate();
  }

  /// Removes a strategy if another one that is left is at least as good: it costs no more whatever the neighbours do,
  /// and uses no more of any limit that is kept (of a lower limit no less). Otherwise nothing happens.
  ///
  /// Source: R. F. Goldstein, Efficient rotamer elimination, Biophys. J. 66 (1994).
  /// \pre x is there, and has both
  /// Complexity: O(classes and strategies of all neighbours)
  void drop_dominated(std::uint32_t x, std::size_t removed, std::size_t by) {
    if (is_refuted_ || !has_room_ || removed == by || left_[x][removed] == 0 || left_[x][by] == 0) return;
    for (const auto& of : p_.usages[x]) {
      const Number &less = (*of.amounts)[by], &more = (*of.amounts)[removed];
      if (p_.limits[of.limit].is_low ? less < more : more < less) return;
    }
    Number ahead = p_.costs[x][by] - p_.costs[x][removed];
    for (const auto& [y, t] : tables_[x]) {
      const std::size_t i = t.own_class(by), k = t.own_class(removed);
      if (i == k) continue;
      const std::vector<char> there =
          classes_left(t.other_classes(), left_[y], [&](std::size_t s) { return t.other_class(s); });
      std::optional<Number> most;
      for (std::size_t j = 0; j < there.size(); ++j) {
        if (there[j] == 0 || !t.allows(k, j)) continue;
        if (!t.allows(i, j)) return;
        Number difference = t.cost(i, j) - t.cost(k, j);
        if (!most || *most < difference) most = std::move(difference);
      }
      if (most) ahead += *most;
    }
    if (ahead > 0) return;
    left_[x][removed] = 0;
    changed_.insert(x);
    propagate();
  }

  /// Whether there was room for all that was to be made.
  [[nodiscard]] bool has_room() const { return has_room_; }

  /// What is left of the problem, and of its strategies; arc consistent. \pre has_room()
  [[nodiscard]] std::pair<exact_problem<Number>, strategies_left> finish() && {
    exact_problem<Number> result;
    result.apart = std::move(p_.apart);
    result.keeps_all_rows = p_.keeps_all_rows;
    result.limits = std::move(p_.limits);
    result.used = std::move(p_.used);
    strategies_left left;
    std::vector<std::uint32_t> number(p_.size());
    for (std::uint32_t x = 0; x < p_.size(); ++x) {
      if (is_there_[x] == 0) continue;
      number[x] = static_cast<std::uint32_t>(result.size());
      result.name.push_back(p_.name[x]);
      result.costs.push_back(std::move(p_.costs[x]));
      result.usages.push_back(std::move(p_.usages[x]));
      left.push_back(std::move(left_[x]));
    }
    for (std::uint32_t x = 0; x < p_.size(); ++x)
      for (const auto& [y, t] : tables_[x])
        if (!t.is_second) result.pairs.push_back({number[x], number[y], t.table});
    result.link();
    return {std::move(result), std::move(left)};
  }

 private:
  using table = summed_table<Number>;
  using side = table_side<Number>;
  using costs_by_class = std::vector<std::optional<Number>>;

  static void lower(std::optional<Number>& at, Number value) {
    if (!at || value < *at) at = std::move(value);
  }
  /// Of a table that is a sum of one cost for either end, over the strategies that are left: that of its own end, by
  /// class, the least one with the other end. Otherwise zeros.
  [[nodiscard]] static std::vector<Number> own_part(const side& t, const std::vector<char>& own,
                                                    const std::vector<char>& others) {
    const std::vector<char> rows = classes_left(t.own_classes(), own, [&](std::size_t s) { return t.own_class(s); });
    const std::vector<char> columns =
        classes_left(t.other_classes(), others, [&](std::size_t s) { return t.other_class(s); });
    std::vector<Number> result(t.own_classes());
    costs_by_class rest(columns.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i] == 0) continue;
      std::optional<Number> least;
      for (std::size_t j = 0; j < columns.size(); ++j) {
        if (columns[j] == 0) continue;
        if (!t.allows(i, j)) return std::vector<Number>(rows.size());
        lower(least, t.cost(i, j));
      }
      if (least) result[i] = *std::move(least);
      for (std::size_t j = 0; j < columns.size(); ++j) {
        if (columns[j] == 0) continue;
        const Number left = t.cost(i, j) - result[i];
        if (rest[j] && *rest[j] != left) return std::vector<Number>(rows.size());
        rest[j] = left;
      }
    }
    return result;
  }
  /// Adds costs to the strategies of y, by the classes in which x sees them, and removes those that have none.
  void add(std::uint32_t y, const costs_by_class& more, const side& t) {
    for (std::size_t s = 0; s < left_[y].size(); ++s) {
      if (left_[y][s] == 0) continue;
      if (const auto& of = more[t.other_class(s)]) {
        p_.costs[y][s] += *of;
      } else {
        left_[y][s] = 0;
        changed_.insert(y);
      }
    }
  }
  /// Removes strategies without a partner, as long as there are any.
  void propagate() {
    while (!changed_.empty()) {
      const std::uint32_t x = *changed_.begin();
      changed_.erase(changed_.begin());
      const bool is_gone = none_left(left_[x]);
      for (const auto& [y, t] : tables_[x])
        if ((t.forbids() || is_gone) && keep_partners(t, left_[x], left_[y])) changed_.insert(y);
    }
  }

  void settle(std::uint32_t x, const std::vector<Number>& costs,
              const std::map<std::uint32_t, std::vector<Number>>& own) {
    std::optional<Number> lowest;
    for (std::size_t s = 0; s < costs.size(); ++s)
      if (left_[x][s] != 0) lower(lowest, costs[s]);
    p_.apart += *lowest;
    for (const auto& [y, t] : tables_[x]) {
      const std::vector<char> there =
          classes_left(t.own_classes(), left_[x], [&](std::size_t s) { return t.own_class(s); });
      costs_by_class more(t.other_classes());
      for (std::size_t i = 0; i < there.size(); ++i)
        for (std::size_t j = 0; there[i] != 0 && j < more.size(); ++j)
          if (t.allows(i, j)) lower(more[j], t.cost(i, j) - own.at(y)[i]);
      add(y, more, t);
    }
    std::map<std::pair<bool, const void*>, Number> known;
    for (const auto& of : p_.usages[x]) {
      const auto [at, fresh] = known.try_emplace({p_.limits[of.limit].is_low, of.amounts.get()});
      if (fresh) {
        std::optional<Number> extreme;
        for (std::size_t s = 0; s < costs.size(); ++s)
          if (left_[x][s] != 0) take(extreme, (*of.amounts)[s], of.limit);
        at->second = *std::move(extreme);
      }
      p_.used[of.limit] += at->second;
    }
  }

  void join(std::uint32_t x, std::span<const std::uint32_t> into, const std::vector<Number>& costs,
            const std::map<std::uint32_t, std::vector<Number>>& own) {
    const std::uint32_t u = into.front();
    const side& to_u = tables_[x].at(u);
    const auto each_left = [&](auto visit) {
      for (std::size_t s = 0; s < costs.size(); ++s)
        if (left_[x][s] != 0) visit(s);
    };
    const std::vector<char> there =
        classes_left(to_u.other_classes(), left_[u], [&](std::size_t s) { return to_u.other_class(s); });
    const auto each_class_of_u = [&](std::size_t s, auto visit) {
      for (std::size_t i = 0; i < there.size(); ++i)
        if (there[i] != 0 && to_u.allows(to_u.own_class(s), i)) visit(i);
    };
    // a table between u and y: per class of u, and of y as `t` tells them apart
    const auto add_table = [&](std::uint32_t y, const side& t, auto fill) {
      if (!find_room(there.size() * t.other_classes() + left_[u].size() + left_[y].size())) return;
      costs_by_class all(there.size() * t.other_classes());
      fill(all);
      if (add_to_one(u, y, to_u, t, there, all)) return;
      table made{.row_class = {}, .column_class = {}, .rows = there.size(), .columns = t.other_classes()};
      for (std::size_t s = 0; s < left_[u].size(); ++s) made.row_class.push_back(to_u.other_class(s));
      for (std::size_t s = 0; s < left_[y].size(); ++s) made.column_class.push_back(t.other_class(s));
      for (auto& cost : all) {
        made.allowed.push_back(cost ? 1 : 0);
        made.forbids = made.forbids || !cost;
        made.costs.push_back(cost ? *std::move(cost) : Number(0));
      }
      add_between(u, y, std::move(made));
    };
    if (into.size() == 1) {
      costs_by_class more(there.size());
      each_left([&](std::size_t s) {
        each_class_of_u(s, [&](std::size_t i) { lower(more[i], costs[s] + to_u.cost(to_u.own_class(s), i)); });
      });
      add(u, more, to_u);
    } else {
      const side& to_w = tables_[x].at(into[1]);
      add_table(into[1], to_w, [&](costs_by_class& all) {
        each_left([&](std::size_t s) {
          each_class_of_u(s, [&](std::size_t i) {
            const Number with_u = costs[s] + to_u.cost(to_u.own_class(s), i);
            for (std::size_t j = 0; j < to_w.other_classes(); ++j)
              if (to_w.allows(to_w.own_class(s), j))
                lower(all[i * to_w.other_classes() + j], with_u + to_w.cost(to_w.own_class(s), j));
          });
        });
      });
    }
    for (const auto& [y, of_class] : own) {
      const side& t = tables_[x].at(y);
      add_table(y, t, [&](costs_by_class& all) {
        std::set<std::pair<std::uint32_t, std::uint32_t>> seen;  // strategies that neither table tells apart
        each_left([&](std::size_t s) {
          if (!seen.emplace(to_u.own_class(s), t.own_class(s)).second) return;
          each_class_of_u(s, [&](std::size_t i) {
            for (std::size_t j = 0; j < t.other_classes(); ++j)
              if (t.allows(t.own_class(s), j))
                lower(all[i * t.other_classes() + j], t.cost(t.own_class(s), j) - of_class[t.own_class(s)]);
          });
        });
      });
    }
    join_usage(x, u, [&](const std::vector<Number>& of_x, std::uint32_t limit) {
      costs_by_class by_class(there.size());
      each_left([&](std::size_t s) { each_class_of_u(s, [&](std::size_t i) { take(by_class[i], of_x[s], limit); }); });
      std::vector<Number> more(left_[u].size());
      for (std::size_t s = 0; s < more.size(); ++s)
        if (const auto& least = by_class[to_u.other_class(s)]) more[s] = *least;
      return more;
    });
  }

  /// Adds the usage of x to that of u.
  /// \param moved  what x uses by strategy, and a limit -> by strategy of u
  template <class Moved>
  void join_usage(std::uint32_t x, std::uint32_t u, Moved moved) {
    using shared_amounts = typename exact_problem<Number>::shared_amounts;
    struct sum {
      shared_amounts of_x, of_u, both;  // the first two, so that they stay what they are known by
    };
    std::map<std::tuple<bool, const void*, const void*>, sum> known;
    std::vector<typename exact_problem<Number>::usage> all;
    auto at = p_.usages[u].begin();
    const auto end = p_.usages[u].end();
    for (const auto& of : p_.usages[x]) {
      while (at != end && at->limit < of.limit) all.push_back(std::move(*at++));
      const shared_amounts before = at != end && at->limit == of.limit ? (at++)->amounts : nullptr;
      sum& made = known[{p_.limits[of.limit].is_low, of.amounts.get(), before.get()}];
      if (!made.both) {
        if (!find_room(left_[u].size())) return;
        std::vector<Number> amounts = moved(*of.amounts, of.limit);
        for (std::size_t s = 0; before != nullptr && s < amounts.size(); ++s) amounts[s] += (*before)[s];
        const std::size_t size = amounts.size();
        made = {of.amounts, before, room_.keep(std::move(amounts), size)};
      }
      all.push_back({of.limit, made.both});
    }
    std::move(at, end, std::back_inserter(all));
    p_.usages[u] = std::move(all);
  }

  /// Adds a table between u and y to the costs of one of them if it is the same whatever the strategy of the other.
  /// \param to_u, t  as the eliminated unknown sees u and y
  /// \param of_u     classes of u that have a strategy left
  /// \returns whether it is
  bool add_to_one(std::uint32_t u, std::uint32_t y, const side& to_u, const side& t, const std::vector<char>& of_u,
                  const costs_by_class& all) {
    const std::size_t columns = t.other_classes();
    const std::vector<char> of_y = classes_left(columns, left_[y], [&](std::size_t s) { return t.other_class(s); });
    const auto first_of = [](const std::vector<char>& there) {
      return static_cast<std::size_t>(std::ranges::find(there, 1) - there.begin());
    };
    const std::size_t i0 = first_of(of_u), j0 = first_of(of_y);
    if (i0 == of_u.size() || j0 == columns) return false;  // nothing is left
    bool only_of_u = true, only_of_y = true;
    for (std::size_t i = 0; i < of_u.size(); ++i)
      for (std::size_t j = 0; of_u[i] != 0 && j < columns; ++j) {
        only_of_u = only_of_u && (of_y[j] == 0 || all[i * columns + j] == all[i * columns + j0]);
        only_of_y = only_of_y && (of_y[j] == 0 || all[i * columns + j] == all[i0 * columns + j]);
      }
    if (only_of_y) {
      add(y,
          costs_by_class(all.begin() + static_cast<std::ptrdiff_t>(i0 * columns),
                         all.begin() + static_cast<std::ptrdiff_t>((i0 + 1) * columns)),
          t);
    } else if (only_of_u) {
      costs_by_class column;
      for (std::size_t i = 0; i < of_u.size(); ++i) column.push_back(all[i * columns + j0]);
      add(u, column, to_u);
    }
    return only_of_u || only_of_y;
  }

  [[nodiscard]] bool find_room(std::size_t numbers) { return has_room_ = has_room_ && room_.has(numbers); }

  /// The least usage, of a lower limit the most.
  void take(std::optional<Number>& at, const Number& amount, std::uint32_t limit) const {
    if (!at || (p_.limits[limit].is_low ? *at < amount : amount < *at)) at = amount;
  }

  /// Adds a table between u and y, whose rows are u's, to what there is between them.
  void add_between(std::uint32_t u, std::uint32_t y, table more) {
    const auto known = tables_[u].find(y);
    if (known != tables_[u].end()) {
      const side& before = known->second;
      const auto classes = [](std::size_t a, std::size_t b, std::size_t most) { return a <= most / b ? a * b : most; };
      if (!find_room(classes(before.own_classes(), more.rows, left_[u].size()) *
                         classes(before.other_classes(), more.columns, left_[y].size()) +
                     left_[u].size() + left_[y].size()))
        return;
      more = sum(before, more);
    }
    if (u > y) more = turned(more);  // the first of a pair has the rows
    const std::size_t numbers = more.costs.size() + more.row_class.size() + more.column_class.size();
    const auto shared = room_.keep(std::move(more), numbers);
    tables_[u].insert_or_assign(y, side{shared, u > y});
    tables_[y].insert_or_assign(u, side{shared, y > u});
    for (const auto& [from, to] : {std::pair(u, y), std::pair(y, u)})
      if (shared->forbids && keep_partners(tables_[from].at(to), left_[from], left_[to])) changed_.insert(to);
  }

  exact_problem<Number> p_;
  strategies_left left_;
  number_room room_;
  std::vector<std::map<std::uint32_t, side>> tables_;  ///< per unknown, by neighbour
  std::vector<char> is_there_;
  std::set<std::uint32_t> changed_ = {};  ///< unknowns that lost strategies
  bool is_refuted_ = false, has_room_ = true;
};

}  // namespace shardweave::inline v0::detail
