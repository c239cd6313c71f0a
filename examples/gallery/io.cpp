// Files: written whole or not at all, read as a stream, refused by name and place. Needs component io.
#include "support/small_step.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/io/atomic_file.hpp>
#include <shardweave/io/placement_file.hpp>
#include <shardweave/io/read_placement.hpp>
#include <shardweave/io/schedule.hpp>
#include <shardweave/io/tasks.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/report/chrome_trace.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/solve/exhaustive.hpp>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string_view>

namespace sw = shardweave;

int main() {
  const sw::task_graph g = programs::small_step();
  const sw::schedule s = sw::schedule_tasks(g, {}, sw::prefetch{});
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "shardweave_gallery_io";
  std::filesystem::create_directories(folder);

  // [round]
  sw::write_task_graph(folder / "tasks.json.gz", g);  // compressed by its name
  sw::write_schedule(folder / "schedule.json", g, s);
  const sw::task_graph again = sw::read_task_graph(folder / "tasks.json.gz");
  const sw::timeline line = sw::simulate(again, sw::read_schedule(folder / "schedule.json", again));
  // [round]
  const bool same = line == sw::simulate(g, s);
  std::printf("%ju bytes of tasks, %ju of schedule; the same timeline: %s\n",
              static_cast<std::uintmax_t>(std::filesystem::file_size(folder / "tasks.json.gz")),
              static_cast<std::uintmax_t>(std::filesystem::file_size(folder / "schedule.json")), same ? "yes" : "no");

  // [trace]
  const sw::timeline sampled = sw::simulate(g, s, {.memory_samples = true});
  sw::atomic_file file(folder / "trace.json");
  sw::write_chrome_trace([&](std::string_view text) { file.write(text); }, g, s, sampled);
  file.commit();
  // [trace]
  std::printf("%ju bytes of trace\n", static_cast<std::uintmax_t>(std::filesystem::file_size(folder / "trace.json")));
  std::filesystem::remove_all(folder);

  // [memory]
  constexpr std::string_view text = R"({"format": "shardweave.placement", "version": 1, "name": "two", "unit": "us",
    "vertices": [{"name": "a", "compute": [1, 4]}, {"name": "b", "compute": [6, 2]}],
    "matrices": [[0, 3, null, 0]],
    "edges": [{"from": 0, "to": 1, "slot": 0, "communication": 0}]})";
  auto input = sw::text_input::of_memory("two.json", text);
  const auto found = sw::exhaustive{}.solve(sw::compile(sw::read_placement(input)));
  // [memory]
  std::printf("two.json costs %g at least\n", found.objective);

  // [refuse]
  auto cut = sw::text_input::of_memory("cut.json", text.substr(0, 150));
  try {
    (void)sw::read_placement(cut);
    return 1;
  } catch (const sw::error& e) {
    std::printf("refused: %s\n", e.what());
  }
  // [refuse]
  return same && found.objective == 6 ? 0 : 1;
}
