#pragma once

#include <shardweave/core/interning.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/lowering/detail/fullest_moment.hpp>
#include <shardweave/lowering/detail/held_sizes.hpp>
#include <shardweave/lowering/held_values_of.hpp>
#include <shardweave/lowering/lowered_step.hpp>
#include <shardweave/lowering/ring_tasks.hpp>
#include <shardweave/placement/cost_table.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/redistribution.hpp>
#include <shardweave/spmd/redistributor.hpp>
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/tensor.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

/// \file
/// Definitions of `held_values_of` and `optimizer_state_of`.

namespace shardweave::inline v0 {

namespace detail {

class held_value_reader {
 public:
  held_value_reader(const spmd_cost_model& model, const constraint_set& constraints, double state_per_element)
      : model_(model),
        graph_(model.operations()),
        edges_(model.graph()),
        by_(model.new_redistributor()),
        state_(state_per_element) {
    tie_ = tie_leaders(graph_.operations.size(), constraints.ties);
  }

  held_values read() {
    find_always();
    for (const operation& op : graph_.operations)
      result_.block_of.push_back(op.layer < 0 ? ~0U : static_cast<std::uint32_t>(op.layer));
    const std::optional<std::uint32_t> moment = fullest_moment(model_).find();
    if (!moment) return std::move(result_);
    result_.moment = *moment;
    part_at(*moment);
    find_values();
    drop_useless();
    part_layers();
    drop_useless();
    join_layers();
    return std::move(result_);
  }

 private:
  using edge = spmd_cost_model::edge;
  static constexpr std::uint32_t nobody = ~0U;

  [[nodiscard]] const operation& op(std::uint32_t v) const { return graph_.operations[v]; }
  [[nodiscard]] bool is_made(std::uint32_t v) const { return detail::is_made(op(v)); }
  [[nodiscard]] bool is_view(std::uint32_t v) const { return detail::is_view(model_, op(v)); }
  [[nodiscard]] std::vector<double> sizes(std::uint32_t v, std::size_t element) const {
    return sizes_by_strategy(model_, v, element);
  }

  void find_always() {
    for (std::uint32_t v = 0; v < graph_.operations.size(); ++v) {
      const role kind = op(v).kind;
      if (kind != role::parameter && kind != role::input && kind != role::constant) continue;
      for (std::size_t k = 0; k < op(v).outputs.size(); ++k) result_.always.push_back({v, sizes(v, k)});
    }
    result_.beside = optimizer_state_of(model_, state_);
  }

  /// Marks the vertices that depend on `v`, and those that it depends on, with `v` itself among the latter.
  void part_at(std::uint32_t v) {
    after_.assign(graph_.operations.size(), 0);
    before_.assign(graph_.operations.size(), 0);
    after_[v] = before_[v] = 1;
    for (std::uint32_t u = v + 1; u < after_.size(); ++u)
      after_[u] = std::ranges::any_of(op(u).inputs, [&](std::uint32_t p) { return after_[p] != 0; }) ? 1 : 0;
    for (std::uint32_t u = v + 1; u-- > 0;)
      if (before_[u] != 0)
        for (const std::uint32_t p : op(u).inputs) before_[p] = 1;
    after_[v] = 0;
  }

  /// By class of the producer: the least bytes that a value takes at any point of its redistribution to any form that
  /// the consumer may need.
  const std::vector<double>& least_by_class(const edge& e) {
    const cost_table<double>& costs = model_.class_costs(e);
    const auto [at, fresh] = least_.try_emplace(&costs);
    if (!fresh) return at->second;
    std::vector<strategy> from(costs.row_classes()), to(costs.column_classes());
    const auto rows = model_.producer_classes(e), columns = model_.consumer_classes(e);
    for (strategy s = 0; s < rows.size(); ++s) from[rows[s]] = s;
    for (strategy s = 0; s < columns.size(); ++s) to[columns[s]] = s;
    const tensor& value = model_.value(e);
    for (std::size_t i = 0; i < from.size(); ++i) {
      const sharding own = model_.sent(e, from[i]);
      double least = held_size(model_, value, own);
      for (std::size_t j = 0; j < to.size(); ++j) {
        const double cost = costs.class_cost(i, j);
        if (!(cost > 0) || !std::isfinite(cost)) continue;
        for (const redistribution_step& step : by_.plan(value, own, model_.taken(e, to[j])).steps) {
          const lowered_step parts = lowered(step, by_);
          if (!parts.is_collective) continue;  // a slice stays in the memory of the whole
          if (parts.packs) least = std::min(least, static_cast<double>(step.before.count()));
          least = std::min(least, static_cast<double>(step.after.count()));
        }
      }
      at->second.push_back(least);
    }
    by_.forget(by_.value_number(value));
    return at->second;
  }
  /// The same, by strategy of the producer.
  std::vector<double> least_on(const edge& e) {
    if (model_.class_costs(e).row_classes() == 0) return sizes(e.source, model_.element(e));
    const std::vector<double>& least = least_by_class(e);
    std::vector<double> result;
    for (const std::uint32_t c : model_.producer_classes(e)) result.push_back(least[c]);
    return result;
  }

