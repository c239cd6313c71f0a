#pragma once

#include <shardweave/core/interning.hpp>
#include <shardweave/core/parallel.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/lowering/collective_tables.hpp>
#include <shardweave/lowering/detail/ring_loads.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/lowering/lowered_step.hpp>
#include <shardweave/lowering/ring_tasks.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/cost_table.hpp>
#include <shardweave/placement/work_model.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/mesh.hpp>
#include <shardweave/spmd/redistribution.hpp>
#include <shardweave/spmd/redistributor.hpp>
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/tensor.hpp>
#include <shardweave/tasks/duration_table.hpp>
#include <shardweave/tasks/task.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// The work of one device's channels for any placement: the times of lowering, without lowering.

namespace shardweave::inline v0 {

/// Predicts, by classes of strategies and to the nanosecond, the times of the tasks that `lower` makes of a model's
/// vertices and edges.
///
/// There are two kinds: `alone`, with each collective launched by itself, as lowered; and `least`, a lower bound under
/// any merging of collectives. In the latter a collective that may be in buckets has two ways: its own launch, or its
/// bytes at the best rate of any bucket of at least its size, plus its part of the bucket's copies on the compute
/// stream. Its chain is the shortest launch of such a bucket, or its own. Tables of collective times have points of the
/// lowering's grid and of the sizes that occur; the best rate is taken over all points that the tables of any placement
/// can have. Buckets are assumed to be packed: coalesced ones (`bucket::coalesced`) may take less.
///
/// Regathering (`lowering_options::regather_parameters`) only adds work, so `least` holds with it. With
/// `share_across_phases` it holds only if these options have it, too.
class lowered_work {
 public:
  using edge = spmd_cost_model::edge;

  /// Complexity: one redistribution per pair of classes of every elementary table
  explicit lowered_work(const spmd_cost_model& model, const lowering_options& options = {}, unsigned threads = 1)
      : model_(model), options_(options), steps_(std::make_shared<const prices>(model, options, threads)) {}

  /// The same work with collectives launched alone (`alone`), or bounded over all merging (`least`).
  [[nodiscard]] lowered_work alone() const { return of_kind(false); }
  [[nodiscard]] lowered_work least() const { return of_kind(true); }

  [[nodiscard]] std::size_t strategy_count(std::uint32_t v) const { return model_.strategy_count(v); }
  /// The compute stream and one channel per mesh dimension.
  [[nodiscard]] std::size_t channel_count() const { return model_.mesh().rank() + 1; }
  [[nodiscard]] std::string channel_name(std::size_t c) const { return c == 0 ? "compute" : model_.mesh().name(c - 1); }
  [[nodiscard]] double vertex_time(std::uint32_t v, strategy s) const {
    const operation& op = model_.operations().operations[v];
    if (op.outputs.empty() || op.kind != role::none) return 0;
    const double us = model_.vertex_cost(v, s);
    return std::isfinite(us) ? static_cast<double>(own_time(model_, v, s).count()) : us;
  }
  [[nodiscard]] std::span<const std::uint32_t> producer_classes(edge e) const { return model_.producer_classes(e); }
  [[nodiscard]] std::span<const std::uint32_t> consumer_classes(edge e) const { return model_.consumer_classes(e); }
  [[nodiscard]] std::uint64_t edge_key(edge e) const {
    const auto* rings = steps_->rings.of(model_, e);
    return rings == nullptr ? model_.edge_key(e) : rings->key;
  }
  /// Numbers pairs of classes so that equal launches and copies have one number. Empty where no redistribution exists.
  [[nodiscard]] work_patterns edge_patterns(edge e) const {
    const auto* rings = steps_->rings.of(model_, e);
    return rings == nullptr ? steps_->patterns(model_, e) : rings->pairs;
  }
  [[nodiscard]] edge_work pattern_work(edge e, std::uint32_t p) const {
    const auto* rings = steps_->rings.of(model_, e);
    if (rings == nullptr) return own_work(e, p);
    edge_work work = own_work(e, rings->own[p]);
    if (rings->of[p] != nullptr) detail::ring_loads::add_to(work, *rings->of[p]);
    return work;
  }
  /// A key that is equal for edges whose redistributions lowering may share: of one result of one producer, for one
  /// phase.
  [[nodiscard]] std::uint64_t share_key(edge e) const {
    const bool apart =
        !options_.share_across_phases && model_.operations().operations[e.target].when == phase::backward;
    return model_.element(e) * 2 + (apart ? 1 : 0);
  }

