#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/graph/compressed_graph.hpp>

#include <string>

/// \file
/// How the compressed form is made.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE compressed_graph::compressed_graph(std::size_t vertex_count,
                                                     std::span<const std::pair<std::uint32_t, std::uint32_t>> ends)
    : out_start_(vertex_count + 1), in_start_(vertex_count + 1) {
  edges_.reserve(ends.size());
  for (const auto& [from, to] : ends) {
    if (from >= vertex_count || to >= vertex_count)
      refuse(error_category::input, "edge " + std::to_string(edges_.size()) + " joins vertex " + std::to_string(from) +
                                        " to " + std::to_string(to) + ", but there are only " +
                                        number_text(vertex_count, "vertex", "vertices"));
    edges_.push_back({from, to, static_cast<std::uint32_t>(edges_.size())});
    ++out_start_[from + 1];
    ++in_start_[to + 1];
  }
  for (std::size_t v = 0; v < vertex_count; ++v) {
    out_start_[v + 1] += out_start_[v];
    in_start_[v + 1] += in_start_[v];
  }
  out_.resize(edges_.size());
  in_.resize(edges_.size());
  auto next_out = out_start_;
  auto next_in = in_start_;
  for (const edge_descriptor& e : edges_) {
    out_[next_out[e.source]++] = e;
    in_[next_in[e.target]++] = e;
  }
}

}  // namespace shardweave::inline v0
