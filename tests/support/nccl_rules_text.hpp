#pragma once

#include <shardweave/cost/nccl_filter.hpp>
#include <shardweave/cost/nccl_rule.hpp>

#include <cstdint>
#include <string>

namespace shardweave_test {

/// The text of a tuner file, for what is read again.
[[nodiscard]] inline std::string nccl_rules_text(const shardweave::nccl_rules& rules) {
  std::string text = "# collective,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff\n";
  for (const shardweave::nccl_rule& r : rules) {
    text += std::string(name_of(r.operation)) + "," + std::to_string(r.least) + "," + std::to_string(r.most) + "," +
            std::string(name_of(r.algorithm)) + "," + std::string(name_of(r.protocol));
    for (const std::int64_t n : {r.channels, r.nodes, r.ranks, r.merged, r.registered}) text += "," + std::to_string(n);
    text += "\n";
  }
  return text;
}

}  // namespace shardweave_test
