#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

/// \file
/// The least sum of costs, by eliminating one unknown after the other.

namespace shardweave::inline v0 {

/// Minimizes a sum of costs exactly. Each unknown takes one of its choices; costs depend on one unknown's choice, or,
/// in tables, on the classes of the choices of several unknowns. To eliminate an unknown, its tables are added up and
/// minimized over its choices, which leaves one table on its neighbours.
///
/// Source: R. Dechter, Bucket elimination, Artificial Intelligence 113 (1999).
template <class Number>
class dynamic_program {
 public:
  /// Costs of the choices of an unknown; nothing: not allowed.
  using choices = std::vector<std::optional<Number>>;
  /// An unknown of a table, and the class of each of its choices.
  struct side {
    std::uint32_t unknown = 0;
    std::vector<std::uint32_t> class_of;
  };

  /// \param own       per unknown, the costs of its choices
  /// \param room      limit on the numbers that all tables hold at once
  /// \param work      limit on the sum, over eliminations, of entries made * distinct choices * tables added up
  /// \param is_trial  computes no costs, only whether `room` and `work` suffice (`has_room`)
  dynamic_program(std::vector<choices> own, std::size_t room, double work = std::numeric_limits<double>::infinity(),
                  bool is_trial = false)
      : own_(std::move(own)), room_(room), work_(work), is_trial_(is_trial), tables_of_(own_.size()) {}

  /// Adds a table on two or more unknowns: a cost per combination of classes, row-major, the last unknown's class
  /// fastest. Nothing is added once `has_room()` is false.
  /// \param sides    of different unknowns
  /// \param extent   of each, the number of classes
  /// \param costs    per combination of classes; `allowed` whether it may be chosen. Of a trial empty, both
  /// \pre sizes are the products of the numbers of classes
  void add(std::vector<side> sides, std::vector<std::size_t> extent, std::vector<Number> costs,
           std::vector<char> allowed) {
    table t{std::move(sides), std::move(extent), std::move(costs), std::move(allowed)};
    const std::size_t size = t.size();
    if (size > room_ - held_) has_room_ = false;
    if (!has_room_) return;
    held_ += size;
    for (const side& s : t.sides) tables_of_[s.unknown].push_back(static_cast<std::uint32_t>(tables_.size()));
    tables_.push_back(std::move(t));
  }
  /// Adds a cost that is the same however one chooses.
  void add(const Number& cost) { apart_ += cost; }

  /// Whether there was room for all that was added and made, and it was no more work than it may be.
  [[nodiscard]] bool has_room() const { return has_room_; }
  /// The unknowns that an unknown has tables with, rising.
  [[nodiscard]] std::vector<std::uint32_t> around(std::uint32_t x) const {
    std::vector<std::uint32_t> result;
    for (const std::uint32_t t : tables_of_[x])
      for (const side& s : tables_[t].sides)
        if (s.unknown != x) result.push_back(s.unknown);
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
  }

  /// Eliminates an unknown, once.
  /// \param is_over  asked now and then: if it says so, results are meaningless
  /// Complexity: the number of ways to choose classes for it and those that it has tables with, times the number of
  /// these
  template <class IsOver>
  void eliminate(std::uint32_t x, const IsOver& is_over) {
    if (!has_room_) return;
    bucket b{x, tables_of_[x], around(x), {}, {}, {}, {}, {}};
    if (!lay_out(b)) return;
    if (!is_trial_) minimize(b, is_over);
    for (const std::uint32_t t : b.members) {
      held_ -= tables_[t].size();
      for (const side& s : tables_[t].sides) std::erase(tables_of_[s.unknown], t);
      tables_[t] = {};
    }
    give(b);
  }

  /// The least sum; nothing if nothing is allowed. \pre no trial; all unknowns were eliminated, and there was room
  [[nodiscard]] std::optional<Number> least() const { return is_refuted_ ? std::nullopt : std::optional(apart_); }

 private:
  struct table {
    std::vector<side> sides;
    std::vector<std::size_t> extent;
    std::vector<Number> costs;
    std::vector<char> allowed;

