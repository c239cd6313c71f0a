#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/io/detail/record_text.hpp>
#include <shardweave/io/detail/shortened.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// The performance tables of XLA, in the text format of protocol buffers.

namespace shardweave::inline v0::detail {

/// Walks a text-format message and reports every scalar with the path of the field names that lead to it, so that a
/// reader needs no schema. Understands `name: value`, `name { ... }`, lists in brackets, quoted texts and comments.
class text_proto {
 public:
  explicit text_proto(const record_text& source) : source_(source) {}

  /// Calls `scalar(path, value, line)` for every scalar and `close(path)` after every message; `path` holds the names
  /// of the messages around, and for a scalar its own name last.
  template <class Scalar, class Close>
  void walk(Scalar scalar, Close close) {
    std::vector<std::string_view> path;
    while (true) {
      const std::string_view name = word();
      if (name.empty()) {
        if (!path.empty()) fail("the text ends inside of '" + shortened(path.back()) + "'");
        return;
      }
      if (name == "}") {
        if (path.empty()) fail("'}' closes nothing");
        close(path);
        path.pop_back();
        continue;
      }
      if (name == ";" || name == ",") continue;
      if (!is_name(name)) fail("found '" + shortened(name) + "', expected the name of a field");
      std::string_view next = word();
      const bool has_colon = next == ":";
      if (has_colon) next = word();
      path.push_back(name);
      if (path.size() > 32) fail("messages are nested more than 32 deep");
      if (next == "{") continue;
      if (!has_colon) fail("found '" + shortened(next) + "' after '" + shortened(name) + "', expected ':' or '{'");
      if (next == "[") {
        for (next = word(); next != "]"; next = word()) {
          if (next.empty() || next == "{" || next == "}" || next == "[")
            fail("the list '" + shortened(name) + "' does not end");
          if (next != ",") scalar(path, next, line_);
        }
      } else {
        if (next.empty() || next == "}" || next == "]") fail("'" + shortened(name) + "' has no value");
        scalar(path, next, line_);
      }
      path.pop_back();
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { source_.fail(line_, what); }

  static bool is_name(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
  }

  /// The next sign, name, number or text (without its quotes); empty at the end.
  std::string_view word() {
    const std::string_view text = source_.text;
    for (; at_ < text.size(); ++at_) {
      if (text[at_] == '#') at_ = std::min(text.find('\n', at_), text.size());
      if (at_ == text.size()) return {};  // in a comment
      if (text[at_] == '\n') ++line_;
      if (std::string_view(" \t\r\n").find(text[at_]) == std::string_view::npos) break;
    }
    if (at_ >= text.size()) return {};
    const std::size_t from = at_;
    if (text[at_] == '"') {
      const std::size_t end = text.find_first_of("\"\n", at_ + 1);
      if (end == std::string_view::npos || text[end] == '\n') fail("a text does not end on its line");
      at_ = end + 1;
      // an empty text must not look like the end of everything
      return end == from + 1 ? std::string_view("\"\"") : text.substr(from + 1, end - from - 1);
    }
    constexpr std::string_view signs = "{}[]:;,";
    if (signs.find(text[at_]) != std::string_view::npos) return text.substr(at_++, 1);
    at_ = std::min(text.find_first_of("{}[]:;,\"# \t\r\n", at_), text.size());
    return text.substr(from, at_ - from);
  }

  const record_text& source_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

/// Bytes of an element of XLA's primitive types that tables use; 0 for others.
[[nodiscard]] inline std::int64_t xla_element_bytes(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 15> types{{{"F64", 8},
                                                                             {"S64", 8},
                                                                             {"U64", 8},
                                                                             {"C64", 8},
                                                                             {"F32", 4},
                                                                             {"S32", 4},
                                                                             {"U32", 4},
                                                                             {"F16", 2},
                                                                             {"BF16", 2},
                                                                             {"S16", 2},
                                                                             {"U16", 2},
                                                                             {"S8", 1},
                                                                             {"U8", 1},
                                                                             {"F8E5M2", 1},
                                                                             {"F8E4M3FN", 1}}};
  for (const auto& [name, size] : types)
    if (name == type) return size;
  return 0;
}

/// An entry states an instruction and the bytes per second that it reached. The instruction's shape is that of the
/// result, which for a reduce-scatter is one rank's share; the throughput counts the full size.
[[nodiscard]] inline std::vector<measured_record> read_xla_table(const record_text& source,
                                                                 const record_options& options) {
  struct entry {
    std::string_view opcode;
    std::string_view type;
    std::int64_t elements = 1;
    std::int64_t ranks = 0;
    std::int64_t listed = 0;  ///< ranks of the first group, where groups are listed one by one
    bool first_group_ended = false;
    std::int64_t throughput = 0;
    std::size_t line = 0;
  } now;
  std::string_view key;
  struct found {
    std::string_view device;
    collective_measurement measurement;
  };
  std::vector<found> all;
  std::vector<std::string_view> devices;

  const auto take = [&](const std::vector<std::string_view>& path, std::string_view value, std::size_t line) {
    const std::string_view name = path.back();
    const bool in_shape = path.size() >= 2 && path[path.size() - 2] == "shape";
    if (name == "key" && path.size() == 2) key = value;
    if (name == "opcode") now.opcode = value;
    if (name == "element_type" && in_shape) now.type = value;
    if (name == "dimensions" && in_shape) {
      const std::int64_t extent = source.count(line, name, value);
      if (extent > 0 && now.elements > (std::int64_t{1} << 36) / extent) source.fail(line, "the shape is too large");
      now.elements *= extent;
    }
    if (name == "num_devices_per_group") now.ranks = source.count(line, name, value);
    if (name == "replica_ids" && !now.first_group_ended) ++now.listed;
    if (name == "network_throughput_bytes_per_sec") {
      now.throughput = source.count(line, name, value);
      now.line = line;
    }
  };
  const auto close = [&](const std::vector<std::string_view>& path) {
    if (path.back() == "replica_groups") now.first_group_ended = true;
    if (path.back() != "entries" || path.size() != 3) return;
    const entry done = std::exchange(now, entry{});
    const auto kind = collective_of_name(done.opcode);
    const std::int64_t ranks = done.ranks > 0 ? done.ranks : done.listed;
    if (!kind || done.throughput == 0 || ranks < 2) return;  // other instructions, entries without a measurement
    const std::int64_t element = xla_element_bytes(done.type);
    if (element == 0) source.fail(done.line, "no element type is called '" + shortened(done.type) + "'");
    if (ranks > (1 << 20)) source.fail(done.line, "a group of " + std::to_string(ranks) + " ranks is too large");
    const std::int64_t size = done.elements * element * (*kind == collective::reduce_scatter ? ranks : 1);
    if (size < 1) return;
    const std::int64_t per_node = std::max<std::int64_t>(options.devices_per_node, 1);
    if (ranks > per_node && ranks % per_node != 0)
      source.fail(done.line, std::to_string(ranks) + " ranks do not fill nodes of " + std::to_string(per_node));
    const group_shape group = ranks <= per_node ? group_shape{ranks, 1} : group_shape{per_node, ranks / per_node};
    all.push_back(
        {key, {*kind, group, bytes(size), static_cast<double>(size) / static_cast<double>(done.throughput) * 1e6}});
    if (std::find(devices.begin(), devices.end(), key) == devices.end()) devices.push_back(key);
  };
  text_proto(source).walk(take, close);

  std::string_view wanted = options.device;
  std::string known;
  for (const std::string_view d : devices) known += (known.empty() ? "" : ", ") + std::string(d);
  if (wanted.empty() && devices.size() > 1)
    refuse(error_category::input, source.name + ": holds several devices (" + known + "); name one");
  if (wanted.empty() && devices.size() == 1) wanted = devices.front();
  std::vector<measured_record> records;
  for (const found& f : all)
    if (f.device == wanted) records.push_back({f.measurement, std::string(f.device), "xla", {}});
  if (records.empty() && !all.empty())
    refuse(error_category::input, source.name + ": has no device '" + shortened(wanted) + "'; known are " + known);
  return records;
}

}  // namespace shardweave::inline v0::detail
