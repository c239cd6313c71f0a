#pragma once

#include <shardweave/io/detail/record_text.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Tables as CSV: a line of names, then lines of as many cells.

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

/// A line of a table, by the names of its columns.
struct csv_record {
  std::size_t line = 0;
  const std::vector<std::string>& names;
  std::vector<std::string> cells;

  /// Empty where no column has the name.
  [[nodiscard]] std::string_view operator[](std::string_view name) const {
    const auto at = std::find(names.begin(), names.end(), name);
    return at == names.end() ? std::string_view() : cells[static_cast<std::size_t>(at - names.begin())];
  }
};

/// Calls `use(row)` for each line of a table behind the names; lines that are empty or begin with # are skipped.
/// \param required  names that must be there
/// \throws error (format) naming the line, where one of them is not, a name stands twice, or where cells are too few or
/// too many
template <class Use>
void csv_records(const record_text& source, std::span<const std::string_view> required, Use use) {
  std::vector<std::string> names;
  source.lines([&](std::size_t number, std::string_view line) {
    if (line.empty() || line.front() == '#') return;
    std::vector<std::string> cells = csv_cells(line);
    if (names.empty()) {
      names = std::move(cells);
      for (const std::string_view name : required)
        if (std::find(names.begin(), names.end(), name) == names.end())
          source.fail(number, "no column is called '" + std::string(name) + "'");
      for (auto name = names.begin(); name != names.end(); ++name)
        if (!name->empty() && std::find(names.begin(), name, *name) != name)
          source.fail(number, "two columns are called '" + *name + "'");
      return;
    }
    if (cells.size() != names.size())
      source.fail(number, "has " + std::to_string(cells.size()) + " cells, expected " + std::to_string(names.size()));
    use(csv_record{number, names, std::move(cells)});
  });
}

}  // namespace shardweave::inline v0::detail
