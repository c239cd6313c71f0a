#pragma once

#include <shardweave/io/detail/record_text.hpp>
#include <shardweave/io/detail/shortened.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Tables of measured collectives as CSV.

namespace shardweave::inline v0::detail {

/// The cells of a line; a cell in quotes may hold commas and doubled quotes.
[[nodiscard]] inline std::vector<std::string> csv_cells(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') {
      if (quoted && i + 1 < line.size() && line[i + 1] == '"') {
        cells.back() += '"';
        ++i;
      } else {
        quoted = !quoted;
      }
    } else if (line[i] == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += line[i];
    }
  }
  for (std::string& cell : cells) cell = std::string(trimmed(cell));
  return cells;
}

[[nodiscard]] inline std::vector<measured_record> read_collective_csv(const record_text& source,
                                                                      const record_options& options) {
  enum column : std::size_t { kind, nodes, ranks, size, time, system, placement, note, columns };
  constexpr std::array<std::string_view, columns> names{"collective", "nodes",  "ranks",     "size_bytes",
                                                        "time_us",    "system", "placement", "note"};
  std::array<std::size_t, columns> place{};
  std::size_t width = 0;
  std::vector<measured_record> records;
  source.lines([&](std::size_t number, std::string_view line) {
    if (line.empty() || line.front() == '#') return;
    const std::vector<std::string> cells = csv_cells(line);
    if (width == 0) {
      width = cells.size();
      for (std::size_t c = 0; c < columns; ++c) {
        place[c] = static_cast<std::size_t>(std::find(cells.begin(), cells.end(), names[c]) - cells.begin());
        if (place[c] == width && c <= time) source.fail(number, "no column is called '" + std::string(names[c]) + "'");
      }
      return;
    }
    if (cells.size() != width)
      source.fail(number, "has " + std::to_string(cells.size()) + " cells, expected " + std::to_string(width));
    const auto text = [&](column c) { return place[c] < width ? cells[place[c]] : std::string(); };
    const auto found = collective_of_name(text(kind));
    if (!found)
      source.fail(number, "collective is '" + shortened(text(kind)) +
                              "', expected all_gather, reduce_scatter, all_reduce or all_to_all");
    const bool is_open = text(nodes) == "-1";
    if (is_open && !options.group) source.fail(number, "nodes is -1, not stated: say how many nodes the groups span");
    const std::int64_t node_count = is_open ? options.group->nodes : source.count(number, names[nodes], text(nodes));
    const std::int64_t rank_count = source.count(number, names[ranks], text(ranks));
    if (node_count < 1 || rank_count < 2 || rank_count % node_count != 0)
      source.fail(number, std::to_string(rank_count) + " ranks on " + std::to_string(node_count) +
                              " nodes: expected two or more, and as many on each node");
    const std::int64_t bytes_moved = source.count(number, names[size], text(size));
    if (bytes_moved < 1) source.fail(number, "size_bytes is 0, expected a positive number");
    records.push_back({{*found,
                        {rank_count / node_count, node_count},
                        bytes(bytes_moved),
                        source.time(number, names[time], text(time))},
                       text(system),
                       text(placement),
                       text(note)});
  });
  return records;
}

}  // namespace shardweave::inline v0::detail
