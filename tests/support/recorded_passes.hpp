#pragma once

#include <array>
#include <string_view>
#include <utility>

/// \file
/// Captured task graphs file two passes' results under their pull requests.

namespace shardweave_test {

inline constexpr std::array<std::pair<std::string_view, std::string_view>, 2> renamed_passes{
    {{"autoparallel_span_buckets", "autoparallel_481"}, {"autoparallel_size_buckets", "autoparallel_412"}}};

/// The key of a pass in `reference` of a captured graph.
[[nodiscard]] constexpr std::string_view recorded_key(std::string_view pass) {
  for (const auto& [ours, theirs] : renamed_passes)
    if (pass == ours) return theirs;
  return pass;
}
/// And back.
[[nodiscard]] constexpr std::string_view recorded_pass(std::string_view key) {
  for (const auto& [ours, theirs] : renamed_passes)
    if (key == theirs) return ours;
  return key;
}

}  // namespace shardweave_test
