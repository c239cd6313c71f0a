#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/overlap/windows_form.hpp>
#include <shardweave/placement/description.hpp>

#include <CLI/CLI.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// The values of `--overlap`, and the flags that go with its form `windows`.

namespace programs {

struct named_overlap {
  std::string name;
  std::string about;
};

inline constexpr shardweave::savings_form overlap_forms[] = {
    shardweave::savings_form::off, shardweave::savings_form::windows, shardweave::savings_form::strict,
    shardweave::savings_form::inclusive, shardweave::savings_form::inclusive_twice};

[[nodiscard]] inline std::vector<named_overlap> overlaps() {
  constexpr const char* about[] = {"nothing hides", "behind computation that neither needs it nor is needed by it",
                                   "behind computation before its consumer, or after it, as the edge says",
                                   "the same, and behind its consumer too",
                                   "the same, where an edge that says both counts twice"};
  std::vector<named_overlap> all;
  for (const shardweave::savings_form form : overlap_forms)
    all.push_back({std::string(shardweave::name_of(form)), about[all.size()]});
  return all;
}

/// \pre `name` is one of `overlaps`
[[nodiscard]] inline shardweave::savings_form overlap_form(std::string_view name) {
  for (const shardweave::savings_form form : overlap_forms)
    if (shardweave::name_of(form) == name) return form;
  return shardweave::savings_form::off;
}

/// What restricts and widens form `windows`.
struct window_options {
  std::optional<std::size_t> prefetch = std::nullopt;
  bool every_edge = false;

  void add_to(CLI::App& app) {
    app.add_option("--overlap-prefetch", prefetch,
                   "N: with --overlap windows, communication starts at most N computations before what needs it "
                   "(default: as early as it can)")
        ->check(CLI::Range(std::size_t{0}, std::size_t{1} << 32));
    app.add_flag("--overlap-every-edge", every_edge,
                 "with --overlap windows, any communication may hide behind what does not wait for it, not only that "
                 "of parameters and results");
  }
  /// \throws error (input) if the form has no windows to restrict or widen
  [[nodiscard]] shardweave::windows_form with(shardweave::savings_form form) const {
    if (form != shardweave::savings_form::windows && (prefetch || every_edge))
      shardweave::refuse(shardweave::error_category::input,
                         std::string(prefetch ? "--overlap-prefetch" : "--overlap-every-edge") +
                             " needs --overlap windows, found --overlap " + std::string(shardweave::name_of(form)));
    return {.prefetch = prefetch.value_or(shardweave::no_position), .every_edge = every_edge};
  }
};

}  // namespace programs
