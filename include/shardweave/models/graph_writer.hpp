#pragma once

#include <shardweave/models/shape_inference.hpp>
#include <shardweave/spmd/computation.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

/// \file
/// Writes a computation operation by operation: names, repeated layers, results and their gradients.

namespace shardweave::inline v0 {

class backward_pass;

/// Collects operations in topological order. Where an operation belongs (phase, repeated layer, group) is
/// set before it is added and stays until it is set again; names are made of that and are unique.
///
/// The n-th operation that is added to a layer in a phase has the same site in every layer of that kind,
/// so repeated layers are to be written in the same order of operations.
class graph_writer {
 public:
  /// What an operation gave: a handle into the builder that made it.
  struct value {
    std::uint32_t vertex = 0;
    friend bool operator==(const value&, const value&) = default;
  };

  explicit graph_writer(std::string name) { made_.name = std::move(name); }

  graph_writer& when(phase p) { return when_ = p, *this; }
  graph_writer& group(std::string name) { return group_ = std::move(name), *this; }
  /// \param index  which repetition; -1 outside repeated layers
  /// \param kind   layers of different structure have different kinds
  graph_writer& layer(std::int64_t index, const std::string& kind = "layers") {
    layer_ = index;
    kind_ = kind;
    beside_.reset();
    return *this;
  }
  /// What follows belongs to the layer and group of `v`, and its site is made of that of `v`: it is the same in every
  /// layer, whatever other operations a layer has.
  /// \param extra  for operations that some layers have and others have not; they are counted apart
  graph_writer& beside(value v, bool extra = false) {
    const operation& op = made_.operations[v.vertex];
    group_ = op.group;
    layer(op.layer, op.layer < 0 ? "layers" : kinds_[op.site >> 33U]);
    beside_ = {v.vertex, extra};
    return *this;
  }

  // What comes from outside
  value parameter(std::string name, tensor what) { return source(std::move(name), "parameter", role::parameter, what); }
  value input(std::string name, tensor what) { return source(std::move(name), "input", role::input, what); }
  value constant(std::string name, tensor what) { return source(std::move(name), "constant", role::constant, what); }
  /// The incoming gradient of a result.
  value tangent(std::string name, value of) {
    const value made = source(std::move(name), "tangent", role::tangent, {of_value(of).shape, of_value(of).type});
    made_.tangent_of.emplace_back(of.vertex, made.vertex);
    return made;
  }

  /// Any other operation: `op` is the key of its rules. More than one output makes a tuple.
  value apply(const std::string& op, const std::vector<value>& inputs, std::vector<tensor> outputs,
              attributes with = {}) {
    std::vector<std::uint32_t> vertices;
    for (const value v : inputs) vertices.push_back(v.vertex);
    return append(
        {unique(next_name(op)), op, when_, role::none, std::move(vertices), std::move(outputs), std::move(with)});
  }

  /// The graph returns `v`.
  void result(value v) { made_.results.push_back(v.vertex); }
  /// The graph returns `gradient`, which belongs to a parameter or an input.
  void gradient(value of, value gradient) {
    if (of_value(of).shape != of_value(gradient).shape)
      refuse(error_category::input, "the gradient of '" + made_.operations[of.vertex].name + "' has shape " +
                                        text_of(of_value(gradient).shape) + ", expected " +
                                        text_of(of_value(of).shape));
    made_.gradient_of.emplace_back(of.vertex, gradient.vertex);
    result(gradient);
  }

  /// `y` is differentiated by a rule of its own, in place of those of the operations it was made by: the rule gives the
  /// gradients of the values that it names, and none goes further back from `y`. An empty rule stops gradients.
  void with_gradient(value y, std::function<void(backward_pass&)> rule) {
    own_rules_.insert_or_assign(y.vertex, std::move(rule));
  }
  /// The rule set so, or null.
  [[nodiscard]] const std::function<void(backward_pass&)>* own_rule_of(value y) const {
    const auto at = own_rules_.find(y.vertex);
    return at == own_rules_.end() ? nullptr : &at->second;
  }

  /// What has been written up to now.
  [[nodiscard]] const computation& so_far() const { return made_; }
  /// What is known of a value; of a tuple, of its first element.
  [[nodiscard]] const tensor& of_value(value v) const { return elements_of(v).front(); }
  /// The elements of a tuple; of any other value, itself.
  [[nodiscard]] const std::vector<tensor>& elements_of(value v) const { return made_.operations[v.vertex].outputs; }

  /// Ends the graph with the vertex "output". The builder is empty afterwards.
  [[nodiscard]] computation finish() {
    if (made_.results.empty()) refuse(error_category::input, "graph '" + made_.name + "' has no results, expected one");
    made_.operations.push_back({unique("results"), "output", when_, role::none, made_.results, {}});
    computation done = std::move(made_);
    *this = graph_writer(done.name);
    return done;
  }

 protected:
  /// The name that the next operation of this kind gets, but for a number that makes it unique.
  [[nodiscard]] std::string next_name(std::string_view op) const {
    std::string name = when_ == phase::backward ? "backward." : "";
    if (layer_ >= 0) name += kind_ + "." + std::to_string(layer_) + ".";
    if (!group_.empty()) name += group_ + ".";
    return name.append(op);
  }

 private:
  value source(std::string name, const char* op, role kind, tensor what) {
    if (!names_.try_emplace(name, 1).second)
      refuse(error_category::input, "graph '" + made_.name + "' has two operations named '" + name + "'");
    return append({std::move(name), op, when_, kind, {}, {std::move(what)}});
  }

  value append(operation op) {
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
  std::uint64_t next_position() {
    if (!beside_) return ++position_[{kind_, when_, layer_}];
    const std::uint64_t place = made_.operations[beside_->first].site & 0xffffffffU;
    return (place << 8U) + (beside_->second ? 128 : 0) + ++followers_[*beside_];
  }
  std::string unique(std::string name) {
    const std::uint32_t used = names_[name]++;
    if (used == 0) return name;
    return unique(name + "_" + std::to_string(used));
  }

  computation made_;
  phase when_ = phase::forward;
  std::string group_;
  std::string kind_ = "layers";
  std::int64_t layer_ = -1;
  std::unordered_map<std::string, std::uint32_t> names_;
  std::vector<std::string> kinds_;
  std::map<std::tuple<std::string, phase, std::int64_t>, std::uint32_t> position_;
  std::optional<std::pair<std::uint32_t, bool>> beside_;
  std::map<std::pair<std::uint32_t, bool>, std::uint32_t> followers_;
  std::unordered_map<std::uint32_t, std::function<void(backward_pass&)>> own_rules_;
};

}  // namespace shardweave::inline v0
