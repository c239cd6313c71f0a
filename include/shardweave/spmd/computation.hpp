#pragma once

#include <shardweave/core/phase.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/spmd/tensor.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// \file
/// A graph of tensor operations, as a front end hands it in: what is computed, not yet where.

namespace shardweave::inline v0 {

/// What an operation without inputs stands for; all others, the graph's "output" among them, have `none`. A `tangent`
/// is the gradient of a result that comes in from outside (a cotangent; PyTorch's AOTAutograd calls it a tangent).
enum class role : std::uint8_t { none, parameter, input, constant, tangent };

/// What an operator needs to know beside its inputs. Which fields count is the operator's business.
struct attributes {
  std::string equation = {};            ///< einsum: "bsk,kn->bsn"
  std::vector<std::int64_t> dims = {};  ///< permutation of permute, reduced dimensions of sum and mean, dim of cat ...
  std::int64_t index = 0;               ///< getitem: element of the tuple
  bool keep_dims = false;               ///< reductions
  double scalar = 0;  ///< the constant of add_scalar, mul_scalar, div_scalar, rsub_scalar; exponent of pow
  friend bool operator==(const attributes&, const attributes&) = default;
};

/// One operation. `inputs` are indices of earlier operations, one per tensor argument, in argument order;
/// an operation that uses a value twice names it twice.
struct operation {
  std::string name;  ///< unique in its graph, or empty
  std::string op;    ///< key of the rule table: "einsum", "mul", "permute", ...
  phase when = phase::forward;
  role kind = role::none;
  std::vector<std::uint32_t> inputs;
  std::vector<tensor> outputs;  ///< one, or one per element of a tuple; none for "output"
  attributes with = {};
  std::string group = {};   ///< for reports: which kind of parameter, which part of the model ("wq", "norm")
  std::int64_t layer = -1;  ///< repeated layer, or -1
  std::uint64_t site = 0;   ///< equal for the same operation of every repeated layer; 0 = none, or not told
};

/// Operations in topological order, and which of them belong together.
struct computation {
  std::string name;
  std::vector<operation> operations;
  /// pairs: a parameter or an input, and the operation whose value is its gradient
  std::vector<std::pair<std::uint32_t, std::uint32_t>> gradient_of;
  /// pairs: a result, and the tangent that comes in for it
  std::vector<std::pair<std::uint32_t, std::uint32_t>> tangent_of;
  std::vector<std::uint32_t> results;  ///< what the graph returns, in order

  /// Vertex i is operation i; the edges of an operation's arguments come in argument order.
  /// \throws error if an operation names an input that does not exist
  [[nodiscard]] compressed_graph graph() const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;
    for (std::uint32_t v = 0; v < operations.size(); ++v)
      for (const std::uint32_t input : operations[v].inputs) ends.emplace_back(input, v);
    return compressed_graph(operations.size(), ends);
  }
};

}  // namespace shardweave::inline v0
