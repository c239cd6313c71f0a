#pragma once

#include <shardweave/core/phase.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/memory/held_values.hpp>
#include <shardweave/memory/recomputation.hpp>
#include <shardweave/schedule/exact.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/bucket_costs.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>
#include <support/tiny_steps.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Training steps so small that the best of all placements, choices of what is made again, buckets and orders within a
/// limit on memory is found by trying them all.
namespace tiny_training {

namespace sw = shardweave;

/// A forward part, a loss, and a backward part of one vertex for each one of the forward part; times, moves and prices
/// are those of a tiny step.
struct model : tiny_steps::model {
  std::uint32_t forward = 0;                    ///< so many vertices, then the loss
  std::vector<std::vector<std::int64_t>> held;  ///< bytes of what each vertex gives, by the form that it is in
  std::vector<std::uint32_t> block_of;          ///< per vertex

  [[nodiscard]] std::uint32_t loss() const { return forward; }

  struct tasks {
    sw::lowered_graph lowered;
    std::vector<std::uint32_t> droppable;  ///< storages of the forward part
  };

  /// The tasks of an assignment, with what they hold. A value that several want alike is moved once.
  [[nodiscard]] tasks lower_all(std::span<const sw::strategy> choice) const {
    sw::task_graph_builder b;
    b.device.dram_bytes_per_ns = dram;
    for (std::uint32_t g = 0; g < tables.size(); ++g) {
      b.add_group({.id = g, .size = 4});
      for (const auto& [merges, table] : tables[g]) b.add_table(table);
    }
    tasks all;
    const auto n = static_cast<std::uint32_t>(times.size());
    all.lowered.task_of.resize(n);
    std::map<std::pair<std::uint32_t, sw::strategy>, sw::task_index> brought;
    const auto add = [&](sw::task_record r, std::uint32_t v, sw::phase when, std::optional<std::int64_t> size,
                         std::uint32_t storage = sw::no_index) {
      r.when = when;
      r.role = sw::task_role::activation;
      if (size) storage = b.add_storage(sw::bytes(*size));
      if (storage != sw::no_index) r.outputs = {{.size = sw::bytes(1), .storage = storage}};
      if (size && when == sw::phase::forward && v < forward) all.droppable.push_back(storage);
      all.lowered.origin.push_back({.operation = v});
      return std::pair(b.add_task(std::move(r)), storage);
    };
    for (std::uint32_t v = 0; v < n; ++v) {
      const sw::phase when = v <= loss() ? sw::phase::forward : sw::phase::backward;
      std::vector<sw::task_index> inputs;
      for (const edge& e : graph.in(v)) {
        const auto [at, fresh] = brought.try_emplace({e.source, choice[v]}, all.lowered.task_of[e.source]);
        const tiny_steps::move& m = moved(e, choice[e.source], choice[v]);
        if (fresh && m.copy > 0)
          at->second = add({.name = "copy",
                            .op = "copy",
                            .kind = sw::task_kind::other,
                            .duration = sw::nanoseconds(m.copy),
                            .inputs = {at->second}},
                           e.source, when, held[e.source][choice[e.source]])
                           .first;
        if (fresh && m.size > 0) {
          const auto op = m.merges ? sw::collective::all_gather : sw::collective::all_to_all;
          sw::task_record launch{.name = "move",
                                 .op = std::string(sw::name_of(op)),
                                 .kind = sw::task_kind::collective,
                                 .duration = sw::nanoseconds(alone(m)),
                                 .inputs = {at->second}};
          launch.collective = sw::collective_record{
              op, m.group, sw::bytes(m.size), sw::bytes(held[e.source][choice[v]]), "bf16", "none"};
          const auto [launched, storage] = add(std::move(launch), e.source, when, held[e.source][choice[v]]);
          sw::task_record wait{.name = "wait", .op = "wait", .kind = sw::task_kind::wait, .inputs = {launched}};
          wait.completes = launched;
          at->second = add(std::move(wait), e.source, when, std::nullopt, storage).first;
        }
        inputs.push_back(at->second);
      }
      all.lowered.task_of[v] = add({.name = "v" + std::to_string(v),
                                    .op = "mm",
                                    .kind = sw::task_kind::compute,
                                    .duration = sw::nanoseconds(times[v][choice[v]]),
                                    .inputs = std::move(inputs)},
                                   v, when, held[v][choice[v]])
                                   .first;
    }
    all.lowered.tasks = std::move(b).build();
    return all;
  }
  [[nodiscard]] sw::task_graph lower(std::span<const sw::strategy> choice) const {
    return lower_all(choice).lowered.tasks;
  }

