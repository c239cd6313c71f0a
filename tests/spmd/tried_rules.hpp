#pragma once

#include "spmd/simulated_mesh.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/spmd/standard_rules.hpp>
#include <shardweave/spmd/strategies.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

/// Every strategy that a rule offers is carried out on tiny tensors: the arguments are laid out as it says, the
/// operator runs on each device's pieces, and the results put together must be the operator's result.
namespace tried_rules {

using namespace shardweave;
using shardweave_test::is_small_scale;
using simulated::array;
using simulated::pieces;

/// Which dimension of which argument is picked from by number, or of the result, which counts behind the arguments, and
/// by which argument: a device that holds a part of it sees the numbers of its own part, and others as numbers out of
/// range.
struct picking {
  std::size_t from = 0;
  std::size_t dim = 0;
  std::size_t by = 1;
};

/// "4x6 6i" are two tensors, the second of whole numbers; b are truth values, c complex numbers, s has no dimensions.
inline std::vector<tensor> tensors_of(std::istringstream words) {
  std::vector<tensor> all;
  for (std::string word; words >> word;) {
    tensor t;
    for (std::size_t at = 0; at < word.size(); ++at) {
      if (word[at] >= '0' && word[at] <= '9') {
        std::size_t digits = 0;
        t.shape.push_back(std::stoll(word.substr(at), &digits));
        at += digits - 1;
      }
      if (word[at] == 'i') t.type = dtype::i64;
      if (word[at] == 'b') t.type = dtype::boolean;
      if (word[at] == 'c') t.type = dtype::c64;
    }
    all.push_back(std::move(t));
  }
  return all;
}

/// An operation alone: sources in front of it, a value that it may follow among them in every way it can lie.
struct trial {
  std::string op;
  std::vector<tensor> inputs;
  std::vector<tensor> outputs;
  attributes with = {};
  std::size_t limit = 0;  ///< whole numbers among the inputs are below
  std::optional<picking> picks = std::nullopt;

