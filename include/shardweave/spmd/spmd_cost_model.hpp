#pragma once

#include <shardweave/cost/any_collectives.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/placement/cost_table.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/detail/edge_prices.hpp>
#include <shardweave/spmd/mesh.hpp>
#include <shardweave/spmd/redistribution.hpp>
#include <shardweave/spmd/redistributor.hpp>
#include <shardweave/spmd/rules.hpp>
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/standard_rules.hpp>
#include <shardweave/spmd/strategy_list.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

/// \file
/// A computation on a mesh as a cost model for the planner.

namespace shardweave::inline v0 {

/// What a change of placement costs besides its collectives, and where values may be moved.
struct spmd_options {
  /// Added to an edge, in microseconds, where the placement changes, so that a free change is not for nothing.
  double transition_us = 1;
  /// A parameter that is cast to a narrower type before use is not moved before the cast.
  bool gather_after_cast = true;
  /// A gradient that is cast to a wider type is not moved before the cast, so that it is added up in the wide type.
  bool reduce_after_cast = false;
  redistribution_options redistribution = {};
  unsigned threads = 1;  ///< at most this many price redistributions; results do not depend on it
};

/// Prices strategies of a computation: computation by a roofline, flat or by shape, on the shards, edges by the
/// cheapest redistribution from the producer's result to the consumer's argument. Costs are microseconds.
///
/// Models `classified_cost_model` and `decomposed_cost_model` for `graph()`: the classes of a producer's
/// strategies are the shardings of the element that the edge carries, those of a consumer's the shardings of
/// its argument. Everything is priced when the model is built, with any `collective_cost_model`; asking costs O(1), and
/// several threads may. Copies share what was priced.
class spmd_cost_model {
 public:
  using cost_type = double;
  using edge = compressed_graph::edge_descriptor;

  /// \throws error as `enumerate_strategies` does
  spmd_cost_model(computation graph, device_mesh mesh, compute_profile compute, any_collectives collectives,
                  rule_table rules = standard_rules(), spmd_options options = {});

  // What the planner asks
  [[nodiscard]] std::size_t strategy_count(std::uint32_t v) const { return data_->space.of(v).size(); }
  /// Computation, and what a strategy that is done in blocks waits for its own exchanges (`unhidden_us`).
  [[nodiscard]] double vertex_cost(std::uint32_t v, strategy s) const {
    const std::vector<double>& waits = data_->waits_us[list_number(v)];
    return data_->space.of(v).compute_us[s] + (waits.empty() ? 0 : waits[s]);
  }
  [[nodiscard]] double edge_cost(edge e, strategy producer, strategy consumer) const {
    const auto parts = edge_parts(e, producer, consumer);
    return parts.communication + parts.transition;
  }
  [[nodiscard]] shardweave::edge_parts<double> edge_parts(edge e, strategy producer, strategy consumer) const {
    return class_parts(e, producer_classes(e)[producer], consumer_classes(e)[consumer]);
  }
  [[nodiscard]] std::span<const std::uint32_t> producer_classes(edge e) const { return sent(e).of; }
  [[nodiscard]] std::span<const std::uint32_t> consumer_classes(edge e) const { return taken(e).of; }
  [[nodiscard]] shardweave::edge_parts<double> class_parts(edge e, std::uint32_t producer,
                                                           std::uint32_t consumer) const {
    const cost_table<double>& table = class_costs(e);
    if (table.row_classes() == 0) return {};  // what is returned stays where it is
    const sharding& from = sent(e).distinct[producer];
    const sharding& to = taken(e).distinct[consumer];
    const bool changes = !from.is_none() && !to.is_none() && from != to;
    return {table.class_cost(producer, consumer), changes ? data_->options.transition_us : 0};
  }
  /// The communication between classes, which a description shares; no classes where what is sent is returned.
  [[nodiscard]] const cost_table<double>& class_costs(edge e) const {
    return data_->prices.tables[data_->prices.table_of[edge_key(e)]];
  }
  [[nodiscard]] std::uint64_t edge_key(edge e) const { return data_->prices.key_of[e.index]; }

