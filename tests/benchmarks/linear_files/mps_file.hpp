#pragma once

#include "benchmarks/linear_files/linear_text.hpp"
#include <shardweave/report/text_sink.hpp>
#include <shardweave/solve/linear/model/linear_model.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

/// \file
/// Writes linear models as free MPS, which every solver reads.

namespace linear_files {

using namespace shardweave;
namespace detail {

using namespace shardweave::detail;

template <text_sink Sink>
class mps_writer {
 public:
  mps_writer(Sink& sink, const linear_model& model, const linear_names& given)
      : out_(sink), model_(model), names_(readable_names(model, given)), start_(model.columns.size() + 1) {
    for (const linear_entry& e : model.entries) ++start_[e.column + 1];
    for (std::size_t j = 0; j < model.columns.size(); ++j) start_[j + 1] += start_[j];
    entry_.resize(model.entries.size());
    std::vector<std::size_t> next(start_.begin(), start_.end() - 1);
    for (std::size_t i = 0; i < model.entries.size(); ++i) entry_[next[model.entries[i].column]++] = i;
  }

  void write() {
    line("NAME local_polytope");
    write_rows();
    write_columns();
    write_sides();
    write_bounds();
    line("ENDATA");
    out_.flush();
  }

 private:
  enum class form { equal, above, below, range, column };

  /// A range is stated by its width, which may not give the upper limit back, and readers drop rows without limits:
  /// then a column has the limits.
  [[nodiscard]] form form_of(const linear_row& r) const {
    if (r.low == r.high) return form::equal;
    if (std::isinf(r.low)) return std::isinf(r.high) ? form::column : form::below;
    if (std::isinf(r.high)) return form::above;
    return r.low + (r.high - r.low) == r.high && std::isfinite(r.high - r.low) ? form::range : form::column;
  }

  void line(std::string_view words) {
    out_ << words;
    out_.end_line();
  }
  void entry(const std::string& set, const std::string& name, double value) {
    out_ << " " << set << " " << name << " " << value;
    out_.end_line();
  }
  [[nodiscard]] std::string range_column(std::size_t r) const { return "range." + names_.rows[r]; }

  void write_rows() {
    line("ROWS");
    line(" N cost");
    for (std::size_t r = 0; r < model_.rows.size(); ++r) {
      const char* kinds[] = {" E ", " G ", " L ", " G ", " E "};
      out_ << kinds[static_cast<std::size_t>(form_of(model_.rows[r]))] << names_.rows[r];
      out_.end_line();
    }
  }

  void write_columns() {
    line("COLUMNS");
    bool whole = false;
    const auto mark = [&](bool integer) {
      if (integer != whole) line(integer ? " mark 'MARKER' 'INTORG'" : " mark 'MARKER' 'INTEND'");
      whole = integer;
    };
    for (std::size_t j = 0; j < model_.columns.size(); ++j) {
      const linear_column& c = model_.columns[j];
      mark(c.integer);
      // a column without weights is brought in by a zero
      if (c.objective != 0 || start_[j] == start_[j + 1]) entry(names_.columns[j], "cost", c.objective);
      for (std::size_t i = start_[j]; i < start_[j + 1]; ++i) {
        const linear_entry& e = model_.entries[entry_[i]];
        entry(names_.columns[j], names_.rows[e.row], e.value);
      }
    }
    mark(false);
    // readers do not agree which sign a constant at the side of the costs has
    if (model_.offset != 0) entry("constant_one", "cost", model_.offset);
    for (std::size_t r = 0; r < model_.rows.size(); ++r)
      if (form_of(model_.rows[r]) == form::column) entry(range_column(r), names_.rows[r], -1);
  }

  void write_sides() {
    line("RHS");
    bool ranges = false;
    for (std::size_t r = 0; r < model_.rows.size(); ++r) {
      const linear_row& row = model_.rows[r];
      const form f = form_of(row);
      ranges = ranges || f == form::range;
      if (f == form::column) continue;
      if (const double value = f == form::below ? row.high : row.low; value != 0) entry("side", names_.rows[r], value);
    }
    if (!ranges) return;
    line("RANGES");
    for (std::size_t r = 0; r < model_.rows.size(); ++r) {
      const linear_row& row = model_.rows[r];
      if (form_of(row) == form::range) entry("width", names_.rows[r], row.high - row.low);
    }
  }

  void bound(const std::string& name, double low, double high, bool integer) {
    const auto say = [&](const char* kind) {
      out_ << " " << kind << " limits " << name;
      out_.end_line();
    };
    if (std::isinf(low) && std::isinf(high)) return say("FR");
    if (low == high) return entry("FX limits", name, low);
    if (std::isinf(low)) say("MI");
    if (!std::isinf(low) && low != 0) entry("LO limits", name, low);
    if (!std::isinf(high)) {
      entry("UP limits", name, high);
    } else if (integer) {
      say("PL");  // without a word, some readers end whole numbers at 1
    }
  }
  void write_bounds() {
    line("BOUNDS");
    if (model_.offset != 0) bound("constant_one", 1, 1, false);
    for (std::size_t j = 0; j < model_.columns.size(); ++j)
      bound(names_.columns[j], limit_of(model_.columns[j], false), limit_of(model_.columns[j], true),
            model_.columns[j].integer);
    for (std::size_t r = 0; r < model_.rows.size(); ++r)
      if (form_of(model_.rows[r]) == form::column)
        bound(range_column(r), model_.rows[r].low, model_.rows[r].high, false);
  }

  linear_text<Sink> out_;
  const linear_model& model_;
  linear_names names_;
  std::vector<std::size_t> start_, entry_;  ///< entries by column
};

}  // namespace detail

/// Writes a model as free MPS. All numbers come back bit for bit. The offset is the weight of a column `constant_one`,
/// fixed at 1; a row with two limits whose distance would round, or with none, is held equal to a column
/// `range.ROW`, which has the limits. Limits of whole numbers are written whole.
///
/// \throws error (input) for a model that `validate` refuses or a name that no reader would take; what the sink throws
/// Complexity: linear in the model
template <text_sink Sink>
void write_mps(Sink&& sink, const linear_model& model, const linear_names& names = {}) {
  validate(model);
  detail::mps_writer<std::remove_reference_t<Sink>>(sink, model, names).write();
}

/// The same to a file, compressed if its name ends in ".gz".
/// \throws error (system)
inline void write_mps(const std::filesystem::path& path, const linear_model& model, const linear_names& names = {}) {
  detail::write_linear_file(path, [&](auto& sink) { write_mps(sink, model, names); });
}

}  // namespace linear_files
