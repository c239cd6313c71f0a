// Times and sizes that do not mix, limits and hooks for long work, and how wrong data is refused.
#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/core/units.hpp>

#include <cstdio>
#include <stop_token>

namespace sw = shardweave;

// [control]
// Adds up random durations until it is told to stop; any long work of the library takes a solve_control like this.
sw::nanoseconds long_work(const sw::solve_control& control) {
  const sw::deadline limit(control);
  sw::random_source random(control.seed);
  sw::nanoseconds total;
  for (std::size_t i = 0; i < 1000 && !limit.expired(); ++i) {
    total += sw::nanoseconds(static_cast<std::int64_t>(random.below(100)));
    if (control.progress && i % 100 == 0) control.progress({.stage = "adding", .done = static_cast<double>(i) / 1000});
  }
  return total;
}
// [control]

int main() {
  // [units]
  const sw::nanoseconds step = sw::from_microseconds(12.5);
  const sw::bytes buffer = sw::mebibytes(64);
  const std::int64_t steps_per_second = sw::nanoseconds(1'000'000'000) / step;  // a ratio is a plain number
  // step + buffer does not compile
  // [units]
  std::printf("%lld steps a second, %lld bytes\n", static_cast<long long>(steps_per_second),
              static_cast<long long>(buffer.count()));

  int reports = 0;
  const sw::nanoseconds all = long_work({.seed = 7, .progress = [&](const sw::progress_report&) { ++reports; }});
  const bool repeats = all == long_work({.seed = 7}) && all != long_work({.seed = 8});
  std::printf("%lld ns with seed 7, told of %d times; the same again: %s\n", static_cast<long long>(all.count()),
              reports, repeats ? "yes" : "no");

  std::stop_source stop;
  stop.request_stop();
  const bool stopped = long_work({.stop = stop.get_token()}) == sw::nanoseconds(0);

  // [refuse]
  bool refused = false;
  try {
    sw::refuse(sw::error_category::input, "group 3 has 0 ranks, expected at least 1");
  } catch (const sw::error& e) {
    std::printf("refused: %s\n", e.what());
    refused = e.category() == sw::error_category::input;
  }
  // [refuse]
  return steps_per_second == 80'000 && repeats && reports == 10 && stopped && refused ? 0 : 1;
}
