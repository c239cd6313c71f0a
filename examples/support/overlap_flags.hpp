#pragma once

#include "option_values.hpp"
#include "schedulers.hpp"
#include <shardweave/core/units.hpp>
#include <shardweave/schedule/overlap_settings.hpp>

#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>
#include <vector>

/// \file
/// The settings of exposure-driven scheduling as flags, all of them from one table.

namespace programs {

struct overlap_flag {
  using settings = shardweave::overlap_settings;
  using member =
      std::variant<shardweave::bytes settings::*, std::size_t settings::*, double settings::*, bool settings::*,
                   std::optional<shardweave::bytes> settings::*, std::optional<double> settings::*>;
  const char* name;
  const char* about;
  member setting;
};

/// One line for each setting that is a value.
[[nodiscard]] inline const std::vector<overlap_flag>& overlap_flags() {
  using s = shardweave::overlap_settings;
  static const std::vector<overlap_flag> all{
      {"--in-flight", "in and out of what is launched and not yet waited for", &s::in_flight},
      {"--compute-ahead", "computations between the present one and the first that needs a collective",
       &s::compute_ahead},
      {"--candidates", "collectives looked at for each task that may hide some", &s::candidates},
      {"--compute-share", "part of a task's time that is counted on to hide communication", &s::compute_share},
      {"--memory-increase",
       "growth of the peak over that of the original order; the larger one of this and the ratio counts",
       &s::memory_increase},
      {"--memory-ratio", "the same as a part of that peak", &s::memory_ratio},
      {"--group-by-key", "launch collectives that may be merged one after the other", &s::group_by_key},
      {"--off-path-batch", "launch what no computation needs once so much of a kind is ready", &s::off_path_batch},
      {"--merging-saves-latency", "count what is launched while another of its kind is in flight as without latency",
       &s::merging_saves_latency},
      {"--exact-batches", "take off what is launched early from what is ready", &s::exact_batches}};
  return all;
}

namespace detail {

/// How a value of one type is told, asked for and read.
inline std::string setting_text(shardweave::bytes b) {
  constexpr std::int64_t mebibyte = std::int64_t{1} << 20;
  if (b.count() >= 1024 * mebibyte && b.count() % (1024 * mebibyte) == 0)
    return std::to_string(b.count() / (1024 * mebibyte)) + "GiB";
  return b.count() % mebibyte == 0 ? std::to_string(b.count() / mebibyte) + "MiB" : std::to_string(b.count());
}
inline std::string setting_text(std::size_t n) { return std::to_string(n); }
inline std::string setting_text(double x) {
  std::string text = std::to_string(x);
  text.erase(text.find_last_not_of('0') + 1);
  return text.ends_with('.') ? text + "0" : text;
}
inline std::string setting_text(bool yes) { return yes ? "true" : "false"; }
template <class T>
std::string setting_text(const std::optional<T>& x) {
  return x ? setting_text(*x) : "none";
}

inline std::string setting_range(const shardweave::bytes*) { return "a size from 0 on, such as 2GiB or 500MB"; }
inline std::string setting_range(const std::size_t*) { return "a whole number from 0 on"; }
inline std::string setting_range(const double*) { return "a number from 0 on"; }
inline std::string setting_range(const bool*) { return "true or false"; }
template <class T>
std::string setting_range(const std::optional<T>*) {
  return setting_range(static_cast<const T*>(nullptr)) + ", or none";
}

inline bool read_setting(const std::string& text, shardweave::bytes& into) {
  const std::optional<std::int64_t> size = size_of_text(text);
  if (size) into = shardweave::bytes(*size);
  return size.has_value();
}
inline bool read_setting(const std::string& text, std::size_t& into) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), into);
  return code == std::errc() && end == text.data() + text.size();
}
inline bool read_setting(const std::string& text, double& into) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), into);
  return code == std::errc() && end == text.data() + text.size() && std::isfinite(into) && into >= 0;
}
inline bool read_setting(const std::string& text, bool& into) {
  into = text == "true";
  return into || text == "false";
}
template <class T>
bool read_setting(const std::string& text, std::optional<T>& into) {
  if (text == "none") {
    into.reset();
    return true;
  }
  return read_setting(text, into.emplace());
}

}  // namespace detail

/// A flag for each setting. Its help names range and default, which the passes of AutoParallel replace by their own.
inline void add_overlap_flags(CLI::App& app, overlap_changes& changes) {
  for (const overlap_flag& flag : overlap_flags())
    std::visit(
        [&]<class T>(T shardweave::overlap_settings::*setting) {
          const std::string range = detail::setting_range(static_cast<const T*>(nullptr));
          const std::string usual = detail::setting_text(shardweave::overlap_settings().*setting);
          app.add_option_function<std::string>(
                 flag.name,
                 [&changes, setting, range, name = flag.name](const std::string& text) {
                   T value{};
                   if (!detail::read_setting(text, value))
                     throw CLI::ValidationError(name, "found '" + text + "', expected " + range);
                   changes.emplace_back([setting, value](shardweave::overlap_settings& s) { s.*setting = value; });
                 },
                 std::string(flag.about) + ": " + range + " (default: " + usual + ")")
              ->group("Settings of scheduler overlap, and of the passes of PyTorch and AutoParallel");
        },
        flag.setting);
}

}  // namespace programs