 private:
  /// The work of redistributing an argument, for a pair of classes of its edge's table.
  [[nodiscard]] edge_work own_work(edge e, std::uint32_t p) const {
    const table& t = steps_->tables[steps_->table_of.at(&model_.class_costs(e))];
    edge_work work;
    if (t.begin[p] == t.begin[p + 1]) return work;
    work.loads.resize(channel_count());
    work.loads[0] = static_cast<double>(t.copies[p].count());
    work.chain = work.loads[0];
    std::vector<std::vector<double>> ways{work.loads};
    for (std::uint32_t k = t.begin[p]; k < t.begin[p + 1]; ++k) {
      const launch& l = steps_->launches[t.launches[k]];
      const bool gains = is_least_ && l.share < l.alone;
      // each launch has a choice, merged or alone, which doubles the ways; from the fourth one on packing is left out
      // instead
      const std::size_t so_far = ways.size();
      const bool chooses = gains && l.packing > nanoseconds() && so_far < 8;
      for (std::size_t way = 0; way < so_far; ++way) {
        if (chooses) {
          ways.push_back(ways[way]);
          ways.back()[l.dim + 1] += static_cast<double>(l.alone.count());
        }
        ways[way][0] += chooses ? static_cast<double>(l.packing.count()) : 0.0;
        ways[way][l.dim + 1] += static_cast<double>((gains ? l.share : l.alone).count());
      }
      work.chain += static_cast<double>((is_least_ ? l.shortest : l.alone).count());
    }
    work.loads = std::move(ways.front());
    work.otherwise.assign(ways.begin() + 1, ways.end());
    return work;
  }

  /// A collective of some size along a mesh dimension.
  struct launch {
    collective op = collective::other;
    std::size_t dim = 0;
    bytes size{};           ///< of the buffer that a rank puts in
    nanoseconds packing{};  ///< lower bound on its part of the copies of any bucket
    nanoseconds alone{};
    nanoseconds share{};     ///< time of its bytes at the best rate of a bucket of at least its size
    nanoseconds shortest{};  ///< the shortest launch of a bucket that it may be a part of
  };
  /// For one table of the model: the redistribution of each pair of classes, each distinct pattern once.
  struct table {
    std::shared_ptr<const std::vector<std::uint32_t>> of_pair;  ///< the pattern of each pair; null: there are no pairs
    std::vector<std::uint32_t> begin;  ///< by pattern: its first entry in `launches`; one more than patterns
    std::vector<std::uint32_t> launches;
    std::vector<nanoseconds> copies;  ///< per pattern
  };
  struct prices {
    std::map<const cost_table<double>*, std::size_t> table_of;
    std::vector<table> tables;
    std::vector<launch> launches;
    detail::ring_loads rings;  ///< of operations computed in blocks

    [[nodiscard]] work_patterns patterns(const spmd_cost_model& model, const edge& e) const {
      const auto at = table_of.find(&model.class_costs(e));
      if (at == table_of.end()) return {};
      const table& t = tables[at->second];  // without pairs all redistributions are empty
      return {t.of_pair, model.class_costs(e).column_classes(), static_cast<std::uint32_t>(t.copies.size())};
    }

    prices(const spmd_cost_model& model, const lowering_options& options, unsigned threads) {
      std::vector<edge> first;
      for (const edge& e : model.graph().all_edges())
        if (table_of.try_emplace(&model.class_costs(e), first.size()).second) first.push_back(e);
      // tables of one tensor one after the other, because they share redistributions
      interner<tensor, detail::tensor_hash> values;
      std::vector<std::vector<std::size_t>> of_value;
      for (std::size_t i = 0; i < first.size(); ++i) {
        const std::uint32_t value = values(model.value(first[i]));
        if (value == of_value.size()) of_value.emplace_back();
        of_value[value].push_back(i);
      }
      std::vector<std::vector<launch>> made(first.size());
      tables.resize(first.size());
      for_each_number(of_value.size(), threads, [&] {
        return [&, by = model.new_redistributor()](std::size_t v) mutable {
          const std::uint32_t value = by.value_number(values[static_cast<std::uint32_t>(v)]);
          for (const std::size_t i : of_value[v]) fill(tables[i], made[i], model, first[i], value, by);
          by.forget(value);
        };
      });
      join(made);
      bound(model, options);
      for (const edge& e : model.graph().all_edges()) rings.add(model, e, patterns(model, e));
    }