    /// The number of combinations of classes.
    [[nodiscard]] std::size_t size() const {
      std::size_t product = 1;
      for (const std::size_t n : extent) product *= n;
      return product;
    }
  };
  /// An unknown, its tables, and the table that it leaves.
  struct bucket {
    std::uint32_t unknown;
    std::vector<std::uint32_t> members;
    std::vector<std::uint32_t> around;
    std::vector<std::size_t> groups;                        ///< its best choice of each joint class
    std::vector<std::vector<std::size_t>> own;              ///< per member and group, where that is in the member
    std::vector<std::vector<std::vector<std::size_t>>> at;  ///< per member, neighbour and class likewise
    std::vector<char> is_along;  ///< per member: whether the last neighbour is one of its unknowns
    table made;
  };

  /// Where the classes of an unknown are in a table, by choice; empty if it is none of its unknowns.
  [[nodiscard]] static std::vector<std::size_t> places(const table& t, std::uint32_t x) {
    std::size_t stride = 1;
    for (std::size_t d = t.sides.size(); d-- > 0; stride *= t.extent[d]) {
      if (t.sides[d].unknown != x) continue;
      std::vector<std::size_t> result;
      for (const std::uint32_t c : t.sides[d].class_of) result.push_back(stride * c);
      return result;
    }
    return {};
  }
  /// Choices of an unknown that are allowed and that no member tells apart.
  struct joint {
    std::vector<std::uint32_t> class_of;           ///< 0 of those that are not allowed
    std::vector<std::size_t> first;                ///< of each class, a choice
    std::vector<std::vector<std::size_t>> places;  ///< per member and choice
  };
  [[nodiscard]] joint joint_classes(const std::vector<std::uint32_t>& members, std::uint32_t x) const {
    joint result;
    for (const std::uint32_t t : members) result.places.push_back(places(tables_[t], x));
    std::map<std::vector<std::size_t>, std::uint32_t> known;
    result.class_of.resize(own_[x].size());
    for (std::size_t s = 0; s < own_[x].size(); ++s) {
      if (!own_[x][s]) continue;
      std::vector<std::size_t> key;
      for (const auto& of : result.places)
        if (!of.empty()) key.push_back(of[s]);
      const auto [at, fresh] = known.try_emplace(std::move(key), static_cast<std::uint32_t>(result.first.size()));
      if (fresh) result.first.push_back(s);
      result.class_of[s] = at->second;
    }
    return result;
  }

  /// Finds joint classes and the size of what is made. \returns whether there is room
  bool lay_out(bucket& b) {
    b.at.resize(b.members.size());
    b.own.resize(b.members.size());
    std::size_t cells = 1;
    std::vector<std::pair<std::uint32_t, joint>> all;
    for (const std::uint32_t y : b.around) all.emplace_back(y, joint_classes(b.members, y));
    // the one of most classes is last: costs of its classes are added up at once
    std::ranges::stable_sort(all, {}, [](const auto& one) { return one.second.first.size(); });
    b.is_along.assign(b.members.size(), 0);
    for (auto& [y, classes] : all) {
      const std::size_t count = std::max<std::size_t>(classes.first.size(), 1);
      if (cells > room_ / count) return has_room_ = false;
      cells *= count;
      for (std::size_t i = 0; i < b.members.size(); ++i) {
        auto& at = b.at[i].emplace_back(count);
        b.is_along[i] = classes.places[i].empty() ? 0 : 1;
        if (classes.places[i].empty()) continue;
        for (std::size_t k = 0; k < classes.first.size(); ++k) at[k] = classes.places[i][classes.first[k]];
      }
      b.made.sides.push_back({y, std::move(classes.class_of)});
      b.made.extent.push_back(count);
    }
    if (cells > room_ - held_) return has_room_ = false;
    joint mine = joint_classes(b.members, b.unknown);
    b.groups = std::move(mine.first);
    const choices& own = own_[b.unknown];
    for (std::size_t s = 0; s < own.size(); ++s) {
      if (!own[s]) continue;
      auto& best = b.groups[mine.class_of[s]];
      if (*own[s] < *own[best]) best = s;
    }
    for (const std::size_t s : b.groups)
      for (std::size_t i = 0; i < b.members.size(); ++i) b.own[i].push_back(mine.places[i][s]);
    work_ -= static_cast<double>(cells) * static_cast<double>(b.groups.size()) *
             static_cast<double>(std::max<std::size_t>(b.members.size(), 1));
    if (work_ < 0) return has_room_ = false;
    if (is_trial_) return true;
    b.made.costs.resize(cells);
    b.made.allowed.resize(cells);
    return true;
  }

