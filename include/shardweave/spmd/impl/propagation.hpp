#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/spmd/constraint_log.hpp>
#include <shardweave/spmd/propagation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// How annotations are carried through a computation.

namespace shardweave::inline v0 {
namespace detail {

/// The ways to run an operation along one mesh dimension alone.
struct axis_ways {
  std::vector<dim_strategy> ways;  ///< distinct
  std::vector<std::uint32_t> of;   ///< per strategy
};

/// Domains of ways per operation and mesh dimension, narrowed by their neighbours.
class propagator {
 public:
  using edge = spmd_cost_model::edge;

  explicit propagator(const spmd_cost_model& model)
      : model_(model), rank_(model.mesh().rank()), domains_(operations().size()), annotated_(operations().size()) {
    for (std::uint32_t v = 0; v < operations().size(); ++v)
      for (std::size_t d = 0; d < rank_; ++d) domains_[v].emplace_back(ways(v, d).ways.size(), char{1});
  }

  [[nodiscard]] propagation run(std::span<const annotation> annotations, const propagation_options& options) {
    std::map<int, std::vector<std::tuple<std::uint32_t, const annotation*>>> levels;
    for (const annotation& a : annotations) {
      bool any = false;
      for (std::uint32_t v = 0; v < operations().size(); ++v) {
        if (operations()[v].outputs.empty() || !fits(operations()[v].name, a.pattern)) continue;
        any = true;
        const int usual = operations()[v].kind == role::parameter ? 1 : 0;
        for (const std::uint32_t w : with_partners(v)) levels[a.priority.value_or(usual)].emplace_back(w, &a);
      }
      if (!any) refuse(error_category::constraint, text_of(a) + ": no operation has such a name");
      if (a.mesh_dim >= rank_)
        refuse(error_category::constraint, text_of(a) + ": there is no dimension " + std::to_string(a.mesh_dim) +
                                               " of mesh " + model_.mesh().to_string());
    }
    for (const auto& [priority, seeds] : levels) {
      for (const auto& [v, a] : seeds) seed(v, *a);
      spread();
    }
    return result(options);
  }

 private:
  [[nodiscard]] const std::vector<operation>& operations() const { return model_.operations().operations; }
  static std::string text_of(const annotation& a) {
    return "annotation '" + a.pattern + " " + std::to_string(a.mesh_dim) + " " + sharding{a.where}.to_string() + "'";
  }
  static dim_placement along(const sharding& where, std::size_t d) {
    return where.is_none() ? dim_placement::from_code(255) : where[d];  // which equals nothing
  }

  /// Shared by operations with the same list of strategies.
  const axis_ways& ways(std::uint32_t v, std::size_t d) {
    axis_ways& known = ways_[{model_.list_number(v), d}];
    if (!known.of.empty()) return known;
    std::map<std::pair<std::vector<dim_placement>, std::vector<dim_placement>>, std::uint32_t> numbers;
    for (const mesh_strategy& s : model_.strategies(v).strategies) {
      dim_strategy one;
      for (const sharding& out : s.outputs) one.outputs.push_back(along(out, d));
      for (const sharding& in : s.inputs) one.inputs.push_back(along(in, d));
      const auto [at, fresh] =
          numbers.try_emplace({one.outputs, one.inputs}, static_cast<std::uint32_t>(numbers.size()));
      if (fresh) known.ways.push_back(std::move(one));
      known.of.push_back(at->second);
    }
    return known;
  }

  /// The operation, and its gradient or tangent, which lies as it does.
  [[nodiscard]] std::vector<std::uint32_t> with_partners(std::uint32_t v) const {
    std::vector<std::uint32_t> all{v};
    for (const auto* pairs : {&model_.operations().gradient_of, &model_.operations().tangent_of})
      for (const auto& [a, b] : *pairs)
        if (a == v) all.push_back(b);
    return all;
  }

  /// Whatever was narrowed before: the annotation decides.
  void seed(std::uint32_t v, const annotation& a) {
    const axis_ways& known = ways(v, a.mesh_dim);
    std::vector<char>& domain = domains_[v][a.mesh_dim];
    std::set<dim_placement> offered;
    bool any = false;
    for (std::size_t i = 0; i < known.ways.size(); ++i) {
      const dim_placement out = known.ways[i].outputs.front();
      domain[i] = out == a.where ? 1 : 0;
      any = any || domain[i] != 0;
      if (out != dim_placement::from_code(255)) offered.insert(out);
    }
    if (!any) {
      std::string list;
      for (const dim_placement p : offered) list += (list.empty() ? "" : ", ") + sharding{p}.to_string();
      refuse(error_category::constraint,
             text_of(a) + ": operation '" + operations()[v].name + "' offers " + list + " there");
    }
    annotated_[v].insert(a.mesh_dim);
    changed(v, a.mesh_dim);
  }

  void changed(std::uint32_t v, std::size_t d) {
    for (const edge& e : model_.graph().in(v)) enqueue(e.source, d);
    for (const edge& e : model_.graph().out(v)) enqueue(e.target, d);
    enqueue(v, d);
  }
  void enqueue(std::uint32_t v, std::size_t d) {
    if (queued_.insert({v, d}).second) queue_.emplace_back(v, d);
  }

