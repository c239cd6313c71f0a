#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/repeated_layers.hpp>
#include <shardweave/spmd/training_constraints.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

/// \file
/// What is usually demanded of a training graph.

namespace shardweave::inline v0 {

namespace detail {

[[noreturn]] inline void refuse_placement(const spmd_cost_model& model, const fixed_strategies& fixed,
                                          const std::string& where) {
  std::string list;
  for (const sharding& other : model.strategies(fixed.vertex).outputs.front().distinct)
    list += (list.empty() ? "" : ", ") + other.to_string();
  refuse(error_category::constraint, fixed.why + ": operation '" + model.operations().operations[fixed.vertex].name +
                                         "' cannot be placed " + where + ", it offers " + list);
}

}  // namespace detail

SHARDWEAVE_INLINE fixed_strategies result_placed(const spmd_cost_model& model, std::uint32_t v, const sharding& where,
                                                 std::string why) {
  fixed_strategies fixed{v, {}, std::move(why)};
  const sharding_classes& offered = model.strategies(v).outputs.front();
  for (strategy s = 0; s < offered.of.size(); ++s)
    if (offered.distinct[offered.of[s]] == where) fixed.allowed.push_back(s);
  if (fixed.allowed.empty()) detail::refuse_placement(model, fixed, where.to_string());
  return fixed;
}

SHARDWEAVE_INLINE fixed_strategies result_placed_along(const spmd_cost_model& model, std::uint32_t v,
                                                       std::size_t mesh_dim, dim_placement where, std::string why) {
  if (mesh_dim >= model.mesh().rank())
    refuse(error_category::constraint,
           why + ": there is no dimension " + std::to_string(mesh_dim) + " of mesh " + model.mesh().to_string());
  fixed_strategies fixed{v, {}, std::move(why)};
  const sharding_classes& offered = model.strategies(v).outputs.front();
  for (strategy s = 0; s < offered.of.size(); ++s) {
    const sharding& lying = offered.distinct[offered.of[s]];
    if (!lying.is_none() && lying[mesh_dim] == where) fixed.allowed.push_back(s);
  }
  if (fixed.allowed.empty()) detail::refuse_placement(model, fixed, sharding{where}.to_string() + " there");
  return fixed;
}

SHARDWEAVE_INLINE pairing results_alike(const spmd_cost_model& model, std::uint32_t a, std::uint32_t b,
                                        std::string why) {
  pairing pair{a, b, {}, std::move(why)};
  const sharding_classes& first = model.strategies(a).outputs.front();
  const sharding_classes& second = model.strategies(b).outputs.front();
  for (strategy s = 0; s < first.of.size(); ++s)
    for (strategy t = 0; t < second.of.size(); ++t)
      if (first.distinct[first.of[s]] == second.distinct[second.of[t]]) pair.allowed.emplace_back(s, t);
  return pair;
}

SHARDWEAVE_INLINE budget parameter_budget(const spmd_cost_model& model, double share, parameter_unit unit,
                                          const std::vector<std::uint32_t>& skip) {
  if (!(share >= 0 && share <= 1))
    refuse(error_category::input,
           "a device may hold a share of " + number_text(share) + " of the parameters, expected 0 to 1");
  budget limit{"parameter memory", -std::numeric_limits<double>::infinity(), 0, {}};
  const double least = std::max(share, 1 / static_cast<double>(model.mesh().size()));
  const auto& operations = model.operations().operations;
  for (std::uint32_t v = 0; v < operations.size(); ++v) {
    if (operations[v].kind != role::parameter || std::ranges::find(skip, v) != skip.end()) continue;
    const auto whole = static_cast<double>(operations[v].outputs.front().size().count());
    budget_term term{v, {}, std::nullopt};
    for (strategy s = 0; s < model.strategy_count(v); ++s) {
      const auto held = static_cast<double>(model.result_size(v, s).count());
      term.usage.push_back(unit == parameter_unit::size ? held : whole > 0 ? held / whole : 0);
    }
    const double best = *std::ranges::min_element(term.usage);
    limit.high += std::max(best, least * (unit == parameter_unit::size ? whole : whole > 0 ? 1 : 0));
    limit.terms.push_back(std::move(term));
  }
  return limit;
}

SHARDWEAVE_INLINE void place_inputs(constraint_set& all, const spmd_cost_model& model, const sharding& where,
                                    const std::string& why, const std::vector<std::uint32_t>& skip) {
  const auto& operations = model.operations().operations;
  for (std::uint32_t v = 0; v < operations.size(); ++v)
    if (operations[v].kind == role::input && std::ranges::find(skip, v) == skip.end())
      all.fixed.push_back(result_placed(model, v, where, why));
}

SHARDWEAVE_INLINE void place_results(constraint_set& all, const spmd_cost_model& model, const sharding& where,
                                     const std::string& why, const std::vector<std::uint32_t>& skip) {
  const computation& graph = model.operations();
  for (const std::uint32_t v : graph.results) {
    const bool is_gradient = std::ranges::any_of(graph.gradient_of, [v](const auto& pair) { return pair.second == v; });
    if (!is_gradient && std::ranges::find(skip, v) == skip.end())
      all.fixed.push_back(result_placed(model, v, where, why));
  }
}

SHARDWEAVE_INLINE void pair_gradients(constraint_set& all, const spmd_cost_model& model, const std::string& why) {
  const auto& operations = model.operations().operations;
  const auto pair_up = [&](const auto& pairs, const std::string& reason) {
    for (const auto& [a, b] : pairs) {
      all.pairs.push_back(results_alike(model, a, b, reason));
      if (all.pairs.back().allowed.empty())
        refuse(error_category::constraint, reason + ": operations '" + operations[a].name + "' and '" +
                                               operations[b].name + "' have no placement in common");
    }
  };
  pair_up(model.operations().gradient_of, why.empty() ? "gradient placed as its parameter" : why);
  pair_up(model.operations().tangent_of, why.empty() ? "incoming gradient placed as its result" : why);
}

SHARDWEAVE_INLINE void share_parameters(constraint_set& all, const spmd_cost_model& model, double share,
                                        parameter_unit unit, const std::vector<std::uint32_t>& skip,
                                        const std::string& why) {
  budget limit = parameter_budget(model, share, unit, skip);
  limit.name = why;
  double least = 0;
  for (const budget_term& term : limit.terms) least += *std::ranges::min_element(term.usage);
  if (limit.high - least >= budget_tolerance) {
    all.budgets.push_back(std::move(limit));
    return;
  }
  for (const budget_term& term : limit.terms) {
    const double best = *std::ranges::min_element(term.usage);
    fixed_strategies fixed{term.vertex, {}, limit.name};
    for (strategy s = 0; s < term.usage.size(); ++s)
      if (term.usage[s] <= best * (1 + 1e-12)) fixed.allowed.push_back(s);
    all.fixed.push_back(std::move(fixed));
  }
}

SHARDWEAVE_INLINE void tie_layers(constraint_set& all, const spmd_cost_model& model, const std::string& why) {
  const std::vector<std::uint64_t> sites = layer_sites(model.operations());
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::vector<std::uint32_t>> alike;
  for (std::uint32_t v = 0; v < sites.size(); ++v)
    if (sites[v] != 0) alike[{sites[v], model.list_number(v)}].push_back(v);
  for (auto& [site, vertices] : alike)
    if (vertices.size() > 1) all.ties.push_back({std::move(vertices), why});
}

SHARDWEAVE_INLINE std::vector<std::uint32_t> placed_together(const constraint_set& all,
                                                             std::vector<std::uint32_t> vertices) {
  std::map<std::uint32_t, std::vector<const tie*>> ties_of;
  std::map<std::uint32_t, std::vector<std::uint32_t>> mates_of;
  for (const tie& t : all.ties)
    for (const std::uint32_t v : t.vertices) ties_of[v].push_back(&t);
  for (const pairing& p : all.pairs) {
    mates_of[p.a].push_back(p.b);
    mates_of[p.b].push_back(p.a);
  }
  std::set<std::uint32_t> known(vertices.begin(), vertices.end());
  std::set<const tie*> seen;
  const auto add = [&](std::uint32_t v) {
    if (known.insert(v).second) vertices.push_back(v);
  };
  while (!vertices.empty()) {
    const std::uint32_t v = vertices.back();
    vertices.pop_back();
    for (const tie* t : ties_of[v])
      if (seen.insert(t).second) std::ranges::for_each(t->vertices, add);
    std::ranges::for_each(mates_of[v], add);
  }
  return {known.begin(), known.end()};
}

SHARDWEAVE_INLINE constraint_set training_constraints(const spmd_cost_model& model, const training_options& options) {
  constraint_set all;
  std::vector<std::uint32_t> skip;
  if (!options.placed.empty()) {
    constraint_set together;
    if (options.pair_gradients) pair_gradients(together, model);
    if (options.tie_layers) tie_layers(together, model);
    skip = placed_together(together, options.placed);
  }
  if (options.inputs) place_inputs(all, model, *options.inputs, "input placement", skip);
  if (options.results) place_results(all, model, *options.results, "result placement", skip);
  if (options.pair_gradients) pair_gradients(all, model);
  if (options.parameter_share) share_parameters(all, model, *options.parameter_share, options.unit, skip);
  if (options.device_memory) all.budgets.push_back(memory_budget(model, *options.device_memory, options.memory));
  if (options.tie_layers) tie_layers(all, model);
  return all;
}

}  // namespace shardweave::inline v0
