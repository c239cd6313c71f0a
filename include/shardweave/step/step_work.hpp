#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/interning.hpp>
#include <shardweave/graph/numbering.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/work_model.hpp>
#include <shardweave/step/work_table.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

/// \file
/// Work of vertices and edges as tables, read from a work model or a file.

namespace shardweave::inline v0 {

/// An edge of a placement problem, and the table of the work of its pairs of strategies.
struct work_edge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t table = 0;  ///< of `step_work::tables`
  std::uint32_t share = 0;  ///< edges of equal number may be served by one transfer, so a claim counts one of them
  /// A second predecessor: its loads start after the end of this vertex, too, and not only of the producer.
  std::uint32_t since = no_vertex;

  static constexpr std::uint32_t no_vertex = ~0U;
};

/// An edge whose load on the compute stream is the time of `vertices` if they run after its `since` (late), and 0 if
/// they run before: a claim counts either the edge or these vertices.
struct late_work {
  std::uint32_t edge = 0;
  std::vector<std::uint32_t> vertices = {};  ///< in ascending order
};

/// The work that `work_model` describes, for the vertices and edges of a placement problem by their numbers.
struct step_work {
  std::size_t channels = 1;  ///< with the compute stream, which is the first
  /// Upper limits of the last channels, which are not machines but amounts that are held, such as bytes of memory: the
  /// loads of every plan on such a channel add up to at most its limit.
  std::vector<double> limits = {};
  std::vector<std::uint32_t> times_of = {};     ///< per vertex: its list in `times`
  std::vector<std::vector<double>> times = {};  ///< per list: the time under each strategy
  std::vector<work_edge> edges = {};
  std::vector<work_table> tables = {};
  std::size_t shares = 0;            ///< one more than the largest `work_edge::share`
  std::vector<late_work> late = {};  ///< no two of them have an edge or a vertex in common

  [[nodiscard]] std::size_t vertex_count() const { return times_of.size(); }
  /// The number of channels that do work: all but those with limits.
  [[nodiscard]] std::size_t machines() const { return channels - limits.size(); }
  [[nodiscard]] double time(std::uint32_t v, strategy s) const { return times[times_of[v]][s]; }
  [[nodiscard]] double load(const work_edge& e, std::size_t channel, strategy a, strategy b,
                            std::size_t way = 0) const {
    return tables[e.table].load(channel, a, b, way);
  }
  /// The way of an edge with the least priced load, the first of equal ones.
  /// \param prices  of a unit of load, per channel
  [[nodiscard]] std::size_t cheapest_way(const work_edge& e, strategy a, strategy b,
                                         std::span<const double> prices) const {
    std::size_t best = 0;
    double least = 0;
    for (std::size_t way = 0; way < tables[e.table].ways(); ++way) {
      double cost = 0;
      for (std::size_t c = 0; c < channels; ++c)
        if (prices[c] > 0) cost += prices[c] * load(e, c, a, b, way);
      if (way > 0 && cost >= least) continue;
      least = cost;
      best = way;
    }
    return best;
  }
  [[nodiscard]] double chain(const work_edge& e, strategy a, strategy b) const { return tables[e.table].chain(a, b); }
};

/// A relaxation that leaves edges no choice of ways: each amount has, for each channel on its own, the least load of
/// all ways.
/// Complexity: linear in the tables
[[nodiscard]] inline step_work least_of_ways(step_work work) {
  for (work_table& table : work.tables) {
    for (std::size_t c = 0; c < table.loads.size(); ++c)
      for (const auto& of_way : table.otherwise) {
        std::vector<double>& least = table.loads[c];
        least.resize(std::min(least.size(), of_way[c].size()));  // nothing at all in some way
        for (std::size_t a = 0; a < least.size(); ++a) least[a] = std::min(least[a], of_way[c][a]);
      }
    table.otherwise.clear();
  }
  return work;
}

