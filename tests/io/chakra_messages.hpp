#pragma once

#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/io/chakra_tasks.hpp>
#include <shardweave/io/chakra_trace.hpp>
#include <shardweave/io/read_chakra.hpp>

#include <support/shared_data.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Traces in the wire format, made by hand and read.
namespace chakra_messages {

namespace sw = shardweave;

inline constexpr auto messages = sw::chakra_format::messages;
inline constexpr auto json_form = sw::chakra_format::json;

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline sw::chakra_trace read(std::string_view text, sw::chakra_format format, std::size_t piece = 1U << 18) {
  auto input = sw::text_input::of_memory("trace", text, piece);
  return sw::read_chakra(input, format);
}

inline std::optional<std::filesystem::path> trace_file(const std::string& name) {
  return shared_data("chakra/" + name);
}

/// A message of protocol buffers, field by field.
class message {
 public:
  message& number(std::uint32_t field, std::uint64_t value) {
    varint(field << 3);
    varint(value);
    return *this;
  }
  message& text(std::uint32_t field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    text_ += value;
    return *this;
  }
  /// An attribute of the node: a whole number.
  message& attribute(std::string_view name, std::uint64_t value) {
    return text(10, message().text(1, name).number(9, value).text_);
  }
  message& raw(std::string_view bytes) {
    text_ += bytes;
    return *this;
  }
  [[nodiscard]] std::string behind_its_length() const {
    message framed;
    framed.varint(text_.size());
    return framed.text_ + text_;
  }

 private:
  void varint(std::uint64_t value) {
    for (; value > 0x7f; value >>= 7) text_ += static_cast<char>((value & 0x7f) | 0x80);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

inline message node(std::uint64_t id, const std::string& name, sw::chakra_type type, std::uint64_t us = 5) {
  return message().number(1, id).text(2, name).number(3, static_cast<std::uint64_t>(type)).number(7, us);
}

inline std::string trace_of(const std::vector<message>& nodes) {
  std::string text = message().behind_its_length();
  for (const message& n : nodes) text += n.behind_its_length();
  return text;
}

inline sw::chakra_prices h100() {
  const sw::device_profile device = sw::find_device("h100");
  return {.compute = {.device = device}, .collectives = sw::alpha_beta(device)};
}

}  // namespace chakra_messages
