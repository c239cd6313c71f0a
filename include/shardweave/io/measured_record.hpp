#pragma once

#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/measurement.hpp>

#include <cstdint>
#include <optional>
#include <string>

/// \file
/// A measured collective as a table states it, and what a table may leave open.

namespace shardweave::inline v0 {

/// One measured collective as a table states it.
struct measured_record {
  collective_measurement measurement;
  std::string system;     ///< the machine, where the table names it
  std::string placement;  ///< "out" or "in" (of place), or whatever the table says
  std::string note;
};

/// What a table may leave open.
struct record_options {
  std::string device = {};                ///< XLA: key of the wanted device; needed if the table holds several
  std::int64_t devices_per_node = 8;      ///< XLA: how many ranks share a node
  std::optional<collective> kind = {};    ///< nccl-tests: counts for more than the program that the output names
  std::optional<group_shape> group = {};  ///< nccl-tests: for more than the ranks that it lists; CSV: nodes, if -1
};

}  // namespace shardweave::inline v0
