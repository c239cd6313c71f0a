#pragma once

#include <shardweave/core/linkage.hpp>
#include <shardweave/core/phase.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/graph/stable_order.hpp>
#include <shardweave/tasks/fsdp_tags.hpp>
#include <shardweave/tasks/task_tags.hpp>

#include <cstddef>
#include <utility>

/// \file
/// What tasks are for, told by names and structure.

namespace shardweave::inline v0 {

namespace detail {

/// Infers tags in one pass down and one up a graph.
class tag_inference {
 public:
  explicit tag_inference(const task_graph& g) : g_(g), order_(stable_topological_order(g.dependencies())) {
    for (task_index t = 0; t < g.size(); ++t) tags_.push_back(g.tags(t));
    mark_collectives();
    mark_inputs();
    mark_phases();
    mark_values();
  }
  [[nodiscard]] std::vector<task_tags> tags() && { return std::move(tags_); }

 private:
  /// Gathers and scatters that say nothing get the tags of `fsdp_tags`, the parameters of those gathers get theirs.
  void mark_collectives() {
    const std::vector<bool> fsdp = fsdp_tags(g_);
    const std::vector<task_index> above = only_parameter_above(g_);
    bool stated = false;
    for (const task_tags& t : tags_) stated = stated || t.is_param;
    for (task_index t = 0; t < g_.size(); ++t) {
      if (!g_.is_collective(t)) continue;
      const collective op = g_.collective(t).op;
      if (op != collective::all_gather && op != collective::reduce_scatter) continue;
      tags_[t].is_fsdp = tags_[t].is_fsdp.value_or(fsdp[t]);
      const bool gathers = op == collective::all_gather && *tags_[t].is_fsdp;
      if (gathers && !stated && above[t] != no_index) tags_[above[t]].is_param = true;
    }
  }

  /// Inputs called `tangent...` are gradients, as the writers of joint graphs call them (PyTorch's, and ours).
  void mark_inputs() {
    for (task_index t = 0; t < g_.size(); ++t) {
      if (g_.kind(t) != task_kind::input || tags_[t].role != task_role::none) continue;
      if (tags_[t].is_param) tags_[t].role = task_role::parameter;
      if (g_.name_of(t).starts_with("tangent")) tags_[t].role = task_role::gradient;
    }
  }

  /// What depends on the optimizer's state updates. What depends on gradients that come in is backward; so is the rest
  /// of a graph that returns nothing else, while that of others is forward. Graphs in which no input has a role tell
  /// nothing.
  void mark_phases() {
    std::vector<bool> behind(g_.size()), updates(g_.size());
    bool gradients = false, roles = false;
    for (const task_index t : order_) {
      const task_role role = g_.kind(t) == task_kind::input ? tags_[t].role : task_role::none;
      behind[t] = role == task_role::gradient;
      updates[t] = role == task_role::optimizer_state;
      gradients = gradients || behind[t];
      roles = roles || role != task_role::none;
      for (const auto& e : g_.dependencies().in(t)) {
        behind[t] = behind[t] || behind[e.source];
        updates[t] = updates[t] || updates[e.source];
      }
    }
    if (!roles) return;
    bool joint = !gradients;
    for (task_index t = 0; t < g_.size(); ++t)
      if (g_.kind(t) == task_kind::output)
        for (const task_index p : g_.inputs(t)) joint = joint || !(behind[p] || updates[p]);
    for (task_index t = 0; t < g_.size(); ++t)
      if (!tags_[t].when)
        tags_[t].when = updates[t] ? phase::update : behind[t] || !joint ? phase::backward : phase::forward;
  }

  /// Parameters are what comes from parameters alone; gradients what the backward phase returns or updates with, and
  /// what all of whose uses lead there.
  void mark_values() {
    std::vector<bool> from_parameters(g_.size()), to_gradients(g_.size());
    for (const task_index t : order_) {
      if (g_.kind(t) == task_kind::input) {
        from_parameters[t] = tags_[t].role == task_role::parameter;
        continue;
      }
      from_parameters[t] = !g_.inputs(t).empty();
      for (const task_index p : g_.inputs(t)) from_parameters[t] = from_parameters[t] && from_parameters[p];
    }
    for (std::size_t i = order_.size(); i-- > 0;) {
      const task_index t = order_[i];
      if (tags_[t].when != phase::backward || g_.kind(t) == task_kind::output) continue;
      const auto users = g_.dependencies().out(t);
      bool returned = false, all = !users.empty();
      for (const auto& e : users) {
        const bool ends = g_.kind(e.target) == task_kind::output;
        returned = returned || ends;
        all = all && (ends || to_gradients[e.target] || tags_[e.target].when == phase::update);
      }
      to_gradients[t] = returned || all;
    }
    for (task_index t = 0; t < g_.size(); ++t) {
      if (tags_[t].role != task_role::none || g_.kind(t) == task_kind::output || g_.kind(t) == task_kind::input)
        continue;
      if (from_parameters[t])
        tags_[t].role = task_role::parameter;
      else if (to_gradients[t])
        tags_[t].role = task_role::gradient;
      else if (tags_[t].when && *tags_[t].when != phase::update)
        tags_[t].role = task_role::activation;
    }
  }

  const task_graph& g_;
  std::vector<task_index> order_;
  std::vector<task_tags> tags_;
};

}  // namespace detail

SHARDWEAVE_INLINE std::vector<task_tags> inferred_tags(const task_graph& g) { return detail::tag_inference(g).tags(); }

SHARDWEAVE_INLINE task_graph with_inferred_tags(const task_graph& g) { return g.with_tags(inferred_tags(g)); }

SHARDWEAVE_INLINE std::vector<bool> derived_tags(const task_graph& g) {
  const std::vector<task_tags> all = inferred_tags(g);
  std::vector<bool> tags(g.size());
  for (task_index t = 0; t < g.size(); ++t)
    if (g.is_collective(t))
      tags[t] =
          all[t].role == (g.collective(t).op == collective::all_gather ? task_role::parameter : task_role::gradient);
  return tags;
}

}  // namespace shardweave::inline v0
