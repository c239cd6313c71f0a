#pragma once

#include <shardweave/core/attempt.hpp>
#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/parallel.hpp>
#include <shardweave/graph/numbering.hpp>
#include <shardweave/placement/cost_model.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/detail/class_pricing.hpp>
#include <shardweave/placement/detail/half_models.hpp>
#include <shardweave/placement/detail/table_pool.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

/// \file
/// From a graph and a cost model to a problem as stated.

namespace shardweave::inline v0 {

/// Also names strategies, for messages and reports.
template <class M, class G>
concept named_cost_model = cost_model<M, G> && requires(const M& model, vertex_t<G> v, strategy s) {
  { model.strategy_name(v, s) } -> std::convertible_to<std::string>;
};

/// Names strategies by lists, one per vertex; vertices that share a list in the model share it in the description.
template <class M, class G>
concept labelled_cost_model = cost_model<M, G> && requires(const M& model, vertex_t<G> v) {
  { model.strategy_labels(v) } -> std::convertible_to<label_list>;
};

/// Gives no vertex a name.
struct unnamed_vertices {
  template <class Vertex>
  std::string operator()(const Vertex&) const {
    return {};
  }
};

/// Names vertices: a property map, or a callable with a vertex.
template <class N, class G>
concept vertex_names = planning_graph<G> && (std::is_invocable_r_v<std::string, const N&, vertex_t<G>> ||
                                             requires(const N& names, vertex_t<G> v) {
                                               { get(names, v) } -> std::convertible_to<std::string>;
                                             });

namespace detail {

/// State of one call of `describe`.
template <class G, class M>
class describer {
  // otherwise abilities that are declared incompletely would be ignored silently
  static_assert(
      decomposed_cost_model<M, G> || !speaks_of_parts<M>,
      "The cost model has a member edge_parts, but not what telling parts of edge costs apart needs: a const "
      "member edge_parts(edge, producer_strategy, consumer_strategy) that returns an edge_parts of the model's "
      "cost_type (shardweave::decomposed_cost_model).");
  static_assert(
      classified_cost_model<M, G> || !speaks_of_classes<M>,
      "The cost model has some of producer_classes, consumer_classes, class_parts and edge_key, but not what "
      "pricing by class needs: const members producer_classes(edge) and consumer_classes(edge) that return "
      "spans of std::uint32_t, class_parts(edge, producer_class, consumer_class) that returns an edge_parts of "
      "the model's cost_type, and edge_key(edge) that returns a whole number "
      "(shardweave::classified_cost_model).");
  static_assert(memory_cost_model<M, G> || !speaks_of_memory<M>,
                "The cost model has some of memory_usage, live and memory_limit, but not what a limit on memory needs: "
                "const members memory_usage(vertex, strategy) and memory_limit() that return numbers, and live(vertex) "
                "that returns a live_interval (shardweave::memory_cost_model).");
  static_assert(overlap_cost_model<M, G> || !speaks_of_hiding<M>,
                "The cost model has a member hides, but not what counting hidden communication needs: a const member "
                "hides(edge) that returns a shardweave::hiding, beside edge_parts(edge, producer_strategy, "
                "consumer_strategy), which tells communication apart (shardweave::overlap_cost_model).");
  static_assert(named_cost_model<M, G> || !speaks_of_names<M>,
                "The cost model has a member strategy_name, but not what naming strategies needs: a const member "
                "strategy_name(vertex, strategy) that returns text (shardweave::named_cost_model).");
  static_assert(labelled_cost_model<M, G> || !speaks_of_labels<M>,
                "The cost model has a member strategy_labels, but not what naming strategies by vertex needs: a const "
                "member strategy_labels(vertex) that returns a label_list (shardweave::labelled_cost_model).");

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
    if constexpr (classified_cost_model<M, G>) price_keys();
    result_.edges.reserve(num_edges(g_));
    for (auto [e, last] = edges(g_); e != last; ++e) {
      advance();
      describe_edge(*e);
    }
    if constexpr (memory_cost_model<M, G>) describe_memory();
    result_.tables = std::move(number_of_).take();
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
    std::vector<std::string> labels;
    for (strategy s = 0; s < count; ++s) {
      vertex.compute.push_back(model_.vertex_cost(v, s));
      if constexpr (named_cost_model<M, G> && !labelled_cost_model<M, G>) labels.push_back(model_.strategy_name(v, s));
      if constexpr (memory_cost_model<M, G>) vertex.memory.push_back(static_cast<double>(model_.memory_usage(v, s)));
    }
    if constexpr (labelled_cost_model<M, G>) {
      vertex.labels = model_.strategy_labels(v);
    } else {
      vertex.labels = std::move(labels);
    }
  }

  void describe_edge(edge_t<G> e) {
    described_edge edge{.from = number_(source(e, g_)), .to = number_(target(e, g_))};
    if (inputs_.size() <= edge.to) inputs_.resize(number_.size());
    edge.slot = inputs_[edge.to]++;
    const std::size_t rows = strategies_of(edge.from), columns = strategies_of(edge.to);
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

  /// Prices every pair of strategies; equal tables are found by content.
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
      table costs = table::from_entries(rows, columns, entries);
      const std::size_t hash = costs.cost_hash();
      return number_of_(std::move(costs), hash);
    };
    return {enter(communication), enter(transition)};
  }

