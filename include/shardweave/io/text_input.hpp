#pragma once

#include <shardweave/core/error.hpp>

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// \file
/// Text that arrives in pieces: from a plain file, a gzip file or memory.

namespace shardweave {
inline namespace v0 {

/// A text that is read once, from front to back, in pieces. Memory: one piece of 256 KiB.
class text_input {
 public:
  /// Opens a file; gzip is recognized by its first two bytes, whatever the name says.
  /// \throws error (system) if it cannot be opened
  explicit text_input(const std::filesystem::path& path) : name_(path.string()), file_(open(path)), buffer_(1U << 18) {
    if (!file_) refuse(error_category::system, name_ + ": cannot be opened: " + reason(errno));
    gzbuffer(file_.get(), 1U << 17);
  }

  /// A text in memory, handed out in pieces of at most `piece` bytes.
  /// \param name  how messages name the text
  /// \pre the text outlives the input, and piece > 0
  static text_input of_memory(std::string name, std::string_view text, std::size_t piece = 1U << 18) {
    return text_input(std::move(name), text, piece);
  }

  [[nodiscard]] const std::string& name() const { return name_; }

  /// The next piece; empty at the end. It lives until the next call.
  /// \throws error (system) if reading fails, (format) if compressed data is cut or damaged
  [[nodiscard]] std::string_view next() {
    if (!file_) {
      const std::string_view piece = memory_.substr(0, piece_);
      memory_.remove_prefix(piece.size());
      return piece;
    }
    const int count = gzread(file_.get(), buffer_.data(), static_cast<unsigned>(buffer_.size()));
    if (count < static_cast<int>(buffer_.size())) check();
    return {buffer_.data(), static_cast<std::size_t>(std::max(count, 0))};
  }

 private:
  struct closer {
    void operator()(gzFile file) const { gzclose(file); }
  };
  using handle = std::unique_ptr<std::remove_pointer_t<gzFile>, closer>;

  text_input(std::string name, std::string_view text, std::size_t piece)
      : name_(std::move(name)), memory_(text), piece_(piece) {}

  static handle open(const std::filesystem::path& path) {
    errno = 0;
    return handle(gzopen(path.c_str(), "rb"));
  }
  static std::string reason(int number) { return number != 0 ? std::strerror(number) : "out of memory"; }

  /// zlib reports a cut file only when it is asked.
  void check() const {
    int code = Z_OK;
    const char* what = gzerror(file_.get(), &code);
    if (code == Z_OK || code == Z_STREAM_END) return;
    if (code == Z_ERRNO) refuse(error_category::system, name_ + ": cannot be read: " + reason(errno));
    const std::string where = " after " + std::to_string(gztell(file_.get())) + " bytes of text";
    if (code == Z_BUF_ERROR) refuse(error_category::format, name_ + ": the gzip data ends too early," + where);
    refuse(error_category::format, name_ + ": the gzip data is damaged," + where + " (" + what + ")");
  }

  std::string name_;
  handle file_;
  std::vector<char> buffer_;
  std::string_view memory_;
  std::size_t piece_ = 0;
};

}  // namespace v0
}  // namespace shardweave
