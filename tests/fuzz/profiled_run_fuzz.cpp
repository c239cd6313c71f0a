// Any text is read as a profiler's trace or refused, whatever the pieces it comes in, and what is read gives durations.
#include <shardweave/core/error.hpp>
#include <shardweave/io/read_profiled_run.hpp>
#include <shardweave/tasks/profiled_run.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace sw = shardweave;

namespace profiled_run_fuzz {
namespace {

/// The refusal, or nothing and what was read.
std::string outcome(std::string_view text, std::size_t piece, sw::profiled_run& seen) {
  try {
    auto input = sw::text_input::of_memory("input", text, piece);
    seen = sw::read_profiled_run(input);
    return {};
  } catch (const sw::error& e) {
    return e.what();
  }
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  sw::profiled_run whole, pieces;
  if (outcome(text, 1U << 20, whole) != outcome(text, 1, pieces)) std::abort();
  if (whole.calls.size() != pieces.calls.size() || whole.collectives.size() != pieces.collectives.size() ||
      whole.unclaimed != pieces.unclaimed)
    std::abort();
  for (const sw::profiled_call& c : whole.calls)
    if (c.duration < sw::nanoseconds(0)) std::abort();
  for (const sw::profiled_collective& c : whole.collectives)
    if (c.duration < sw::nanoseconds(0) || c.bytes_in < sw::bytes(0)) std::abort();
  const sw::profiled_durations none = sw::durations_by(sw::task_graph(), whole);
  if (none.matched != 0 || (none.unused.empty() && !whole.calls.empty())) std::abort();
  return 0;
}

}  // namespace profiled_run_fuzz
