#pragma once

#include <shardweave/cost/nccl_filter.hpp>

#include <cstdint>
#include <vector>

/// \file
/// What a tuner plugin says: this algorithm, this protocol, so many channels, for these sizes.

namespace shardweave::inline v0 {

/// One row of a tuner file. A row speaks of sizes from `least` to `most`, both included; -1 stands for any number.
struct nccl_rule {
  nccl_operation operation = nccl_operation::all_reduce;
  std::int64_t least = 0;
  std::int64_t most = 0;
  nccl_algorithm algorithm = nccl_algorithm::ring;
  nccl_protocol protocol = nccl_protocol::simple;
  std::int64_t channels = -1;
  std::int64_t nodes = -1;
  std::int64_t ranks = -1;
  std::int64_t merged = -1;      ///< operations launched as one
  std::int64_t registered = -1;  ///< 1: user buffers are registered, 0: they are not

  friend bool operator==(const nccl_rule&, const nccl_rule&) = default;

  /// Whether the row speaks of one operation on plain buffers.
  [[nodiscard]] bool matches(nccl_operation o, std::int64_t size, std::int64_t node_count,
                             std::int64_t rank_count) const {
    const auto agrees = [](std::int64_t wanted, std::int64_t found) { return wanted == -1 || wanted == found; };
    return operation == o && size >= least && size <= most && agrees(nodes, node_count) && agrees(ranks, rank_count) &&
           agrees(merged, 1) && agrees(registered, 0);
  }
};

/// Rows in their order; the first that matches counts.
using nccl_rules = std::vector<nccl_rule>;

/// The first rule that matches an operation of `size` bytes on so many nodes and ranks; null if none does.
/// Complexity: O(rules)
[[nodiscard]] inline const nccl_rule* first_match(const nccl_rules& rules, nccl_operation o, std::int64_t size,
                                                  std::int64_t nodes, std::int64_t ranks) {
  for (const nccl_rule& rule : rules)
    if (rule.matches(o, size, nodes, ranks)) return &rule;
  return nullptr;
}

}  // namespace shardweave::inline v0