  /// Prices pairs of classes only, and only for the first edge of a key.
  table_pair classified_tables(edge_t<G> e, const described_edge& edge, std::size_t rows, std::size_t columns) {
    const auto [at, fresh] =
        by_key_.try_emplace(result_.edges.size() < keys_.size() ? keys_[result_.edges.size()]
                                                                : static_cast<std::uint64_t>(model_.edge_key(e)));
    if (fresh) {
      at->second = {entered(priced(e, edge)), rows, columns};
    } else if (at->second.rows != rows || at->second.columns != columns) {
      refuse(error_category::input, name_of(edge) + " has the edge_key of an edge with " +
                                        std::to_string(at->second.rows) + " and " + std::to_string(at->second.columns) +
                                        " strategies at its ends, but has " + std::to_string(rows) + " and " +
                                        std::to_string(columns));
    }
    return at->second.tables;
  }

  /// Prices all keys, on several threads if allowed, and enters their tables in the order of the edges. Errors are
  /// reported in that order, too.
  void price_keys() {
    struct fresh_key {
      edge_t<G> e;
      described_edge ends;
      std::uint64_t key = 0;
    };
    std::vector<fresh_key> fresh;
    std::unordered_set<std::uint64_t> seen;
    for (auto [e, last] = edges(g_); e != last; ++e) {
      const described_edge ends{.from = number_(source(*e, g_)), .to = number_(target(*e, g_))};
      if (strategies_of(ends.from) == 0 || strategies_of(ends.to) == 0) return;
      keys_.push_back(static_cast<std::uint64_t>(model_.edge_key(*e)));
      if (seen.insert(keys_.back()).second) fresh.push_back({*e, ends, keys_.back()});
    }
    const auto price = [&](std::size_t i) {
      priced_key<cost_type> made;
      try_to([&] { made = priced(fresh[i].e, fresh[i].ends); },
             [&](const error& wrong) { return made.is_wrong = wrong.category() == error_category::input; });
      return made;
    };
    for_each_in_order(
        fresh.size(), control_.threads, [&] { return price; },
        [&](std::size_t i, priced_key<cost_type> made) {
          if (made.is_wrong) return false;
          const auto& [e, ends, key] = fresh[i];
          by_key_[key] = {entered(std::move(made)), strategies_of(ends.from), strategies_of(ends.to)};
          return true;
        });
  }

  [[nodiscard]] priced_key<cost_type> priced(edge_t<G> e, const described_edge& ends) const {
    return price_classes(
        model_, e, strategies_of(ends.from), strategies_of(ends.to), [&] { return name_of(ends); },
        [this] { stop_if_asked(); });
  }

  table_pair entered(priced_key<cost_type> key) {
    const auto enter = [&](auto& part) { return part ? number_of_(std::move(part->costs), part->hash) : no_table; };
    const std::uint32_t communication = enter(key.communication);
    return {communication, enter(key.transition)};
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

  [[nodiscard]] std::size_t strategies_of(std::uint32_t v) const { return result_.vertices[v].compute.size(); }

  /// Names an edge that is not in the description yet.
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

  struct known_key {
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
  std::vector<std::uint64_t> keys_;    ///< per edge that was visited
  std::unordered_map<std::uint64_t, known_key> by_key_;
  table_pool<cost_type> number_of_;
};

}  // namespace detail

/// Describes a graph with a cost model as a placement problem: vertices in the order of `vertices(g)`, edges in that of
/// `edges(g)`, equal tables once. Optional abilities of the model are found at compile time: cost parts, classes
/// (tables are then made by class, once per `edge_key`), memory (a budget named "memory" over live intervals),
/// communication that may hide (listed in `overlap`; it counts once the caller sets `counted`).
///
/// Indices and numbers are checked by `validate`, which `compile` calls, and not here.
///
/// \param constraints  vertices by their position in `vertices(g)`
/// \param control      a model with classes is called on up to `threads` threads at once
/// \param names        a property map or a callable that names vertices in messages and reports
/// \throws error (input) for classes or keys that contradict the number of strategies
/// \throws error (stopped) if `control` ends the work first
/// Complexity: O(V K) vertex costs, and K_u K_v edge costs per edge uv, or per edge key the pairs of classes
template <planning_graph G, class M, class Names = unnamed_vertices>
[[nodiscard]] placement_description<typename detail::cost_of<M>::type> describe(const G& g, const M& model,
                                                                                constraint_set constraints = {},
                                                                                const solve_control& control = {},
                                                                                const Names& names = {}) {
  static_assert(
      vertex_names<Names, G>,
      "Names of vertices must be a property map or a call (vertex) that gives text (shardweave::vertex_names).");
  if constexpr (detail::is_cost_model<M, G>() && vertex_names<Names, G>)
    return detail::describer<G, M>(g, model, control).run(std::move(constraints), names);
}

}  // namespace shardweave::inline v0