  /// \param shapes   "4x6 6x5 -> 4x5"
  /// \param options  dims 0,1; index 2; scalar 3; keep; einsum ab->ba; below 7; picks 0,1,2 (from, dim, by)
  trial(std::string name, const std::string& shapes, const std::string& options = "") : op(std::move(name)) {
    const std::size_t arrow = shapes.find("->");
    inputs = tensors_of(std::istringstream(shapes.substr(0, arrow)));
    outputs = tensors_of(std::istringstream(shapes.substr(arrow + 2)));
    std::istringstream words(options);
    for (std::string word, rest; words >> word;) {
      if (word == "keep") with.keep_dims = true;
      if (word == "einsum") words >> with.equation;
      if (word == "index") words >> with.index;
      if (word == "scalar") words >> with.scalar;
      if (word == "below") words >> limit;
      if (word != "dims" && word != "picks") continue;
      words >> rest;
      std::vector<std::int64_t> numbers;
      for (std::size_t at = 0; at < rest.size(); at += 2) numbers.push_back(rest[at] - '0');
      if (word == "dims") {
        with.dims = numbers;
      } else {
        const auto n = [&](std::size_t i) { return static_cast<std::size_t>(numbers[i]); };
        picks = picking{n(0), n(1), n(2)};
      }
    }
  }
};

/// Gives the argument of a follower all placements, partial ones too.
inline std::vector<mesh_strategy> every_placement(const operation_view& view, const device_mesh& mesh) {
  std::vector<dim_placement> choices{dim_placement()};
  const tensor& value = view.outputs.front();
  for (std::size_t d = 0; d < value.rank(); ++d) choices.push_back(dim_placement::shard(d));
  for (const auto kind : {partial_kind::sum, partial_kind::avg, partial_kind::mask})
    choices.push_back(dim_placement::partial(kind));
  if (value.type != dtype::c64)
    for (const auto kind : {partial_kind::max, partial_kind::min}) choices.push_back(dim_placement::partial(kind));
  std::vector<mesh_strategy> all{{{sharding(mesh.rank())}, {}}};
  for (std::size_t d = 0; d < mesh.rank(); ++d) {
    std::vector<mesh_strategy> longer;
    for (const mesh_strategy& s : all)
      for (const dim_placement p : choices) longer.push_back({{s.outputs[0].with(d, p)}, {}});
    all = std::move(longer);
  }
  return all;
}

inline computation graph_of(const trial& t, const std::vector<std::vector<std::int64_t>>& in_shapes,
                            const std::vector<std::vector<std::int64_t>>& out_shapes) {
  computation graph;
  operation op{"tested", t.op, phase::forward, role::none, {}, t.outputs, t.with};
  for (std::size_t a = 0; a < t.inputs.size(); ++a) {
    tensor in = t.inputs[a];
    in.shape = in_shapes[a];
    graph.operations.push_back({"in" + std::to_string(a), "source", phase::forward, role::input, {}, {in}});
    op.inputs.push_back(static_cast<std::uint32_t>(a));
  }
  for (std::size_t k = 0; k < t.outputs.size(); ++k) op.outputs[k].shape = out_shapes[k];
  graph.operations.push_back(std::move(op));
  return graph;
}

inline computation graph_of(const trial& t) {
  std::vector<std::vector<std::int64_t>> in;
  std::vector<std::vector<std::int64_t>> out;
  for (const tensor& x : t.inputs) in.push_back(x.shape);
  for (const tensor& x : t.outputs) out.push_back(x.shape);
  return graph_of(t, in, out);
}

/// The operator on plain arrays. `held` are the numbers of the elements along the dimension that is picked from.
inline std::vector<array> execute(const trial& t, std::vector<array> inputs,
                                  const std::vector<std::vector<std::int64_t>>& out, const array* held) {
  if (interpreter::count(inputs[0].shape) == 0) {  // a device without elements
    std::vector<array> nothing;
    for (const auto& shape : out) nothing.push_back(interpreter::zeros(shape));
    return nothing;
  }
  if (held != nullptr)
    for (auto& number : inputs[t.picks->by].data) {
      const auto at = std::ranges::find(held->data, number);
      number = at == held->data.end() ? 1e9 : static_cast<double>(at - held->data.begin());
    }
  std::map<std::string, array> sources;
  std::vector<std::vector<std::int64_t>> in;
  for (std::size_t a = 0; a < inputs.size(); ++a) {
    in.push_back(inputs[a].shape);
    sources["in" + std::to_string(a)] = std::move(inputs[a]);
  }
  return interpreter::run(graph_of(t, in, out), sources).back();
}

/// Whole arguments: numbers of either sign and not near zero, whole numbers below the limit, truth values.
inline array random_argument(const trial& t, const tensor& like, random_source& random) {
  array x = interpreter::zeros(like.shape);
  const bool is_positive = t.op == "log" || t.op == "sqrt" || t.op == "rsqrt";
  const auto real = [&] { return (is_positive || random.unit() < 0.5 ? 1 : -1) * (0.5 + random.unit()); };
  for (auto& e : x.data) {
    if (like.type == dtype::i64)
      e = static_cast<double>(random.below(t.limit));
    else if (like.type == dtype::boolean)
      e = random.unit() < 0.5 ? 0 : 1;
    else if (like.type == dtype::c64)
      e = {real(), real()};
    else
      e = real();
  }
  if (t.op == "scatter" && like.type == dtype::i64)  // two values for one place would be no result
    interpreter::each(x.shape, [&](const auto& at) {
      x.data[interpreter::offset(x, at)] = static_cast<double>((at[0] + at[1]) % static_cast<std::int64_t>(t.limit));
    });
  return x;
}

/// What a trial found.
struct outcome {
  std::set<std::string> labels;
  std::set<std::string> wrong;  ///< of strategies whose results are not the operator's
};

/// Carries out all strategies of the trial on the mesh.
inline outcome carry_out(const trial& t, const std::string& mesh_text, rule_table rules) {
  const device_mesh mesh = device_mesh::parse(mesh_text);
  rules.add("source", &every_placement, {.is_view = true, .flops = {}});
  const computation graph = graph_of(t);
  const strategy_space space = enumerate_strategies(graph, mesh, roofline{find_device("h100")}, rules);
  random_source random(7);

  std::vector<array> whole_in;
  for (const tensor& in : t.inputs) whole_in.push_back(random_argument(t, in, random));
  std::vector<std::vector<std::int64_t>> whole_out;
  for (const tensor& out : t.outputs) whole_out.push_back(out.shape);
  const bool in_result = t.picks && t.picks->from == t.inputs.size();
  const auto picked = [&]() -> const tensor& { return in_result ? t.outputs.front() : t.inputs[t.picks->from]; };
  array numbers = interpreter::zeros({t.picks ? picked().shape[t.picks->dim] : 0});
  for (std::size_t r = 0; r < numbers.data.size(); ++r) numbers.data[r] = static_cast<double>(r);
  const std::vector<array> expected = execute(t, whole_in, whole_out, nullptr);

  outcome found;
  for (const mesh_strategy& s : space.of(t.inputs.size()).strategies) {
    std::string label;
    for (const sharding& in : s.inputs) label += (label.empty() ? "" : ",") + in.to_string();
    label += "->" + s.outputs.front().to_string();
    if (!found.labels.insert(label).second) found.wrong.insert(label + " twice");

    std::vector<pieces> held;
    for (std::size_t a = 0; a < whole_in.size(); ++a)
      held.push_back(simulated::distribute(whole_in[a], s.inputs[a], mesh, random));
    pieces parts;
    if (t.picks) {
      sharding lying(mesh.rank());
      const sharding& held_as = in_result ? s.outputs.front() : s.inputs[t.picks->from];
      for (std::size_t d = 0; d < mesh.rank(); ++d)
        if (held_as[d] == dim_placement::shard(t.picks->dim)) lying.set(d, dim_placement::shard(0));
      parts = simulated::distribute(numbers, lying, mesh, random);
    }
    std::vector<pieces> shapes;
    for (std::size_t k = 0; k < t.outputs.size(); ++k)
      shapes.push_back(simulated::distribute(interpreter::zeros(whole_out[k]), s.outputs[k], mesh, random));

    std::vector<pieces> results(t.outputs.size());
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(mesh.size()); ++rank) {
      std::vector<array> mine;
      for (const pieces& p : held) mine.push_back(p[rank]);
      std::vector<std::vector<std::int64_t>> out;
      for (const pieces& p : shapes) out.push_back(p[rank].shape);
      std::vector<array> made = execute(t, std::move(mine), out, t.picks ? &parts[rank] : nullptr);
      for (std::size_t k = 0; k < results.size(); ++k) {
        if (made[k].data.size() != static_cast<std::size_t>(interpreter::count(out[k]))) found.wrong.insert(label);
        results[k].push_back(std::move(made[k]));
      }
    }
    for (std::size_t k = 0; k < results.size(); ++k) {
      const auto together = simulated::collect(results[k], s.outputs[k], mesh);
      if (!together || !simulated::close(expected[k], *together)) found.wrong.insert(label);
    }
  }
  return found;
}

/// In alphabetical order.
inline std::string joined(const std::set<std::string>& labels) {
  std::string text;
  for (const std::string& label : labels) text += (text.empty() ? "" : " ") + label;
  return text;
}
inline bool has(const std::string& labels, const std::string& label) {
  return (" " + labels + " ").find(" " + label + " ") != std::string::npos;
}

/// All strategies of the standard rules must be right; returns their labels.
inline std::string check(const trial& t, const std::string& mesh) {
  outcome found = carry_out(t, mesh, standard_rules());
  CAPTURE(t.op);
  CAPTURE(mesh);
  for (const std::string& label : found.wrong) FAIL_CHECK(label);
  CHECK_FALSE(found.labels.empty());
  return joined(found.labels);
}

inline const std::vector<std::string> meshes =
    is_small_scale ? std::vector<std::string>{"3", "2x2"} : std::vector<std::string>{"2", "3", "2x2", "2x3"};

}  // namespace tried_rules
