#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/spmd/detail/operation_content.hpp>
#include <shardweave/spmd/repeated_layers.hpp>

#include <algorithm>
#include <functional>
#include <string>

/// \file
/// Repeated layers of a computation.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE std::vector<std::vector<std::uint32_t>> repeated_layers(const computation& graph,
                                                                          const layer_options& options) {
  std::vector<std::uint64_t> content;
  content.reserve(graph.operations.size());
  for (const operation& op : graph.operations)
    content.push_back(std::hash<std::string>{}(detail::operation_content(graph, op) +
                                               (op.when == phase::forward ? 'f' : 'b') +
                                               std::to_string(static_cast<int>(op.kind))));
  return repeated_layers(graph.graph(), content, options);
}

SHARDWEAVE_INLINE std::vector<std::uint64_t> layer_sites(const computation& graph) {
  std::vector<std::uint64_t> sites;
  for (const operation& op : graph.operations) sites.push_back(op.site);
  if (std::ranges::any_of(sites, [](std::uint64_t site) { return site != 0; })) return sites;
  std::uint64_t site = 0;
  for (const std::vector<std::uint32_t>& group : repeated_layers(graph)) {
    ++site;
    for (const std::uint32_t v : group) sites[v] = site;
  }
  return sites;
}

}  // namespace shardweave::inline v0