  void spread() {
    while (!queue_.empty()) {
      const auto [v, d] = queue_.front();
      queue_.pop_front();
      queued_.erase({v, d});
      if (operations()[v].outputs.size() != 1) continue;  // tuples stop it; their elements are operations of their own
      bool narrower = false;
      for (const edge& e : model_.graph().in(v))
        if (operations()[e.source].outputs.size() == 1)
          narrower = keep(
                         v, d, [&](const dim_strategy& way) { return way.inputs[model_.argument(e)]; },
                         placements(e.source, d, [&](const dim_strategy& way) { return way.outputs.front(); })) ||
                     narrower;
      // where a stored tensor lies does not follow from its use, and what has several users suits them in turn
      const auto users = model_.graph().out(v);
      if (operations()[v].kind == role::none && users.size() == 1 && operations()[users[0].target].outputs.size() == 1)
        narrower = keep(
                       v, d, [](const dim_strategy& way) { return way.outputs.front(); },
                       placements(users[0].target, d,
                                  [&](const dim_strategy& way) { return way.inputs[model_.argument(users[0])]; })) ||
                   narrower;
      if (narrower) changed(v, d);
    }
  }

  /// What a result or an argument may still be.
  template <class Which>
  [[nodiscard]] std::set<dim_placement> placements(std::uint32_t v, std::size_t d, Which which) {
    std::set<dim_placement> all;
    const axis_ways& known = ways(v, d);
    for (std::size_t i = 0; i < known.ways.size(); ++i)
      if (domains_[v][d][i] != 0) all.insert(which(known.ways[i]));
    return all;
  }

  /// Keeps the ways that suit, if there are any. \returns whether some went
  template <class Which>
  bool keep(std::uint32_t v, std::size_t d, Which which, const std::set<dim_placement>& suits) {
    const axis_ways& known = ways(v, d);
    std::vector<char> left = domains_[v][d];
    for (std::size_t i = 0; i < left.size(); ++i)
      if (left[i] != 0 && !suits.contains(which(known.ways[i]))) left[i] = 0;
    if (std::ranges::find(left, char{1}) == left.end() || left == domains_[v][d]) return false;
    domains_[v][d] = std::move(left);
    return true;
  }

  [[nodiscard]] propagation result(const propagation_options& options) {
    propagation told;
    const auto first = [](const dim_strategy& way) { return way.outputs.front(); };
    for (std::uint32_t v = 0; v < operations().size(); ++v) {
      told.left.emplace_back(rank_);
      told.determined.emplace_back();
      const std::size_t strategies = model_.strategy_count(v);
      told.strategies_before += strategies;
      told.strategies_after += strategies;
      if (operations()[v].outputs.empty()) continue;
      bool narrowed = false;
      for (std::size_t d = 0; d < rank_; ++d) {
        narrowed = narrowed || std::ranges::find(domains_[v][d], char{0}) != domains_[v][d].end();
        told.left[v][d] = placements(v, d, first);
        if (pins(v, d, told.left[v][d], options)) told.determined[v].push_back(d);
      }
      told.touched += narrowed ? 1U : 0U;
      if (!told.determined[v].empty()) pin(told, v);
    }
    for (const edge& e : model_.graph().all_edges()) find_boundaries(told, e);
    std::ranges::sort(told.boundaries);
    return told;
  }

  [[nodiscard]] bool pins(std::uint32_t v, std::size_t d, const std::set<dim_placement>& left,
                          const propagation_options& options) const {
    if (annotated_[v].contains(d)) return true;
    if (left.size() != 1 || operations()[v].outputs.size() != 1 || operations()[v].kind != role::none) return false;
    for (const auto& [a, b] : model_.operations().gradient_of)  // pairing decides where a gradient lies
      if (b == v) return false;
    return left.begin()->is_sharded() || (options.aggressive && *left.begin() != dim_placement::from_code(255));
  }

  void pin(propagation& told, std::uint32_t v) {
    fixed_strategies fixed{v, {}, annotated_[v].empty() ? "propagated" : "annotated"};
    const auto& listed = model_.strategies(v).strategies;
    for (strategy s = 0; s < listed.size(); ++s)
      if (std::ranges::all_of(told.determined[v], [&](std::size_t d) {
            return told.left[v][d].contains(along(listed[s].outputs.front(), d));
          }))
        fixed.allowed.push_back(s);
    if (fixed.allowed.empty()) {  // single dimensions allow what all of them together do not
      if (!annotated_[v].empty())
        refuse(error_category::constraint, "annotations of operation '" + operations()[v].name +
                                               "' allow none of its strategies along all mesh dimensions together");
      told.determined[v].clear();
      return;
    }
    told.strategies_after -= listed.size() - fixed.allowed.size();
    if (fixed.allowed.size() < listed.size()) told.constraints.push_back(std::move(fixed));
  }

  void find_boundaries(propagation& told, const edge& e) {
    if (operations()[e.target].outputs.empty()) return;
    for (std::size_t d = 0; d < rank_; ++d) {
      const auto sent =
          placements(e.source, d, [&](const dim_strategy& way) { return way.outputs[model_.element(e)]; });
      const auto taken =
          placements(e.target, d, [&](const dim_strategy& way) { return way.inputs[model_.argument(e)]; });
      if (std::ranges::none_of(sent, [&](dim_placement p) { return taken.contains(p); }))
        told.boundaries.push_back({e.source, e.target, model_.argument(e), d});
    }
  }

  const spmd_cost_model& model_;
  std::size_t rank_;
  std::map<std::pair<std::uint32_t, std::size_t>, axis_ways> ways_;
  std::vector<std::vector<std::vector<char>>> domains_;  ///< per operation, mesh dimension and way: whether it is left
  std::vector<std::set<std::size_t>> annotated_;         ///< per operation, mesh dimensions
  std::deque<std::pair<std::uint32_t, std::size_t>> queue_;
  std::set<std::pair<std::uint32_t, std::size_t>> queued_;
};

}  // namespace detail

SHARDWEAVE_INLINE propagation propagate(const spmd_cost_model& model, std::span<const annotation> annotations,
                                        const propagation_options& options) {
  return detail::propagator(model).run(annotations, options);
}

}  // namespace shardweave::inline v0
