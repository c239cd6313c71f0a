#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/mesh.hpp>
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/tensor.hpp>

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// \file
/// What an operator may do with sharded tensors: rules, and the table that a host extends with its own.

namespace shardweave::inline v0 {

/// An operation as its rule sees it, between two cuts: `inputs` and `outputs` have the shapes that are left
/// after the mesh dimensions decided so far, `whole_inputs` and `op.outputs` those before any cut.
struct operation_view {
  const operation& op;
  std::span<const tensor> whole_inputs;
  std::span<const tensor> inputs;
  std::span<const tensor> outputs;
};

namespace detail {
/// \throws error (input) naming the operation if it lacks arguments or results, or if a first one lacks dimensions
inline void demand_tensors(const operation_view& view, std::size_t arguments, std::size_t results = 1,
                           std::size_t from = 0, std::size_t least_rank = 0) {
  const std::string who = "operation '" + view.op.name + "' (" + view.op.op + ") ";
  if (view.inputs.size() < arguments || view.outputs.size() < results)
    refuse(error_category::input, who + "has " + std::to_string(view.inputs.size()) + " arguments and " +
                                      std::to_string(view.outputs.size()) + " results, expected " +
                                      std::to_string(arguments) + " and " + std::to_string(results));
  for (std::size_t a = from; a < arguments; ++a)
    if (view.inputs[a].rank() < least_rank)
      refuse(error_category::input, who + "has an argument " + std::to_string(a) + " of " +
                                        std::to_string(view.inputs[a].rank()) + " dimensions, expected " +
                                        std::to_string(least_rank));
}
}  // namespace detail

/// One way to run an operation along one mesh dimension: if the arguments lie like `inputs`, then running the
/// operator on the pieces gives results that lie like `outputs`.
struct dim_strategy {
  std::vector<dim_placement> outputs;  ///< one per element of the result
  std::vector<dim_placement> inputs;   ///< one per tensor argument
  friend bool operator==(const dim_strategy&, const dim_strategy&) = default;
};

/// The same along a whole mesh. "No tensor" is allowed for results that nobody uses.
struct mesh_strategy {
  std::vector<sharding> outputs;
  std::vector<sharding> inputs;
  friend bool operator==(const mesh_strategy&, const mesh_strategy&) = default;
};

/// Lists the ways along a mesh dimension of so many devices. Cuts that leave a device without an element
/// need not be left out; they are dropped afterwards. Called once per mesh dimension for every way chosen
/// along those before it; the strategies of the mesh are all combinations.
template <class F>
concept dim_rule = std::copy_constructible<F> && requires(const F& rule, const operation_view& view, std::int64_t n) {
  { rule(view, n) } -> std::convertible_to<std::vector<dim_strategy>>;
};

/// Says where the result lies if the first argument lies so, or nothing if that cannot be kept up. The
/// strategies of the mesh are one per distinct placement that the argument's producer offers; if none of those can be
/// kept up, the one for a whole argument.
template <class F>
concept follow_rule = std::copy_constructible<F> &&
                      requires(const F& rule, const operation_view& view, dim_placement first_input, std::int64_t n) {
                        { rule(view, first_input, n) } -> std::convertible_to<std::optional<dim_strategy>>;
                      };

/// Lists the strategies of the whole mesh itself.
template <class F>
concept mesh_rule =
    std::copy_constructible<F> && requires(const F& rule, const operation_view& view, const device_mesh& mesh) {
      { rule(view, mesh) } -> std::convertible_to<std::vector<mesh_strategy>>;
    };

/// Arguments of an operator that it can take in any parts, one part after the other, adding up what they give: keys and
/// values of attention. Where they are cut along dimension `dim` of theirs, the parts go round (`block_ring`).
struct ring_arguments {
  std::size_t first = 0;  ///< the first of them
  std::size_t count = 1;  ///< which follow each other, and are cut alike
  std::size_t dim = 0;
  std::size_t first_sum =
      0;                 ///< of the results that belong to parts, and go round with them: gradients of the arguments
  std::size_t sums = 0;  ///< how many; none: all results stay with what else the operator takes
  friend bool operator==(const ring_arguments&, const ring_arguments&) = default;
};

/// What an operator costs beside its data. Exactly one of `is_view`, `flops` and `moves_data_only` is said.
struct operator_cost {
  /// Costs nothing: only the description of the tensor changes.
  bool is_view = false;
  /// Floating-point operations on the local shapes of the view: finite, not negative.
  std::function<double(const operation_view&)> flops = {};
  /// Whose share of the peak those operations reach.
  kernel_kind kernel = kernel_kind::matrix_product;
  /// Costs what reading its arguments and writing its results takes, and computes nothing that takes longer.
  bool moves_data_only = false;
  /// Bytes that it moves, on the local shapes of the view, where it does not read every argument and write every
  /// result once: an operator that reads its argument twice, for example.
  std::function<bytes(const operation_view&)> moved = {};
  /// What of it goes round where it is cut. Operations and bytes are then those of one part.
  std::optional<ring_arguments> ring = {};
};

/// Rules of operators that move data by their nature: element-wise ones, reductions, copies. They say so in a static
/// member `moves_data_only`, so that `rule_table::add` need not be told.
template <class Rule>
concept data_moving_rule = requires { requires Rule::moves_data_only; };

/// Rules by operator name. A copy is a table of its own.
///
/// ```
/// rule_table rules = standard_rules();
/// rules.add("gelu", pointwise_rule{});
/// rules.add("row_softmax", [](const operation_view& view, std::int64_t) {  // rows apart, columns together
///   return std::vector<dim_strategy>{{{dim_placement::replicate()}, {dim_placement::replicate()}},
///                                    {{dim_placement::shard(0)}, {dim_placement::shard(0)}}};
/// }, {.moves_data_only = true});
/// ```
class rule_table {
 public:
  using dim_function = std::function<std::vector<dim_strategy>(const operation_view&, std::int64_t)>;
  using follow_function =
      std::function<std::optional<dim_strategy>(const operation_view&, dim_placement, std::int64_t)>;
  using mesh_function = std::function<std::vector<mesh_strategy>(const operation_view&, const device_mesh&)>;
  /// The rule of an operator, and what the operator costs.
  struct entry {
    std::variant<dim_function, follow_function, mesh_function> rule;
    operator_cost cost;
    [[nodiscard]] bool follows() const { return std::holds_alternative<follow_function>(rule); }
  };

