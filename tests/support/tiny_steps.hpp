#pragma once

#include <shardweave/bucketing/bucket_key.hpp>
#include <shardweave/bucketing/bucketing_policy.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/work_model.hpp>
#include <shardweave/schedule/exact.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// Graphs so small that the best of all placements, bucketings and orders is found by trying them all; with a cost
/// model that knows nothing of tensors, and a lowering of its own.
namespace tiny_steps {

namespace sw = shardweave;

/// How a value gets from a producer to a consumer: a copy, then a collective of so many bytes. None where both are 0.
struct move {
  std::int64_t copy = 0;
  std::int64_t size = 0;
  std::uint32_t group = 0;
  bool merges = true;  ///< an all-gather, else an all-to-all
};

/// Times of computation, and the moves from each strategy of a producer to the form that a consumer wants, which is its
/// strategy: consumers of one value that want it alike share the move.
struct model {
  using cost_type = double;
  using edge = sw::compressed_graph::edge_descriptor;

  sw::compressed_graph graph;
  std::vector<std::vector<std::int64_t>> times;                 ///< per vertex and strategy
  std::vector<std::vector<std::vector<move>>> moves;            ///< per vertex, own strategy, wanted form
  std::vector<std::map<bool, sw::duration_table>> tables = {};  ///< per group: of gathers (true) and of exchanges
  std::int64_t all_bytes = 0;                                   ///< no placement moves more
  double dram = 0;                                              ///< bytes per nanosecond of packing

  [[nodiscard]] const move& moved(edge e, sw::strategy a, sw::strategy b) const { return moves[e.source][a][b]; }
  [[nodiscard]] std::int64_t alone(const move& m) const {
    return m.size == 0 ? 0 : tables[m.group].at(m.merges)(sw::bytes(m.size)).count();
  }

  [[nodiscard]] std::size_t strategy_count(std::uint32_t v) const { return times[v].size(); }
  [[nodiscard]] double vertex_cost(std::uint32_t v, sw::strategy s) const { return static_cast<double>(times[v][s]); }
  [[nodiscard]] double edge_cost(edge e, sw::strategy a, sw::strategy b) const {
    const move& m = moved(e, a, b);
    return static_cast<double>(m.copy + alone(m));
  }

  [[nodiscard]] std::size_t channel_count() const { return 1 + tables.size(); }
  [[nodiscard]] double vertex_time(std::uint32_t v, sw::strategy s) const { return vertex_cost(v, s); }
  /// What merging leaves, by trying every size of a bucket: alone, or merged and packed.
  [[nodiscard]] sw::edge_work edge_work(edge e, sw::strategy a, sw::strategy b) const {
    const move& m = moved(e, a, b);
    sw::edge_work work{std::vector<double>(channel_count()), 0};
    work.loads[0] = static_cast<double>(m.copy);
    double share = static_cast<double>(alone(m)), shortest = share;
    if (m.merges && m.size > 0)
      for (std::int64_t total = m.size; total <= all_bytes; ++total) {
        const auto time = static_cast<double>(tables[m.group].at(true)(sw::bytes(total)).count());
        share = std::min(share, time * static_cast<double>(m.size) / static_cast<double>(total));
        shortest = std::min(shortest, time);
      }
    work.chain = work.loads[0] + shortest;
    if (share < static_cast<double>(alone(m))) {
      work.otherwise.push_back(work.loads);
      work.otherwise[0][1 + m.group] += static_cast<double>(alone(m));
      if (dram > 0) work.loads[0] += std::max(2.0 * static_cast<double>(5 * m.size) / dram - 2, 0.0);
    }
    work.loads[1 + m.group] += share;
    return work;
  }
  [[nodiscard]] std::uint64_t share_key(edge) const { return 0; }

