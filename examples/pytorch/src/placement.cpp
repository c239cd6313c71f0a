#include "placement.hpp"

#include <shardweave/core/control.hpp>
#include <shardweave/core/enumerator_named.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/phase.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/models/alias_pass.hpp>
#include <shardweave/planner.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/spmd/computation.hpp>
#include <shardweave/spmd/mesh.hpp>
#include <shardweave/spmd/rules.hpp>
#include <shardweave/spmd/rules/attention.hpp>
#include <shardweave/spmd/rules/letters.hpp>
#include <shardweave/spmd/rules/pointwise.hpp>
#include <shardweave/spmd/rules/selection.hpp>
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/standard_rules.hpp>
#include <shardweave/spmd/training_constraints.hpp>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

/// \file
/// Placement of computations that come from PyTorch: operators, and what the planner answers.

namespace nb = nanobind;
namespace sw = shardweave;

namespace {

using shape = std::vector<std::int64_t>;
/// Sizes, name of the element type, whether it is contiguous.
using stated_tensor = std::tuple<shape, std::string, bool>;

constexpr std::array<std::string_view, 9> type_names = {"f64", "f32", "bf16", "f16", "c64", "i64", "i32", "u8", "bool"};
constexpr std::array<std::string_view, 5> role_names = {"none", "parameter", "input", "constant", "tangent"};

template <class Enum, std::size_t N>
Enum one_of(const std::array<std::string_view, N>& names, const std::string& name, const char* what) {
  if (const auto found = sw::enumerator_named<Enum>(names, name)) return *found;
  sw::refuse(sw::error_category::input, std::string("no ") + what + " is called '" + name + "'");
}

/// Attention as PyTorch calls it: a mask may follow that is the same for all heads, or for the whole batch, and is then
/// whole where the others are cut.
struct masked_attention_rule {
  std::size_t query = 0;

