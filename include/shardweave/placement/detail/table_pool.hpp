#pragma once

#include <shardweave/placement/cost_table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shardweave::inline v0::detail {

/// Numbers distinct tables in the order of first occurrence; tables with equal class costs share them.
template <cost_value Cost>
class table_pool {
 public:
  using table = cost_table<Cost>;

  /// \param cost_hash  `t.cost_hash()`, which reads all costs
  std::uint32_t operator()(table t, std::size_t cost_hash) {
    const auto [first, last] = by_costs_.equal_range(cost_hash);
    const auto same = std::find_if(first, last, [&](const auto& known) { return *tables_[known.second] == t; });
    if (same != last) return same->second;
    for (auto known = first; known != last; ++known)
      if (t.share_costs(*tables_[known->second])) break;
    const auto number = static_cast<std::uint32_t>(tables_.size());
    by_costs_.emplace(cost_hash, number);
    tables_.push_back(std::make_shared<const table>(std::move(t)));
    return number;
  }

  [[nodiscard]] std::vector<std::shared_ptr<const table>> take() && { return std::move(tables_); }

 private:
  std::vector<std::shared_ptr<const table>> tables_;
  std::unordered_multimap<std::size_t, std::uint32_t> by_costs_;
};

}  // namespace shardweave::inline v0::detail
