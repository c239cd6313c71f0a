// Any text is read as a placement problem, with the work of its step if it says any, or refused, alike in pieces of any
// size, and what was read is written and read again to the same text.
#include <shardweave/io/placement_file.hpp>
#include <shardweave/io/step_problem.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace sw = shardweave;

namespace placement_fuzz {
namespace {

std::string written(const sw::step_problem& p) {
  return sw::json_string([&](sw::json_writer& out) {
    p.work ? sw::write_step_problem(out, p.description, *p.work) : sw::write_placement(out, p.description);
  });
}
sw::step_problem read(std::string_view text, std::size_t piece) {
  auto input = sw::text_input::of_memory("input", text, piece);
  return sw::read_step_problem(input);
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string first;
  bool is_read = true;
  try {
    first = written(read(text, 1 + size / 3));
  } catch (const sw::error&) {
    is_read = false;
  }
  for (const std::size_t piece : {std::size_t{1}, size + 1}) {  // one number after the other, and in bulk
    std::string other;
    try {
      other = written(read(text, piece));
    } catch (const sw::error&) {
      if (is_read) std::abort();
      continue;
    }
    if (!is_read || other != first) std::abort();
  }
  if (!is_read) return 0;
  auto look = sw::text_input::of_memory("input", text, 7);
  if (sw::detail::is_iopddl(look)) std::abort();
  if (written(read(first, 64)) != first) std::abort();
  return 0;
}

}  // namespace placement_fuzz