  [[nodiscard]] std::vector<sw::dim_strategy> operator()(const sw::operation_view& view, std::int64_t extent) const {
    std::vector<sw::dim_strategy> ways;
    const sw::attention_rule plain{.query = query};
    for (sw::dim_strategy& way : plain(view, extent)) {
      for (std::size_t i = 0; i < way.inputs.size(); ++i) {
        const sw::tensor& given = view.whole_inputs[i];
        if (way.inputs[i].is_sharded() && given.shape[way.inputs[i].dim()] == 1 && i > query + 2)
          way.inputs[i] = sw::dim_placement();
      }
      ways.push_back(std::move(way));
    }
    return ways;
  }
};

/// x, indices -> x with dimension `dims[0]` replaced by those of the indices: any other dimension may be cut, or one of
/// the indices.
struct index_rule {
  static constexpr bool moves_data_only = true;
  [[nodiscard]] std::vector<sw::dim_strategy> operator()(const sw::operation_view& view, std::int64_t) const {
    const sw::dim_placement whole;
    std::vector<sw::dim_strategy> ways{{{whole}, {whole, whole}}};
    const auto at = static_cast<std::size_t>(view.op.with.dims.front());
    const std::size_t wide = view.whole_inputs[1].rank();
    for (std::size_t d = 0; d < view.whole_inputs[0].rank(); ++d)
      if (d != at)
        ways.push_back({{sw::dim_placement::shard(d < at ? d : d + wide - 1)}, {sw::dim_placement::shard(d), whole}});
    for (std::size_t d = 0; d < wide; ++d)
      ways.push_back({{sw::dim_placement::shard(at + d)}, {whole, sw::dim_placement::shard(d)}});
    return ways;
  }
};

/// Values [.., indices, ..], indices -> x with dimension `dims[0]`, equal rows added up: the reverse of an index.
struct index_backward_rule {
  static constexpr bool moves_data_only = true;
  [[nodiscard]] std::vector<sw::dim_strategy> operator()(const sw::operation_view& view, std::int64_t) const {
    const sw::dim_placement whole;
    const sw::dim_placement sums = sw::dim_placement::partial();
    std::vector<sw::dim_strategy> ways{{{whole}, {whole, whole}}, {{sums}, {sums, whole}}};
    const auto at = static_cast<std::size_t>(view.op.with.dims.front());
    const std::size_t wide = view.whole_inputs[1].rank();
    for (std::size_t d = 0; d < view.op.outputs.front().rank(); ++d)
      if (d != at)
        ways.push_back({{sw::dim_placement::shard(d)}, {sw::dim_placement::shard(d < at ? d : d + wide - 1), whole}});
    for (std::size_t d = 0; d < wide; ++d)
      ways.push_back({{sums}, {sw::dim_placement::shard(at + d), sw::dim_placement::shard(d)}});
    return ways;
  }
};

/// A reduction that does not come apart, such as a product or an argmax: cut where nothing is reduced.
struct row_rule {
  static constexpr bool moves_data_only = true;
  [[nodiscard]] std::vector<sw::dim_strategy> operator()(const sw::operation_view& view, std::int64_t) const {
    const std::size_t rank = view.whole_inputs.front().rank();
    std::vector<sw::dim_strategy> ways{
        {std::vector<sw::dim_placement>(view.outputs.size()), std::vector<sw::dim_placement>(view.inputs.size())}};
    std::size_t lost = 0;
    for (std::size_t d = 0; d < rank; ++d) {
      const shape& dims = view.op.with.dims;
      if (dims.empty() || std::find(dims.begin(), dims.end(), static_cast<std::int64_t>(d)) != dims.end()) {
        lost += view.op.with.keep_dims ? 0U : 1U;
        continue;
      }
      ways.push_back({std::vector<sw::dim_placement>(view.outputs.size(), sw::dim_placement::shard(d - lost)),
                      std::vector<sw::dim_placement>(view.inputs.size(), sw::dim_placement::shard(d))});
    }
    return ways;
  }
};

/// Works on each picture and channel for itself: pooling, resizing.
struct channel_rule {
  static constexpr bool moves_data_only = true;
  [[nodiscard]] std::vector<sw::dim_strategy> operator()(const sw::operation_view& view, std::int64_t) const {
    std::vector<sw::dim_strategy> ways;
    for (const auto p : {sw::dim_placement(), sw::dim_placement::shard(0), sw::dim_placement::shard(1)})
      ways.push_back({std::vector<sw::dim_placement>(view.outputs.size(), p),
                      std::vector<sw::dim_placement>(view.inputs.size(), p)});
    return ways;
  }
};

/// Two operations per element of the result `result`, and element of the weight but for its first dimension, times
/// `each` for every tensor that the backward pass gives.
struct convolution_flops {
  bool backward = false;