    static constexpr std::uint32_t none = ~0U;
    /// The pattern without copies and launches, and the number of a step that has none.
    static constexpr std::uint32_t nothing = 0;

    static void fill(table& t, std::vector<launch>& made, const spmd_cost_model& model, const edge& e,
                     std::uint32_t value, redistributor& by) {
      const cost_table<double>& costs = model.class_costs(e);
      if (costs.row_classes() * costs.column_classes() == 0) return;
      // the classes are those of the edge's own strategies
      std::vector<strategy> from(costs.row_classes()), to(costs.column_classes());
      const auto rows = model.producer_classes(e), columns = model.consumer_classes(e);
      for (strategy s = 0; s < rows.size(); ++s) from[rows[s]] = s;
      for (strategy s = 0; s < columns.size(); ++s) to[columns[s]] = s;
      struct step_parts {
        nanoseconds copies{};
        std::uint32_t launch = 0;
        std::uint32_t number = nothing;  ///< numbers distinct combinations of copies and launch, from 1
      };
      std::map<std::tuple<collective, std::size_t, std::int64_t>, std::uint32_t> launches;
      std::map<std::tuple<collective, std::size_t, std::int64_t, bool, double>, step_parts> distinct;
      const auto parts_of = [&](const redistribution_step& step) -> step_parts {
        if (!is_collective(step, by.mesh())) return {};
        const std::tuple key(*step.op, step.mesh_dim, step.before.count(),
                             step.from.is_sharded() && step.from.dim() != 0, step.cost_us);
        const auto [at, fresh] = distinct.try_emplace(key);
        if (!fresh) return at->second;
        const lowered_step parts = lowered(step, by);
        const auto next = static_cast<std::uint32_t>(made.size());
        const auto [of, is_new] = launches.try_emplace({*step.op, step.mesh_dim, step.before.count()}, next);
        const double speed = by.compute().device.memory_bandwidth * by.compute().memory.peak / 1e9;
        const bytes out = *step.op == collective::all_gather ? parts.largest : step.after;
        // a bucket's copies are rounded as a whole, so a member's part of each of the two may be a nanosecond less
        const nanoseconds copies = copy_time(step.before + out, speed) - nanoseconds(2);
        const nanoseconds packing = std::max(copies, nanoseconds());
        if (is_new)
          made.push_back({*step.op, step.mesh_dim, step.before, packing, parts.launch, {}, {}});
        else  // uneven pieces may leave other sizes after it
          made[of->second].packing = std::min(made[of->second].packing, packing);
        return at->second = {parts.pack + parts.unpack, of->second, static_cast<std::uint32_t>(distinct.size())};
      };
      std::vector<std::optional<step_parts>> parts;                 // by number of the redistribution step
      interner<std::vector<std::int64_t>, sequence_hash> patterns;  // copies, then launches
      // by pattern and parts of a step: the pattern extended by that step
      std::vector<std::vector<std::uint32_t>> longer;
      const auto after = [&](std::uint32_t so_far, std::uint32_t step) {
        if (parts.size() <= step) parts.resize(step + 1);
        if (!parts[step]) parts[step] = parts_of(by.step(value, step));
        if (parts[step]->number == nothing) return so_far;
        if (longer.size() <= so_far) longer.resize(so_far + 1);
        std::vector<std::uint32_t>& next = longer[so_far];
        if (next.size() <= parts[step]->number) next.resize(parts[step]->number + 1, none);
        std::uint32_t& known = next[parts[step]->number];
        if (known != none) return known;
        std::vector<std::int64_t> pattern = patterns[so_far];
        pattern.front() += parts[step]->copies.count();
        pattern.push_back(parts[step]->launch);
        return known = patterns(std::move(pattern));
      };
      patterns({0});                                        // the pattern `nothing`
      std::vector<std::uint32_t> of_pair, used, number_of;  // patterns that occur; others are only prefixes
      of_pair.reserve(from.size() * to.size());
      const auto use = [&](std::uint32_t pattern) {
        if (number_of.size() <= pattern) number_of.resize(pattern + 1, none);
        if (number_of[pattern] == none) {
          number_of[pattern] = static_cast<std::uint32_t>(used.size());
          used.push_back(pattern);
        }
        return number_of[pattern];
      };
      std::vector<sharding> taken, moved_to;
      for (const strategy s : to) taken.push_back(model.taken(e, s));
      std::vector<char> is_moved(to.size());
      for (std::size_t i = 0; i < from.size(); ++i) {
        moved_to.clear();
        for (std::size_t j = 0; j < to.size(); ++j) {
          const double cost = costs.class_cost(i, j);
          is_moved[j] = static_cast<char>(cost > 0 && std::isfinite(cost));
          if (is_moved[j] != 0) moved_to.push_back(taken[j]);
        }
        const auto ends = by.along_ways(value, model.sent(e, from[i]), moved_to, nothing, after);
        auto end = ends.begin();
        for (std::size_t j = 0; j < to.size(); ++j)
          of_pair.push_back(use(is_moved[j] != 0 ? (end++)->value() : nothing));
      }
      t.of_pair = std::make_shared<const std::vector<std::uint32_t>>(std::move(of_pair));
      t.begin.push_back(0);
      for (const std::uint32_t u : used) {
        const std::vector<std::int64_t>& pattern = patterns[u];
        t.copies.emplace_back(pattern.front());
        for (std::size_t k = 1; k < pattern.size(); ++k) t.launches.push_back(static_cast<std::uint32_t>(pattern[k]));
        t.begin.push_back(static_cast<std::uint32_t>(t.launches.size()));
      }
    }

