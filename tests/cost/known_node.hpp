#pragma once

#include <shardweave/cost/nccl_node.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>

/// Machines by the names that NCCL's figures are known by.
namespace known_nodes {

using namespace shardweave;

inline nccl_node known_node(std::string_view name) {
  for (const nccl_node& node : known_nccl_nodes())
    if (node.name == name) return node;
  FAIL("no node is called " << std::string(name));
  return {};
}

}  // namespace known_nodes