  [[nodiscard]] double operator()(const sw::operation_view& view) const {
    const sw::tensor& result = backward ? view.inputs[0] : view.outputs.front();
    const sw::tensor& weight = backward ? view.inputs[2] : view.inputs[1];
    const double each = static_cast<double>(weight.element_count()) / static_cast<double>(weight.shape.front());
    return 2 * static_cast<double>(result.element_count()) * each *
           (backward ? static_cast<double>(view.outputs.size()) : 1.0);
  }
};

/// Convolutions in one to three dimensions of space: cut by pictures, by channels that come in or that go out. Where
/// channels are apart (`depthwise`) those are one, where they are in groups only pictures are cut.
void add_convolutions(sw::rule_table& rules) {
  const sw::operator_cost forward{.flops = convolution_flops{}};
  const sw::operator_cost backward{.flops = convolution_flops{.backward = true}};
  const std::array<std::array<std::string, 3>, 3> letters{{{"i", "p", "y"}, {"ij", "pq", "yx"}, {"ijk", "pqr", "yxw"}}};
  for (std::size_t d = 0; d < 3; ++d) {
    const auto& [in, window, out] = letters[d];
    const std::string number = std::to_string(d + 1);
    const std::string x = "nc" + in, w = "oc" + window, y = "no" + out, whole = in + window + out;
    rules.add("convolution" + number, sw::letter_rule{x + "," + w + "->" + y, whole}, forward);
    rules.add("convolution_backward" + number, sw::letter_rule{y + "," + x + "," + w + "->" + x + "," + w, whole},
              backward);
    rules.add("convolution_backward_weight" + number, sw::letter_rule{y + "," + x + "," + w + "->" + w, whole},
              backward);
    const std::string own = "cz" + window, z = "nc" + out;
    rules.add("depthwise_convolution" + number, sw::letter_rule{x + "," + own + "->" + z, whole + "z"}, forward);
    rules.add("depthwise_convolution_backward" + number,
              sw::letter_rule{z + "," + x + "," + own + "->" + x + "," + own, whole + "z"}, backward);
    const std::string part = "ob" + window;
    rules.add("grouped_convolution" + number, sw::letter_rule{x + "," + part + "->" + y, whole + "bco"}, forward);
    rules.add("grouped_convolution_backward" + number,
              sw::letter_rule{y + "," + x + "," + part + "->" + x + "," + part, whole + "bco"}, backward);
  }
}

/// What the library knows, and operators that PyTorch has besides. Others run replicated.
const sw::rule_table& all_rules() {
  static const sw::rule_table table = [] {
    sw::rule_table rules = sw::standard_rules();
    rules.add("pointwise", sw::pointwise_rule{});
    rules.add("attention", masked_attention_rule{},
              {.flops = sw::attention_flops{}, .kernel = sw::kernel_kind::attention});
    rules.add("attention_backward", masked_attention_rule{.query = 1},
              {.flops = sw::attention_flops{.query = 1, .with_keys = 3, .with_values = 2},
               .kernel = sw::kernel_kind::attention_backward});
    rules.add("index", index_rule{});
    rules.add("index_backward", index_backward_rule{});
    rules.add("row_reduction", row_rule{});
    rules.add("channelwise", channel_rule{});
    rules.add("line", sw::line_rule{}, {.moves_data_only = true});
    add_convolutions(rules);
    rules.replicate_unknown();
    return rules;
  }();
  return table;
}

/// Seconds that went by.
double since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Collects operations, and plans where their results lie.
class computation_builder {
 public:
  explicit computation_builder(std::string name) { made_.name = std::move(name); }

  std::uint32_t add(std::string name, std::string op, const std::string& role, bool backward,
                    std::vector<std::uint32_t> inputs, const std::vector<stated_tensor>& outputs, std::string equation,
                    std::vector<std::int64_t> dims, std::int64_t index, bool keep_dims, double scalar,
                    std::string group) {
    sw::operation o;
    o.name = std::move(name);
    o.op = std::move(op);
    o.when = backward ? sw::phase::backward : sw::phase::forward;
    o.kind = one_of<sw::role>(role_names, role, "role");
    o.inputs = std::move(inputs);
    for (const std::uint32_t i : o.inputs)
      if (i >= made_.operations.size())
        sw::refuse(sw::error_category::input, "operation '" + o.name + "' takes result " + std::to_string(i) +
                                                  ", but there are only " + std::to_string(made_.operations.size()));
    for (const auto& [sizes, type, contiguous] : outputs)
      o.outputs.push_back({sizes, one_of<sw::dtype>(type_names, type, "element type"), contiguous});
    o.with = {std::move(equation), std::move(dims), index, keep_dims, scalar};
    o.group = std::move(group);
    made_.operations.push_back(std::move(o));
    return static_cast<std::uint32_t>(made_.operations.size() - 1);
  }
  void gradient(std::uint32_t of, std::uint32_t value) { made_.gradient_of.emplace_back(of, value); }
  void tangent(std::uint32_t of, std::uint32_t value) { made_.tangent_of.emplace_back(of, value); }
  void result(std::uint32_t value) { made_.results.push_back(value); }
  [[nodiscard]] std::size_t size() const { return made_.operations.size(); }

