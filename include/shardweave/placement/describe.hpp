#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/interning.hpp>
#include <shardweave/graph/numbering.hpp>
#include <shardweave/placement/cost_model.hpp>
#include <shardweave/placement/description.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

/// \file
/// From a graph and a cost model to a problem as stated.

namespace shardweave {
inline namespace v0 {

/// Also has words for strategies, which messages and reports then use.
template <class M, class G>
concept named_cost_model = cost_model<M, G> && requires(const M& model, vertex_t<G> v, strategy s) {
  { model.strategy_name(v, s) } -> std::convertible_to<std::string>;
};

/// Gives no vertex a name.
struct unnamed_vertices {
  template <class Vertex>
  std::string operator()(const Vertex&) const {
    return {};
  }
};

/// What gives the vertices of G names: a property map, or anything that can be called with a vertex.
template <class N, class G>
concept vertex_names = planning_graph<G> && (std::is_invocable_r_v<std::string, const N&, vertex_t<G>> ||
                                             requires(const N& names, vertex_t<G> v) {
                                               { get(names, v) } -> std::convertible_to<std::string>;
                                             });

namespace detail {

/// One description in the making: the state that its steps share.
template <class G, class M>
class describer {
 public:
  using cost_type = typename M::cost_type;
  using table = cost_table<cost_type>;

  describer(const G& g, const M& model, const solve_control& control)
      : g_(g), model_(model), control_(control), limit_(control), number_(g), work_(num_vertices(g) + num_edges(g)) {}

  template <class Names>
  placement_description<cost_type> run(constraint_set constraints, const Names& names) {
    result_.constraints = std::move(constraints);
    for (std::size_t i = 0; i < number_.size(); ++i) {
      advance();
      describe_vertex(number_[i], names);
    }
    result_.edges.reserve(num_edges(g_));
    for (auto [e, last] = edges(g_); e != last; ++e) {
      advance();
      describe_edge(*e);
    }
    if constexpr (memory_cost_model<M, G>) describe_memory();
    return std::move(result_);
  }

 private:
  using table_pair = std::pair<std::uint32_t, std::uint32_t>;  // communication, transition

  template <class Names>
  void describe_vertex(vertex_t<G> v, const Names& names) {
    auto& vertex = result_.vertices.emplace_back();
    if constexpr (std::is_invocable_r_v<std::string, const Names&, vertex_t<G>>) {
      vertex.name = names(v);
    } else {
      vertex.name = get(names, v);
    }
    const auto count = static_cast<strategy>(model_.strategy_count(v));
    vertex.compute.reserve(count);
    for (strategy s = 0; s < count; ++s) {
      vertex.compute.push_back(model_.vertex_cost(v, s));
      if constexpr (named_cost_model<M, G>) vertex.labels.push_back(model_.strategy_name(v, s));
      if constexpr (memory_cost_model<M, G>) vertex.memory.push_back(static_cast<double>(model_.memory_usage(v, s)));
    }
  }

  void describe_edge(edge_t<G> e) {
    described_edge edge{.from = number_(source(e, g_)), .to = number_(target(e, g_))};
    if (inputs_.size() <= edge.to) inputs_.resize(number_.size());
    edge.slot = inputs_[edge.to]++;
    const std::size_t rows = result_.vertices[edge.from].compute.size();
    const std::size_t columns = result_.vertices[edge.to].compute.size();
    if (rows != 0 && columns != 0) {  // else validate() names the vertex that has no strategies
      if constexpr (classified_cost_model<M, G>) {
        std::tie(edge.communication, edge.transition) = classified_tables(e, edge, rows, columns);
      } else {
        std::tie(edge.communication, edge.transition) = entry_tables(e, rows, columns);
      }
    }
    if constexpr (overlap_cost_model<M, G>) {
      const hiding direction = model_.hides(e);
      if (direction != hiding::none)
        result_.overlap.push_back({.edge = static_cast<std::uint32_t>(result_.edges.size()), .direction = direction});
    }
    result_.edges.push_back(edge);
  }

  /// Every pair of strategies is asked for; equal tables are found by content.
  table_pair entry_tables(edge_t<G> e, std::size_t rows, std::size_t columns) {
    std::vector<cost_type> communication(rows * columns), transition;
    if constexpr (decomposed_cost_model<M, G>) transition.resize(rows * columns);
    for (strategy a = 0; a < rows; ++a) {
      stop_if_asked();
      for (strategy b = 0; b < columns; ++b) {
        if constexpr (decomposed_cost_model<M, G>) {
          const edge_parts<cost_type> parts = model_.edge_parts(e, a, b);
          communication[a * columns + b] = parts.communication;
          transition[a * columns + b] = parts.transition;
        } else {
          communication[a * columns + b] = model_.edge_cost(e, a, b);
        }
      }
    }
    const auto enter = [&](const std::vector<cost_type>& entries) {
      if (std::all_of(entries.begin(), entries.end(), [](cost_type c) { return c == cost_type{}; })) return no_table;
      return number_of(table::from_entries(rows, columns, entries));
    };
    return {enter(communication), enter(transition)};
  }

  /// Only pairs of classes are asked for, and only for the first edge of a key.
  table_pair classified_tables(edge_t<G> e, const described_edge& edge, std::size_t rows, std::size_t columns) {
    const auto [at, fresh] = by_key_.try_emplace(static_cast<std::uint64_t>(model_.edge_key(e)));
    if (fresh) {
      at->second = {priced_classes(e, edge, rows, columns), rows, columns};
    } else if (at->second.rows != rows || at->second.columns != columns) {
      refuse(error_category::input, name_of(edge) + " has the edge_key of an edge with " +
                                        std::to_string(at->second.rows) + " and " + std::to_string(at->second.columns) +
                                        " strategies at its ends, but has " + std::to_string(rows) + " and " +
                                        std::to_string(columns));
    }
    return at->second.tables;
  }

  table_pair priced_classes(edge_t<G> e, const described_edge& edge, std::size_t rows, std::size_t columns) {
    // a model may compute its classes on the fly: whatever it returns is kept while its elements are read
    const auto copied = [&](const auto& returned, std::size_t expected, const char* end) {
      const std::span<const std::uint32_t> listed(returned);
      if (listed.size() != expected)
        refuse(error_category::input, name_of(edge) + " lists " + std::to_string(listed.size()) + " classes for the " +
                                          std::to_string(expected) + " strategies of its " + end);
      return std::vector<std::uint32_t>(listed.begin(), listed.end());
    };
    const auto row_class = copied(model_.producer_classes(e), rows, "producer");
    const auto column_class = copied(model_.consumer_classes(e), columns, "consumer");
    const std::size_t row_classes = 1 + std::size_t{*std::max_element(row_class.begin(), row_class.end())};
    const std::size_t column_classes = 1 + std::size_t{*std::max_element(column_class.begin(), column_class.end())};
    if (row_classes > rows || column_classes > columns)
      refuse(error_category::input, name_of(edge) + " numbers a class " +
                                        std::to_string(std::max(row_classes, column_classes) - 1) +
                                        ", but classes are numbered 0, 1, ... without more classes than strategies");
    std::vector<edge_parts<cost_type>> parts(row_classes * column_classes);
    for (std::uint32_t i = 0; i < row_classes; ++i) {
      stop_if_asked();
      for (std::uint32_t j = 0; j < column_classes; ++j) parts[i * column_classes + j] = model_.class_parts(e, i, j);
    }
    const auto enter = [&](cost_type edge_parts<cost_type>::*part) {
      if (std::all_of(parts.begin(), parts.end(), [&](const auto& p) { return p.*part == cost_type{}; }))
        return no_table;
      return number_of(
          table::from_classes(row_class, column_class, row_classes, column_classes,
                              [&](std::size_t i, std::size_t j) { return parts[i * column_classes + j].*part; }));
    };
    return {enter(&edge_parts<cost_type>::communication), enter(&edge_parts<cost_type>::transition)};
  }

  std::uint32_t number_of(table t) {
    const auto [first, last] = by_content_.equal_range(t.hash());
    const auto same = std::find_if(first, last, [&](const auto& known) { return *result_.tables[known.second] == t; });
    if (same != last) return same->second;
    const auto number = static_cast<std::uint32_t>(result_.tables.size());
    by_content_.emplace(t.hash(), number);
    result_.tables.push_back(std::make_shared<const table>(std::move(t)));
    return number;
  }

  void describe_memory() {
    budget memory{.name = "memory", .high = static_cast<double>(model_.memory_limit())};
    for (std::size_t i = 0; i < number_.size(); ++i) {
      const auto& usage = result_.vertices[i].memory;
      if (std::all_of(usage.begin(), usage.end(), [](double u) { return u == 0; })) continue;
      memory.terms.push_back(
          {static_cast<std::uint32_t>(i), usage, static_cast<live_interval>(model_.live(number_[i]))});
    }
    result_.constraints.budgets.push_back(std::move(memory));
  }

  /// An edge that is not in the description yet.
  [[nodiscard]] std::string name_of(const described_edge& edge) const {
    return "edge " + std::to_string(result_.edges.size()) + " (" + result_.name_of(edge.from) + " -> " +
           result_.name_of(edge.to) + ")";
  }

  void advance() {
    stop_if_asked();
    if (control_.progress && done_ * 100 / work_ != (done_ + 1) * 100 / work_)
      control_.progress({.stage = "describe",
                         .seconds = limit_.elapsed(),
                         .done = static_cast<double>(done_ + 1) / static_cast<double>(work_)});
    ++done_;
  }
  void stop_if_asked() const {
    if (limit_.expired()) refuse(error_category::stopped, "the problem was not priced before the stop");
  }

  struct priced {
    table_pair tables;
    std::size_t rows = 0;
    std::size_t columns = 0;
  };
  const G& g_;
  const M& model_;
  const solve_control& control_;
  deadline limit_;
  vertex_numbering<G> number_;
  std::size_t work_;
  std::size_t done_ = 0;
  placement_description<cost_type> result_;
  std::vector<std::uint32_t> inputs_;  ///< edges seen so far, per consumer
  std::unordered_map<std::uint64_t, priced> by_key_;
  std::unordered_multimap<std::size_t, std::uint32_t> by_content_;
};

}  // namespace detail

/// Asks a cost model for everything it knows of a graph: vertices in the order of `vertices(g)`, edges in
/// that of `edges(g)`, equal tables once. Abilities beyond the least are found at compile time: cost parts,
/// classes (tables are then taken class by class, once per `edge_key`), memory (a budget named "memory"
/// over live intervals), communication that may hide.
///
/// Indices and numbers are not judged here but by `validate`, which `compile` calls.
///
/// \param constraints  vertices by their position in `vertices(g)`
/// \param names        a property map or a callable that names vertices in messages and reports
/// \throws error (input) for classes or keys that contradict the number of strategies
/// \throws error (stopped) if `control` ends the work first
/// Complexity: O(V K) vertex costs, and K_u K_v edge costs per edge uv, or per edge key the pairs of classes
template <planning_graph G, cost_model<G> M, vertex_names<G> Names = unnamed_vertices>
[[nodiscard]] placement_description<typename M::cost_type> describe(const G& g, const M& model,
                                                                    constraint_set constraints = {},
                                                                    const solve_control& control = {},
                                                                    const Names& names = {}) {
  return detail::describer<G, M>(g, model, control).run(std::move(constraints), names);
}

}  // namespace v0
}  // namespace shardweave