  /// An operation's result with all views of it.
  struct group {
    std::uint32_t root = 0;
    std::size_t element = 0;
    std::vector<std::uint32_t> members;  ///< made in the forward side, the root first
    std::uint32_t value = nobody;
  };

  void find_values() {
    const std::size_t n = graph_.operations.size();
    std::vector<std::vector<std::uint32_t>> own(n);  // groups of each vertex, by element
    std::vector<group> groups;
    for (std::uint32_t v = 0; v < n; ++v) {
      if (!is_made(v) || after_[v] != 0) continue;
      const std::uint32_t source = op(v).inputs.empty() ? nobody : op(v).inputs.front();
      if (is_view(v) && !own[source].empty()) {
        const std::uint32_t g = own[source][std::min(element_taken(op(v), op(source)), own[source].size() - 1)];
        groups[g].members.push_back(v);
        own[v].assign(op(v).outputs.size(), g);
        continue;
      }
      for (std::size_t k = 0; k < op(v).outputs.size(); ++k) {
        own[v].push_back(static_cast<std::uint32_t>(groups.size()));
        groups.push_back({.root = v, .element = k, .members = {v}});
      }
    }
    const std::vector<char> is_at_work = find_at_work(groups, own);
    for (std::size_t g = 0; g < groups.size(); ++g)
      if (is_at_work[g] == 0) add(groups[g], groups, own);
  }
  /// Whether anything but a view reads a result.
  /// \param g  the result with all views of it
  [[nodiscard]] bool is_read(std::uint32_t v, std::size_t k, const group& g,
                             const std::vector<std::vector<std::uint32_t>>& own) const {
    for (const std::uint32_t m : g.members)
      for (const edge& e : edges_.out(m)) {
        if (m == v && model_.element(e) != k) continue;
        if (own[e.target].size() != 1 || own[e.target][0] != own[v][k]) return true;
      }
    return false;
  }
  /// Adds the arguments and results of the moment's operation, which are in memory while it runs. Views of what is
  /// always held, and views that repeat elements, are left out.
  /// \returns by group: whether it is among them
  std::vector<char> find_at_work(const std::vector<group>& groups, const std::vector<std::vector<std::uint32_t>>& own) {
    const std::uint32_t m = result_.moment;
    std::vector<char> is_at_work(groups.size());
    for (std::size_t k = 0; k < op(m).outputs.size(); ++k) {
      is_at_work[own[m][k]] = 1;
      // a repetition keeps none of several results that nothing reads
      if (op(m).outputs.size() == 1 || is_read(m, k, groups[own[m][k]], own))
        result_.at_work.push_back({m, sizes(m, k)});
    }
    for (const edge& e : edges_.in(m)) {
      if (own[e.source].empty()) continue;
      const std::uint32_t g = own[e.source][std::min(model_.element(e), own[e.source].size() - 1)];
      if (is_view(groups[g].root) || is_at_work[g] != 0) continue;
      // a view that repeats elements takes the memory of the value alone, which may be kept in any form
      if (model_.value(e).size() > op(groups[g].root).outputs[groups[g].element].size()) continue;
      result_.at_work.push_back({m, sizes_taken(model_, e)});
      is_at_work[g] = 1;
    }
    return is_at_work;
  }