  /// The tasks of an assignment, in the order of the vertices.
  [[nodiscard]] sw::task_graph lower(std::span<const sw::strategy> choice) const {
    sw::task_graph_builder b;
    b.device.dram_bytes_per_ns = dram;
    for (std::uint32_t g = 0; g < tables.size(); ++g) {
      b.add_group({.id = g, .size = 4});
      for (const auto& [merges, table] : tables[g]) b.add_table(table);
    }
    std::vector<sw::task_index> task_of(times.size());
    std::map<std::pair<std::uint32_t, sw::strategy>, sw::task_index> brought;  // by producer and form
    for (std::uint32_t v = 0; v < times.size(); ++v) {
      std::vector<sw::task_index> inputs;
      for (const edge& e : graph.in(v)) {
        const auto [at, fresh] = brought.try_emplace({e.source, choice[v]}, task_of[e.source]);
        if (fresh) at->second = bring(b, moved(e, choice[e.source], choice[v]), task_of[e.source]);
        inputs.push_back(at->second);
      }
      task_of[v] = b.add_task({.name = "v" + std::to_string(v),
                               .op = "mm",
                               .kind = sw::task_kind::compute,
                               .duration = sw::nanoseconds(times[v][choice[v]]),
                               .inputs = std::move(inputs)});
    }
    return std::move(b).build();
  }

