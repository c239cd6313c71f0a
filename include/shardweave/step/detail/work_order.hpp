#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/step/step_work.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// \file
/// A topological order of the vertices of a step's work.

namespace shardweave::inline v0::detail {

struct work_order {
  std::vector<std::vector<std::uint32_t>> out = {};  ///< per vertex: the edges that leave it
  std::vector<std::uint32_t> vertices = {};          ///< sorted topologically

  /// \throws error (input) if the edges form a cycle
  explicit work_order(const step_work& work) : out(work.vertex_count()) {
    std::vector<std::size_t> missing(work.vertex_count());
    for (std::uint32_t e = 0; e < work.edges.size(); ++e) {
      out[work.edges[e].from].push_back(e);
      ++missing[work.edges[e].to];
    }
    for (std::uint32_t v = 0; v < missing.size(); ++v)
      if (missing[v] == 0) vertices.push_back(v);
    for (std::size_t i = 0; i < vertices.size(); ++i)
      for (const std::uint32_t e : out[vertices[i]])
        if (--missing[work.edges[e].to] == 0) vertices.push_back(work.edges[e].to);
    if (vertices.size() < missing.size())
      refuse(error_category::input, "the graph has a cycle, so no path through it bounds the step");
  }
};

}  // namespace shardweave::inline v0::detail