namespace detail {

/// What is wrong with work in itself: what it names that is not there, and tables that are not of the strategies of
/// their ends; empty if nothing is.
[[nodiscard]] inline std::string fault_of(const step_work& work) {
  if (work.limits.size() >= work.channels)
    return "work has " + std::to_string(work.limits.size()) + " limits for " + std::to_string(work.channels) +
           " channels, one of which is the compute stream";
  for (std::size_t v = 0; v < work.vertex_count(); ++v)
    if (work.times_of[v] >= work.times.size())
      return "work of vertex " + std::to_string(v) + " is list " + std::to_string(work.times_of[v]) +
             " of times, but there are " + std::to_string(work.times.size());
  const auto is_there = [&](std::uint32_t v) { return v < work.vertex_count(); };
  for (std::size_t i = 0; i < work.edges.size(); ++i) {
    const work_edge& e = work.edges[i];
    bool fits = is_there(e.from) && is_there(e.to) && e.table < work.tables.size() &&
                (e.since == work_edge::no_vertex || is_there(e.since));
    if (fits) {
      const work_table& table = work.tables[e.table];
      const auto is_of_channels = [&](const auto& loads) { return loads.size() == work.channels; };
      fits = is_of_channels(table.loads) && std::ranges::all_of(table.otherwise, is_of_channels) &&
             (table.is_idle() || (table.rows() == work.times[work.times_of[e.from]].size() &&
                                  table.columns() == work.times[work.times_of[e.to]].size()));
    }
    if (!fits) return "work of edge " + std::to_string(i) + " is not of the problem's vertices and strategies";
    if (e.share >= work.shares)
      return "work of edge " + std::to_string(i) + " has share " + std::to_string(e.share) + " of " +
             std::to_string(work.shares);
  }
  for (std::size_t l = 0; l < work.late.size(); ++l)
    if (work.late[l].edge >= work.edges.size() || !std::ranges::all_of(work.late[l].vertices, is_there))
      return "late work " + std::to_string(l) + " names an edge or a vertex that is not there";
  return {};
}

/// The table of an edge whose model numbers the work of pairs (`edge_patterns`): one amount per pattern; the numbers of
/// pairs are shared with the model, not copied.
template <class M, class E>
[[nodiscard]] work_table table_of_patterns(const M& model, const E& e, std::span<const std::uint32_t> rows,
                                           std::span<const std::uint32_t> columns, work_table_builder& amounts) {
  const work_patterns patterns = model.edge_patterns(e);
  for (std::uint32_t p = 0; p < patterns.count; ++p) amounts.add(model.pattern_work(e, p));
  return amounts.table(rows, columns, patterns.column_classes, patterns.of_pair);
}

/// `describe_work` of a model that tells it.
template <planning_graph G, class M, class Strategies>
[[nodiscard]] step_work work_of_model(const G& g, const M& model, const Strategies& strategies) {
  const vertex_numbering<G> number(g);
  step_work result;
  result.channels = static_cast<std::size_t>(model.channel_count());
  if (result.channels == 0)
    refuse(error_category::input, "the work model has no channel, expected the compute stream at least");
  interner<std::vector<double>, sequence_hash> lists;
  std::vector<std::uint32_t> counts;
  for (std::size_t i = 0; i < number.size(); ++i) {
    std::vector<double> times(static_cast<std::size_t>(strategies(number[i])));
    for (strategy s = 0; s < times.size(); ++s) {
      times[s] = static_cast<double>(model.vertex_time(number[i], s));
      if (!(times[s] >= 0))
        refuse(error_category::input, "vertex " + std::to_string(i) + " takes " + std::to_string(times[s]) +
                                          " under strategy " + std::to_string(s) +
                                          ", expected a time that is not negative");
      if (std::isinf(times[s])) times[s] = 0;
    }
    counts.push_back(static_cast<std::uint32_t>(times.size()));
    result.times_of.push_back(lists(std::move(times)));
  }
  for (std::uint32_t l = 0; l < lists.size(); ++l) result.times.push_back(lists[l]);

  std::unordered_map<std::uint64_t, std::uint32_t> by_key;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> shares;
  for (auto [e, last] = edges(g); e != last; ++e) {
    work_edge made{.from = number(source(*e, g)), .to = number(target(*e, g))};
    const std::string who = "edge " + std::to_string(result.edges.size());
    const auto add = [&](work_table table) {
      result.tables.push_back(std::move(table));
      return static_cast<std::uint32_t>(result.tables.size() - 1);
    };
    work_table_builder amounts(result.channels, who);
    if constexpr (classified_work_model<M, G>) {
      const auto [at, fresh] = by_key.try_emplace(static_cast<std::uint64_t>(model.edge_key(*e)));
      if (fresh)
        at->second =
            add(detail::table_of_patterns(model, *e, model.producer_classes(*e), model.consumer_classes(*e), amounts));
      made.table = at->second;
    } else {
      std::vector<std::uint32_t> rows(counts[made.from]), columns(counts[made.to]);
      std::iota(rows.begin(), rows.end(), 0U);
      std::iota(columns.begin(), columns.end(), 0U);
      made.table = add(
          amounts.table(rows, columns, [&](std::uint32_t i, std::uint32_t j) { return model.edge_work(*e, i, j); }));
    }
    made.share = static_cast<std::uint32_t>(result.edges.size());
    if constexpr (sharing_work_model<M, G>) {
      const auto next = static_cast<std::uint32_t>(shares.size());
      made.share = shares.try_emplace({made.from, static_cast<std::uint64_t>(model.share_key(*e))}, next).first->second;
    }
    result.shares = std::max(result.shares, std::size_t{made.share} + 1);
    result.edges.push_back(made);
  }
  return result;
}

}  // namespace detail

