#pragma once

#include <shardweave/core/attempt.hpp>
#include <shardweave/core/error.hpp>

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <concepts>
#include <condition_variable>
#include <cstddef>
#include <cstring>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

/// \file
/// Text that arrives in pieces: from a plain file, a gzip file or memory.

namespace shardweave::inline v0 {

/// A text that is read once, from front to back, in pieces of 256 KiB. What does not fit in one of them and is
/// compressed is unpacked by a thread of its own, ahead of who reads it, if one can be had. Memory: one piece, or four.
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
    if (ahead_) return ahead_->next();
    const std::string_view piece = filled(buffer_);
    const bool is_first = std::exchange(is_first_, false);
    if (is_first && piece.size() == buffer_.size() && gzdirect(file_.get()) == 0) unpack_ahead();
    return piece;
  }

  /// All that is still to come.
  /// \throws error as `next`
  [[nodiscard]] std::string rest() {
    std::string text;
    for (std::string_view piece = next(); !piece.empty(); piece = next()) text += piece;
    return text;
  }

 private:
  struct closer {
    void operator()(gzFile file) const { gzclose(file); }
  };
  using handle = std::unique_ptr<std::remove_pointer_t<gzFile>, closer>;
  using buffer = std::vector<char>;

  /// A thread that fills buffers in turn, and what it and the reader know of each other. What goes wrong comes to the
  /// reader where it would have without the thread.
  class unpacking {
   public:
    /// \param fill  `fill(buffer)`: what was read, less than the buffer holds at the end only
    /// \throws std::system_error if there is no thread to be had
    template <class Fill>
    unpacking(std::size_t piece, const Fill& fill) {
      for (buffer& b : buffers_) b.resize(piece);
      worker_ = std::thread([this, fill] { run(fill); });
    }
    unpacking(const unpacking&) = delete;
    unpacking& operator=(const unpacking&) = delete;
    ~unpacking() {
      {
        const std::lock_guard lock(mutex_);
        is_left_ = true;
      }
      changed_.notify_all();
      worker_.join();
    }
    [[nodiscard]] std::string_view next() {
      std::unique_lock lock(mutex_);
      if (taken_ < filled_ && std::exchange(is_reading_, false)) ++taken_;  // the piece before is given back
      changed_.notify_all();
      changed_.wait(lock, [this] { return taken_ < filled_ || is_done_; });
      if (taken_ < filled_) {
        is_reading_ = true;
        return pieces_[taken_ % buffers_.size()];
      }
      if (failure_) std::rethrow_exception(failure_);
      return {};
    }

   private:
    template <class Fill>
    void run(const Fill& fill) {
      std::exception_ptr failure;
      for (bool more = true; more;) {
        {
          std::unique_lock lock(mutex_);
          changed_.wait(lock, [this] { return is_left_ || filled_ - taken_ < buffers_.size(); });
          if (is_left_) return;
        }
        buffer& b = buffers_[filled_ % buffers_.size()];
        std::string_view piece;
        failure = failure_of([&] { piece = fill(b); });
        more = piece.size() == b.size();
        const std::lock_guard lock(mutex_);
        if (!piece.empty()) pieces_[filled_++ % buffers_.size()] = piece;
        if (!more) {
          failure_ = failure;
          is_done_ = true;
        }
        changed_.notify_all();
      }
    }

    std::array<buffer, 3> buffers_;
    std::array<std::string_view, 3> pieces_;
    std::size_t filled_ = 0, taken_ = 0;
    bool is_reading_ = false;  ///< piece `taken_` is with the reader
    bool is_done_ = false;     ///< nothing follows
    bool is_left_ = false;     ///< nobody reads any more
    std::exception_ptr failure_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::thread worker_;
  };

  /// Without a thread, where none can be had, reading goes on as before.
  void unpack_ahead() {
#ifdef __cpp_exceptions
    try {
      ahead_ = std::make_unique<unpacking>(
          buffer_.size(), [this_name = name_, file = file_.get()](buffer& b) { return filled(this_name, file, b); });
    } catch (const std::system_error&) {
    }
#endif
  }
  /// What comes next, in the buffer.
  [[nodiscard]] std::string_view filled(buffer& b) const { return filled(name_, file_.get(), b); }
  [[nodiscard]] static std::string_view filled(const std::string& name, gzFile file, buffer& b) {
    const int count = gzread(file, b.data(), static_cast<unsigned>(b.size()));
    if (count < static_cast<int>(b.size())) check(name, file);
    return {b.data(), static_cast<std::size_t>(std::max(count, 0))};
  }

  text_input(std::string name, std::string_view text, std::size_t piece)
      : name_(std::move(name)), memory_(text), piece_(piece) {}

  static handle open(const std::filesystem::path& path) {
    errno = 0;
    return handle(gzopen(path.c_str(), "rb"));
  }
  static std::string reason(int number) { return number != 0 ? std::strerror(number) : "out of memory"; }

  /// zlib reports a cut file only when it is asked.
  static void check(const std::string& name, gzFile file) {
    int code = Z_OK;
    const char* what = gzerror(file, &code);
    if (code == Z_OK || code == Z_STREAM_END) return;
    if (code == Z_ERRNO) refuse(error_category::system, name + ": cannot be read: " + reason(errno));
    const std::string where = " after " + std::to_string(gztell(file)) + " bytes of text";
    if (code == Z_BUF_ERROR) refuse(error_category::format, name + ": the gzip data ends too early," + where);
    refuse(error_category::format, name + ": the gzip data is damaged," + where + " (" + what + ")");
  }

  std::string name_;
  handle file_;
  buffer buffer_;
  bool is_first_ = true;  ///< no piece was asked for
  std::string_view memory_;
  std::size_t piece_ = 0;
  std::unique_ptr<unpacking> ahead_;  ///< from the second piece on; ends before the file is closed
};

/// Where a reader takes its text from: an input that is there, or a file by its path. Not kept.
class text_source {
 public:
  text_source(text_input& input) : input_(&input) {}
  /// \throws error (system) if the file cannot be opened
  template <class Path>
    requires std::convertible_to<const Path&, std::filesystem::path>
  text_source(const Path& path) : file_(std::in_place, std::filesystem::path(path)), input_(&*file_) {}
  text_source(const text_source&) = delete;
  text_source& operator=(const text_source&) = delete;

  operator text_input&() const { return *input_; }
  [[nodiscard]] const std::string& name() const { return input_->name(); }
  [[nodiscard]] std::string rest() const { return input_->rest(); }

 private:
  std::optional<text_input> file_;
  text_input* input_;
};

}  // namespace shardweave::inline v0