 private:
  sw::task_index bring(sw::task_graph_builder& b, const move& m, sw::task_index from) const {
    if (m.copy > 0)
      from = b.add_task({.name = "copy",
                         .op = "copy",
                         .kind = sw::task_kind::other,
                         .duration = sw::nanoseconds(m.copy),
                         .inputs = {from}});
    if (m.size == 0) return from;
    const auto op = m.merges ? sw::collective::all_gather : sw::collective::all_to_all;
    sw::task_record launch{.name = "move",
                           .op = std::string(sw::name_of(op)),
                           .kind = sw::task_kind::collective,
                           .duration = sw::nanoseconds(alone(m)),
                           .inputs = {from}};
    launch.collective = sw::collective_record{
        op, m.group, sw::bytes(m.size), sw::bytes(m.merges ? 4 * m.size : m.size), "bf16", "none"};
    const sw::task_index launched = b.add_task(std::move(launch));
    sw::task_record wait{.name = "wait", .op = "wait", .kind = sw::task_kind::wait, .inputs = {launched}};
    wait.completes = launched;
    return b.add_task(std::move(wait));
  }
};

/// Three to five vertices in a row or in branches, two or three strategies each, one or two groups.
inline model random_model(sw::random_source& random) {
  const auto n = static_cast<std::uint32_t>(3 + random.below(3));
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;
  for (std::uint32_t v = 1; v < n; ++v) {
    const auto from = static_cast<std::uint32_t>(random.below(v));
    ends.emplace_back(from, v);
    if (v > 1 && random.below(4) == 0) {
      const auto other = static_cast<std::uint32_t>(random.below(v));
      if (other != from) ends.emplace_back(other, v);
    }
  }
  model m{sw::compressed_graph(n, ends), {}, {}};
  const std::size_t groups = 1 + random.below(2), strategies = 2 + random.below(2);
  for (std::uint32_t g = 0; g < groups; ++g) {
    const auto latency = static_cast<std::int64_t>(random.below(12));
    const auto slope = static_cast<std::int64_t>(1 + random.below(3));
    std::map<bool, sw::duration_table>& tables = m.tables.emplace_back();
    for (const bool merges : {false, true}) {
      std::vector<sw::bytes> sizes;
      std::vector<sw::nanoseconds> times;
      for (const std::int64_t size : {1, 4, 16, 64}) {
        sizes.emplace_back(size);
        // a third of the tables is faster per byte from some size on
        const std::int64_t per_byte = size > 4 && random.below(3) == 0 ? 1 : slope;
        const std::int64_t least = times.empty() ? 0 : times.back().count();
        times.emplace_back(std::max(least, latency + per_byte * size / 2));
      }
      tables.emplace(merges, sw::duration_table(merges ? sw::collective::all_gather : sw::collective::all_to_all, g,
                                                std::move(sizes), std::move(times)));
    }
  }
  m.dram = random.below(2) == 0 ? 0.0 : 8.0;
  for (std::uint32_t v = 0; v < n; ++v) {
    std::vector<std::int64_t>& times = m.times.emplace_back();
    auto& forms = m.moves.emplace_back();
    std::int64_t most = 0;
    for (std::size_t s = 0; s < strategies; ++s) {
      times.push_back(static_cast<std::int64_t>(random.below(25)));
      auto& to = forms.emplace_back();
      for (std::size_t t = 0; t < strategies; ++t) {
        move next;
        if (s != t || random.below(4) == 0) {
          next.size = static_cast<std::int64_t>(random.below(17));
          next.copy = random.below(4) == 0 ? static_cast<std::int64_t>(random.below(6)) : 0;
          next.group = static_cast<std::uint32_t>(random.below(groups));
          next.merges = random.below(4) != 0;
        }
        most = std::max(most, next.size);
        to.push_back(next);
      }
    }
    m.all_bytes += most * static_cast<std::int64_t>(strategies);
  }
  return m;
}

/// Calls `f` with every way to bucket the collectives of a graph that may be merged, but those that close a cycle.
template <class Call>
void for_each_bucketing(const sw::task_graph& g, const Call& f) {
  const auto keys = sw::bucket_keys(g);
  std::vector<sw::task_index> some;
  for (sw::task_index t = 0; t < g.size(); ++t)
    if (keys[t] != sw::no_index) some.push_back(t);
  std::vector<std::vector<sw::task_index>> parts;
  const auto place = [&](const auto& self, std::size_t i) -> void {
    if (i == some.size()) {
      sw::bucketing_result all;
      for (const auto& part : parts)
        if (part.size() > 1) all.buckets.push_back(sw::make_bucket(g, part));
      sw::random_source random(1);
      if (!::random_order(g, all.buckets, random).empty()) f(all);
      return;
    }
    for (std::size_t p = 0; p < parts.size(); ++p) {
      if (keys[parts[p].front()] != keys[some[i]]) continue;
      parts[p].push_back(some[i]);
      self(self, i + 1);
      parts[p].pop_back();
    }
    parts.push_back({some[i]});
    self(self, i + 1);
    parts.pop_back();
  };
  place(place, 0);
}

/// The end of the best of all orders with these buckets, by branch and bound over orders, which knows of no placement.
inline std::int64_t best_order(const sw::task_graph& g, const sw::bucketing_result& buckets) {
  const sw::schedule s = sw::exact{}(g, buckets);
  REQUIRE(s.statistics.front().name == "proven");
  REQUIRE(s.statistics.front().value == 1);
  return sw::simulate(g, s).end_to_end.count();
}

/// Calls `f` with every assignment of a model.
template <class Call>
void for_each_assignment(const model& m, const Call& f) {
  std::vector<sw::strategy> choice(m.times.size());
  for (;;) {
    f(choice);
    std::size_t v = 0;
    while (v < choice.size() && ++choice[v] == m.times[v].size()) choice[v++] = 0;
    if (v == choice.size()) return;
  }
}

/// The end of the best plan of one placement.
inline std::int64_t best_step_of(const model& m, std::span<const sw::strategy> choice) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  const sw::task_graph g = m.lower(choice);
  for_each_bucketing(g, [&](const sw::bucketing_result& buckets) { least = std::min(least, best_order(g, buckets)); });
  return least;
}

/// The end of the best plan of all.
inline std::int64_t best_step(const model& m) {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for_each_assignment(
      m, [&](const std::vector<sw::strategy>& choice) { least = std::min(least, best_step_of(m, choice)); });
  return least;
}

}  // namespace tiny_steps
