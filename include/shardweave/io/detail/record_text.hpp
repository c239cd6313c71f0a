#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/io/detail/shortened.hpp>
#include <shardweave/io/measured_record.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

/// \file
/// What the readers of measured collectives share: lines, names, numbers with messages.

namespace shardweave::inline v0 {

namespace detail {

[[nodiscard]] inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n";
  const std::size_t from = text.find_first_not_of(blank);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(blank) - from + 1);
}

/// The collective of a name, whatever separates its words: "all_reduce", "allreduce", "All-Reduce",
/// "all_reduce_perf".
[[nodiscard]] inline std::optional<collective> collective_of_name(std::string_view name) {
  std::string plain;
  for (const char c : name)
    if (c >= 'A' && c <= 'Z') {
      plain += static_cast<char>(c - 'A' + 'a');
    } else if (c >= 'a' && c <= 'z') {
      plain += c;
    }
  if (plain.ends_with("perf")) plain.resize(plain.size() - 4);
  constexpr std::array<std::pair<std::string_view, collective>, 5> names{{{"allgather", collective::all_gather},
                                                                          {"reducescatter", collective::reduce_scatter},
                                                                          {"allreduce", collective::all_reduce},
                                                                          {"alltoall", collective::all_to_all},
                                                                          {"shift", collective::shift}}};
  for (const auto& [text, kind] : names)
    if (plain == text) return kind;
  return std::nullopt;
}

/// A text with its name, read by lines that count from 1.
struct record_text {
  std::string name;
  std::string_view text;

  enum class format { csv, nccl_tests, xla };

  /// Calls `use(line number, line)` for every line.
  template <class Use>
  void lines(Use use) const {
    std::size_t number = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      use(++number, trimmed(text.substr(at, end - at)));
      at = end + 1;
    }
  }

  /// By the first line that is no comment.
  [[nodiscard]] format kind() const {
    std::optional<format> found;
    lines([&](std::size_t, std::string_view line) {
      if (found || line.empty() || line.front() == '#') return;
      found = line.starts_with("entries")                ? format::xla
              : line.find(',') != std::string_view::npos ? format::csv
                                                         : format::nccl_tests;
    });
    return found.value_or(format::nccl_tests);
  }

  static constexpr std::int64_t most = std::int64_t{1} << 60;  ///< of any size, count or time, so that sums are whole

  [[noreturn]] void fail(std::size_t line, const std::string& what) const {
    refuse(error_category::format, name + ": line " + std::to_string(line) + ": " + what);
  }

  [[nodiscard]] std::int64_t count(std::size_t line, std::string_view field, std::string_view found) const {
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(found.data(), found.data() + found.size(), value);
    if (code != std::errc() || end != found.data() + found.size() || value < 0 || value > most)
      fail(line, std::string(field) + " is '" + shortened(found) + "', expected a whole number, not negative" +
                     (value > most ? " and at most 2^60" : ""));
    return value;
  }

  [[nodiscard]] double time(std::size_t line, std::string_view field, std::string_view found) const {
    const double value = positive(line, field, found, "a positive number of microseconds");
    if (value > static_cast<double>(most) / 1000)
      fail(line, std::string(field) + " is '" + shortened(found) + "', expected at most 2^60 nanoseconds");
    return value;
  }

  /// A number above 0; `expected` tells in words what it should be.
  [[nodiscard]] double positive(std::size_t line, std::string_view field, std::string_view found,
                                std::string_view expected) const {
    double value = 0;
    const auto [end, code] = std::from_chars(found.data(), found.data() + found.size(), value);
    if (code != std::errc() || end != found.data() + found.size() || !(value > 0) || !std::isfinite(value))
      fail(line, std::string(field) + " is '" + shortened(found) + "', expected " + std::string(expected));
    return value;
  }
};

}  // namespace detail
}  // namespace shardweave::inline v0
