#pragma once

#include <shardweave/core/units.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <vector>

/// \file
/// Makespan bounds of one machine, of a two-machine flow shop, and of three machines.

namespace shardweave::inline v0::detail {

/// A job of one machine, with a release time, and a delivery time (`rest`) after its end.
struct machine_job {
  nanoseconds release, duration, rest;
  std::uint32_t number = 0;  ///< identifies it to the caller
};

/// Jackson's preemptive schedule of one machine: of the released jobs, the one with the longest rest runs.
/// \param ran  called for each piece: ran(job, begin, end, whether the job ends there)
/// \returns the optimal preemptive makespan, rests included
template <class Ran>
nanoseconds preemptive_schedule(std::vector<machine_job> jobs, const Ran& ran) {
  std::sort(jobs.begin(), jobs.end(), [](const machine_job& a, const machine_job& b) { return a.release < b.release; });
  const auto rests_less = [](const machine_job& a, const machine_job& b) { return a.rest < b.rest; };
  std::priority_queue<machine_job, std::vector<machine_job>, decltype(rests_less)> open(rests_less);
  nanoseconds now, bound;
  for (std::size_t next = 0; next < jobs.size() || !open.empty();) {
    if (open.empty()) now = std::max(now, jobs[next].release);
    while (next < jobs.size() && jobs[next].release <= now) open.push(jobs[next++]);
    machine_job job = open.top();
    open.pop();
    const nanoseconds end = now + job.duration;
    if (next < jobs.size() && jobs[next].release < end) {
      ran(job, now, jobs[next].release, false);
      job.duration = end - jobs[next].release;
      now = jobs[next].release;
      open.push(job);
    } else {
      ran(job, now, end, true);
      now = end;
      bound = std::max(bound, end + job.rest);
    }
  }
  return bound;
}

/// The optimal preemptive makespan of one machine, rests included.
/// Source: J. R. Jackson's preemptive schedule, as in J. Carlier, The one-machine sequencing problem, EJOR 11 (1982).
/// Complexity: O(n log n)
[[nodiscard]] inline nanoseconds preemptive_bound(std::vector<machine_job> jobs) {
  return preemptive_schedule(std::move(jobs), [](const machine_job&, nanoseconds, nanoseconds, bool) {});
}

/// A subset of jobs that proves the bound by itself: its earliest release, its total duration and its least rest add up
/// to no less. It consists of the jobs that run, without idle time and with no less rest, up to the end of the job that
/// gives the bound. Source: J. Carlier, as above. Complexity: O(n log n)
/// \pre no duration is 0
[[nodiscard]] inline std::vector<machine_job> critical_jobs(const std::vector<machine_job>& jobs) {
  struct stretch {
    nanoseconds begin, end, rest;
    std::uint32_t job;
  };
  std::vector<machine_job> named = jobs;
  for (std::uint32_t i = 0; i < named.size(); ++i) named[i].number = i;
  std::vector<stretch> stretches;
  std::size_t last = 0;
  nanoseconds bound(-1);
  preemptive_schedule(std::move(named), [&](const machine_job& job, nanoseconds begin, nanoseconds end, bool whole) {
    stretches.push_back({begin, end, job.rest, job.number});
    if (!whole || end + job.rest <= bound) return;
    bound = end + job.rest;
    last = stretches.size();
  });
  std::vector<bool> taken(jobs.size());
  std::vector<machine_job> critical;
  for (std::size_t i = last; i-- > 0 && stretches[i].rest >= stretches[last - 1].rest;) {
    if (i + 1 < last && stretches[i].end != stretches[i + 1].begin) break;
    if (taken[stretches[i].job]) continue;
    taken[stretches[i].job] = true;
    critical.push_back(jobs[stretches[i].job]);
  }
  return critical;
}

/// A job of a two-machine flow shop: its time on the first machine, then on the second.
struct two_machine_job {
  nanoseconds first, second;
};

/// The optimal makespan of a two-machine flow shop, with or without preemption.
/// Source: S. M. Johnson, Optimal two- and three-stage production schedules, 1954; preemption gains nothing: T.
/// Gonzalez, S. Sahni, Flowshop and jobshop schedules, 1978. Complexity: O(n log n)
[[nodiscard]] inline nanoseconds two_machine_bound(std::vector<two_machine_job> jobs) {
  std::sort(jobs.begin(), jobs.end(), [](const two_machine_job& a, const two_machine_job& b) {
    const bool early = a.first < a.second;
    if (early != (b.first < b.second)) return early;
    return early ? a.first < b.first : a.second > b.second;
  });
  nanoseconds first, second;
  for (const two_machine_job& job : jobs) {
    first += job.first;
    second = std::max(first, second) + job.second;
  }
  return std::max(first, second);
}

/// A job of the compute stream and then of a channel that may be merged with others, which reduces its time on the
/// channel to `share` and adds `packing` to the stream.
struct mergeable_job {
  nanoseconds first, alone, share, packing;
};

/// A bound, and the weights of the machines that give it, in units of 1 / (number of steps).
struct weighed_mix {
  nanoseconds bound;
  int first = 0, second = 0, third = 0;
};

/// A bound for a flow shop in which `whole` is a single job, that precedes some of the others on both machines and
/// follows the rest of them on the first. Jobs that follow it have all their work after it: so the makespan is at least
/// the work before `whole`, plus `whole` and all later jobs on the second machine; and it is at least all work of the
/// first machine. Work for a third machine (`beside`) is done before `whole` is launched, or its collective comes after
/// that: so the makespan is also at least the work before `whole` plus the third machine's part. Any convex combination
/// of the three bounds, with the best choice for each job, is a bound.
/// \param lone  work of the first machine that belongs to no job
/// Complexity: O(n) per combination
[[nodiscard]] inline weighed_mix weighed_bound(const mergeable_job& whole, nanoseconds lone,
                                               const std::vector<mergeable_job>& others,
                                               const std::vector<mergeable_job>& beside = {}) {
  const int steps = beside.empty() ? 32 : 16;
  const auto number = [](nanoseconds t) { return static_cast<double>(t.count()); };
  struct weighed_job {
    double first, alone, packed, share;
  };
  const auto in_numbers = [&](const std::vector<mergeable_job>& jobs) {
    std::vector<weighed_job> all;
    all.reserve(jobs.size());
    for (const mergeable_job& j : jobs)
      all.push_back({number(j.first), number(j.alone), number(j.first + j.packing), number(j.share)});
    return all;
  };
  const std::vector<weighed_job> of_second = in_numbers(others), of_third = in_numbers(beside);
  double best = 0;
  weighed_mix mix{{}, steps};
  for (int i = 0; i <= steps; ++i)
    for (int k = 0; k <= (beside.empty() ? 0 : steps - i); ++k) {
      const double second = static_cast<double>(i) / steps, third = static_cast<double>(k) / steps;
      const double first = 1 - second - third;
      double sum = number(whole.first) + first * number(lone) +
                   std::min(second * number(whole.alone), first * number(whole.packing) + second * number(whole.share));
      const auto add = [&](const std::vector<weighed_job>& jobs, double then) {
        for (const weighed_job& j : jobs)
          sum += std::min(j.first, std::min(first * j.first + then * j.alone, first * j.packed + then * j.share));
      };
      add(of_second, second);
      add(of_third, third);
      if (sum <= best) continue;
      best = sum;
      mix = {{}, steps - i - k, i, k};
    }
  mix.bound = nanoseconds(static_cast<std::int64_t>(best * (1 - 1e-12)) - 1);  // exceeds any rounding error
  return mix;
}

}  // namespace shardweave::inline v0::detail
