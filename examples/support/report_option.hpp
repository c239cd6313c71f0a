#pragma once

#include <CLI/CLI.hpp>

#include <filesystem>
#include <optional>
#include <string>

/// \file
/// The option that says where a report goes.

namespace programs {

/// `--report FILE` or `--report none`.
struct report_option {
  std::optional<std::string> told = std::nullopt;

  /// \param usual  the file without the option, in words
  void add_to(CLI::App& app, const std::string& usual) {
    app.add_option("--report", told,
                   "FILE.html: what was found, for a browser; none: no such file (default: " + usual + ")");
  }
  /// Empty where none is wanted.
  /// \param usual  the file without the option; empty: none
  [[nodiscard]] std::filesystem::path file(const std::filesystem::path& usual) const {
    if (!told) return usual;
    return *told == "none" ? std::filesystem::path() : std::filesystem::path(*told);
  }
};

}  // namespace programs
