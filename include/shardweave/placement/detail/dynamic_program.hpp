#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

/// \file
/// The least sum of costs, by eliminating one unknown after the other.

namespace shardweave::inline v0::detail {

/// Unknowns, the costs of their choices, and costs of choices of several of them together: the least sum over all ways
/// to choose. An unknown is eliminated: for each way to choose for those that it has costs with, what is least over its
/// own choices becomes a cost of theirs.
///
/// Source: R. Dechter, Bucket elimination, Artificial Intelligence 113 (1999).
template <class Number>
class dynamic_program {
 public:
  /// \param choices  of each unknown, how many it has
  /// \param room     most numbers that all costs may have at once
  dynamic_program(std::vector<std::size_t> choices, std::size_t room)
      : choices_(std::move(choices)), room_(room), factors_of_(choices_.size()) {}

  /// Adds costs of the choices of one or more unknowns, the last one's fastest.
  /// \param unknowns  different ones
  /// \param allowed   per cost, whether it may be chosen
  /// \pre sizes are the products of the numbers of choices
  void add(std::vector<std::uint32_t> unknowns, std::vector<Number> costs, std::vector<char> allowed) {
    if (costs.size() > room_ - held_) has_room_ = false;
    if (!has_room_) return;
    held_ += costs.size();
    for (const std::uint32_t x : unknowns) factors_of_[x].push_back(static_cast<std::uint32_t>(factors_.size()));
    factors_.push_back({std::move(unknowns), std::move(costs), std::move(allowed)});
  }
  /// Adds a cost that is the same however one chooses.
  void add(const Number& cost) { apart_ += cost; }

  [[nodiscard]] bool has_room() const { return has_room_; }

  /// Eliminates an unknown, once.
  /// \param is_over  asked now and then: if it says so, what comes out is meaningless
  /// Complexity: the number of ways to choose for it and those that it has costs with, times the number of these costs
  template <class IsOver>
  void eliminate(std::uint32_t x, const IsOver& is_over) {
    if (!has_room_) return;
    const std::vector<std::uint32_t> members = std::move(factors_of_[x]);
    std::vector<std::uint32_t> around;
    for (const std::uint32_t f : members)
      for (const std::uint32_t y : factors_[f].unknowns)
        if (y != x && std::find(around.begin(), around.end(), y) == around.end()) around.push_back(y);
    std::size_t cells = 1;
    for (const std::uint32_t y : around) {
      if (cells > room_ / std::max<std::size_t>(choices_[y], 1)) has_room_ = false;
      if (!has_room_) return;
      cells *= choices_[y];
    }
    factor made{around, std::vector<Number>(cells), std::vector<char>(cells)};
    minimize(x, members, made, is_over);
    for (const std::uint32_t f : members) {
      held_ -= factors_[f].costs.size();
      for (const std::uint32_t y : factors_[f].unknowns) std::erase(factors_of_[y], f);
      factors_[f] = {};
    }
    if (!around.empty()) return add(std::move(made.unknowns), std::move(made.costs), std::move(made.allowed));
    if (made.allowed.front() == 0) is_refuted_ = true;
    apart_ += made.costs.front();
  }

  /// The least sum; nothing if nothing is allowed. \pre all unknowns were eliminated, and there was room
  [[nodiscard]] std::optional<Number> least() const { return is_refuted_ ? std::nullopt : std::optional(apart_); }

 private:
  struct factor {
    std::vector<std::uint32_t> unknowns;
    std::vector<Number> costs;
    std::vector<char> allowed;
  };
  /// How far apart two costs are between which only the choice of one unknown differs; 0 of others.
  [[nodiscard]] std::size_t stride(const factor& f, std::uint32_t x) const {
    std::size_t stride = 1;
    for (std::size_t i = f.unknowns.size(); i-- > 0; stride *= choices_[f.unknowns[i]])
      if (f.unknowns[i] == x) return stride;
    return 0;
  }

  template <class IsOver>
  void minimize(std::uint32_t x, const std::vector<std::uint32_t>& members, factor& made, const IsOver& is_over) const {
    constexpr std::size_t look_every = 1 << 14;  // cells
    const std::size_t dimensions = made.unknowns.size();
    std::vector<std::size_t> own(members.size()), at(members.size()), chosen(dimensions);
    std::vector<std::vector<std::size_t>> step(members.size(), std::vector<std::size_t>(dimensions));
    for (std::size_t i = 0; i < members.size(); ++i) {
      own[i] = stride(factors_[members[i]], x);
      for (std::size_t d = 0; d < dimensions; ++d) step[i][d] = stride(factors_[members[i]], made.unknowns[d]);
    }
    for (std::size_t cell = 0; cell < made.costs.size(); ++cell) {
      if (cell % look_every == 0 && is_over()) return;
      for (std::size_t s = 0; s < choices_[x]; ++s) {
        Number sum{};
        bool is_allowed = true;
        for (std::size_t i = 0; i < members.size() && is_allowed; ++i) {
          const factor& f = factors_[members[i]];
          is_allowed = f.allowed[at[i] + s * own[i]] != 0;
          if (is_allowed) sum += f.costs[at[i] + s * own[i]];
        }
        if (!is_allowed || (made.allowed[cell] != 0 && !(sum < made.costs[cell]))) continue;
        made.costs[cell] = std::move(sum);
        made.allowed[cell] = 1;
      }
      for (std::size_t d = dimensions; d-- > 0;) {  // the next cell
        const bool is_last = ++chosen[d] == choices_[made.unknowns[d]];
        for (std::size_t i = 0; i < members.size(); ++i)
          at[i] = is_last ? at[i] - (chosen[d] - 1) * step[i][d] : at[i] + step[i][d];
        if (!is_last) break;
        chosen[d] = 0;
      }
    }
  }

  std::vector<std::size_t> choices_;
  std::size_t room_, held_ = 0;
  bool has_room_ = true, is_refuted_ = false;
  std::vector<factor> factors_;
  std::vector<std::vector<std::uint32_t>> factors_of_;  ///< per unknown
  Number apart_{};
};

}  // namespace shardweave::inline v0::detail
