#pragma once

#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/placement/cost_model.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/mesh.hpp>
#include <shardweave/spmd/redistribution.hpp>
#include <shardweave/spmd/redistributor.hpp>
#include <shardweave/spmd/rules.hpp>
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/standard_rules.hpp>
#include <shardweave/spmd/strategies.hpp>
#include <shardweave/spmd/strategy_list.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// \file
/// A computation on a mesh as a cost model for the planner.

namespace shardweave {
inline namespace v0 {

struct spmd_options {
  /// Added to an edge, in microseconds, where the placement changes, so that a free change is not for nothing.
  double transition_us = 1;
  /// A parameter that is cast to a narrower type before use is not moved before the cast.
  bool gather_after_cast = true;
  /// A gradient that is cast to a wider type is not moved before the cast, so that it is added up in the wide type.
  bool reduce_after_cast = false;
  redistribution_options redistribution = {};
};

/// Prices strategies of a computation: computation by a roofline, flat or by shape, on the shards, edges by the
/// cheapest redistribution from the producer's result to the consumer's argument. Costs are microseconds.
///
/// Models `classified_cost_model` and `decomposed_cost_model` for `graph()`: the classes of a producer's
/// strategies are the shardings of the element that the edge carries, those of a consumer's the shardings of
/// its argument. Everything is priced when the model is built; asking costs O(1), and several threads may.
/// Copies share what was priced.
template <collective_cost_model Collectives = alpha_beta>
class spmd_cost_model {
 public:
  using cost_type = double;
  using graph_type = compressed_graph;
  using edge = compressed_graph::edge_descriptor;

  /// \throws error as `enumerate_strategies` does
  spmd_cost_model(computation graph, device_mesh mesh, compute_profile compute, Collectives collectives,
                  rule_table rules = standard_rules(), spmd_options options = {})
      : data_(std::make_shared<const data>(std::move(graph), std::move(mesh), compute, std::move(collectives),
                                           std::move(rules), options)) {}

  // What the planner asks
  [[nodiscard]] std::size_t strategy_count(std::uint32_t v) const { return data_->space.of(v).size(); }
  [[nodiscard]] double vertex_cost(std::uint32_t v, strategy s) const { return data_->space.of(v).compute_us[s]; }
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
    const std::vector<double>& table = data_->tables[data_->table_of[data_->key_of[e.index]]];
    if (table.empty()) return {};  // what is returned stays where it is
    const sharding& from = sent(e).distinct[producer];
    const sharding& to = taken(e).distinct[consumer];
    const bool changes = !from.is_none() && !to.is_none() && from != to;
    return {table[producer * taken(e).distinct.size() + consumer], changes ? data_->options.transition_us : 0};
  }
  [[nodiscard]] std::uint64_t edge_key(edge e) const { return data_->key_of[e.index]; }

  // What reports and lowering ask
  [[nodiscard]] const compressed_graph& graph() const { return data_->edges; }
  [[nodiscard]] const computation& operations() const { return data_->graph; }
  [[nodiscard]] const device_mesh& mesh() const { return data_->mesh; }
  [[nodiscard]] const compute_profile& compute() const { return data_->compute; }
  [[nodiscard]] const spmd_options& options() const { return data_->options; }
  [[nodiscard]] const rule_table& rules() const { return data_->rules; }
  [[nodiscard]] const strategy_list& strategies(std::uint32_t v) const { return data_->space.of(v); }
  /// Equal for operations whose strategies are the same list.
  [[nodiscard]] std::uint32_t list_number(std::uint32_t v) const { return data_->space.list_of[v]; }
  /// The argument of the consumer that the edge is.
  [[nodiscard]] std::size_t argument(edge e) const { return data_->argument[e.index]; }
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
  [[nodiscard]] redistributor<Collectives> new_redistributor() const {
    return {data_->mesh, data_->compute, data_->collectives, data_->options.redistribution};
  }
  /// "S(0)R,RR->S(0)R": arguments, then results; results of a tuple in brackets.
  [[nodiscard]] std::string label(std::uint32_t v, strategy s) const {
    const mesh_strategy& chosen = data_->space.of(v).strategies[s];
    const auto list = [](const std::vector<sharding>& shardings) {
      std::string text;
      for (const sharding& where : shardings) text += (text.empty() ? "" : ",") + where.to_string();
      return text;
    };
    const std::string results = list(chosen.outputs);
    return list(chosen.inputs) + "->" + (chosen.outputs.size() == 1 ? results : "[" + results + "]");
  }
  /// What an operation's first result takes of each device if it is placed so.
  [[nodiscard]] bytes result_size(std::uint32_t v, strategy s) const {
    return local_size(data_->graph.operations[v].outputs.front(), strategies(v).strategies[s].outputs.front(),
                      data_->mesh);
  }
  /// Number of elementary edge tables: what was priced, for reports.
  [[nodiscard]] std::size_t table_count() const { return data_->tables.size(); }

 private:
  struct data {
    computation graph;
    compressed_graph edges;
    device_mesh mesh;
    compute_profile compute;
    Collectives collectives;
    rule_table rules;
    spmd_options options;
    strategy_space space;
    std::vector<std::uint32_t> argument;  // per edge
    std::vector<std::uint32_t> key_of;    // per edge: equal for edges between equal lists
    std::vector<std::uint32_t> table_of;  // per key: its table, shared by keys with equal shardings of equal tensors
    std::vector<std::vector<double>> tables;  // communication

    data(computation g, device_mesh m, compute_profile c, Collectives k, rule_table r, spmd_options o)
        : graph(std::move(g)),
          edges(graph.graph()),
          mesh(std::move(m)),
          compute(c),
          collectives(std::move(k)),
          rules(std::move(r)),
          options(o),
          space(enumerate_strategies(graph, mesh, compute, rules)) {
      price();
    }

    void price() {
      using key = std::vector<std::uint32_t>;
      interner<key, sequence_hash> keys;
      interner<key, sequence_hash> contents;
      interner<std::vector<sharding>, sequence_hash> sets;
      redistributor<Collectives> prices(mesh, compute, collectives, options.redistribution);
      const std::vector<bool> still = edges_before_casts();
      for (const edge& e : edges.all_edges()) {
        const operation& producer = graph.operations[e.source];
        const operation& consumer = graph.operations[e.target];
        const bool same_consumer = !argument.empty() && edges.all_edges()[e.index - 1].target == e.target;
        argument.push_back(same_consumer ? argument.back() + 1 : 0);
        const std::size_t k = element_taken(consumer, producer);
        const std::uint32_t number =
            keys({space.list_of[e.source], static_cast<std::uint32_t>(k), space.list_of[e.target],
                  consumer.outputs.empty() ? 0U : argument.back(), still[e.index] ? 1U : 0U});
        key_of.push_back(number);
        if (number < table_of.size()) continue;
        const auto& from = space.of(e.source).outputs[k].distinct;
        if (consumer.outputs.empty()) {  // what is returned stays where it is
          table_of.push_back(contents({}));
          if (table_of.back() == tables.size()) tables.emplace_back();
          continue;
        }
        const auto& to = space.of(e.target).inputs[argument.back()].distinct;
        const std::uint32_t value = prices.value_number(producer.outputs[k]);
        table_of.push_back(contents({value, sets(from), sets(to), still[e.index] ? 1U : 0U}));
        if (table_of.back() < tables.size()) continue;
        auto& table = tables.emplace_back();
        table.reserve(from.size() * to.size());
        for (const sharding& a : from)
          for (const sharding& b : to) {
            const bool changes = !a.is_none() && !b.is_none() && a != b;
            double communication = changes ? prices.cost(value, a, b) : 0;
            if (still[e.index] && communication > 0) communication = std::numeric_limits<double>::infinity();
            table.push_back(communication);
          }
      }
    }

    /// Edges on the way from a parameter, through operations with one argument and values with one user, to a
    /// cast that narrows it, and likewise from the last operation with several arguments to a cast that widens a
    /// gradient.
    [[nodiscard]] std::vector<bool> edges_before_casts() const {
      std::vector<bool> still(edges.all_edges().size());
      if (options.reduce_after_cast) {
        for (const auto& [parameter, gradient] : graph.gradient_of) {
          bool before_cast = false;
          for (std::uint32_t at = gradient; edges.in(at).size() == 1;) {
            const edge last = edges.in(at).front();
            const tensor& wide = graph.operations[at].outputs.front();
            const tensor& narrow = graph.operations[last.source]
                                       .outputs[element_taken(graph.operations[at], graph.operations[last.source])];
            const bool widens =
                graph.operations[at].op == "cast" && element_size(wide.type) > element_size(narrow.type);
            before_cast = before_cast || widens;
            if (before_cast) still[last.index] = true;
            at = last.source;
          }
        }
      }
      if (!options.gather_after_cast) return still;
      for (std::uint32_t v = 0; v < graph.operations.size(); ++v) {
        if (graph.operations[v].kind != role::parameter) continue;
        const tensor& stored = graph.operations[v].outputs.front();
        std::vector<std::uint32_t> way;
        for (std::uint32_t at = v; edges.out(at).size() == 1;) {
          const edge next = edges.out(at).front();
          const operation& user = graph.operations[next.target];
          if (user.inputs.size() != 1 || user.outputs.size() != 1) break;
          way.push_back(next.index);
          at = next.target;
          if (user.op != "cast") continue;
          if (element_size(user.outputs.front().type) < element_size(stored.type))
            for (const std::uint32_t e : way) still[e] = true;
          break;
        }
      }
      return still;
    }
  };

  [[nodiscard]] const sharding_classes& sent(edge e) const { return data_->space.of(e.source).outputs[element(e)]; }
  [[nodiscard]] const sharding_classes& taken(edge e) const {
    return data_->space.of(e.target).inputs[data_->argument[e.index]];
  }

  std::shared_ptr<const data> data_;
};

}  // namespace v0
}  // namespace shardweave