  // What reports and lowering ask
  [[nodiscard]] const compressed_graph& graph() const { return data_->edges; }
  [[nodiscard]] const computation& operations() const { return data_->graph; }
  [[nodiscard]] const device_mesh& mesh() const { return data_->mesh; }
  [[nodiscard]] const compute_profile& compute() const { return data_->compute; }
  [[nodiscard]] const spmd_options& options() const { return data_->options; }
  [[nodiscard]] const rule_table& rules() const { return data_->rules; }
  [[nodiscard]] const strategy_list& strategies(std::uint32_t v) const { return data_->space.of(v); }
  /// Microseconds of one exchange of so many bytes along a mesh dimension, each rank with the next one.
  [[nodiscard]] double exchange_us(bytes moved, std::size_t mesh_dim) const {
    return data_->exchange_us(moved, mesh_dim);
  }
  /// Equal for operations whose strategies are the same list.
  [[nodiscard]] std::uint32_t list_number(std::uint32_t v) const { return data_->space.list_of[v]; }
  /// The argument of the consumer that the edge is.
  [[nodiscard]] std::size_t argument(edge e) const { return data_->prices.argument[e.index]; }
  /// The element of the producer's result that the edge carries.
  [[nodiscard]] std::size_t element(edge e) const {
    return element_taken(data_->graph.operations[e.target], data_->graph.operations[e.source]);
  }
  [[nodiscard]] const tensor& value(edge e) const { return data_->graph.operations[e.source].outputs[element(e)]; }
  [[nodiscard]] sharding sent(edge e, strategy producer) const {
    return data_->space.of(e.source).strategies[producer].outputs[element(e)];
  }
  [[nodiscard]] sharding taken(edge e, strategy consumer) const {
    return data_->space.of(e.target).strategies[consumer].inputs[argument(e)];
  }
  /// Plans redistributions as this model prices them. An object of its own, for one thread at a time.
  [[nodiscard]] redistributor new_redistributor() const;
  /// "S(0)R,RR->S(0)R": arguments, then results; results of a tuple in brackets.
  [[nodiscard]] const std::string& label(std::uint32_t v, strategy s) const { return strategy_labels(v)[s]; }
  [[nodiscard]] const label_list& strategy_labels(std::uint32_t v) const { return data_->labels[list_number(v)]; }
  /// What an operation's first result takes of each device if it is placed so.
  [[nodiscard]] bytes result_size(std::uint32_t v, strategy s) const {
    return local_size(data_->graph.operations[v].outputs.front(), strategies(v).strategies[s].outputs.front(),
                      data_->mesh);
  }
  /// Number of elementary edge tables: what was priced, for reports.
  [[nodiscard]] std::size_t table_count() const { return data_->prices.tables.size(); }

 private:
  struct data {
    computation graph;
    compressed_graph edges;
    device_mesh mesh;
    compute_profile compute;
    any_collectives collectives;
    rule_table rules;
    spmd_options options;
    strategy_space space;
    std::vector<label_list> labels;             ///< per list of strategies
    std::vector<std::vector<double>> waits_us;  ///< per list: per strategy, of its own exchanges; empty: none has any
    detail::edge_prices prices;

    data(computation g, device_mesh m, compute_profile c, any_collectives k, rule_table r, spmd_options o);

    [[nodiscard]] redistributor new_redistributor() const;
    [[nodiscard]] double exchange_us(bytes moved, std::size_t mesh_dim) const;
  };

  [[nodiscard]] const sharding_classes& sent(edge e) const { return data_->space.of(e.source).outputs[element(e)]; }
  [[nodiscard]] const sharding_classes& taken(edge e) const {
    return data_->space.of(e.target).inputs[data_->prices.argument[e.index]];
  }

  std::shared_ptr<const data> data_;
};

}  // namespace shardweave::inline v0

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/spmd/impl/spmd_cost_model.hpp>
#endif
