#pragma once

#include <shardweave/models/graph_builder.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// The backward half of a graph from its forward half: reverse-mode differentiation, rule by rule.

namespace shardweave::inline v0 {

class backward_pass;

/// How operators are differentiated, by name. A copy is a table of its own.
///
/// ```
/// backward_rules rules = standard_backward_rules();
/// rules.add("softplus", [](backward_pass& p) {  // y = log(1 + exp(x))
///   graph_builder& b = p.builder();
///   p.give(p.input(0), b.mul(p.gradient(), b.sigmoid(p.input(0))));
/// });
/// ```
class backward_rules {
 public:
  using rule = std::function<void(backward_pass&)>;

  /// Sets the rule of an operator, in place of the one it had. It is called once for each operation that a gradient
  /// has come to, and gives the gradients of the inputs that want one.
  template <class Rule>
  backward_rules& add(std::string op, Rule rule_of_op) {
    constexpr bool is_rule = std::invocable<Rule&, backward_pass&>;
    static_assert(is_rule, "a backward rule is called with (backward_pass&)");
    if constexpr (is_rule) rules_.insert_or_assign(std::move(op), rule(std::move(rule_of_op)));
    return *this;
  }
  /// The rule of an operator, or null.
  [[nodiscard]] const rule* of(std::string_view op) const {
    const auto at = rules_.find(op);
    return at == rules_.end() ? nullptr : &at->second;
  }
  /// Names of the operators that have a rule, in alphabetical order.
  [[nodiscard]] std::vector<std::string> operators() const {
    std::vector<std::string> names;
    for (const auto& [name, function] : rules_) names.push_back(name);
    return names;
  }

 private:
  std::map<std::string, rule, std::less<>> rules_;
};

/// Goes through the operations of a builder, last to first, and writes what their gradients take. To a rule it is the
/// operation at which the pass stands.
///
/// Every result that has gradients and depends on what is wanted gets a tangent. A value that several operations
/// use adds up what they give, in the order in which they give it. A gradient is a result of the graph as soon as it is
/// complete, and that of a value that depends on no input is handed on at once, ahead of what else a rule writes: it
/// leads to parameters only, and their gradients are the sooner ready to be sent. A parameter on which no result
/// depends has no gradient, and neither have whole numbers. What a backward operation takes from the forward half is
/// what a training step keeps.
/// Complexity: O(V + E) calls, O(log V) each
class backward_pass {
 public:
  using value = graph_builder::value;

  /// \param b, rules   stay alive as long as the pass
  /// \param of_inputs  gradients of real and complex inputs are written as well as those of parameters
  backward_pass(graph_builder& b, const backward_rules& rules, bool of_inputs = false)
      : b_(&b), rules_(&rules), of_inputs_(of_inputs) {}

  /// Writes it all. What follows in the builder is of the backward phase, outside of layers and groups.
  /// \throws error naming the operation if a gradient comes to an operator without a rule
  void run() {
    const std::vector<std::uint32_t> results = b_->so_far().results;
    look_back();
    b_->when(phase::backward);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const value y{results[i]};
      if (!wants(y)) continue;
      const std::string name = results.size() == 1 ? "tangent" : "tangent." + std::to_string(i);
      b_->layer(-1).group(b_->so_far().operations[y.vertex].group);  // the last layer is written like all others
      const value t = b_->tangent(name, y);
      const auto before = gradients_.find({y.vertex, 0});  // of a value that is returned twice
      store(y, 0, before == gradients_.end() ? t : b_->add(before->second, t));
    }
    for (std::size_t v = wanted_.size(); v-- > 0;) visit({static_cast<std::uint32_t>(v)});
    b_->layer(-1).group("");
  }

  // What a rule sees
  graph_builder& builder() { return *b_; }
  [[nodiscard]] std::size_t input_count() const { return here().inputs.size(); }
  [[nodiscard]] value input(std::size_t i) const { return {here().inputs.at(i)}; }
  [[nodiscard]] attributes with() const { return here().with; }
  /// The result of the operation; of a tuple, this element.
  [[nodiscard]] value output(std::size_t element = 0) {
    if (here().outputs.size() == 1) return at_;
    const auto [at, fresh] = elements_.try_emplace({at_.vertex, element});
    if (fresh) at->second = b_->getitem(at_, static_cast<std::int64_t>(element));
    return at->second;
  }
  /// The result itself, tuple or not.
  [[nodiscard]] value whole_output() const { return at_; }
  /// The gradient of the result, or of that element of it.
  /// \throws error if none has come to it
  [[nodiscard]] value gradient(std::size_t element = 0) const {
    const auto at = gradients_.find({at_.vertex, element});
    if (at == gradients_.end()) wrong("no gradient has come to element " + std::to_string(element));
    return at->second;
  }
  [[nodiscard]] bool has_gradient(std::size_t element) const { return gradients_.contains({at_.vertex, element}); }
  /// Whether a gradient of this forward value leads anywhere.
  [[nodiscard]] bool wants(value v) const { return v.vertex < wanted_.size() && wanted_[v.vertex]; }
  /// Refuses in the name of the operation.
  [[noreturn]] void wrong(const std::string& what) const {
    refuse(error_category::input,
           "operation '" + here().name + "' (vertex " + std::to_string(at_.vertex) + "): " + what);
  }