  void add(group& g, const std::vector<group>& groups, const std::vector<std::vector<std::uint32_t>>& own) {
    if (is_view(g.root)) return;  // a view of something that is always held
    held_value made{.name = op(g.root).name, .forms = {}, .maker = g.root};
    const auto is_own = [&](const edge& e) { return e.source != g.root || model_.element(e) == g.element; };
    std::vector<double> read;  // by strategy of the member that is read: the most that any reader needs
    std::uint32_t member = g.root;
    for (const std::uint32_t m : g.members) {
      for (const edge& e : edges_.out(m)) {
        if (after_[e.target] == 0 || !is_own(e)) continue;
        const std::vector<double> least = least_on(e);
        if (read.empty()) read.assign(least.size(), 0.0);
        for (std::size_t s = 0; s < least.size(); ++s) read[s] = std::max(read[s], least[s]);
      }
      member = m;
      if (!read.empty()) break;
    }
    made.is_read = !read.empty();
    if (!made.is_read) {
      member = g.root;
      read = sizes(g.root, g.element);
      for (const edge& e : edges_.out(g.root)) {
        if (!is_own(e)) continue;
        const std::vector<double> least = least_on(e);
        for (std::size_t s = 0; s < least.size(); ++s) read[s] = std::min(read[s], least[s]);
      }
    }
    // a form of the root, or of a view on the way, from which the reader's view can be made
    std::vector<held_form> way;
    for (std::uint32_t m = member; m != g.root;) {
      const auto in = std::ranges::find_if(edges_.in(m), [&](const edge& e) { return model_.argument(e) == 0; });
      way.push_back({in->source, least_on(*in)});
      m = in->source;
    }
    std::ranges::reverse(way);
    made.forms = std::move(way);
    made.forms.push_back({member, std::move(read)});

    std::size_t largest = 0;  // of several results of one operation the largest has the time
    for (std::size_t k = 1; k < op(g.root).outputs.size(); ++k)
      if (op(g.root).outputs[k].size() > op(g.root).outputs[largest].size()) largest = k;
    for (strategy s = 0; s < model_.strategy_count(g.root); ++s) {
      const bool counts = before_[g.root] != 0 && g.element == largest && std::isfinite(model_.vertex_cost(g.root, s));
      made.again.push_back(counts ? static_cast<double>(own_time(model_, g.root, s).count()) : 0);
    }
    if (before_[g.root] == 0 && g.element == largest) made.late.push_back(g.root);
    for (const std::uint32_t p : op(g.root).inputs) {
      if (own[p].empty()) continue;
      const std::size_t k = std::min(element_taken(op(g.root), op(p)), own[p].size() - 1);
      const std::uint32_t value = groups[own[p][k]].value;
      if (value != nobody && std::ranges::find(made.from, value) == made.from.end()) made.from.push_back(value);
    }
    g.value = static_cast<std::uint32_t>(result_.values.size());
    result_.values.push_back(std::move(made));
    home_.push_back(op(g.root).layer);
  }

  /// Keeps the values that are read, and those that recomputation of these needs.
  void drop_useless() {
    std::vector<char> is_needed(result_.values.size());
    for (std::size_t i = is_needed.size(); i-- > 0;) {
      if (result_.values[i].is_read) is_needed[i] = 1;
      if (is_needed[i] != 0)
        for (const std::uint32_t u : result_.values[i].from) is_needed[u] = 1;
    }
    std::vector<std::uint32_t> now(is_needed.size(), nobody);
    std::vector<held_value> left;
    std::vector<std::int64_t> homes;
    for (std::size_t i = 0; i < is_needed.size(); ++i) {
      if (is_needed[i] == 0) continue;
      now[i] = static_cast<std::uint32_t>(left.size());
      left.push_back(std::move(result_.values[i]));
      homes.push_back(home_[i]);
      for (std::uint32_t& u : left.back().from) u = now[u];
    }
    result_.values = std::move(left);
    home_ = std::move(homes);
  }

