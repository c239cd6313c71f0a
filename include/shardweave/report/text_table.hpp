#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Small tables for people.

namespace shardweave::inline v0 {

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
  /// A column: what stands above it, and to which side its cells lie.
  struct column {
    std::string heading = {};
    text_side side = text_side::left;
  };

  explicit text_table(std::vector<column> columns) : columns_(std::move(columns)) {}

  /// Cells that are left out are empty.
  /// \throws error (input) for more cells than columns
  text_table& row(std::vector<std::string> cells);
  /// A line across all columns.
  text_table& rule() {
    rows_.push_back({std::vector<std::string>(columns_.size()), true});
    return *this;
  }
  [[nodiscard]] bool empty() const { return rows_.empty(); }

  /// Headings with a line below them, unless all are empty, then the rows; each line begins with `indent` blanks.
  [[nodiscard]] std::string text(std::size_t indent = 0) const;

  /// Columns that a text takes, one per character of UTF-8.
  [[nodiscard]] static std::size_t width_of(std::string_view text);

 private:
  struct line {
    std::vector<std::string> cells;
    bool is_rule;
  };
  void append(std::string& out, const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
              std::size_t indent) const;
  static void append_rule(std::string& out, const std::vector<std::size_t>& widths, std::size_t indent);

  std::vector<column> columns_;
  std::vector<line> rows_;
};

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/report/impl/text_table.hpp>
#endif
