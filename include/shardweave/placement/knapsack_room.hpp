#pragma once

#include <shardweave/placement/detail/whole_numbers.hpp>
#include <shardweave/placement/stated_form.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

/// \file
/// The room of a row for usage, in cells.

namespace shardweave::inline v0 {

/// The capacity that an upper limit leaves beyond the least usage of every unknown, in cells. Usage is rounded down to
/// cells, so no assignment that keeps the limit takes more than `cells()` of them. A cell is the greatest common
/// divisor of what the members' strategies use beyond their least, or larger, so that there are fewer than `most`.
/// \tparam Whole  wide enough for the limit and all sums of usage
/// Complexity: O(strategies)
template <class Whole>
class knapsack_room {
 public:
  /// Per unknown what its strategies use of the row; null: nothing.
  using row_usage = std::vector<std::shared_ptr<const std::vector<Whole>>>;

  /// \param limit    less what is used by none of the unknowns
  /// \param members  unknowns whose usage is counted
  /// \param most     the room has fewer cells, above 0
  /// \pre every unknown has a strategy left
  knapsack_room(row_usage used, Whole limit, const strategies_left& left, std::span<const std::uint32_t> members,
                std::uint32_t most)
      : used_(std::move(used)), room_(std::move(limit)) {
    for (std::uint32_t x = 0; x < left.size(); ++x) room_ -= least_.emplace_back(least_of(x, left[x]));
    if (is_exceeded()) return;
    Whole common = 0;
    for (const std::uint32_t x : members)
      for (std::size_t s = 0; s < left[x].size(); ++s)
        if (left[x][s] != 0) common = detail::greatest_common_divisor<Whole>(std::move(common), beyond(x, s));
    cell_ = std::max<Whole>(std::move(common), room_ / Whole(most) + 1);
    cells_ = static_cast<std::uint32_t>(Whole(room_ / cell_));
  }

  /// Whether even the least usage is above the limit; then there are no cells.
  [[nodiscard]] bool is_exceeded() const { return room_ < 0; }
  [[nodiscard]] std::uint32_t cells() const { return cells_; }
  /// What a strategy uses beyond the least of its unknown, in cells, rounded down; `cells() + 1` if that is above
  /// `cells()`.
  /// \pre it is left
  [[nodiscard]] std::uint32_t weight(std::uint32_t x, std::size_t s) const {
    const Whole cells = beyond(x, s) / cell_;
    return cells > cells_ ? cells_ + 1 : static_cast<std::uint32_t>(cells);
  }

 private:
  [[nodiscard]] Whole least_of(std::uint32_t x, const std::vector<char>& left) const {
    const Whole* least = nullptr;
    for (std::size_t s = 0; used_[x] != nullptr && s < left.size(); ++s)
      if (left[s] != 0 && (least == nullptr || (*used_[x])[s] < *least)) least = &(*used_[x])[s];
    return least == nullptr ? Whole(0) : *least;
  }
  [[nodiscard]] Whole beyond(std::uint32_t x, std::size_t s) const {
    return used_[x] == nullptr ? Whole(0) : Whole((*used_[x])[s] - least_[x]);
  }

  row_usage used_;
  std::vector<Whole> least_ = {};  ///< per unknown
  Whole room_, cell_ = 1;
  std::uint32_t cells_ = 0;
};

}  // namespace shardweave::inline v0
