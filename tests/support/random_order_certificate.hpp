#pragma once

#include <shardweave/core/random.hpp>
#include <shardweave/tasks/order_certificate.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// \file
/// Proofs about orders of the right shape that are drawn at random, and proofs with something wrong in them.

namespace shardweave_test {

/// Whatever is drawn, what such a proof proves holds. Work that is joined is mostly what comes before; jobs are what
/// leads to their collectives. Without buckets, or with any.
[[nodiscard]] inline shardweave::order_certificate draw_order_certificate(const shardweave::task_graph& g,
                                                                          std::uint64_t seed) {
  namespace sw = shardweave;
  sw::random_source random(seed * 2 + 1);
  const auto n = static_cast<std::uint32_t>(3 * g.size());
  std::vector<std::vector<std::uint32_t>> after(n), before(n);
  const auto edge = [&](std::uint32_t a, std::uint32_t b) {
    after[a].push_back(b);
    before[b].push_back(a);
  };
  std::vector<std::uint32_t> there;  // in a topological order
  std::vector<std::uint32_t> machine(n);
  for (sw::task_index t = 0; t < g.size(); ++t) {
    for (const auto& e : g.dependencies().in(t)) edge(3 * e.source + (g.completes(t) == e.source ? 1 : 0), 3 * t);
    there.push_back(3 * t);
    if (!g.is_collective(t)) continue;
    edge(3 * t, 3 * t + 1);
    there.push_back(3 * t + 1);
    machine[3 * t + 1] = 1 + g.collective(t).group;
  }
  sw::order_certificate c;
  if (random.chance(0.5)) c.buckets.emplace();
  const auto any_of = [&](const auto& list) { return list[random.below(list.size())]; };
  const auto some_joins = [&](const std::vector<std::vector<std::uint32_t>>& lead, std::vector<sw::order_join>& joins) {
    for (std::size_t count = random.below(5); count-- > 0;) {
      const std::uint32_t v = any_of(there);
      std::vector<std::uint32_t> reached{v};
      std::vector<bool> seen(n);
      for (std::size_t i = 0; i < reached.size(); ++i)
        for (const std::uint32_t p : lead[reached[i]])
          if (!seen[p]) {
            seen[p] = true;
            reached.push_back(p);
          }
      if (reached.size() < 2) continue;
      const std::uint32_t on = machine[reached[1 + random.below(reached.size() - 1)]];
      sw::order_join join{v, {}};
      for (const std::uint32_t a : reached)
        if (a != v && machine[a] == on && random.chance(0.8)) join.work.push_back(a);
      if (random.chance(0.02)) join.work.push_back(any_of(there));
      if (!join.work.empty()) joins.push_back(std::move(join));
    }
  };
  some_joins(before, c.heads);
  some_joins(after, c.tails);
  std::vector<std::uint32_t> runs;
  for (const std::uint32_t a : there)
    if (a % 3 == 1) runs.push_back(a);
  if (runs.empty() || random.chance(0.5)) {
    const std::uint32_t on = machine[any_of(there)];
    for (const std::uint32_t a : there)
      if (machine[a] == on && random.chance(0.8)) c.together.push_back(a);
    if (c.together.empty()) c.together.push_back(there.front());
    return c;
  }
  sw::order_row& row = c.row.emplace();
  row.backward = random.chance(0.5);
  const std::uint32_t own = any_of(runs);
  row.collective = own / 3;
  std::uint32_t beside = machine[own];
  if (random.chance(0.7)) {
    for (int i = 0; i < 3; ++i) row.weights.push_back(static_cast<std::int64_t>(random.below(5)));
    if (row.weights[0] + row.weights[1] + row.weights[2] == 0) row.weights[0] = 1;
    beside = machine[any_of(runs)];
  }
  std::vector<std::uint32_t> job(n, n);
  const auto& leads = row.backward ? before : after;
  std::vector<std::uint32_t> from_the_end = there;
  if (!row.backward) std::reverse(from_the_end.begin(), from_the_end.end());
  for (const std::uint32_t a : from_the_end) {
    std::vector<std::uint32_t> choices;
    for (const std::uint32_t s : leads[a])
      if (job[s] != n) choices.push_back(job[s]);
    const bool is_job = a % 3 == 1 && (machine[a] == machine[own] || machine[a] == beside);
    if (is_job)
      job[a] = a;
    else if (!choices.empty() && random.chance(0.95))
      job[a] = any_of(choices);
  }
  for (const std::uint32_t r : runs) {
    sw::order_job one{r / 3, {}};
    for (const std::uint32_t a : there)
      if (a != r && job[a] == r) one.work.push_back(a);
    if (!one.work.empty()) row.jobs.push_back(std::move(one));
  }
  return c;
}

/// Changes something: a number, work that goes or comes, a job that goes, a weight, a bucket.
inline void spoil(shardweave::order_certificate& c, std::uint64_t seed) {
  namespace sw = shardweave;
  sw::random_source random(seed * 2 + 1);
  std::vector<std::vector<sw::activity_number>*> lists{&c.together};
  for (auto* joins : {&c.heads, &c.tails})
    for (sw::order_join& j : *joins) lists.push_back(&j.work);
  if (c.row)
    for (sw::order_job& j : c.row->jobs) lists.push_back(&j.work);
  std::erase_if(lists, [](const auto* list) { return list->empty(); });
  const auto flip = [&](std::uint32_t& number) { number ^= std::uint32_t{1} << random.below(8); };
  const auto any_of = [&](auto& list) -> auto& { return list[random.below(list.size())]; };
  switch (random.below(9)) {
    case 0:
      if (!lists.empty()) flip(any_of(*any_of(lists)));
      break;
    case 1:
      if (!lists.empty()) {
        auto& list = *any_of(lists);
        list.push_back(static_cast<std::uint32_t>(random.below(200)));
      }
      break;
    case 2:
      if (!lists.empty()) {
        auto& list = *any_of(lists);
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(random.below(list.size())));
      }
      break;
    case 3:
      if (!c.heads.empty()) flip(any_of(c.heads).activity);
      break;
    case 4:
      if (!c.tails.empty()) flip(any_of(c.tails).activity);
      break;
    case 5:
      if (c.row && !c.row->jobs.empty()) {
        if (random.chance(0.5))
          flip(any_of(c.row->jobs).collective);
        else
          c.row->jobs.push_back(any_of(c.row->jobs));
      }
      break;
    case 6:
      if (c.row && !c.row->weights.empty()) any_of(c.row->weights) += static_cast<std::int64_t>(random.below(40)) - 20;
      break;
    case 7:
      if (c.row) random.chance(0.5) ? void(c.row->backward = !c.row->backward) : flip(c.row->collective);
      break;
    default:
      if (c.buckets && !c.buckets->empty()) {
        auto& members = any_of(*c.buckets).members;
        if (!members.empty()) random.chance(0.5) ? members.pop_back() : flip(any_of(members));
      } else {
        std::swap(c.heads, c.tails);
      }
  }
}

}  // namespace shardweave_test
