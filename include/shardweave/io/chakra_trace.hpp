#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// An execution trace of MLCommons Chakra, as its files state it.

namespace shardweave::inline v0 {

/// What a node is, in the order of the schema's numbers.
enum class chakra_type : std::uint8_t {
  invalid,
  metadata,  ///< says something of the run, for example which process groups there are
  memory_load,
  memory_store,
  compute,
  send,
  receive,
  collective,
  storage,
  batch,
  checkpoint
};

/// The schema's names, in the order of the enumerators.
inline constexpr std::array<std::string_view, 11> chakra_type_names = {
    "INVALID_NODE",   "METADATA_NODE",  "MEM_LOAD_NODE", "MEM_STORE_NODE", "COMP_NODE",      "COMM_SEND_NODE",
    "COMM_RECV_NODE", "COMM_COLL_NODE", "STORAGE_NODE",  "BATCH_NODE",     "CHECKPOINT_NODE"};

/// The schema's names of collectives, in the order of its numbers.
inline constexpr std::array<std::string_view, 10> chakra_collective_names = {
    "ALL_REDUCE", "REDUCE",         "ALL_GATHER",           "GATHER", "SCATTER", "BROADCAST",
    "ALL_TO_ALL", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER"};

/// One node: what of the schema's fields and of the attributes that its tools agree on says something about time,
/// order or size. A number that a file leaves out is 0, as in the format itself.
struct chakra_node {
  std::uint64_t id = 0;
  std::string name = {};
  chakra_type type = chakra_type::invalid;
  std::vector<std::uint64_t> data_deps = {};     ///< ids of nodes that end before this one starts
  std::vector<std::uint64_t> ctrl_deps = {};     ///< the same: of what called it
  std::int64_t duration_us = 0;                  ///< `duration_micros`; 0 = not stated
  std::string input_values = {};                 ///< `inputs.values`, of metadata nodes alone
  bool on_host = false;                          ///< `is_cpu_op`
  std::string op = {};                           ///< `op_type`, where it is stated
  std::int64_t ops = 0;                          ///< `num_ops`
  std::int64_t tensor_size = 0;                  ///< bytes
  std::int64_t comm_type = 0;                    ///< position in `chakra_collective_names`
  std::int64_t comm_size = 0;                    ///< bytes that this rank puts in
  std::optional<std::int64_t> source = {};       ///< `comm_src`
  std::optional<std::int64_t> destination = {};  ///< `comm_dst`
  std::string group = {};                        ///< `pg_name`; empty = not stated
  friend bool operator==(const chakra_node&, const chakra_node&) = default;
};

/// What one rank does.
struct chakra_trace {
  std::string schema = {};  ///< as the file states it, for example "1.0.2-chakra.0.0.4"
  std::vector<chakra_node> nodes = {};
  friend bool operator==(const chakra_trace&, const chakra_trace&) = default;
};

}  // namespace shardweave::inline v0