    /// Gives equal launches of all tables one number.
    void join(const std::vector<std::vector<launch>>& made) {
      std::map<std::tuple<collective, std::size_t, std::int64_t>, std::uint32_t> known;
      for (std::size_t i = 0; i < made.size(); ++i) {
        std::vector<std::uint32_t> number;
        for (const launch& l : made[i]) {
          const auto next = static_cast<std::uint32_t>(launches.size());
          const auto [at, fresh] = known.try_emplace({l.op, l.dim, l.size.count()}, next);
          if (fresh)
            launches.push_back(l);
          else
            launches[at->second].packing = std::min(launches[at->second].packing, l.packing);
          number.push_back(at->second);
        }
        for (std::uint32_t& l : tables[i].launches) l = number[l];
      }
    }

    /// Bounds merged launches, over all sizes that a table of collective times may have a point for.
    void bound(const spmd_cost_model& model, const lowering_options& options) {
      std::map<std::pair<std::size_t, collective>, std::vector<std::uint32_t>> alike;
      for (std::uint32_t l = 0; l < launches.size(); ++l) alike[{launches[l].dim, launches[l].op}].push_back(l);
      const redistributor by = model.new_redistributor();
      const auto edges = static_cast<double>(model.graph().all_edges().size());
      for (auto& [key, members] : alike) {
        const auto& [dim, op] = key;
        const group_shape group = model.mesh().group_along(dim, model.compute().device.devices_per_node);
        std::set<std::int64_t> sizes;
        for (const std::uint32_t l : members) sizes.insert(launches[l].size.count());
        // an upper bound on what all edges move along a dimension, in several steps each
        const double most = 64 * edges * static_cast<double>(*sizes.rbegin());
        for (const std::int64_t size : table_sizes(options, most)) sizes.insert(size);
        std::ranges::sort(members, [&](auto a, auto b) { return launches[a].size > launches[b].size; });
        double best_rate = std::numeric_limits<double>::infinity();
        nanoseconds shortest(std::numeric_limits<std::int64_t>::max());
        auto next = members.begin();
        for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
          const nanoseconds time =
              from_microseconds(by.collectives().estimate(op, largest_buffer(op, bytes(*size), group), group).time_us);
          best_rate = std::min(best_rate, std::max(static_cast<double>(time.count()) - 1, 0.0) /
                                              static_cast<double>(std::max<std::int64_t>(*size, 1)));
          shortest = std::min(shortest, time);
          for (; next != members.end() && launches[*next].size.count() == *size; ++next) {
            launch& l = launches[*next];
            l.share = l.shortest = l.alone;
            if (!is_mergeable(op)) continue;
            l.shortest = std::min(shortest, l.alone);
            l.share = std::min(
                l.alone,
                nanoseconds(static_cast<std::int64_t>(std::floor(best_rate * static_cast<double>(l.size.count())))));
          }
        }
      }
    }
  };

  [[nodiscard]] lowered_work of_kind(bool least) const {
    lowered_work other = *this;
    other.is_least_ = least;
    return other;
  }

  spmd_cost_model model_;
  lowering_options options_;
  std::shared_ptr<const prices> steps_;
  bool is_least_ = false;
};

}  // namespace shardweave::inline v0
