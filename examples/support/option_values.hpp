#pragma once

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

/// \file
/// Values on a command line: sizes with units, numbers in a range, names. What is wrong with one is told in words.

namespace programs {

/// "1000000", "64K", "500MB", "1.5GiB": bytes; KiB, MiB, GiB, TiB and K, M, G, T are powers of 1024, kB (KB), MB, GB,
/// TB powers of 1000. A fraction of a byte is rounded.
[[nodiscard]] inline std::optional<std::int64_t> size_of_text(std::string_view text) {
  double count = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), count, std::chars_format::fixed);
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (failure != std::errc() || !(count >= 0)) return std::nullopt;
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  double step = 1024;
  if (unit.size() > 1 && unit.ends_with("iB")) {
    unit.remove_suffix(2);
  } else if (unit.ends_with('B')) {
    unit.remove_suffix(1);
    step = 1000;
  }
  if (unit == "k") unit = "K";
  const std::size_t power = unit.empty() ? 0 : std::string_view(" KMGT").find(unit);
  if (unit.size() > 1 || unit == " " || power > 4) return std::nullopt;
  const double size = std::round(count * std::pow(step, static_cast<double>(power)));
  if (size > 0x1p62) return std::nullopt;
  if (power > 0 || text.find('.') != std::string_view::npos) return static_cast<std::int64_t>(size);
  std::int64_t whole = 0;  // plain bytes, each of them
  std::from_chars(text.data(), text.data() + text.size(), whole);
  return whole;
}

namespace detail {

[[noreturn]] inline void refuse_value(const std::string& flag, const std::string& found, const std::string& expected) {
  throw CLI::ValidationError(flag, "found '" + found + "', expected " + expected);
}

}  // namespace detail

/// An option whose value is a size.
inline CLI::Option* add_size(CLI::App& app, const std::string& flag, std::optional<std::int64_t>& into,
                             const std::string& about) {
  return app
      .add_option_function<std::string>(
          flag,
          [&into, flag](const std::string& text) {
            into = size_of_text(text);
            if (!into) detail::refuse_value(flag, text, "a size such as 80GiB, 500MB or 1000000");
          },
          about)
      ->type_name("SIZE");
}

/// Numbers in a range.
/// \param expected  in words: "a whole number from 1 on"
template <class Number>
[[nodiscard]] CLI::Validator within(Number least, Number most, const std::string& expected) {
  return CLI::Validator(
      [least, most, expected](std::string& text) -> std::string {
        Number value{};
        const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool is_number = failure == std::errc() && end == text.data() + text.size();
        if (is_number && value >= least && value <= most) return {};
        return "found '" + text + "', expected " + expected;
      },
      "");
}
[[nodiscard]] inline CLI::Validator whole_from(std::int64_t least) {
  return within(least, std::numeric_limits<std::int64_t>::max(),
                "a whole number from " + std::to_string(least) + " on");
}
[[nodiscard]] inline CLI::Validator whole_within(std::int64_t least, std::int64_t most) {
  return within(least, most, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
}
[[nodiscard]] inline CLI::Validator not_negative() {
  return within(0.0, std::numeric_limits<double>::infinity(), "a number from 0 on");
}
[[nodiscard]] inline CLI::Validator not_negative_but_finite() {
  return within(0.0, std::numeric_limits<double>::max(), "a finite number from 0 on");
}
[[nodiscard]] inline CLI::Validator positive() {
  return within(std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max(), "a number above 0");
}

/// "a, b, c"
[[nodiscard]] inline std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

/// \param all  of things with a name
template <class Named>
[[nodiscard]] std::vector<std::string> names_of(const std::vector<Named>& all) {
  std::vector<std::string> names;
  for (const Named& one : all) names.push_back(one.name);
  return names;
}

[[nodiscard]] inline CLI::Validator one_of(const std::vector<std::string>& names) {
  return CLI::Validator(
      [names](std::string& text) -> std::string {
        for (const std::string& name : names)
          if (text == name) return {};
        return "found '" + text + "', expected one of " + joined(names);
      },
      "");
}

/// A list of names for the end of a help text, each with what it is for.
/// \param all  of things with a name and an `about`
template <class Named>
[[nodiscard]] std::string help_section(const std::string& heading, const std::vector<Named>& all) {
  std::size_t widest = 0;
  for (const Named& one : all) widest = std::max(widest, one.name.size());
  std::string text = "\n" + heading + ":\n";
  for (const Named& one : all)
    text += "  " + one.name + std::string(widest + 2 - one.name.size(), ' ') + one.about + "\n";
  return text;
}

}  // namespace programs
