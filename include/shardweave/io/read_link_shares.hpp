#pragma once

#include <shardweave/cost/link_shares.hpp>
#include <shardweave/io/detail/collective_csv.hpp>
#include <shardweave/io/detail/record_text.hpp>
#include <shardweave/io/detail/shortened.hpp>
#include <shardweave/io/text_input.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Reads tables of the share of its bandwidth that a link reaches.

namespace shardweave::inline v0 {

/// Reads CSV with a line of names: `kind` (`nvlink`, `nic` or `ata`: bound by links in a node, by the network, or an
/// all-to-all), `nodes`, `size_bytes`, `efficiency` in (0, 1]. Other columns and lines that begin with # are skipped.
/// SimAI publishes its ratios so.
/// \throws error (format) naming the file, the line, the field, what was found and what was expected
[[nodiscard]] inline std::vector<link_share> read_link_shares(text_input& input) {
  std::string text;
  for (std::string_view piece = input.next(); !piece.empty(); piece = input.next()) text += piece;
  const detail::record_text source{input.name(), text};
  constexpr std::array<std::string_view, 4> names{"kind", "nodes", "size_bytes", "efficiency"};
  constexpr std::array<std::string_view, 3> paths{"nvlink", "nic", "ata"};
  std::array<std::size_t, names.size()> place{};
  std::size_t width = 0;
  std::vector<link_share> shares;
  source.lines([&](std::size_t number, std::string_view line) {
    if (line.empty() || line.front() == '#') return;
    const std::vector<std::string> cells = detail::csv_cells(line);
    if (width == 0) {
      width = cells.size();
      for (std::size_t c = 0; c < names.size(); ++c) {
        place[c] = static_cast<std::size_t>(std::find(cells.begin(), cells.end(), names[c]) - cells.begin());
        if (place[c] == width) source.fail(number, "no column is called '" + std::string(names[c]) + "'");
      }
      return;
    }
    if (cells.size() != width)
      source.fail(number, "has " + std::to_string(cells.size()) + " cells, expected " + std::to_string(width));
    const std::string& kind = cells[place[0]];
    const auto path = std::find(paths.begin(), paths.end(), kind);
    if (path == paths.end())
      source.fail(number, "kind is '" + detail::shortened(kind) + "', expected nvlink, nic or ata");
    link_share s;
    s.path = static_cast<shared_path>(path - paths.begin());
    s.nodes = source.count(number, names[1], cells[place[1]]);
    s.size = bytes(source.count(number, names[2], cells[place[2]]));
    s.share = source.positive(number, names[3], cells[place[3]], "a share in (0, 1]");
    if (s.nodes < 1 || s.size.count() < 1 || s.share > 1)
      source.fail(number, "expected one node or more, a size that is positive and a share in (0, 1]");
    shares.push_back(s);
  });
  if (shares.empty()) refuse(error_category::format, input.name() + ": holds no share of a link");
  return shares;
}

/// The shares of a file, which may be compressed.
/// \throws error as above, or (system) if the file cannot be read
[[nodiscard]] inline std::vector<link_share> read_link_shares(const std::filesystem::path& path) {
  text_input input(path);
  return read_link_shares(input);
}

}  // namespace shardweave::inline v0