  [[nodiscard]] nb::dict place(const std::vector<std::int64_t>& mesh, const machine& on,
                               const std::optional<std::string>& inputs, std::optional<double> share,
                               std::optional<std::int64_t> memory, double seconds, bool uses) const {
    const auto begin = std::chrono::steady_clock::now();
    std::optional<sw::solution<double>> answer;
    std::optional<sw::spmd_cost_model> model;
    {
      const nb::gil_scoped_release others_may_run;
      sw::computation whole = made_;
      sw::operation last;
      last.name = "output";
      last.op = "output";
      last.inputs = whole.results;
      last.when = sw::phase::backward;
      whole.operations.push_back(std::move(last));
      model.emplace(sw::insert_aliases(whole), sw::device_mesh(mesh), on.compute(), on.model(), all_rules());
      sw::training_options options;
      if (inputs) options.inputs = sw::sharding::parse(*inputs);
      options.parameter_share = share;
      if (memory) options.device_memory = sw::bytes(*memory);
      const auto constraints = sw::training_constraints(*model, options);
      answer =
          sw::planner(model->graph(), *model, constraints).solve({.seconds = std::max(0.1, seconds - since(begin))});
    }
    nb::dict told;
    told["seconds"] = since(begin);
    told["status"] = std::string(sw::name_of(answer->status));
    told["objective_us"] = answer->objective;
    told["lower_bound_us"] = answer->lower_bound;
    nb::dict where;
    if (answer->has_assignment())
      for (std::uint32_t v = 0; v < model->operations().operations.size(); ++v) {
        const sw::operation& o = model->operations().operations[v];
        if (o.kind == sw::role::none) continue;
        where[o.name.c_str()] = model->strategies(v).strategies[answer->choice[v]].outputs.front().to_string();
      }
    told["placements"] = where;
    if (uses && answer->has_assignment()) told["uses"] = uses_of(*model, answer->choice);
    std::size_t strategies = 0;
    for (std::uint32_t v = 0; v < model->operations().operations.size(); ++v) strategies += model->strategy_count(v);
    told["strategies"] = strategies;
    told["operations"] = model->operations().operations.size();
    return told;
  }

 private:
  /// By name of an operation: where its arguments lie as it takes them, and where its results lie.
  template <class Choice>
  static nb::dict uses_of(const sw::spmd_cost_model& model, const Choice& choice) {
    nb::dict all;
    for (std::uint32_t v = 0; v < model.operations().operations.size(); ++v) {
      const sw::mesh_strategy& taken = model.strategies(v).strategies[choice[v]];
      std::vector<std::string> in, out;
      for (const sw::sharding& s : taken.inputs) in.push_back(s.to_string());
      for (const sw::sharding& s : taken.outputs) out.push_back(s.to_string());
      all[model.operations().operations[v].name.c_str()] = nb::make_tuple(in, out);
    }
    return all;
  }

  sw::computation made_;
};

}  // namespace

void bind_placement(nb::module_& m) {
  m.def(
      "has_rule", [](const std::string& op) { return all_rules().contains(op); }, nb::arg("op"));
  nb::class_<computation_builder>(m, "ComputationBuilder")
      .def(nb::init<std::string>(), nb::arg("name"))
      .def("__len__", &computation_builder::size)
      .def("add", &computation_builder::add, nb::arg("name"), nb::arg("op"), nb::arg("role"), nb::arg("backward"),
           nb::arg("inputs"), nb::arg("outputs"), nb::arg("equation"), nb::arg("dims"), nb::arg("index"),
           nb::arg("keep_dims"), nb::arg("scalar"), nb::arg("group"))
      .def("gradient", &computation_builder::gradient, nb::arg("of"), nb::arg("value"))
      .def("tangent", &computation_builder::tangent, nb::arg("of"), nb::arg("value"))
      .def("result", &computation_builder::result, nb::arg("value"))
      .def("place", &computation_builder::place, nb::arg("mesh"), nb::arg("machine"), nb::arg("inputs") = nb::none(),
           nb::arg("share") = 0.0, nb::arg("memory") = nb::none(), nb::arg("seconds") = 5.0, nb::arg("uses") = false);
}
