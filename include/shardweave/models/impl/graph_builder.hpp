#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/models/graph_builder.hpp>

#include <algorithm>

/// \file
/// How operations are written down: names, groups, layers, sites, gradients.

namespace shardweave::inline v0 {

SHARDWEAVE_INLINE graph_builder& graph_builder::layer(std::int64_t index, const std::string& kind) {
  layer_ = index;
  kind_ = kind;
  beside_.reset();
  return *this;
}

SHARDWEAVE_INLINE graph_builder& graph_builder::beside(value v, bool extra) {
  const operation& op = made_.operations[v.vertex];
  group_ = op.group;
  layer(op.layer, op.layer < 0 ? "layers" : kinds_[op.site >> 33U]);
  beside_ = {v.vertex, extra};
  return *this;
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::tangent(std::string name, value of) {
  const value made = source(std::move(name), "tangent", role::tangent, {of_value(of).shape, of_value(of).type});
  made_.tangent_of.emplace_back(of.vertex, made.vertex);
  return made;
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::apply(const std::string& op, const std::vector<value>& inputs,
                                                            std::vector<tensor> outputs, attributes with) {
  std::vector<std::uint32_t> vertices;
  for (const value v : inputs) vertices.push_back(v.vertex);
  return append(
      {unique(next_name(op)), op, when_, role::none, std::move(vertices), std::move(outputs), std::move(with)});
}

SHARDWEAVE_INLINE void graph_builder::gradient(value of, value gradient) {
  if (of_value(of).shape != of_value(gradient).shape)
    refuse(error_category::input, "the gradient of '" + made_.operations[of.vertex].name + "' has shape " +
                                      text_of(of_value(gradient).shape) + ", expected " + text_of(of_value(of).shape));
  made_.gradient_of.emplace_back(of.vertex, gradient.vertex);
  result(gradient);
}

SHARDWEAVE_INLINE void graph_builder::with_gradient(value y, std::function<void(backward_pass&)> rule) {
  own_rules_.insert_or_assign(y.vertex, std::move(rule));
}

SHARDWEAVE_INLINE const std::function<void(backward_pass&)>* graph_builder::own_rule_of(value y) const {
  const auto at = own_rules_.find(y.vertex);
  return at == own_rules_.end() ? nullptr : &at->second;
}

SHARDWEAVE_INLINE computation graph_builder::finish() {
  if (made_.results.empty()) refuse(error_category::input, "graph '" + made_.name + "' has no results, expected one");
  made_.operations.push_back({unique("results"), "output", when_, role::none, made_.results, {}});
  computation done = std::move(made_);
  *this = graph_builder(done.name);
  return done;
}

SHARDWEAVE_INLINE std::string graph_builder::next_name(std::string_view op) const {
  std::string name = when_ == phase::backward ? "backward." : "";
  if (layer_ >= 0) name += kind_ + "." + std::to_string(layer_) + ".";
  if (!group_.empty()) name += group_ + ".";
  return name.append(op);
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::source(std::string name, const char* op, role kind, tensor what) {
  if (!names_.try_emplace(name, 1).second)
    refuse(error_category::input, "graph '" + made_.name + "' has two operations named '" + name + "'");
  return append({std::move(name), op, when_, kind, {}, {std::move(what)}});
}

SHARDWEAVE_INLINE graph_builder::value graph_builder::append(operation op) {
  op.group = group_;
  op.layer = layer_;
  if (layer_ >= 0) {
    const auto at = std::ranges::find(kinds_, kind_);  // of which there are few
    const auto kind = static_cast<std::uint64_t>(at - kinds_.begin());
    if (at == kinds_.end()) kinds_.push_back(kind_);
    op.site = ((2 * kind + (when_ == phase::backward ? 1 : 0)) << 32U) + next_position();
  }
  made_.operations.push_back(std::move(op));
  return {static_cast<std::uint32_t>(made_.operations.size() - 1)};
}

SHARDWEAVE_INLINE std::uint64_t graph_builder::next_position() {
  if (!beside_) return ++position_[{kind_, when_, layer_}];
  const std::uint64_t place = made_.operations[beside_->first].site & 0xffffffffU;
  return (place << 8U) + (beside_->second ? 128 : 0) + ++followers_[*beside_];
}

SHARDWEAVE_INLINE std::string graph_builder::unique(std::string name) {
  const std::uint32_t used = names_[name]++;
  if (used == 0) return name;
  return unique(name + "_" + std::to_string(used));
}

}  // namespace shardweave::inline v0
