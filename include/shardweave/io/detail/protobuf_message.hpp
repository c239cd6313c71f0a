#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/io/text_input.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// \file
/// The wire format of protocol buffers, as far as a reader of few fields needs it, and files of messages that each
/// stand behind their length. https://protobuf.dev/programming-guides/encoding

namespace shardweave::inline v0::detail {

/// How the bytes of a field are laid out.
enum class protobuf_wire : std::uint8_t { varint = 0, fixed64 = 1, length = 2, fixed32 = 5 };

/// One field of a message. Bytes live as long as the message's text.
struct protobuf_field {
  std::uint32_t number = 0;
  protobuf_wire wire = protobuf_wire::varint;
  std::uint64_t value = 0;      ///< of all but `length`, as it stands
  std::string_view bytes = {};  ///< of `length`: a text, a message, packed numbers
};

/// Takes a number of 7 bits a byte, lowest first, off the front of the text; nothing if it is cut or too long.
[[nodiscard]] inline std::optional<std::uint64_t> take_varint(std::string_view& text) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < text.size() && i < 10; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    value |= std::uint64_t{byte & 0x7fU} << (7 * i);
    if (byte < 0x80) {
      if (i == 9 && byte > 1) return std::nullopt;
      text.remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

/// A number of so many bytes, lowest first. \pre text.size() >= count
[[nodiscard]] inline std::uint64_t little_endian(std::string_view text, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
  return value;
}

/// Walks the fields of a message in the order in which they stand.
class protobuf_fields {
 public:
  explicit protobuf_fields(std::string_view message) : rest_(message), size_(message.size()) {}

  /// The next field; nothing at the end, and where `problem` says what is wrong.
  [[nodiscard]] std::optional<protobuf_field> next() {
    if (rest_.empty()) return std::nullopt;
    const std::size_t at = size_ - rest_.size();
    const auto tag = take_varint(rest_);
    if (!tag || *tag >> 3 == 0 || *tag >> 32 != 0) return fail(at, "no field starts");
    protobuf_field field{.number = static_cast<std::uint32_t>(*tag >> 3),
                         .wire = static_cast<protobuf_wire>(*tag & 7U)};
    switch (field.wire) {
      case protobuf_wire::varint:
        if (const auto value = take_varint(rest_)) {
          field.value = *value;
          return field;
        }
        break;
      case protobuf_wire::length:
        if (const auto length = take_varint(rest_); length && *length <= rest_.size()) {
          field.bytes = rest_.substr(0, static_cast<std::size_t>(*length));
          rest_.remove_prefix(field.bytes.size());
          return field;
        }
        break;
      case protobuf_wire::fixed64:
      case protobuf_wire::fixed32:
        if (const std::size_t count = field.wire == protobuf_wire::fixed64 ? 8 : 4; rest_.size() >= count) {
          field.value = little_endian(rest_, count);
          rest_.remove_prefix(count);
          return field;
        }
        break;
      default:
        return fail(at, "field " + std::to_string(field.number) + " is of no known layout");
    }
    return fail(at, "field " + std::to_string(field.number) + " is cut");
  }

  /// "at byte 7 of the message field 3 is cut"; empty if all is well.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  std::optional<protobuf_field> fail(std::size_t at, const std::string& what) {
    problem_ = "at byte " + std::to_string(at + 1) + " of the message " + what;
    rest_ = {};
    return std::nullopt;
  }

  std::string_view rest_;
  std::size_t size_;
  std::string problem_;
};

/// Reads messages one after the other, each behind its length. Memory: one message, and only as much of it as there is.
class protobuf_file {
 public:
  explicit protobuf_file(text_input& input) : input_(&input) {}

  /// The next message, until the next call; nothing at the end of the file.
  /// \throws error (format) naming file and byte where a length makes no sense or a message is cut
  [[nodiscard]] std::optional<std::string_view> next() {
    if (!fill(1)) return std::nullopt;
    fill(longest_length);
    std::string_view rest = std::string_view(held_).substr(at_);
    const std::size_t before = rest.size();
    const auto length = take_varint(rest);
    start_ = passed_ + at_;
    if (!length || *length > largest) wrong("no length of a message stands here, expected one of up to 1 GiB");
    at_ += before - rest.size();
    const auto size = static_cast<std::size_t>(*length);
    if (!fill(size))
      wrong("the message is cut: " + std::to_string(held_.size() - at_) + " of its " + std::to_string(size) + " bytes");
    const std::string_view message = std::string_view(held_).substr(at_, size);
    at_ += size;
    return message;
  }

  /// Refuses the message that came last.
  [[noreturn]] void wrong(const std::string& what) const {
    refuse(error_category::format, input_->name() + ": byte " + std::to_string(start_ + 1) + ": " + what);
  }

 private:
  static constexpr std::size_t longest_length = 5;
  static constexpr std::uint64_t largest = std::uint64_t{1} << 30;

  /// Holds so many bytes ahead, if there are as many.
  bool fill(std::size_t count) {
    if (held_.size() - at_ >= count) return true;
    held_.erase(0, at_);
    passed_ += at_;
    at_ = 0;
    while (held_.size() < count) {
      const std::string_view piece = input_->next();
      if (piece.empty()) return false;
      held_ += piece;
    }
    return true;
  }

  text_input* input_;
  std::string held_;
  std::size_t at_ = 0;      ///< in what is held
  std::size_t passed_ = 0;  ///< bytes before what is held
  std::size_t start_ = 0;   ///< of the last message, its length included
};

}  // namespace shardweave::inline v0::detail
