#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/engine/collective_engine.hpp>
#include <shardweave/engine/group_ranks.hpp>
#include <shardweave/tasks/launch_signature.hpp>
#include <shardweave/tasks/schedule_types.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Ranks of a run make sure that they launch the same, and agree on how long tasks take.

namespace shardweave::inline v0 {

/// An engine of one rank of several, whose ranks can compare numbers.
///
/// | expression | result | meaning |
/// |---|---|---|
/// | `e.rank()`, `e.size()` | whole numbers | of this process, and how many there are |
/// | `e.largest(values)` | | each value becomes the largest of what the ranks have there; every rank calls, with as
/// many |
template <class E>
concept ranked_engine = collective_engine<E> && requires(E& engine, std::span<double> values) {
  { engine.rank() } -> std::convertible_to<std::int64_t>;
  { engine.size() } -> std::convertible_to<std::int64_t>;
  engine.largest(values);
};

/// What every rank says, by rank. Every rank calls, with as many numbers.
/// \pre the numbers are whole, from 0 to 2^53
/// Complexity: one comparison of all the numbers per rank
template <ranked_engine Engine>
[[nodiscard]] std::vector<std::vector<double>> gathered(Engine& engine, std::span<const double> mine) {
  std::vector<std::vector<double>> all;
  for (std::int64_t r = 0; r < engine.size(); ++r) {
    std::vector<double> said(mine.size());
    if (r == engine.rank()) said.assign(mine.begin(), mine.end());
    engine.largest(std::span<double>(said));
    all.push_back(std::move(said));
  }
  return all;
}

namespace detail {
/// Halves of 64-bit numbers, which a double holds exactly.
[[nodiscard]] inline std::vector<double> in_halves(std::span<const std::uint64_t> numbers) {
  std::vector<double> halves;
  for (const std::uint64_t n : numbers) {
    halves.push_back(static_cast<double>(n >> 32));
    halves.push_back(static_cast<double>(n & 0xffff'ffffU));
  }
  return halves;
}

/// Whether all ranks say the same.
template <ranked_engine Engine>
[[nodiscard]] bool all_say(Engine& engine, std::span<const double> mine) {
  std::vector<double> both(mine.begin(), mine.end());
  for (const double x : mine) both.push_back(-x);
  engine.largest(std::span<double>(both));
  for (std::size_t i = 0; i < mine.size(); ++i)
    if (both[i] != -both[mine.size() + i]) return false;
  return true;
}
}  // namespace detail

/// Compares what the ranks are about to launch, channel by channel, before anything is launched: ranks of a group whose
/// `launch_signature` differs would wait for each other for ever. Every rank calls; all are refused alike.
/// \pre the ranks have the same process groups (`connect` has seen to it)
/// \throws error (input) naming the group and the first rank that launches something else than the first of its group
/// Complexity: O(V); a comparison of few numbers where all ranks launch the same, else one for each rank
template <ranked_engine Engine>
void check_agreement(const task_graph& g, const schedule& s, Engine& engine) {
  if (engine.size() < 2 || g.groups().empty()) return;
  const std::vector<double> mine = detail::in_halves(launch_signature(g, s));
  if (detail::all_say(engine, mine)) return;
  const auto all = gathered(engine, mine);
  const std::vector<rank_layout> layouts = layouts_of(g.groups(), engine.size());
  for (std::size_t c = 0; c < layouts.size(); ++c)
    for (std::int64_t r = 0; r < engine.size(); ++r) {
      const std::int64_t first = layouts[c].first(r);
      const auto &one = all[static_cast<std::size_t>(r)], &other = all[static_cast<std::size_t>(first)];
      if (one[2 * c] == other[2 * c] && one[2 * c + 1] == other[2 * c + 1]) continue;
      refuse(error_category::input,
             "rank " + std::to_string(r) + " is about to launch other collectives on " + label_of(g.groups()[c]) +
                 ", or the same in another order, than rank " + std::to_string(first) +
                 ", expected the same schedule of the same collectives on all ranks of a group; nothing was launched");
    }
}

/// Says what an engine lacks that is not one rank of several.
template <class Engine>
void check_agreement(const task_graph&, const schedule&, Engine&) {
  static_assert(
      ranked_engine<Engine>,
      "An engine that is one rank of several must have rank(), size() and largest(numbers), beside what every "
      "engine has (shardweave::ranked_engine).");
}

/// The graph with durations on which all ranks agree: task by task the lower median of what they have. Every rank
/// calls, and has the same durations afterwards, so that all decide alike.
/// \throws error (input) naming the first rank whose tasks are not those of rank 0, on all ranks
/// Complexity: O(V) numbers to compare per rank
template <ranked_engine Engine>
[[nodiscard]] task_graph agreed_durations(const task_graph& g, Engine& engine) {
  const rank_durations own = durations_of(g);
  const std::uint64_t sizes[] = {own.tasks, g.size()};
  const auto known = gathered(engine, detail::in_halves(sizes));
  for (std::size_t r = 0; r < known.size(); ++r)
    if (known[r] != known.front())
      refuse(error_category::input, "tasks differ across ranks: those of rank " + std::to_string(r) +
                                        " have other names, operations or kinds than those of rank 0");
  std::vector<double> mine;
  for (const nanoseconds d : own.durations) mine.push_back(static_cast<double>(d.count()));
  std::vector<rank_durations> ranks;
  for (const std::vector<double>& said : gathered(engine, mine)) {
    rank_durations one{own.tasks, {}};
    for (const double d : said) one.durations.emplace_back(static_cast<std::int64_t>(d));
    ranks.push_back(std::move(one));
  }
  return with_agreed_durations(g, ranks);
}

}  // namespace shardweave::inline v0
