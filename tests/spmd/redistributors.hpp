#pragma once

#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/spmd/redistribution.hpp>
#include <shardweave/spmd/redistributor.hpp>

#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

/// Redistributors of an H100 machine, and all shardings of a tensor.
namespace redistributors {

using namespace shardweave;

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline sharding spec(const std::string& text) { return sharding::parse(text); }

/// All valid shardings of a tensor, sums as the only partial results.
inline std::vector<sharding> all_shardings(const tensor& x, const device_mesh& mesh) {
  std::vector<sharding> all{sharding(mesh.rank())};
  for (std::size_t d = 0; d < mesh.rank(); ++d) {
    std::vector<sharding> longer;
    for (const sharding& s : all) {
      longer.push_back(s);
      longer.push_back(s.with(d, dim_placement::partial()));
      for (std::size_t k = 0; k < x.rank(); ++k) longer.push_back(s.with(d, dim_placement::shard(k)));
    }
    all = std::move(longer);
  }
  std::erase_if(all, [&](const sharding& s) { return !is_valid_sharding(x.shape, s, mesh); });
  return all;
}

inline redistributor h100(const std::string& mesh, redistribution_options options = {}) {
  const device_profile device = find_device("h100");
  return {device_mesh::parse(mesh), roofline{device}, node_table<>(device), options};
}

}  // namespace redistributors
