#pragma once

#include <shardweave/io/detail/csv_table.hpp>
#include <shardweave/io/detail/record_text.hpp>
#include <shardweave/io/detail/shortened.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Tables of measured collectives as CSV.

namespace shardweave::inline v0::detail {

[[nodiscard]] inline std::vector<measured_record> read_collective_csv(const record_text& source,
                                                                      const record_options& options) {
  constexpr std::array<std::string_view, 5> required{"collective", "nodes", "ranks", "size_bytes", "time_us"};
  std::vector<measured_record> records;
  csv_records(source, required, [&](const csv_record& row) {
    const std::size_t number = row.line;
    const auto found = collective_of_name(row["collective"]);
    if (!found)
      source.fail(number, "collective is '" + shortened(row["collective"]) +
                              "', expected all_gather, reduce_scatter, all_reduce, all_to_all or shift");
    const bool is_open = row["nodes"] == "-1";
    if (is_open && !options.group) source.fail(number, "nodes is -1, not stated: say how many nodes the groups span");
    const std::int64_t node_count = is_open ? options.group->nodes : source.count(number, "nodes", row["nodes"]);
    const std::int64_t rank_count = source.count(number, "ranks", row["ranks"]);
    if (node_count < 1 || rank_count < 2 || rank_count % node_count != 0)
      source.fail(number, std::to_string(rank_count) + " ranks on " + std::to_string(node_count) +
                              " nodes: expected two or more, and as many on each node");
    const std::int64_t bytes_moved = source.count(number, "size_bytes", row["size_bytes"]);
    if (bytes_moved < 1) source.fail(number, "size_bytes is 0, expected a positive number");
    records.push_back({{*found,
                        {rank_count / node_count, node_count},
                        bytes(bytes_moved),
                        source.time(number, "time_us", row["time_us"])},
                       std::string(row["system"]),
                       std::string(row["placement"]),
                       std::string(row["note"])});
  });
  return records;
}

}  // namespace shardweave::inline v0::detail
