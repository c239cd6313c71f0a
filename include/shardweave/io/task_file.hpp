#pragma once

#include <shardweave/io/chakra_tasks.hpp>
#include <shardweave/io/chakra_trace.hpp>
#include <shardweave/io/detail/protobuf_message.hpp>
#include <shardweave/io/json_shape.hpp>
#include <shardweave/io/json_stream.hpp>
#include <shardweave/io/read_chakra.hpp>
#include <shardweave/io/read_tasks.hpp>
#include <shardweave/io/text_input.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

/// \file
/// Task graphs of any format that the library reads.

namespace shardweave::inline v0 {

/// The formats of task graphs that are read.
enum class task_format : std::uint8_t {
  shardweave,       ///< `shardweave.tasks`
  chakra_json,      ///< an execution trace as JSON
  chakra_messages,  ///< an execution trace as protocol buffers
};

namespace detail {

/// Whether a text begins as an object of JSON does. A message can begin alike only if it held one longer than itself.
[[nodiscard]] inline bool begins_like_json(std::string_view text) {
  const auto next = [&] {
    const std::size_t at = text.find_first_not_of(" \t\r\n");
    const char c = at == text.npos ? '\0' : text[at];
    text.remove_prefix(at == text.npos ? text.size() : at + 1);
    return c;
  };
  if (next() != '{') return false;
  const char second = next();
  return second == '}' || (second == '"' && (text.empty() || static_cast<unsigned char>(text.front()) >= 0x20));
}

/// Whether it begins as a file of a trace's messages does: the run's length, then its field 1 or 2, if it has any.
[[nodiscard]] inline bool begins_like_chakra(std::string_view text) {
  const auto length = take_varint(text);
  if (!length || text.empty()) return false;
  return *length == 0 || text.front() == '\n' || text.front() == '\x12';
}

}  // namespace detail

/// Tells formats apart by what a file says, not by its name: messages by how they begin; JSON by its first field that
/// one format alone has. What is none of them is taken for our own, whose reader says what is wrong. The file is opened
/// twice, and read no further than it must.
/// \throws error (system) if it cannot be read, (format) for JSON that is damaged before such a field
[[nodiscard]] inline task_format task_format_of(const std::filesystem::path& path) {
  text_input beginning(path);
  std::string head;
  for (std::string_view piece = beginning.next(); !piece.empty() && head.size() < 4096; piece = beginning.next())
    head += piece;
  if (!detail::begins_like_json(head))
    return detail::begins_like_chakra(head) ? task_format::chakra_messages : task_format::shardweave;

  task_format found = task_format::shardweave;
  bool known = false;
  const auto field = [&](const char* name, task_format format) {
    json_shape shape;
    shape.take = [&, format](const json_scalar&) {
      found = format;
      known = true;
      return true;
    };
    shape.begin = [&, format] {
      found = format;
      known = true;
    };
    return json_optional(name, std::move(shape));
  };
  using enum task_format;
  const json_shape root = json_object(
      {field("format", shardweave), field("tasks", shardweave), field("groups", shardweave), field("attr", chakra_json),
       field("id", chakra_json), field("type", chakra_json), field("workload_graph", chakra_json)});
  text_input text(path);
  read_json_values(text, root, {}, &known);
  return found;
}

/// Reads a task graph of any format; of a trace as `task_graph_of` does, by the file's name where the options state
/// none.
/// \throws error as `task_format_of`, `read_task_graph`, `read_chakra` and `task_graph_of` do, naming the file
[[nodiscard]] inline task_graph read_any_task_graph(const std::filesystem::path& path,
                                                    const chakra_options& options = {}) {
  const task_format format = task_format_of(path);
  if (format == task_format::shardweave) return read_task_graph(path);
  text_input input(path);
  const chakra_trace trace =
      read_chakra(input, format == task_format::chakra_json ? chakra_format::json : chakra_format::messages);
  chakra_options named = options;
  if (named.name.empty()) named.name = path.stem().string();
  return detail::with_name_of(input, [&] { return task_graph_of(trace, named); });
}

}  // namespace shardweave::inline v0
