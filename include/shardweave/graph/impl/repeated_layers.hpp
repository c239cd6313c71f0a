#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/graph/detail/layer_finder.hpp>
#include <shardweave/graph/repeated_layers.hpp>

#include <string>

/// \file
/// How repeated layers are found.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE std::vector<std::vector<std::uint32_t>> repeated_layers(const compressed_graph& g,
                                                                          std::span<const std::uint64_t> content,
                                                                          const layer_options& options) {
  if (content.size() != g.vertex_count())
    refuse(error_category::input, "the content of " + std::to_string(content.size()) + " vertices is told, expected " +
                                      std::to_string(g.vertex_count()));
  return detail::layer_finder(g, content, options.least).run();
}

}  // namespace shardweave::inline v0
