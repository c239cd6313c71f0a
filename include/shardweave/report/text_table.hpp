#pragma once

#include <shardweave/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Small tables for people.

namespace shardweave {
inline namespace v0 {

/// On which side of its column a cell stands.
enum class text_side { left, right };

/// Columns as wide as their widest cell, two blanks between them, no blanks at the ends of lines.
///
/// ```
/// text_table table({{"stage"}, {"time", text_side::right}});
/// table.row({"solve", "1.20 s"}).rule().row({"total", "1.20 s"});
/// table.text();
/// ```
class text_table {
 public:
  struct column {
    std::string heading = {};
    text_side side = text_side::left;
  };

  explicit text_table(std::vector<column> columns) : columns_(std::move(columns)) {}

  /// Cells that are left out are empty.
  /// \throws error (input) for more cells than columns
  text_table& row(std::vector<std::string> cells) {
    if (cells.size() > columns_.size())
      refuse(error_category::input, "a row of " + std::to_string(cells.size()) + " cells in a table of " +
                                        std::to_string(columns_.size()) + " columns");
    cells.resize(columns_.size());
    for (std::string& cell : cells)
      std::replace_if(
          cell.begin(), cell.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
    rows_.push_back({std::move(cells), false});
    return *this;
  }
  /// A line across all columns.
  text_table& rule() {
    rows_.push_back({std::vector<std::string>(columns_.size()), true});
    return *this;
  }
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  /// Headings with a line below them, unless all are empty, then the rows; each line begins with `indent` blanks.
  [[nodiscard]] std::string text(std::size_t indent = 0) const {
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

  /// Columns that a text takes, one per character of UTF-8.
  [[nodiscard]] static std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
  }

 private:
  struct line {
    std::vector<std::string> cells;
    bool is_rule;
  };
  void append(std::string& out, const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
              std::size_t indent) const {
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
  static void append_rule(std::string& out, const std::vector<std::size_t>& widths, std::size_t indent) {
    std::size_t all = widths.empty() ? 0 : 2 * (widths.size() - 1);
    for (const std::size_t w : widths) all += w;
    if (all > 0) out.append(indent, ' ').append(all, '-');
    out += '\n';
  }

  std::vector<column> columns_;
  std::vector<line> rows_;
};

}  // namespace v0
}  // namespace shardweave
