#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/interning.hpp>
#include <shardweave/graph/numbering.hpp>
#include <shardweave/placement/cost_table.hpp>
#include <shardweave/placement/work_model.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

/// \file
/// Work of vertices and edges as tables, whoever told it.

namespace shardweave {
inline namespace v0 {

/// An edge of a placement problem and what its pairs of strategies take.
struct work_edge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t tables = 0;  ///< which `edge_tables`
  std::uint32_t share = 0;   ///< edges of equal number may do their work together
  /// Its loads come after the end of this vertex, too, and not only of the producer.
  std::uint32_t since = no_vertex;

  static constexpr std::uint32_t no_vertex = ~0U;
};

/// One table per channel and one for chains; null where all is zero.
struct edge_tables {
  using pointer = std::shared_ptr<const cost_table<double>>;
  std::vector<pointer> loads;
  pointer chain;
};

/// What `work_model` tells, for vertices and edges by number: those of the placement problem of the same graph.
struct step_work {
  std::size_t channels = 1;  ///< with the compute stream, which is the first
  /// The last channels are no machines but something that is held, in a unit of its own: bytes of memory. No plan holds
  /// more of it than this.
  std::vector<double> limits = {};
  std::vector<std::uint32_t> times_of = {};     ///< per vertex: its list
  std::vector<std::vector<double>> times = {};  ///< per list: one per strategy
  std::vector<work_edge> edges = {};
  std::vector<edge_tables> tables = {};
  std::size_t shares = 0;  ///< numbers of shares are below

  [[nodiscard]] std::size_t vertex_count() const { return times_of.size(); }
  /// Channels that do work.
  [[nodiscard]] std::size_t machines() const { return channels - limits.size(); }
  [[nodiscard]] double time(std::uint32_t v, strategy s) const { return times[times_of[v]][s]; }
  [[nodiscard]] double load(const work_edge& e, std::size_t channel, strategy a, strategy b) const {
    const edge_tables::pointer& t = tables[e.tables].loads[channel];
    return t == nullptr ? 0 : (*t)(a, b);
  }
  [[nodiscard]] double chain(const work_edge& e, strategy a, strategy b) const {
    const edge_tables::pointer& t = tables[e.tables].chain;
    return t == nullptr ? 0 : (*t)(a, b);
  }
};

namespace detail {

/// The tables of one edge, from what `work(i, j)` says of classes.
template <class Work>
[[nodiscard]] edge_tables tables_of_work(std::size_t channels, std::span<const std::uint32_t> rows,
                                         std::span<const std::uint32_t> columns, const Work& work,
                                         const std::string& who) {
  const auto classes = [](std::span<const std::uint32_t> of) {
    return of.empty() ? std::size_t{0} : std::size_t{*std::ranges::max_element(of)} + 1;
  };
  const std::size_t row_classes = classes(rows), column_classes = classes(columns);
  std::vector<std::vector<double>> parts(channels + 1);  // empty where all is zero
  for (std::uint32_t i = 0; i < row_classes; ++i)
    for (std::uint32_t j = 0; j < column_classes; ++j) {
      const edge_work w = work(i, j);
      if (!w.loads.empty() && w.loads.size() != channels)
        refuse(error_category::input, who + " has loads on " + std::to_string(w.loads.size()) + " channels, expected " +
                                          std::to_string(channels) + " or none");
      const auto take = [&](std::size_t part, double value) {
        if (!(value >= 0))
          refuse(error_category::input,
                 who + " takes " + std::to_string(value) + ", expected a time that is not negative");
        if (value == 0 || std::isinf(value)) return;
        if (parts[part].empty()) parts[part].resize(row_classes * column_classes);
        parts[part][i * column_classes + j] = value;
      };
      for (std::size_t c = 0; c < w.loads.size(); ++c) take(c, w.loads[c]);
      take(channels, w.chain);
    }
  const auto table = [&](const std::vector<double>& entries) -> edge_tables::pointer {
    if (entries.empty()) return nullptr;
    return std::make_shared<const cost_table<double>>(cost_table<double>::from_distinct_classes(
        {rows.begin(), rows.end()}, {columns.begin(), columns.end()}, row_classes, column_classes,
        [&](std::size_t i, std::size_t j) { return entries[i * column_classes + j]; }));
  };
  edge_tables made;
  for (std::size_t c = 0; c < channels; ++c) made.loads.push_back(table(parts[c]));
  made.chain = table(parts.back());
  return made;
}

}  // namespace detail

/// Asks a model for the work of all vertices and edges of a graph.
/// \param strategies  how many strategies a vertex has, as the cost model says
/// \throws error (input) naming the vertex or edge of which the model tells no time, or too few channels
/// Complexity: linear in vertices and strategies, and in the pairs of classes of every key (without classes, of
/// strategies of every edge)
template <planning_graph G, class M, class Strategies>
[[nodiscard]] step_work describe_work(const G& g, const M& model, const Strategies& strategies) {
  static_assert(work_model<M, G> || classified_work_model<M, G>,
                "The model does not tell the work of a plan: const members channel_count() and vertex_time(vertex, "
                "strategy) that return numbers, and edge_work(edge, producer_strategy, consumer_strategy) that returns "
                "a shardweave::edge_work (shardweave::work_model), or the same by class "
                "(shardweave::classified_work_model).");
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
    const auto add = [&](auto rows, auto columns, const auto& work) {
      result.tables.push_back(detail::tables_of_work(result.channels, rows, columns, work, who));
      return static_cast<std::uint32_t>(result.tables.size() - 1);
    };
    if constexpr (classified_work_model<M, G>) {
      const auto [at, fresh] = by_key.try_emplace(static_cast<std::uint64_t>(model.edge_key(*e)));
      if (fresh)
        at->second = add(std::span<const std::uint32_t>(model.producer_classes(*e)),
                         std::span<const std::uint32_t>(model.consumer_classes(*e)),
                         [&, of = *e](std::uint32_t i, std::uint32_t j) { return model.class_work(of, i, j); });
      made.tables = at->second;
    } else {
      std::vector<std::uint32_t> rows(counts[made.from]), columns(counts[made.to]);
      std::iota(rows.begin(), rows.end(), 0U);
      std::iota(columns.begin(), columns.end(), 0U);
      made.tables = add(std::span<const std::uint32_t>(rows), std::span<const std::uint32_t>(columns),
                        [&, of = *e](std::uint32_t i, std::uint32_t j) { return model.edge_work(of, i, j); });
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

/// The same of a model that also says how many strategies a vertex has, as cost models do.
template <planning_graph G, class M>
[[nodiscard]] step_work describe_work(const G& g, const M& model) {
  return describe_work(g, model, [&](vertex_t<G> v) { return model.strategy_count(v); });
}

}  // namespace v0
}  // namespace shardweave
