#pragma once

#include <shardweave/core/error.hpp>

#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <system_error>

/// \file
/// Files that are there whole or not at all.

namespace shardweave::inline v0 {

/// Writes under a temporary name beside the target and renames when asked to `commit`. A writer that fails
/// before leaves nothing behind and an existing file untouched. A name that ends in ".gz" is compressed. What
/// exists and is no regular file (a pipe, a terminal) is written directly.
class atomic_file {
 public:
  /// \throws error (system) if the folder cannot be written
  explicit atomic_file(std::filesystem::path path) : path_(std::move(path)), temporary_(path_) {
    std::error_code ignored;
    direct_ = std::filesystem::exists(path_, ignored) && !std::filesystem::is_regular_file(path_, ignored);
    if (!direct_) temporary_ += ".part-" + std::to_string(std::random_device{}());
    const bool compressed = path_.extension() == ".gz";
    errno = 0;
    file_ = gzopen(temporary_.c_str(), direct_ ? (compressed ? "wb" : "wbT") : (compressed ? "wbx" : "wbxT"));
    if (file_ == nullptr) fail("opened for writing");
  }
  atomic_file(const atomic_file&) = delete;
  atomic_file& operator=(const atomic_file&) = delete;
  ~atomic_file() {
    if (file_ != nullptr) gzclose(file_);
    std::error_code ignored;
    if (!committed_ && !direct_) std::filesystem::remove(temporary_, ignored);
  }

  /// \throws error (system), for example when the disk is full
  void write(std::string_view text) {
    while (!text.empty()) {
      const std::string_view part = text.substr(0, 1U << 30);  // zlib counts in int
      if (gzwrite(file_, part.data(), static_cast<unsigned>(part.size())) == 0) fail("written");
      text.remove_prefix(part.size());
    }
  }

  /// The file takes its name.
  /// \throws error (system)
  void commit() {
    const int code = gzclose(file_);
    file_ = nullptr;
    if (code != Z_OK) fail("written");
    std::error_code failure;
    if (!direct_) std::filesystem::rename(temporary_, path_, failure);
    if (failure) refuse(error_category::system, path_.string() + ": cannot be written: " + failure.message());
    committed_ = true;
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    const std::string reason = errno != 0 ? std::strerror(errno) : "out of memory";
    refuse(error_category::system, path_.string() + ": cannot be " + what + ": " + reason);
  }

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  gzFile file_ = nullptr;
  bool direct_ = false;
  bool committed_ = false;
};

}  // namespace shardweave::inline v0
