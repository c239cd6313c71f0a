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
#include <shardweave/spmd/rules/pointwise.hpp>
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

constexpr std::array<std::string_view, 11> type_names = {"f64", "f32", "bf16", "f16",    "c64",   "i64",
                                                         "i32", "u8",  "bool", "f8e4m3", "f8e5m2"};
constexpr std::array<std::string_view, 5> role_names = {"none", "parameter", "input", "constant", "tangent"};

template <class Enum, std::size_t N>
Enum one_of(const std::array<std::string_view, N>& names, const std::string& name, const char* what) {
  if (const auto found = sw::enumerator_named<Enum>(names, name)) return *found;
  sw::refuse(sw::error_category::input, std::string("no ") + what + " is called '" + name + "'");
}

/// What the library knows, and element-wise operators of any kind. Others run replicated.
const sw::rule_table& all_rules() {
  static const sw::rule_table table = [] {
    sw::rule_table rules = sw::standard_rules();
    rules.add("pointwise", sw::pointwise_rule{});
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
      "has_rule", [](const std::string& op) { return all_rules().contains(op); }, nb::arg("op"),
      "Whether the library has a rule for an operator of this name; what has none is planned whole on every device.");
  nb::class_<computation_builder>(m, "ComputationBuilder",
                                  "Makes a computation, one operation after the other; `computation_of` does for a "
                                  "traced step.")
      .def(nb::init<std::string>(), nb::arg("name"))
      .def("__len__", &computation_builder::size)
      .def("add", &computation_builder::add, nb::arg("name"), nb::arg("op"), nb::arg("role"), nb::arg("backward"),
           nb::arg("inputs"), nb::arg("outputs"), nb::arg("equation"), nb::arg("dims"), nb::arg("index"),
           nb::arg("keep_dims"), nb::arg("scalar"), nb::arg("group"),
           "The number of a new operation. `outputs` have sizes, element type (\"bf16\") and whether they are "
           "contiguous; `role` is none, parameter, input, constant or tangent.")
      .def("gradient", &computation_builder::gradient, nb::arg("of"), nb::arg("value"),
           "Says that an operation gives the gradient of a parameter: both lie alike.")
      .def("tangent", &computation_builder::tangent, nb::arg("of"), nb::arg("value"),
           "Says that an operation is the gradient that comes in for a result.")
      .def("result", &computation_builder::result, nb::arg("value"), "Says that the computation gives this.")
      .def("place", &computation_builder::place, nb::arg("mesh"), nb::arg("machine"), nb::arg("inputs") = nb::none(),
           nb::arg("share") = 0.0, nb::arg("memory") = nb::none(), nb::arg("seconds") = 5.0, nb::arg("uses") = false,
           "Plans where all lies; `plan_computation` says what the arguments are.");
}
