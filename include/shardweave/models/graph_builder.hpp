#pragma once

#include <shardweave/models/shape_inference.hpp>
#include <shardweave/spmd/computation.hpp>

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
/// Writes a computation operation by operation, with shapes inferred: how a host describes its own model.

namespace shardweave::inline v0 {

class backward_pass;

/// Collects operations in topological order, and knows those for which the library has placement rules: each infers its
/// shapes and refuses operands that do not fit. Negative dimensions count from the last.
///
/// ```
/// graph_builder b("two layers");
/// const auto x = b.input("x", {{64, 512}, dtype::bf16});
/// const auto w = b.group("w1").parameter("w1", {{512, 2048}, dtype::bf16});
/// b.result(b.einsum("bk,kn->bn", {x, w}));
/// const computation graph = joint_graph(std::move(b));  // with the backward half; insert_aliases(b.finish()): without
/// ```
///
/// Where an operation belongs (phase, repeated layer, group) is set before it is added and stays until it is set again;
/// names are made of that and are unique. The n-th operation that is added to a layer in a phase has the same site in
/// every layer of that kind, so repeated layers are to be written in the same order of operations.
class graph_builder {
 public:
  /// What an operation gave: a handle into the builder that made it.
  struct value {
    std::uint32_t vertex = 0;
    friend bool operator==(const value&, const value&) = default;
  };

  explicit graph_builder(std::string name) { made_.name = std::move(name); }

  graph_builder& when(phase p) { return when_ = p, *this; }
  graph_builder& group(std::string name) { return group_ = std::move(name), *this; }
  /// \param index  which repetition; -1 outside repeated layers
  /// \param kind   layers of different structure have different kinds
  graph_builder& layer(std::int64_t index, const std::string& kind = "layers");
  /// What follows belongs to the layer and group of `v`, and its site is made of that of `v`: it is the same in every
  /// layer, whatever other operations a layer has.
  /// \param extra  for operations that some layers have and others have not; they are counted apart
  graph_builder& beside(value v, bool extra = false);

  // What comes from outside
  value parameter(std::string name, tensor what) { return source(std::move(name), "parameter", role::parameter, what); }
  value input(std::string name, tensor what) { return source(std::move(name), "input", role::input, what); }
  value constant(std::string name, tensor what) { return source(std::move(name), "constant", role::constant, what); }
  /// The incoming gradient of a result.
  value tangent(std::string name, value of);

  /// Any other operation: `op` is the key of its rules. More than one output makes a tuple.
  value apply(const std::string& op, const std::vector<value>& inputs, std::vector<tensor> outputs,
              attributes with = {});

  /// The graph returns `v`.
  void result(value v) { made_.results.push_back(v.vertex); }
  /// The graph returns `gradient`, which belongs to a parameter or an input.
  void gradient(value of, value gradient);

  /// `y` is differentiated by a rule of its own, in place of those of the operations it was made by: the rule gives the
  /// gradients of the values that it names, and none goes further back from `y`. An empty rule stops gradients.
  void with_gradient(value y, std::function<void(backward_pass&)> rule);
  /// The rule set so, or null.
  [[nodiscard]] const std::function<void(backward_pass&)>* own_rule_of(value y) const;

  /// What has been written up to now.
  [[nodiscard]] const computation& so_far() const { return made_; }
  /// What is known of a value; of a tuple, of its first element.
  [[nodiscard]] const tensor& of_value(value v) const { return elements_of(v).front(); }
  /// The elements of a tuple; of any other value, itself.
  [[nodiscard]] const std::vector<tensor>& elements_of(value v) const { return made_.operations[v.vertex].outputs; }

  /// Ends the graph with the vertex "output". The builder is empty afterwards.
  [[nodiscard]] computation finish();

  // Contractions and attention
  value einsum(const std::string& equation, const std::vector<value>& operands);
  /// Causal attention of q [B, H, S, h] on k [B, KV, S, h] and v [B, KV, S, h'], where H is a multiple of KV.
  /// Gives a tuple: output [B, H, S, h'], log-sum-exp [B, H, S], and two elements of random state.
  value sdpa(value q, value k, value v);
  /// Gives a tuple: the gradients of q, k and v.
  value sdpa_backward(value gradient, value q, value k, value v, value out, value sums, value seed, value offset);
  value getitem(value tuple, std::int64_t index);
  /// Rows of `weight` [V, D] chosen by whole numbers.
  value embedding(value weight, value indices);
  /// Adds up the gradients of equal rows; gives [rows, D].
  value embedding_backward(value gradient, value indices, std::int64_t rows);

  // Element by element
  value add(value a, value b) { return binary("add", a, b); }
  value sub(value a, value b) { return binary("sub", a, b); }
  value mul(value a, value b) { return binary("mul", a, b); }
  value div(value a, value b) { return binary("div", a, b); }
  value maximum(value a, value b) { return binary("maximum", a, b); }
  value minimum(value a, value b) { return binary("minimum", a, b); }
  value neg(value x) { return unary("neg", x); }
  value exp(value x) { return unary("exp", x); }
  value log(value x) { return unary("log", x); }
  value sigmoid(value x) { return unary("sigmoid", x); }
  value rsqrt(value x) { return unary("rsqrt", x); }
  value reciprocal(value x) { return unary("reciprocal", x); }
  value conj(value x) { return unary("conj", x); }
  value clone(value x) { return unary("clone", x); }
  value alias(value x) { return unary("alias", x); }
  value pow(value x, double exponent) { return unary("pow", x, exponent); }
  value add_scalar(value x, double constant) { return unary("add_scalar", x, constant); }
  value mul_scalar(value x, double constant) { return unary("mul_scalar", x, constant); }
  value div_scalar(value x, double constant) { return unary("div_scalar", x, constant); }
  /// constant - x
  value rsub_scalar(value x, double constant) { return unary("rsub_scalar", x, constant); }
  /// A conversion that the model itself asks for.
  value conv(value x, dtype to) { return converted("conv", x, to, of_value(x).contiguous); }
  /// A conversion that mixed precision adds: of a parameter, or of its gradient. It writes a tensor of its own, which
  /// is contiguous.
  value cast(value x, dtype to) { return converted("cast", x, to, true); }

