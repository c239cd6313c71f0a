#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/io/atomic_file.hpp>
#include <shardweave/report/html.hpp>

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// The report that a program leaves behind, for a browser.

namespace programs {

/// The report, written and not yet under its name: files that belong together take their names together. A file that
/// nobody asked for is no reason to fail: its line then says why there is none.
class report_file {
 public:
  /// \param path  empty: there is none, and `commit` says nothing
  /// \param asked_for  by an option; else it is what the program does unless told otherwise
  /// \throws error (system) if a file that was asked for cannot be written
  report_file(std::filesystem::path path, bool asked_for, std::span<const shardweave::html_plan> plans,
              const shardweave::html_options& options)
      : path_(std::move(path)), asked_for_(asked_for) {
    if (path_.empty()) return;
    attempt([&] {
      file_.emplace(path_);
      shardweave::write_html([&](std::string_view piece) { file_->write(piece); }, plans, options);
    });
  }
  /// The last line of what a program tells people.
  /// \throws error (system), as above
  [[nodiscard]] std::string commit() {
    if (path_.empty()) return {};
    if (why_not_.empty()) attempt([&] { file_->commit(); });
    if (!why_not_.empty()) return "\nThere is no report: " + why_not_ + "\n";
    return "\nReport, for a browser: " + path_.string() + "\n";
  }

 private:
  template <class Work>
  void attempt(Work work) {
    try {
      work();
    } catch (const shardweave::error& e) {
      if (asked_for_ || e.category() != shardweave::error_category::system) throw;
      why_not_ = e.what();
    }
  }
  std::filesystem::path path_;
  bool asked_for_;
  std::optional<shardweave::atomic_file> file_;
  std::string why_not_;
};

}  // namespace programs
