#pragma once

#include <shardweave/lowering/ring_tasks.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/work_model.hpp>
#include <shardweave/spmd/block_ring.hpp>
#include <shardweave/spmd/rules.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/strategy_list.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

/// \file
/// The work of rings of blocks besides the blocks themselves.

namespace shardweave::inline v0::detail {

/// Loads of operations that are computed in blocks: exchanges on a channel, and on the compute stream the sums of
/// results that travel around the ring. They count as work of the edge of the first argument that travels: none of it
/// starts before that argument is available, and the consumer's sharding of it determines the ring.
class ring_loads {
 public:
  using edge = spmd_cost_model::edge;

  /// The work of such an edge by pairs of classes.
  struct edge_rings {
    std::uint64_t key = 0;
    work_patterns pairs = {};
    std::vector<std::uint32_t> own = {};  ///< per pattern: the pattern of the argument's redistribution
    /// Per pattern: the ring's load by channel; null: there is no ring.
    std::vector<const std::vector<double>*> of = {};
  };

  ring_loads() = default;
  ring_loads(const ring_loads&) = delete;
  ring_loads& operator=(const ring_loads&) = delete;

  /// Adds an edge.
  /// \param own  the patterns of its argument's redistribution
  void add(const spmd_cost_model& model, edge e, const work_patterns& own) {
    const operation& op = model.operations().operations[e.target];
    const strategy_list& list = model.strategies(e.target);
    if (list.rings.empty() || model.rules().of(op).cost.ring->first != model.argument(e)) return;
    const auto [at, fresh] = edges_.try_emplace({model.edge_key(e), model.list_number(e.target)});
    if (!fresh) return;
    edge_rings& made = at->second;
    made.key = first_key + edges_.size();
    const auto classes = model.consumer_classes(e);
    std::vector<const std::vector<double>*> of_class(own.column_classes);
    for (strategy s = 0; s < list.size(); ++s)
      if (const block_ring* ring = list.ring(s)) of_class[classes[s]] = loads_of(*ring, model);
    std::map<std::pair<std::uint32_t, const std::vector<double>*>, std::uint32_t> numbers;
    std::vector<std::uint32_t> of_pair;
    const std::size_t rows = own.of_pair->size() / own.column_classes;
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < own.column_classes; ++j) {
        const std::pair what((*own.of_pair)[i * own.column_classes + j], of_class[j]);
        const auto [number, is_new] = numbers.try_emplace(what, static_cast<std::uint32_t>(numbers.size()));
        of_pair.push_back(number->second);
        if (!is_new) continue;
        made.own.push_back(what.first);
        made.of.push_back(what.second);
      }
    made.pairs = {std::make_shared<const std::vector<std::uint32_t>>(std::move(of_pair)), own.column_classes,
                  static_cast<std::uint32_t>(numbers.size())};
  }

  /// The rings of an edge; null: there is none.
  [[nodiscard]] const edge_rings* of(const spmd_cost_model& model, edge e) const {
    if (edges_.empty()) return nullptr;
    const operation& op = model.operations().operations[e.target];
    if (op.outputs.empty() || model.strategies(e.target).rings.empty() ||
        model.rules().of(op).cost.ring->first != model.argument(e))
      return nullptr;
    const auto at = edges_.find({model.edge_key(e), model.list_number(e.target)});
    return at == edges_.end() ? nullptr : &at->second;
  }

  /// Adds the loads of a ring to every way of an edge.
  static void add_to(edge_work& work, const std::vector<double>& loads) {
    work.loads.resize(loads.size());
    const auto more = [&](std::vector<double>& to) {
      for (std::size_t c = 0; c < loads.size(); ++c) to[c] += loads[c];
    };
    more(work.loads);
    for (std::vector<double>& way : work.otherwise) more(way);
  }

 private:
  static constexpr std::uint64_t first_key = std::uint64_t{1} << 40;  ///< above all keys of edges without rings

  /// The loads of a ring; equal ones are stored once.
  const std::vector<double>* loads_of(const block_ring& ring, const spmd_cost_model& model) {
    const ring_tasks tasks(ring, model);
    std::vector<double> loads(model.mesh().rank() + 1);
    loads[0] = static_cast<double>(tasks.all_sums().count());
    loads[ring.mesh_dim + 1] = static_cast<double>(tasks.all_exchanges().count());
    return &*loads_.emplace(std::move(loads)).first;
  }

  std::map<std::pair<std::uint64_t, std::uint32_t>, edge_rings> edges_;
  std::set<std::vector<double>> loads_;
};

}  // namespace shardweave::inline v0::detail
