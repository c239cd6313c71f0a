// Executes a schedule on an engine, and compares what was measured with what the simulator predicts.
#include "support/small_step.hpp"
#include <shardweave/engine/compare.hpp>
#include <shardweave/engine/replay.hpp>
#include <shardweave/engine/virtual_engine.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <cstddef>
#include <cstdio>
#include <span>
#include <string_view>

namespace sw = shardweave;

// [own]
/// An engine of one's own: every collective takes a tenth longer than the task graph says.
struct late_network {
  static constexpr std::string_view name = "late network";
  sw::virtual_engine clock;

  void connect(std::span<const sw::process_group> groups) { clock.connect(groups); }
  std::size_t run(const sw::compute_call& work) { return clock.run(work); }
  std::size_t start(sw::collective_call call) {
    call.duration = call.duration * 11 / 10;
    return clock.start(call);
  }
  std::size_t wait(std::size_t operation) { return clock.wait(operation); }
  void finish() { clock.finish(); }
  sw::nanoseconds now() const { return clock.now(); }
  sw::time_span span(std::size_t operation) const { return clock.span(operation); }
};
static_assert(sw::collective_engine<late_network>);
// [own]

int main() {
  const sw::task_graph g = programs::small_step();
  const sw::schedule s = sw::schedule_tasks(g, {}, sw::prefetch{});

  // [replay]
  const sw::timeline predicted = sw::simulate(g, s);
  late_network engine;
  const sw::timeline measured = sw::replay(g, s, engine);
  const sw::timeline_comparison errors = sw::compare(predicted, measured);
  // [replay]
  std::printf("end to end: predicted %.1f us, measured %.1f us, %.1f %% off\n",
              sw::to_microseconds(predicted.end_to_end), sw::to_microseconds(measured.end_to_end),
              100 * errors.end_to_end.relative_error());
  std::printf("communication %.1f %% off\n", 100 * errors.communication.relative_error());

  sw::virtual_engine exact;
  const bool alike = sw::replay(g, s, exact) == predicted;
  std::printf("an engine that keeps the durations agrees with the simulator: %s\n", alike ? "yes" : "no");
  return alike && errors.communication.relative_error() > 0.099 && errors.compute.error() == sw::nanoseconds(0) ? 0 : 1;
}
