#pragma once

#include <shardweave/cost/link_shares.hpp>
#include <shardweave/io/detail/csv_table.hpp>
#include <shardweave/io/detail/record_text.hpp>
#include <shardweave/io/detail/shortened.hpp>
#include <shardweave/io/text_input.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
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
[[nodiscard]] inline std::vector<link_share> read_link_shares(text_source input) {
  const std::string text = input.rest();
  const detail::record_text source{input.name(), text};
  constexpr std::array<std::string_view, 4> names{"kind", "nodes", "size_bytes", "efficiency"};
  constexpr std::array<std::string_view, 3> paths{"nvlink", "nic", "ata"};
  std::vector<link_share> shares;
  detail::csv_records(source, names, [&](const detail::csv_record& row) {
    const std::size_t number = row.line;
    const std::string_view kind = row["kind"];
    const auto path = std::find(paths.begin(), paths.end(), kind);
    if (path == paths.end())
      source.fail(number, "kind is '" + detail::shortened(kind) + "', expected nvlink, nic or ata");
    link_share s;
    s.path = static_cast<shared_path>(path - paths.begin());
    s.nodes = source.count(number, "nodes", row["nodes"]);
    s.size = bytes(source.count(number, "size_bytes", row["size_bytes"]));
    s.share = source.positive(number, "efficiency", row["efficiency"], "a share in (0, 1]");
    if (s.nodes < 1 || s.size.count() < 1 || s.share > 1)
      source.fail(number, "expected one node or more, a size that is positive and a share in (0, 1]");
    shares.push_back(s);
  });
  if (shares.empty()) refuse(error_category::format, input.name() + ": holds no share of a link");
  return shares;
}

}  // namespace shardweave::inline v0
