#pragma once

#include <shardweave/core/interning.hpp>
#include <shardweave/core/parallel.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/placement/cost_table.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/redistributor.hpp>
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/strategy_list.hpp>
#include <shardweave/spmd/tensor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shardweave::inline v0::detail {

/// What redistributions cost on the edges of a computation.
struct edge_prices {
  std::vector<std::uint32_t> argument;     ///< per edge: of the consumer
  std::vector<std::uint32_t> key_of;       ///< per edge: equal for edges between equal lists
  std::vector<std::uint32_t> table_of;     ///< per key: its table, shared by keys with equal shardings of equal tensors
  std::vector<cost_table<double>> tables;  ///< between classes; none of them where what is sent is returned
};

/// Prices edges: each table once, and the tables of one tensor one after the other, which share its ways.
class edge_pricer {
 public:
  /// \param still  by edge: what is sent may not be moved
  edge_pricer(const computation& graph, const compressed_graph& edges, const strategy_space& space,
              const std::vector<bool>& still)
      : graph_(graph), edges_(edges), space_(space), still_(still) {}

  /// \param make_redistributor  called once per thread
  template <class Make>
  [[nodiscard]] edge_prices run(Make make_redistributor, unsigned threads) && {
    collect();
    for_each_number(of_value_.size(), threads, [&] {
      return [this, prices = make_redistributor()](std::size_t i) mutable {
        const std::uint32_t value = prices.value_number(*of_value_[i].front().value);
        for (const wanted& w : of_value_[i]) fill(w, value, prices);
        prices.forget(value);
      };
    });
    share_equal();
    return std::move(result_);
  }

 private:
  using edge = compressed_graph::edge_descriptor;

  /// A table to be priced: the ways of one tensor between two lists of shardings.
  struct wanted {
    std::uint32_t table;
    const tensor* value;
    std::span<const sharding> from;
    std::span<const sharding> to;
    bool still;
  };

  /// Numbers edges and their tables, and lists the tables by the tensor that is sent.
  void collect() {
    interner<tensor, tensor_hash> values;
    interner<std::vector<std::uint32_t>, sequence_hash> keys;
    interner<std::vector<std::uint32_t>, sequence_hash> contents;
    interner<std::vector<sharding>, sequence_hash> sets;
    std::vector<cost_table<double>>& tables = result_.tables;
    for (const edge& e : edges_.all_edges()) {
      const operation& producer = graph_.operations[e.source];
      const operation& consumer = graph_.operations[e.target];
      const bool same_consumer = !result_.argument.empty() && edges_.all_edges()[e.index - 1].target == e.target;
      const std::uint32_t argument = same_consumer ? result_.argument.back() + 1 : 0;
      result_.argument.push_back(argument);
      const std::size_t k = element_taken(consumer, producer);
      const std::uint32_t still = still_[e.index] ? 1U : 0U;
      const std::uint32_t number = keys({space_.list_of[e.source], static_cast<std::uint32_t>(k),
                                         space_.list_of[e.target], consumer.outputs.empty() ? 0U : argument, still});
      result_.key_of.push_back(number);
      if (number < result_.table_of.size()) continue;
      std::uint32_t table;
      if (consumer.outputs.empty()) {  // what is returned stays where it is
        table = contents({});
        if (table == tables.size()) tables.emplace_back();
      } else {
        const sharding_classes& from = space_.of(e.source).outputs[k];
        const sharding_classes& to = space_.of(e.target).inputs[argument];
        const std::uint32_t value = values(producer.outputs[k]);
        table = contents({value, sets(from.distinct), sets(to.distinct), still});
        if (table == tables.size()) {
          tables.emplace_back();
          if (of_value_.size() <= value) of_value_.resize(value + 1);
          of_value_[value].push_back({table, &producer.outputs[k], from.distinct, to.distinct, still != 0});
        }
      }
      result_.table_of.push_back(table);
    }
  }

  void fill(const wanted& w, std::uint32_t value, redistributor& prices) {
    std::vector<double> row(w.to.size());
    std::size_t priced = ~std::size_t{0};  // rows are asked for one after the other
    result_.tables[w.table] = cost_table<double>::from_distinct_classes(
                                  {}, {}, w.from.size(), w.to.size(),
                                  [&](std::size_t i, std::size_t j) {
                                    if (priced != i) prices.costs(value, w.from[priced = i], w.to, row);
                                    return w.still && row[j] > 0 ? std::numeric_limits<double>::infinity() : row[j];
                                  })
                                  .packed();
  }

  /// Tables of equal costs keep them once.
  void share_equal() {
    std::vector<cost_table<double>>& tables = result_.tables;
    std::unordered_multimap<std::size_t, std::size_t> by_costs;
    for (std::size_t t = 0; t < tables.size(); ++t) {
      const std::size_t hash = tables[t].cost_hash();
      const auto [first, last] = by_costs.equal_range(hash);
      const bool is_shared =
          std::any_of(first, last, [&](const auto& known) { return tables[t].share_costs(tables[known.second]); });
      if (!is_shared) by_costs.emplace(hash, t);
    }
  }

  const computation& graph_;
  const compressed_graph& edges_;
  const strategy_space& space_;
  const std::vector<bool>& still_;
  edge_prices result_;
  std::vector<std::vector<wanted>> of_value_;
};

}  // namespace shardweave::inline v0::detail
