#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/report/text_table.hpp>

#include <algorithm>

/// \file
/// How tables are set.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE text_table& text_table::row(std::vector<std::string> cells) {
  if (cells.size() > columns_.size())
    refuse(error_category::input, "a row of " + number_text(cells.size(), "cell") + " in a table of " +
                                      number_text(columns_.size(), "column"));
  cells.resize(columns_.size());
  for (std::string& cell : cells)
    std::replace_if(
        cell.begin(), cell.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  rows_.push_back({std::move(cells), false});
  return *this;
}

SHARDWEAVE_INLINE std::string text_table::text(std::size_t indent) const {
  std::vector<std::size_t> widths;
  std::vector<std::string> headings;
  for (const column& c : columns_) {
    headings.push_back(c.heading);
    widths.push_back(width_of(c.heading));
  }
  for (const line& r : rows_)
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], width_of(r.cells[i]));
  std::string out;
  if (std::any_of(headings.begin(), headings.end(), [](const std::string& h) { return !h.empty(); })) {
    append(out, headings, widths, indent);
    append_rule(out, widths, indent);
  }
  for (const line& r : rows_)
    if (r.is_rule) {
      append_rule(out, widths, indent);
    } else {
      append(out, r.cells, widths, indent);
    }
  return out;
}

SHARDWEAVE_INLINE std::size_t text_table::width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

SHARDWEAVE_INLINE void text_table::append(std::string& out, const std::vector<std::string>& cells,
                                          const std::vector<std::size_t>& widths, std::size_t indent) const {
  std::string row(indent, ' ');
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) row += "  ";
    const std::size_t blanks = widths[i] - width_of(cells[i]);
    if (columns_[i].side == text_side::right) row.append(blanks, ' ');
    row += cells[i];
    if (columns_[i].side == text_side::left) row.append(blanks, ' ');
  }
  row.erase(row.find_last_not_of(' ') + 1);
  out += row;
  out += '\n';
}

SHARDWEAVE_INLINE void text_table::append_rule(std::string& out, const std::vector<std::size_t>& widths,
                                               std::size_t indent) {
  std::size_t all = widths.empty() ? 0 : 2 * (widths.size() - 1);
  for (const std::size_t w : widths) all += w;
  if (all > 0) out.append(indent, ' ').append(all, '-');
  out += '\n';
}

}  // namespace shardweave::inline v0