  /// Sets the rule of an operator, in place of the one it had.
  /// \param cost  may be left out for a `data_moving_rule`
  /// \throws error naming the operator if the cost says nothing, or two things at once
  template <class Rule>
  rule_table& add(std::string op, Rule rule, operator_cost cost = {.moves_data_only = data_moving_rule<Rule>}) {
    static_assert(dim_rule<Rule> || follow_rule<Rule> || mesh_rule<Rule>,
                  "a rule is called with (operation_view, extent), (operation_view, dim_placement, extent) or "
                  "(operation_view, device_mesh) and lists strategies");
    if constexpr (mesh_rule<Rule>) {
      return set(std::move(op), mesh_function(std::move(rule)), std::move(cost));
    } else if constexpr (follow_rule<Rule>) {
      return set(std::move(op), follow_function(std::move(rule)), std::move(cost));
    } else if constexpr (dim_rule<Rule>) {
      return set(std::move(op), dim_function(std::move(rule)), std::move(cost));
    } else {
      return *this;  // refused above, in one sentence
    }
  }

  /// Operators without a rule run replicated, at the cost of moving their data, instead of being refused.
  rule_table& replicate_unknown(bool yes = true) { return replicates_unknown_ = yes, *this; }

  /// The rule of an operation.
  /// \throws error naming the operation if its operator has none
  [[nodiscard]] const entry& of(const operation& op) const {
    const auto at = entries_.find(op.op);
    if (at != entries_.end()) return at->second;
    if (replicates_unknown_) return unknown_;
    refuse(error_category::input, "operation '" + op.name + "': no placement rule for operator '" + op.op +
                                      "'; add one to the rule table, or let it replicate unknown operators");
  }
  [[nodiscard]] bool contains(std::string_view op) const { return entries_.find(op) != entries_.end(); }
  /// Names of the operators that have a rule, in alphabetical order.
  [[nodiscard]] std::vector<std::string> operators() const {
    std::vector<std::string> names;
    for (const auto& [name, rule] : entries_) names.push_back(name);
    return names;
  }

 private:
  template <class Function>
  rule_table& set(std::string op, Function rule, operator_cost cost) {
    const int said = (cost.is_view ? 1 : 0) + (cost.flops ? 1 : 0) + (cost.moves_data_only ? 1 : 0);
    if (said != 1)
      refuse(error_category::input, "the rule of operator '" + op + "' " +
                                        (said == 0 ? "does not say what it costs: its computation would be free"
                                                   : "says twice what it costs") +
                                        "; expected one of flops, moves_data_only and is_view");
    entries_.insert_or_assign(std::move(op), entry{std::move(rule), std::move(cost)});
    return *this;
  }
  [[nodiscard]] static std::vector<dim_strategy> replicated(const operation_view& view, std::int64_t) {
    return {{std::vector<dim_placement>(view.outputs.size()), std::vector<dim_placement>(view.inputs.size())}};
  }

  std::map<std::string, entry, std::less<>> entries_;
  entry unknown_ = {dim_function(&rule_table::replicated), {.moves_data_only = true}};
  bool replicates_unknown_ = false;
};

}  // namespace shardweave::inline v0
