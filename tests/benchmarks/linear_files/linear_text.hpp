#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/io/atomic_file.hpp>
#include <shardweave/io/detail/shortened.hpp>
#include <shardweave/report/text_sink.hpp>
#include <shardweave/solve/linear/model/linear_model.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

/// \file
/// What the writers of linear models have in common: names that every reader takes, numbers that come back.

namespace linear_files {

using namespace shardweave;
namespace detail {

using namespace shardweave::detail;

/// Words and numbers on their way to a sink.
template <text_sink Sink>
class linear_text {
 public:
  explicit linear_text(Sink& sink) : out_(sink) {}

  linear_text& operator<<(std::string_view words) {
    out_.text += words;
    return *this;
  }
  /// The shortest text that reads back as the same number.
  linear_text& operator<<(double value) {
    std::array<char, 40> room;
    out_.text.append(room.data(), std::to_chars(room.data(), room.data() + room.size(), value).ptr);
    return *this;
  }
  void end_line() {
    out_.text += '\n';
    out_.pass();
  }
  void flush() { out_.flush(); }

 private:
  shardweave::detail::buffered_text<Sink> out_;
};

/// Names for everything: those given, or x0, x1 ... and r0, r1 ...
///
/// Taken are what all readers of both formats take: up to 255 letters, digits, `_` and `.`, first a letter, but no
/// number (`e5`) and no word of the formats.
/// \throws error (input) naming the name
inline linear_names readable_names(const linear_model& model, const linear_names& given) {
  const auto complete = [](const std::vector<std::string>& names, std::size_t count, const char* kind,
                           const char* letter) {
    if (!names.empty() && names.size() != count)
      refuse(error_category::input, "linear model: it has " + std::to_string(count) + " " + kind + "s and " +
                                        std::to_string(names.size()) + " names for them");
    std::vector<std::string> all = names;
    for (std::size_t i = all.size(); i < count; ++i) all.push_back(letter + std::to_string(i));
    std::unordered_set<std::string_view> seen;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string& name = all[i];
      const auto fail = [&](const std::string& why) {
        refuse(error_category::input, "linear model: " + std::string(kind) + " " + std::to_string(i) + " is called \"" +
                                          shortened(name) + "\", " + why);
      };
      const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
      const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
      const auto fits = [&](char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '.'; };
      if (name.empty() || name.size() > 255 || !is_letter(name[0]) || !std::all_of(name.begin(), name.end(), fits))
        fail("expected up to 255 letters, digits, '_' and '.', and a letter first");
      std::string lower = name;
      std::transform(lower.begin(), lower.end(), lower.begin(),
                     [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
      constexpr std::string_view words[] = {
          "bin",      "binaries", "binary",  "bound",    "bounds",   "end",      "endata",   "free",   "gen",
          "general",  "generals", "inf",     "infinity", "int",      "integer",  "integers", "marker", "max",
          "maximise", "maximize", "maximum", "min",      "minimise", "minimize", "minimum",  "nan",    "objsense",
          "ranges",   "rhs",      "semi",    "sos",      "st",       "such",     "subject",  "cost",   "constant_one"};
      if (std::find(std::begin(words), std::end(words), lower) != std::end(words) || lower.starts_with("range."))
        fail("a word that the formats or their writers use");
      if (lower[0] == 'e' && (name.size() == 1 || is_digit(name[1]) || name[1] == '.'))
        fail("which readers may take for a number");
      if (!seen.insert(name).second) fail("and so is another one");
    }
    return all;
  };
  return {complete(given.columns, model.columns.size(), "column", "x"),
          complete(given.rows, model.rows.size(), "row", "r")};
}

/// A limit as it is written: readers insist on whole ones for whole numbers.
inline double limit_of(const linear_column& c, bool upper) {
  if (!c.integer) return upper ? c.high : c.low;
  return upper ? std::floor(c.high) : std::ceil(c.low);
}

/// Writes a file through `write(sink)`: it is there whole or not at all.
template <class Write>
void write_linear_file(const std::filesystem::path& path, Write write) {
  atomic_file file(path);
  const auto sink = [&](std::string_view text) { file.write(text); };
  write(sink);
  file.commit();
}

}  // namespace detail
}  // namespace linear_files
