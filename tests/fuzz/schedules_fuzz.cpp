// Any text is read as a schedule of a small task graph or refused, alike in pieces of any size; what is read is a valid
// schedule, by the checker and by the simulator, and is written and read again to the same text.
#include <shardweave/io/schedule.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/duration_table.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <support/small_tasks.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sw = shardweave;

namespace schedules_fuzz {
namespace {

/// Two gathers that may be launched as one, and a scatter of another group.
sw::task_graph small_step() {
  using small_tasks::gather, small_tasks::scatter, small_tasks::wait_for, small_tasks::work;
  sw::task_graph_builder b;
  b.name = "small";
  b.device.dram_bytes_per_ns = 4;
  for (std::uint32_t c = 0; c < 2; ++c) b.add_group({.id = 7 + c, .size = 4});
  b.add_table(sw::duration_table(sw::collective::all_gather, 0, {sw::bytes(2), sw::bytes(8)},
                                 {sw::nanoseconds(9), sw::nanoseconds(11)}));
  const auto first = b.add_task(gather("first", 9, {}, 2)), second = b.add_task(gather("second", 10, {}, 3));
  const auto x = b.add_task(work("x", 4, {b.add_task(wait_for("w", first))}));
  const auto y = b.add_task(work("y", 6, {b.add_task(wait_for("w", second)), x}));
  b.add_task(wait_for("w", b.add_task(scatter("third", 20, {y}, 8, 1))));
  return std::move(b).build();
}
const sw::task_graph& graph() {
  static const sw::task_graph g = small_step();
  return g;
}

std::optional<sw::schedule> read(std::string_view text, std::size_t piece) {
  try {
    auto input = sw::text_input::of_memory("input", text, piece);
    return sw::read_schedule(input, graph());
  } catch (const sw::error&) {
    return std::nullopt;
  }
}
std::string written(const sw::schedule& s) {
  return sw::json_string([&](sw::json_writer& out) { sw::write_schedule(out, graph(), s); });
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto found = read(text, 1 + size / 3), in_pieces = read(text, 1);
  if (found.has_value() != in_pieces.has_value()) std::abort();
  if (!found) return 0;
  const std::string first = written(*found);
  if (written(*in_pieces) != first) std::abort();
  if (sw::simulate(graph(), *found).end_to_end < sw::nanoseconds(40)) std::abort();  // the chain to the last wait
  const auto again = read(first, 64);
  if (!again || written(*again) != first) std::abort();
  return 0;
}

}  // namespace schedules_fuzz
