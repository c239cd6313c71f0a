#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/cost/nccl_filter.hpp>
#include <shardweave/cost/nccl_rule.hpp>
#include <shardweave/io/detail/shortened.hpp>
#include <shardweave/io/text_input.hpp>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

/// \file
/// Reads the CSV files of NCCL's example tuner plugin (NCCL_TUNER_CONFIG_FILE).

namespace shardweave::inline v0 {
namespace detail {

class nccl_rules_reader {
 public:
  nccl_rules read(text_input& input) {
    source_ = input.name();
    std::string text;
    for (std::string_view piece = input.next(); !piece.empty(); piece = input.next()) {
      text += piece;
      if (text.size() > (std::size_t{1} << 26)) fail("the text is longer than 64 MiB");
    }
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      ++line_;
      one_line(rest.substr(0, end));
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    }
    return std::move(rules_);
  }

 private:
  static constexpr std::size_t longest_line = 255;     // the plugin cuts longer ones in two
  static constexpr std::int64_t most_channels = 1024;  // NCCL itself has 64
  static constexpr std::array<std::string_view, 10> columns{"collective", "min_bytes", "max_bytes", "algorithm",
                                                            "protocol",   "channels",  "nNodes",    "nRanks",
                                                            "numPipeOps", "regBuff"};

  [[noreturn]] void fail(const std::string& what) const {
    refuse(error_category::format, source_ + ": line " + std::to_string(line_) + ": " + what);
  }
  [[nodiscard]] static std::string_view trimmed(std::string_view text) {
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    return text;
  }

  template <class Word>
  [[nodiscard]] Word word(std::string_view field, std::size_t count, std::string_view column) const {
    std::string known;
    for (std::size_t i = 0; i < count; ++i) {
      const auto w = static_cast<Word>(i);
      if (name_of(w) == field) return w;
      known += (known.empty() ? "" : ", ") + std::string(name_of(w));
    }
    fail(std::string(column) + " '" + shortened(field) + "' is none of " + known);
  }
  [[nodiscard]] std::int64_t number(std::string_view field, std::int64_t least, std::string_view column) const {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || end != field.data() + field.size() || value < least)
      fail(std::string(column) + " '" + shortened(field) + "' is not a whole number from " + std::to_string(least) +
           " on");
    return value;
  }

  void one_line(std::string_view line) {
    if (line.size() > longest_line) fail("is longer than 255 characters");
    line = trimmed(line);
    if (line.empty() || line.front() == '#') return;
    std::vector<std::string_view> fields;
    for (std::string_view rest = line;;) {
      const std::size_t comma = rest.find(',');
      fields.push_back(trimmed(rest.substr(0, comma)));
      if (comma == std::string_view::npos) break;
      rest = rest.substr(comma + 1);
    }
    if (fields.front() == columns.front()) return;  // a heading
    if (fields.size() < 8 || fields.size() > columns.size())
      fail("has " + std::to_string(fields.size()) + " fields; 8 to 10 were expected");
    nccl_rule r;
    r.operation = word<nccl_operation>(fields[0], nccl_operation_count, columns[0]);
    r.least = number(fields[1], 0, columns[1]);
    r.most = number(fields[2], 0, columns[2]);
    r.algorithm = word<nccl_algorithm>(fields[3], nccl_algorithm_count, columns[3]);
    r.protocol = word<nccl_protocol>(fields[4], nccl_protocol_count, columns[4]);
    r.channels = number(fields[5], -1, columns[5]);
    if (r.channels > most_channels)
      fail("channels '" + shortened(fields[5]) + "' is more than " + std::to_string(most_channels));
    r.nodes = number(fields[6], -1, columns[6]);
    r.ranks = number(fields[7], -1, columns[7]);
    if (fields.size() > 8) r.merged = number(fields[8], -1, columns[8]);
    if (fields.size() > 9) r.registered = number(fields[9], -1, columns[9]);
    if (r.most < r.least)
      fail("max_bytes " + std::to_string(r.most) + " is less than min_bytes " + std::to_string(r.least));
    rules_.push_back(r);
  }

  std::string source_;
  std::size_t line_ = 0;
  nccl_rules rules_;
};

}  // namespace detail

/// Reads the rows of a tuner file. The plugin takes unknown words for allreduce, ring or simple in silence; here they
/// are refused.
/// \throws error (format) that names the line, the column and what was expected
[[nodiscard]] inline nccl_rules read_nccl_rules(text_source input) { return detail::nccl_rules_reader().read(input); }

}  // namespace shardweave::inline v0