/// The work of all vertices and edges of a graph, as a model tells it. Infinite times and loads, of forbidden choices,
/// become 0.
/// \param strategies  how many strategies a vertex has, as the cost model says
/// \throws error (input) if there is no channel; naming the vertex or edge with a time below 0, or the edge whose loads
///         are not one per channel
/// Complexity: linear in vertices and strategies, and in the pairs of classes of every key (without classes, in the
/// pairs of strategies of every edge)
template <planning_graph G, class M, class Strategies>
[[nodiscard]] step_work describe_work(const G& g, const M& model, const Strategies& strategies) {
  constexpr bool tells = work_model<M, G> || classified_work_model<M, G>;
  constexpr bool speaks_of_classes = requires(const M& m, edge_t<G> e) { m.edge_patterns(e); } ||
                                     requires(const M& m, edge_t<G> e, std::uint32_t p) { m.pattern_work(e, p); };
  static_assert(tells || speaks_of_classes,
                "The model does not tell the work of a plan, neither by class (shardweave::classified_work_model) nor "
                "pair by pair: const members channel_count() and vertex_time(vertex, strategy) that return numbers, "
                "and edge_work(edge, producer_strategy, consumer_strategy) that returns a shardweave::edge_work "
                "(shardweave::work_model).");
  static_assert(classified_work_model<M, G> || !speaks_of_classes,
                "The model has edge_patterns or pattern_work, but not what telling work by class needs: const members "
                "channel_count() and vertex_time(vertex, strategy) that return numbers, producer_classes(edge) and "
                "consumer_classes(edge) that return spans of std::uint32_t, edge_patterns(edge) that returns a "
                "shardweave::work_patterns, pattern_work(edge, number) that returns a shardweave::edge_work, and "
                "edge_key(edge) that returns a whole number (shardweave::classified_work_model).");
  static_assert(
      sharing_work_model<M, G> || !requires(const M& m, edge_t<G> e) { m.share_key(e); },
      "The model has a member share_key, but not what telling shared work needs: a const member "
      "share_key(edge) that returns a whole number (shardweave::sharing_work_model).");
  if constexpr (tells) return detail::work_of_model(g, model, strategies);
}

/// The same for a model that has `strategy_count(v)`, as cost models do.
template <planning_graph G, class M>
[[nodiscard]] step_work describe_work(const G& g, const M& model) {
  return describe_work(g, model, [&](vertex_t<G> v) { return model.strategy_count(v); });
}

}  // namespace shardweave::inline v0
