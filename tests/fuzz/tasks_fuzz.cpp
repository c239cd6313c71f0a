// Any text is read or refused, and what was read is written and read again to the same text.
#include <shardweave/io/read_tasks.hpp>
#include <shardweave/io/write_tasks.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace sw = shardweave;

namespace tasks_fuzz {
namespace {

std::string written(const sw::task_graph& g) {
  return sw::json_string([&](sw::json_writer& out) { sw::write_task_graph(out, g); });
}
sw::task_graph read(std::string_view text, std::size_t piece) {
  auto input = sw::text_input::of_memory("input", text, piece);
  return sw::read_task_graph(input);
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string first;
  try {
    first = written(read(text, 1 + size / 3));
  } catch (const sw::error&) {
    return 0;
  }
  if (written(read(first, 64)) != first) std::abort();
  return 0;
}

}  // namespace tasks_fuzz