  /// What is held at the end of the loss: stated by hand from the moves.
  [[nodiscard]] sw::held_values held_at_loss() const {
    sw::held_values all{.moment = loss(), .block_of = block_of};
    std::vector<std::uint32_t> value(times.size(), ~0U);
    for (std::uint32_t v = 0; v < forward; ++v) {
      bool is_read = false;
      for (const edge& e : graph.out(v)) is_read = is_read || e.target > loss();
      sw::held_value made{.name = "v" + std::to_string(v), .maker = v, .is_read = is_read};
      sw::held_form form{v, {}};
      for (sw::strategy s = 0; s < times[v].size(); ++s) {
        std::int64_t least = held[v][s];
        for (sw::strategy t = 0; t < moves[v][s].size(); ++t)
          if (moves[v][s][t].size > 0) least = std::min(least, held[v][t]);
        form.bytes.push_back(static_cast<double>(least));
        made.again.push_back(static_cast<double>(times[v][s]));
      }
      made.forms.push_back(std::move(form));
      for (const edge& e : graph.in(v)) made.from.push_back(value[e.source]);
      value[v] = static_cast<std::uint32_t>(all.values.size());
      all.values.push_back(std::move(made));
    }
    return all;
  }
};

/// Its tasks as a pipeline asks for them.
struct own_lowering {
  static constexpr std::string_view name = "own";
  [[nodiscard]] sw::lowered_graph operator()(const model& m, std::span<const sw::strategy> choice) const {
    return m.lower_all(choice).lowered;
  }
};

/// Two or three vertices in a row (two at small scale), a loss, and their gradients in the opposite order, which
/// read what theirs read or made; two strategies each. Gradients are small.
inline model random_model(sw::random_source& random) {
  model m;
  m.forward = static_cast<std::uint32_t>(2 + random.below(shardweave_test::sized<std::size_t>(2, 1)));
  const std::uint32_t n = 2 * m.forward + 1;
  std::set<std::pair<std::uint32_t, std::uint32_t>> ends;
  for (std::uint32_t v = 1; v < n; ++v) ends.emplace(v - 1, v);
  for (std::uint32_t v = 0; v < m.forward; ++v) {
    const std::uint32_t gradient = n - 1 - v;
    if (random.below(4) > 0) ends.emplace(v, gradient);
    if (v > 0 && random.below(2) == 0) ends.emplace(v - 1, gradient);
  }
  static_cast<tiny_steps::model&>(m) = tiny_steps::random_model(random);
  m.dram = 0;  // what is held is large beside what is sent, as a bucket's buffers are; to unpack it would take long
  const std::size_t groups = m.tables.size();
  m.graph = sw::compressed_graph(n, std::vector<std::pair<std::uint32_t, std::uint32_t>>(ends.begin(), ends.end()));
  m.times.clear();
  m.moves.clear();
  m.all_bytes = 0;
  for (std::uint32_t v = 0; v < n; ++v) {
    auto& times = m.times.emplace_back();
    auto& forms = m.moves.emplace_back();
    auto& held = m.held.emplace_back();
    m.block_of.push_back(v == m.loss() ? ~0U : 0U);
    for (std::size_t s = 0; s < 2; ++s) {
      times.push_back(static_cast<std::int64_t>(1 + random.below(25)));
      held.push_back(static_cast<std::int64_t>(v < m.forward ? 2 + random.below(16) : 1) << 20);
      auto& to = forms.emplace_back(2);
      tiny_steps::move& other = to[1 - s];
      if (random.below(4) == 0) continue;
      other.size = static_cast<std::int64_t>(1 + random.below(16));
      other.copy = random.below(4) == 0 ? static_cast<std::int64_t>(random.below(6)) : 0;
      other.group = static_cast<std::uint32_t>(random.below(groups));
      other.merges = random.below(4) != 0;
      m.all_bytes += 2 * other.size;
    }
  }
  return m;
}

/// Calls `use` with the tasks of each placement and choice of what is made again.
template <class Use>
void for_each_graph(const model& m, const Use& use) {
  tiny_steps::for_each_assignment(m, [&](const std::vector<sw::strategy>& choice) {
    const model::tasks all = m.lower_all(choice);
    for (std::uint32_t some = 0; some < (1U << all.droppable.size()); ++some) {
      std::vector<char> dropped(all.lowered.tasks.storages().size());
      for (std::size_t i = 0; i < all.droppable.size(); ++i)
        if ((some >> i & 1U) != 0) dropped[all.droppable[i]] = 1;
      use(sw::with_recomputation(all.lowered.tasks, dropped).tasks);
    }
  });
}

/// The peak of each plan's own order, for limits to try, lowest first.
inline std::vector<std::int64_t> peaks_of(const model& m) {
  std::vector<std::int64_t> peaks;
  for_each_graph(m, [&](const sw::task_graph& g) { peaks.push_back(sw::simulate(g).peak.count()); });
  std::ranges::sort(peaks);
  return peaks;
}

/// What the compute stream does, in any order.
inline std::int64_t computation_of(const sw::task_graph& g) {
  std::int64_t sum = 0;
  for (sw::task_index t = 0; t < g.size(); ++t)
    if (!g.is_collective(t)) sum += g.duration(t).count();
  return sum;
}

/// Before which no order with these buckets ends: what a channel does, what is done one after the other.
inline std::int64_t least_end(const sw::task_graph& g, const sw::bucketing_result& buckets) {
  std::vector<std::int64_t> time(g.size()), channel(g.groups().size()), end(g.size());
  for (sw::task_index t = 0; t < g.size(); ++t) time[t] = g.duration(t).count();
  std::vector<char> is_member(g.size());
  for (const sw::bucket& b : buckets.buckets) {
    const std::int64_t launch = sw::costs_of(g, b).duration.count();
    for (const sw::task_index t : b.members) {
      time[t] = launch;
      is_member[t] = 1;
    }
    channel[b.channel] += launch;
  }
  std::int64_t least = 0;
  for (sw::task_index t = 0; t < g.size(); ++t) {  // arguments have lower numbers
    if (g.is_collective(t) && is_member[t] == 0) channel[g.collective(t).group] += time[t];
    for (const auto& e : g.dependencies().in(t)) end[t] = std::max(end[t], end[e.source]);
    end[t] += time[t];
    least = std::max(least, end[t]);
  }
  for (const std::int64_t busy : channel) least = std::max(least, busy);
  return least;
}

/// The end of the best plan within a limit, over placements, what is made again, buckets and orders; nothing if none
/// keeps to it. Graphs that compute longer than the best plan takes, and buckets with which no order is earlier, are
/// not tried.
inline std::optional<std::int64_t> best_within(const model& m, std::int64_t limit) {
  std::vector<std::pair<std::int64_t, sw::task_graph>> graphs;
  for_each_graph(m, [&](sw::task_graph g) {
    const std::int64_t least = computation_of(g);
    graphs.emplace_back(least, std::move(g));
  });
  std::ranges::stable_sort(graphs, {}, [](const auto& g) { return g.first; });
  std::optional<std::int64_t> best;
  for (const auto& [least, g] : graphs) {
    if (best && least >= *best) break;
    tiny_steps::for_each_bucketing(g, [&, &graph = g](const sw::bucketing_result& buckets) {
      if (best && least_end(graph, buckets) >= *best) return;
      const sw::schedule s = sw::exact{.memory = sw::bytes(limit)}(graph, buckets);
      REQUIRE(s.statistics.front().name == "proven");
      REQUIRE(s.statistics.front().value == 1);
      const sw::timeline line = sw::simulate(graph, s);
      if (line.peak.count() > limit) return;
      if (!best || line.end_to_end.count() < *best) best = line.end_to_end.count();
    });
  }
  return best;
}

}  // namespace tiny_training
