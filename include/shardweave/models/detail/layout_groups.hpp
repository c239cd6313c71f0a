#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string_view>

/// \file
/// How tensor parallelism cuts the weights of a transformer, by the groups of their operations.

namespace shardweave::inline v0::detail {

[[nodiscard]] inline bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
/// Weights whose rows, which are features of what they make, are shared out; the embedding's are words.
[[nodiscard]] inline bool by_columns(std::string_view group) {
  return is_one_of(group,
                   {"wq", "wk", "wv", "wq_b", "wkv_b", "w1", "w3", "shared.w1", "shared.w3", "output", "embedding"});
}
/// Weights that add up over what is shared out.
[[nodiscard]] inline bool by_rows(std::string_view group) { return is_one_of(group, {"wo", "w2", "shared.w2"}); }
[[nodiscard]] inline bool is_expert(std::string_view group) { return group.starts_with("experts."); }
/// Of the weights of experts, [expert, in, out], the dimension of the features inside.
[[nodiscard]] inline std::size_t inner_of(std::string_view group) { return group == "experts.w2" ? 1 : 2; }

}  // namespace shardweave::inline v0::detail
