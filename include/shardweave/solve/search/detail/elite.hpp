#pragma once

#include <shardweave/core/random.hpp>
#include <shardweave/placement/cost.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

/// \file
/// A pool of good labelings, from which new ones are combined.

namespace shardweave::inline v0::detail {

/// The best labelings, no two of them equal, cheapest first.
template <cost_value Cost>
class elite {
 public:
  explicit elite(std::size_t capacity) : capacity_(capacity) {}

  [[nodiscard]] std::size_t size() const { return members_.size(); }

  void add(Cost cost, std::span<const strategy> labels) {
    for (const auto& [known, same] : members_)
      if (known == cost && std::equal(same.begin(), same.end(), labels.begin(), labels.end())) return;
    const auto after = std::upper_bound(members_.begin(), members_.end(), cost,
                                        [](Cost c, const auto& member) { return c < member.first; });
    members_.emplace(after, cost, std::vector<strategy>(labels.begin(), labels.end()));
    if (members_.size() > capacity_) members_.pop_back();
  }

  /// \pre size() > 0
  [[nodiscard]] const std::vector<strategy>& draw(random_source& random) const {
    return members_[random.below(members_.size())].second;
  }

 private:
  std::size_t capacity_;
  std::vector<std::pair<Cost, std::vector<strategy>>> members_ = {};
};

}  // namespace shardweave::inline v0::detail