  // Reductions and shapes; negative dimensions count from the last
  value sum(value x, shape_vector dims, bool keep_dims = false) { return reduce("sum", x, dims, keep_dims); }
  value mean(value x, shape_vector dims, bool keep_dims = false) { return reduce("mean", x, dims, keep_dims); }
  value amax(value x, shape_vector dims, bool keep_dims = false) { return reduce("amax", x, dims, keep_dims); }
  value amin(value x, shape_vector dims, bool keep_dims = false) { return reduce("amin", x, dims, keep_dims); }
  value permute(value x, const shape_vector& dims);
  value view(value x, shape_vector shape);
  /// Repeats extents of 1, and adds leading dimensions.
  value expand(value x, shape_vector shape);
  /// [..., 2] of f32 as [...] of c64.
  value view_as_complex(value x);
  value view_as_real(value x);

  // Along one dimension
  value softmax(value x, std::int64_t dim) { return along("softmax", {x}, dim); }
  value log_softmax(value x, std::int64_t dim) { return along("log_softmax", {x}, dim); }
  /// From the gradient of a softmax and its result.
  value softmax_backward(value gradient, value y, std::int64_t dim);
  /// The same of a log_softmax.
  value log_softmax_backward(value gradient, value y, std::int64_t dim);
  value cumsum(value x, std::int64_t dim) { return along("cumsum", {x}, dim); }
  /// Elements [first, first + length).
  value slice(value x, std::int64_t dim, std::int64_t first, std::int64_t length);
  /// The inverse of a slice: zeros around x, which starts at `first` of `length`.
  value pad(value x, std::int64_t dim, std::int64_t first, std::int64_t length);
  /// Gives a tuple: consecutive parts of these lengths.
  value split(value x, const shape_vector& lengths, std::int64_t dim);
  value cat(const std::vector<value>& parts, std::int64_t dim);
  /// Gives a tuple: the k largest elements, largest first, and their positions.
  value topk(value x, std::int64_t k, std::int64_t dim);

  // By number
  /// Elements of x along one dimension; the result has the shape of `indices`.
  value gather(value x, value indices, std::int64_t dim);
  /// Adds gradients of equal elements; gives `length` elements along the dimension.
  value gather_backward(value gradient, value indices, std::int64_t length, std::int64_t dim);
  /// x with `values` added where the indices say.
  value scatter_add(value x, value indices, value values, std::int64_t dim);
  /// How often each number below `bins` comes.
  value histogram(value numbers, std::int64_t bins);

  // The loss
  /// logits [..., C], classes [...] -> a tuple: loss of each row, and the logarithm of its sum of exponents.
  value cross_entropy(value logits, value classes);
  value cross_entropy_backward(value gradient, value logits, value classes, value sums);

  // Mixtures of experts, see `standard_rules`
  /// Tokens [G, S, D] and for each k experts [G, S, k] -> slots [E, G, capacity, D]: in each group the slots of an
  /// expert are taken in the order of tokens; a token that finds none is dropped there.
  value moe_dispatch(value tokens, value experts, std::int64_t count, std::int64_t capacity);
  /// The sum of a token's slots, each times its weight [G, S, k]; a dropped one counts as zero.
  value moe_combine(value slots, value experts, value weights);
  /// The same with weights of one: also the gradient of `moe_dispatch`.
  value moe_combine(value slots, value experts);
  /// Gives a tuple: the gradients of slots and of weights.
  value moe_combine_backward(value gradient, value slots, value experts, value weights);

 private:
  /// The name that the next operation of this kind gets, but for a number that makes it unique.
  [[nodiscard]] std::string next_name(std::string_view op) const;
  value source(std::string name, const char* op, role kind, tensor what);
  value append(operation op);
  std::uint64_t next_position();
  std::string unique(std::string name);
  value unary(const std::string& op, value x, double scalar = 0);
  value binary(const std::string& op, value a, value b);
  value converted(const char* op, value x, dtype to, bool contiguous);
  value reduce(const char* op, value x, const shape_vector& dims, bool keep_dims);
  [[nodiscard]] tensor fresh(value like) const { return {of_value(like).shape, of_value(like).type}; }
  void demand(bool holds, std::string_view op, const std::string& what) const;
  [[nodiscard]] std::size_t dim_of(std::string_view op, value x, std::int64_t dim) const;
  value along(const char* op, const std::vector<value>& inputs, std::int64_t dim);
  /// Equal extents in all dimensions but d.
  void demand_alike(std::string_view op, const shape_vector& shape, value indices, std::size_t d) const;
  [[nodiscard]] tensor combined(value slots, value experts) const;

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

#ifndef SHARDWEAVE_COMPILED
#include <shardweave/models/impl/graph_builder.hpp>
#include <shardweave/models/impl/graph_operators.hpp>
#endif