  /// Adds to the gradient of a forward value, or of an element of a tuple; forgets it if the value wants none. What a
  /// value was stretched by is summed up again, and its element type is restored. A rule gives once for every
  /// argument.
  /// \throws error naming the operation if the gradient has another shape, or comes too late
  void give(value of, value gradient, std::size_t element = 0) {
    if (!wants(of)) return;
    if (done_[of.vertex]) wrong("gives a gradient to '" + b_->so_far().operations[of.vertex].name + "' too late");
    const value fitting = fitted(of, gradient, element);
    const auto before = gradients_.find({of.vertex, element});
    if (before == gradients_.end()) {
      store(of, element, fitting);
    } else {
      b_->beside(at_, true);  // a first or a last layer may have nothing to add up
      store(of, element, b_->add(before->second, fitting));
      b_->beside(at_);
    }
    const std::vector<std::uint32_t>& own = here().inputs;
    const bool complete = users_[of.vertex] == 1 && std::ranges::find(own, of.vertex) != own.end();
    if (!complete || varies_[of.vertex]) return;
    const value stands = std::exchange(at_, of);
    visit(of);
    at_ = stands;
    b_->beside(at_);
  }

 private:
  [[nodiscard]] const operation& here() const { return b_->so_far().operations[at_.vertex]; }
  void store(value of, std::size_t element, value gradient) {
    gradients_.insert_or_assign({of.vertex, element}, gradient);
  }

  /// What is wanted, what depends on inputs, and how often a value is used.
  void look_back() {
    const std::vector<operation>& all = b_->so_far().operations;
    wanted_.resize(all.size());
    varies_.resize(all.size());
    done_.resize(all.size());
    users_.resize(all.size());
    for (std::uint32_t v = 0; v < all.size(); ++v) {
      const operation& op = all[v];
      const bool real = std::ranges::any_of(op.outputs, [](const tensor& t) { return has_gradients(t.type); });
      varies_[v] = op.kind == role::input;
      wanted_[v] = real && (op.kind == role::parameter || (op.kind == role::input && of_inputs_));
      for (const std::uint32_t input : op.inputs) {
        ++users_[input];
        if (varies_[input]) varies_[v] = true;
        if (wanted_[input] && real) wanted_[v] = true;
      }
      if (op.op == "getitem")
        elements_.try_emplace({op.inputs.at(0), static_cast<std::size_t>(op.with.index)}, value{v});
    }
  }

  /// Differentiates an operation whose gradient is complete.
  void visit(value v) {
    if (done_[v.vertex]) return;
    done_[v.vertex] = true;
    at_ = v;
    const auto first = gradients_.lower_bound({v.vertex, 0});
    if (first != gradients_.end() && first->first.first == v.vertex) {
      b_->beside(v);
      if (here().kind != role::none)
        b_->gradient(v, gradient());
      else
        apply_rule();
    }
    for (const std::uint32_t input : b_->so_far().operations[v.vertex].inputs) --users_[input];
  }
  void apply_rule() {
    const backward_rules::rule* own = b_->own_rule_of(at_);
    const backward_rules::rule* rule = own != nullptr ? own : rules_->of(here().op);
    if (rule == nullptr)
      wrong("no backward rule for operator '" + here().op +
            "'; add one to the backward rules, or give the value a "
            "gradient of its own");
    if (*rule) (*rule)(*this);
  }

  [[nodiscard]] value fitted(value of, value gradient, std::size_t element) {
    const tensor to = b_->elements_of(of).at(element);
    const shape_vector from = b_->of_value(gradient).shape;
    if (from != to.shape) {
      const std::size_t more = from.size() - std::min(from.size(), to.rank());
      shape_vector stretched;
      bool fits = from.size() >= to.rank();
      for (std::size_t d = 0; d < from.size(); ++d) {
        const std::int64_t extent = d < more ? 1 : to.shape[d - more];
        if (d < more || extent != from[d]) stretched.push_back(static_cast<std::int64_t>(d));
        fits = fits && (extent == from[d] || extent == 1);
      }
      if (!fits)
        wrong("gives '" + b_->so_far().operations[of.vertex].name + "' a gradient of shape " + text_of(from) +
              ", expected " + text_of(to.shape));
      const bool keep = stretched.size() > more;  // extents of 1 stay; leading dimensions go
      gradient = b_->sum(gradient, stretched, keep);
      if (keep && more > 0) gradient = b_->view(gradient, to.shape);
    }
    return b_->of_value(gradient).type == to.type ? gradient : b_->conv(gradient, to.type);
  }

  graph_builder* b_;
  const backward_rules* rules_;
  bool of_inputs_;
  value at_ = {};
  std::vector<bool> wanted_, varies_, done_;
  std::vector<std::uint32_t> users_;  // arguments of operations that are not done
  std::map<std::pair<std::uint32_t, std::size_t>, value> gradients_, elements_;
};

}  // namespace shardweave::inline v0
