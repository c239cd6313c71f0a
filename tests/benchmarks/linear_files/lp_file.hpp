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
/// Writes linear models in the LP format of CPLEX, which people can read and nearly every solver does.

namespace linear_files {

using namespace shardweave;
namespace detail {

using namespace shardweave::detail;

template <text_sink Sink>
class lp_writer {
 public:
  lp_writer(Sink& sink, const linear_model& model, const linear_names& given)
      : out_(sink), model_(model), names_(readable_names(model, given)), start_(model.rows.size() + 1) {
    for (const linear_entry& e : model.entries) ++start_[e.row + 1];
    for (std::size_t r = 0; r < model.rows.size(); ++r) start_[r + 1] += start_[r];
    entry_.resize(model.entries.size());
    std::vector<std::size_t> next(start_.begin(), start_.end() - 1);
    for (std::size_t i = 0; i < model.entries.size(); ++i) entry_[next[model.entries[i].row]++] = i;
  }

  void write() {
    write_objective();
    write_rows();
    write_bounds();
    out_ << "End";
    out_.end_line();
    out_.flush();
  }

 private:
  /// Terms, some to a line: readers limit lines, to 510 letters and less.
  void term(double weight, const std::string& name) {
    if (++terms_ % 8 == 0) {
      out_.end_line();
      out_ << "   ";
    }
    out_ << (std::signbit(weight) ? " - " : " + ") << std::abs(weight) << " " << name;
  }
  void begin(const std::string& name) {
    terms_ = 0;
    out_ << " " << name << ":";
  }

  void write_objective() {
    out_ << "\\ " << std::to_string(model_.columns.size()) << " columns, " << std::to_string(model_.rows.size())
         << " rows";
    out_.end_line();
    out_ << "Minimize";
    out_.end_line();
    begin("cost");
    std::vector<char> seen(model_.columns.size());
    for (const linear_entry& e : model_.entries) seen[e.column] = 1;
    // a column that stands nowhere else is brought in by a zero
    for (std::size_t j = 0; j < model_.columns.size(); ++j)
      if (model_.columns[j].objective != 0 || seen[j] == 0) term(model_.columns[j].objective, names_.columns[j]);
    // neither empty sums nor constants are read by everyone
    if (terms_ == 0 && !model_.columns.empty()) term(0, names_.columns[0]);
    if (model_.offset != 0 || model_.columns.empty()) term(model_.offset, "constant_one");
    out_.end_line();
  }

  void write_rows() {
    out_ << "Subject To";
    out_.end_line();
    for (std::size_t r = 0; r < model_.rows.size(); ++r) {
      const auto [low, high] = model_.rows[r];
      begin(names_.rows[r]);
      for (std::size_t i = start_[r]; i < start_[r + 1]; ++i) {
        const linear_entry& e = model_.entries[entry_[i]];
        term(e.value, names_.columns[e.column]);
      }
      if (low == high) {
        side(r, " = ", low);
      } else if (std::isinf(high) && !std::isinf(low)) {
        side(r, " >= ", low);
      } else if (std::isinf(low) && !std::isinf(high)) {
        side(r, " <= ", high);
      } else {  // two limits or none: the format has no such rows, so a column stands for the sum
        term(-1, "range." + names_.rows[r]);
        out_ << " = 0";
      }
      out_.end_line();
    }
    if (model_.rows.empty()) {
      out_ << " no_row: constant_one = 1";  // some readers want one
      out_.end_line();
    }
  }
  void side(std::size_t r, const char* relation, double value) {
    if (start_[r] == start_[r + 1]) term(0, model_.columns.empty() ? "constant_one" : names_.columns[0]);
    out_ << relation << value;
  }

  void write_bounds() {
    out_ << "Bounds";
    out_.end_line();
    const auto bound = [&](const std::string& name, double low, double high) {
      if (low == 0 && std::isinf(high)) return;  // so without a word
      out_ << " ";
      if (std::isinf(low) && std::isinf(high)) {
        out_ << name << " free";
      } else if (low == high) {
        out_ << name << " = " << low;
      } else {
        std::isinf(low) ? out_ << "-inf" : out_ << low;
        out_ << " <= " << name;
        if (!std::isinf(high)) out_ << " <= " << high;
      }
      out_.end_line();
    };
    for (std::size_t j = 0; j < model_.columns.size(); ++j)
      bound(names_.columns[j], limit_of(model_.columns[j], false), limit_of(model_.columns[j], true));
    for (std::size_t r = 0; r < model_.rows.size(); ++r) {
      const auto [low, high] = model_.rows[r];
      if (low != high && std::isinf(low) == std::isinf(high)) bound("range." + names_.rows[r], low, high);
    }
    if (model_.offset != 0 || model_.columns.empty() || model_.rows.empty()) bound("constant_one", 1, 1);
    if (!model_.has_integers()) return;
    out_ << "General";
    out_.end_line();
    for (std::size_t j = 0; j < model_.columns.size(); ++j)
      if (model_.columns[j].integer) {
        out_ << " " << names_.columns[j];
        out_.end_line();
      }
  }

  linear_text<Sink> out_;
  const linear_model& model_;
  linear_names names_;
  std::vector<std::size_t> start_, entry_;  ///< entries by row
  std::size_t terms_ = 0;
};

}  // namespace detail

/// Writes a model as text that GLPK, CBC, HiGHS, SCIP, CPLEX and Gurobi read. All numbers come back bit for bit.
///
/// The format lacks three things, which get columns of their own: the offset is the weight of `constant_one`, fixed
/// at 1; a row with two limits or none is held equal to `range.ROW`, which has the limits. Limits of whole numbers are
/// written whole.
///
/// \throws error (input) for a model that `validate` refuses or a name that no reader would take; what the sink throws
/// Complexity: linear in the model
template <text_sink Sink>
void write_lp(Sink&& sink, const linear_model& model, const linear_names& names = {}) {
  validate(model);
  detail::lp_writer<std::remove_reference_t<Sink>>(sink, model, names).write();
}

/// The same to a file, compressed if its name ends in ".gz".
/// \throws error (system)
inline void write_lp(const std::filesystem::path& path, const linear_model& model, const linear_names& names = {}) {
  detail::write_linear_file(path, [&](auto& sink) { write_lp(sink, model, names); });
}

}  // namespace linear_files