  template <class IsOver>
  void minimize(bucket& b, const IsOver& is_over) const {
    constexpr std::size_t look_every = 256;  // rows
    const std::size_t dimensions = b.around.size();
    const std::size_t width = dimensions == 0 ? 1 : b.made.extent.back();
    const std::size_t rows = b.made.costs.size() / width;
    std::vector<Number> sums(width);
    std::vector<char> allowed(width);
    for (std::size_t g = 0; g < b.groups.size(); ++g) {
      std::vector<std::size_t> at(b.members.size()), chosen(dimensions);
      for (std::size_t i = 0; i < at.size(); ++i) {
        at[i] = b.own[i][g];
        for (std::size_t d = 0; d + 1 < dimensions; ++d) at[i] += b.at[i][d][0];
      }
      for (std::size_t row = 0; row < rows; ++row) {
        if (row % look_every == 0 && is_over()) return;
        if (add_up(b, g, at, sums, allowed)) {
          Number* const least = b.made.costs.data() + row * width;
          char* const known = b.made.allowed.data() + row * width;
          for (std::size_t k = 0; k < width; ++k)
            if (allowed[k] != 0 && (known[k] == 0 || sums[k] < least[k])) {
              least[k] = sums[k];
              known[k] = 1;
            }
        }
        for (std::size_t d = dimensions - std::min<std::size_t>(dimensions, 1); d-- > 0;) {  // the next row
          const std::size_t before = chosen[d];
          chosen[d] = before + 1 == b.made.extent[d] ? 0 : before + 1;
          for (std::size_t i = 0; i < at.size(); ++i) at[i] += b.at[i][d][chosen[d]] - b.at[i][d][before];
          if (chosen[d] != 0) break;
        }
      }
    }
  }
  /// The costs of a group for all classes of the last neighbour.
  /// \param at  per member, where the group and the classes of the other neighbours are in it
  /// \returns whether any is allowed
  bool add_up(const bucket& b, std::size_t group, const std::vector<std::size_t>& at, std::vector<Number>& sums,
              std::vector<char>& allowed) const {
    Number same = *own_[b.unknown][b.groups[group]];  // for all of these classes
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (b.is_along[i] != 0) continue;
      const table& t = tables_[b.members[i]];
      if (t.allowed[at[i]] == 0) return false;
      same += t.costs[at[i]];
    }
    std::ranges::fill(sums, same);
    std::ranges::fill(allowed, 1);
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (b.is_along[i] == 0) continue;
      const table& t = tables_[b.members[i]];
      const Number* const costs = t.costs.data() + at[i];
      const char* const may = t.allowed.data() + at[i];
      const std::size_t* const of_class = b.at[i].back().data();
      for (std::size_t k = 0; k < sums.size(); ++k) {
        sums[k] += costs[of_class[k]];
        allowed[k] = static_cast<char>(allowed[k] & may[of_class[k]]);
      }
    }
    return true;
  }

  /// What a bucket leaves becomes a cost of none, of one or of more unknowns.
  void give(bucket& b) {
    if (is_trial_) {
      if (b.around.size() > 1) add(std::move(b.made.sides), std::move(b.made.extent), {}, {});
    } else if (b.around.empty()) {
      if (b.made.allowed.front() == 0) is_refuted_ = true;
      apart_ += b.made.costs.front();
    } else if (b.around.size() == 1) {
      choices& of = own_[b.around.front()];
      const auto& class_of = b.made.sides.front().class_of;
      for (std::size_t s = 0; s < of.size(); ++s) {
        if (!of[s]) continue;
        if (b.made.allowed[class_of[s]] != 0) {
          *of[s] += b.made.costs[class_of[s]];
        } else {
          of[s].reset();
        }
      }
    } else {
      add(std::move(b.made.sides), std::move(b.made.extent), std::move(b.made.costs), std::move(b.made.allowed));
    }
  }

  std::vector<choices> own_;
  std::size_t room_, held_ = 0;
  double work_;
  bool is_trial_;
  bool has_room_ = true, is_refuted_ = false;
  std::vector<table> tables_;
  std::vector<std::vector<std::uint32_t>> tables_of_;  ///< per unknown
  Number apart_{};
};

}  // namespace shardweave::inline v0