  /// Decouples layers: an input of recomputation that belongs to another layer counts as available. A value that only
  /// the recomputation of one other layer needs moves to that layer, so that a layer's input is kept or recomputed like
  /// its own values, with what leads to it alone.
  void part_layers() {
    std::vector<std::vector<std::uint32_t>> users(result_.values.size());
    for (std::uint32_t i = 0; i < users.size(); ++i)
      for (const std::uint32_t u : result_.values[i].from) users[u].push_back(i);
    for (std::size_t i = users.size(); i-- > 0;) {
      if (result_.values[i].is_read || users[i].empty()) continue;
      const std::int64_t layer = home_[users[i].front()];
      if (std::ranges::all_of(users[i], [&](std::uint32_t u) { return home_[u] == layer; })) home_[i] = layer;
    }
    for (std::size_t i = 0; i < users.size(); ++i)
      std::erase_if(result_.values[i].from, [&](std::uint32_t u) { return home_[u] != home_[i]; });
  }

  /// Lists the values of equal layers that are placed alike once, with their number.
  void join_layers() {
    std::map<std::int64_t, std::vector<std::uint32_t>> layers;
    for (std::uint32_t i = 0; i < result_.values.size(); ++i) layers[home_[i]].push_back(i);
    interner<std::vector<double>, sequence_hash> lists;
    std::map<std::vector<std::uint32_t>, std::int64_t> known;  // the content of a layer: the first layer that has it
    std::map<std::int64_t, double> count;
    for (const auto& [layer, values] : layers) {
      std::vector<std::uint32_t> what;
      if (layer < 0) what.push_back(nobody);
      for (const std::uint32_t i : values) {
        const held_value& v = result_.values[i];
        what.insert(what.end(), {tie_[v.maker], lists(v.again), (v.is_read ? 1U : 0U) + (v.late.empty() ? 0U : 2U),
                                 static_cast<std::uint32_t>(v.forms.size())});
        for (const held_form& f : v.forms) what.insert(what.end(), {tie_[f.vertex], lists(f.bytes)});
        what.push_back(static_cast<std::uint32_t>(v.from.size()));
        for (const std::uint32_t u : v.from)
          what.push_back(static_cast<std::uint32_t>(std::ranges::lower_bound(values, u) - values.begin()));
      }
      const std::int64_t first = known.try_emplace(std::move(what), layer).first->second;
      count[first] += 1;
      for (std::size_t k = 0; k < values.size() && first != layer; ++k) {
        std::vector<std::uint32_t>& late = result_.values[layers[first][k]].late;
        late.insert(late.end(), result_.values[values[k]].late.begin(), result_.values[values[k]].late.end());
      }
    }
    std::vector<std::uint32_t> now(result_.values.size(), nobody);
    std::vector<held_value> left;
    for (std::uint32_t i = 0; i < result_.values.size(); ++i) {
      held_value& v = result_.values[i];
      const auto times = count.find(home_[i]);
      if (times == count.end()) continue;
      now[i] = static_cast<std::uint32_t>(left.size());
      for (std::uint32_t& u : v.from) u = now[u];
      v.count = times->second;
      left.push_back(std::move(v));
    }
    result_.values = std::move(left);
  }

  const spmd_cost_model& model_;
  const computation& graph_;
  const compressed_graph& edges_;
  redistributor by_;
  double state_;
  std::vector<std::uint32_t> tie_;    ///< per vertex: the first of the vertices tied to it
  std::vector<char> after_, before_;  ///< per vertex, of the moment; see `part_at`
  std::vector<std::int64_t> home_;    ///< per value: the layer that it belongs to
  std::map<const cost_table<double>*, std::vector<double>> least_;
  held_values result_;
};

}  // namespace detail

SHARDWEAVE_INLINE std::vector<held_form> optimizer_state_of(const spmd_cost_model& model, double state_per_element) {
  std::vector<held_form> result;
  if (state_per_element == 0) return result;
  const computation& graph = model.operations();
  for (std::uint32_t v = 0; v < graph.operations.size(); ++v) {
    const operation& op = graph.operations[v];
    if (op.kind != role::parameter) continue;
    for (std::size_t k = 0; k < op.outputs.size(); ++k) {
      held_form state{v, detail::sizes_by_strategy(model, v, k)};
      const double size = static_cast<double>(element_size(op.outputs[k].type));
      for (double& amount : state.bytes) amount *= state_per_element / size;
      result.push_back(std::move(state));
    }
  }
  return result;
}

SHARDWEAVE_INLINE held_values held_values_of(const spmd_cost_model& model, const constraint_set& constraints,
                                             double state_per_element) {
  return detail::held_value_reader(model, constraints, state_per_element).read();
}

}  // namespace shardweave::inline v0
