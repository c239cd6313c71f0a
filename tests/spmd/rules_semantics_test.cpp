#include "simulated_mesh.hpp"
#include <shardweave/spmd/rules/attention.hpp>
#include <shardweave/spmd/rules/contraction.hpp>
#include <shardweave/spmd/rules/convolution.hpp>
#include <shardweave/spmd/rules/indexing.hpp>
#include <shardweave/spmd/rules/letters.hpp>
#include <shardweave/spmd/rules/pointwise.hpp>
#include <shardweave/spmd/rules/selection.hpp>
#include <shardweave/spmd/standard_rules.hpp>
#include <shardweave/spmd/strategies.hpp>

#include <doctest/doctest.h>
#include <models/convolutions.hpp>
#include <support/refusal.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

// Every strategy that the rules offer is carried out on tiny tensors: the arguments are laid out as it says, the
// operator runs on each device's pieces, and the results put together must be the operator's result.

namespace rules_semantics_tests {
namespace {

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
std::vector<tensor> tensors_of(std::istringstream words) {
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
std::vector<mesh_strategy> every_placement(const operation_view& view, const device_mesh& mesh) {
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

computation graph_of(const trial& t, const std::vector<std::vector<std::int64_t>>& in_shapes,
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

computation graph_of(const trial& t) {
  std::vector<std::vector<std::int64_t>> in;
  std::vector<std::vector<std::int64_t>> out;
  for (const tensor& x : t.inputs) in.push_back(x.shape);
  for (const tensor& x : t.outputs) out.push_back(x.shape);
  return graph_of(t, in, out);
}

/// The operator on plain arrays. `held` are the numbers of the elements along the dimension that is picked from.
std::vector<array> execute(const trial& t, std::vector<array> inputs, const std::vector<std::vector<std::int64_t>>& out,
                           const array* held) {
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
array random_argument(const trial& t, const tensor& like, random_source& random) {
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
outcome carry_out(const trial& t, const std::string& mesh_text, rule_table rules) {
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
std::string joined(const std::set<std::string>& labels) {
  std::string text;
  for (const std::string& label : labels) text += (text.empty() ? "" : " ") + label;
  return text;
}
bool has(const std::string& labels, const std::string& label) {
  return (" " + labels + " ").find(" " + label + " ") != std::string::npos;
}

/// All strategies of the standard rules must be right; returns their labels.
std::string check(const trial& t, const std::string& mesh) {
  outcome found = carry_out(t, mesh, standard_rules());
  CAPTURE(t.op);
  CAPTURE(mesh);
  for (const std::string& label : found.wrong) FAIL_CHECK(label);
  CHECK_FALSE(found.labels.empty());
  return joined(found.labels);
}

const std::vector<std::string> meshes =
    is_small_scale ? std::vector<std::string>{"3", "2x2"} : std::vector<std::string>{"2", "3", "2x2", "2x3"};

/// Every operator of the table, in shapes that 2 and 3 devices cut evenly and unevenly: operators, shapes, options.
constexpr const char* table[][3] = {
    {"einsum", "4x6 6x5 -> 4x5", "einsum mk,kn->mn"},
    {"einsum", "4x6x5 5x4 -> 4x6x4", "einsum bsk,kn->bsn"},
    {"einsum", "4x6x5 4x6x3 -> 3x5", "einsum bsn,bsk->kn"},
    {"einsum", "4x3x5 4x5x6 -> 4x3x6", "einsum bmk,bkn->bmn"},
    {"einsum", "5x4x3 -> 3x5", "einsum abc->ca"},
    {"einsum", "4x3 3x5 5x4 -> 4x4", "einsum ab,bc,cd->ad"},
    {"einsum", "3x4x3x2 3x2x5 -> 3x4x3x5", "einsum egcd,edf->egcf"},

    {"view", "4x6x12 -> 4x6x6x2", ""},
    {"view", "4x6x12 -> 24x12", ""},
    {"view", "24x12 -> 4x6x12", ""},
    {"view", "6x4 -> 1x6x1x4", ""},
    {"view", "1x6x1x4 -> 6x4", ""},
    {"view", "6x4 -> 4x6", ""},
    {"view", "12 -> 3x4", ""},
    {"view", "5x8 -> 5x2x4", ""},
    {"view", "2x3x8 -> 6x2x4", ""},
    {"permute", "4x6x3 -> 3x4x6", "dims 2,0,1"},
    {"expand", "4x1x6 -> 3x4x5x6", ""},
    {"view_as_complex", "4x6x2 -> 4x6c", ""},
    {"view_as_real", "4x6c -> 4x6x2", ""},
    {"conj", "4x5c -> 4x5c", ""},
    {"alias getitem clone", "4x5 -> 4x5", ""},
    {"conv cast quantize", "4x5 -> 4x5", ""},
    {"conv cast", "4x5 -> 4x5i", ""},
    {"conv cast", "4x5 -> 4x5b", ""},

    {"neg exp rsqrt reciprocal sigmoid tanh relu silu gelu log sqrt abs", "4x5 -> 4x5", ""},
    {"gelu_backward", "4x5 4x5 -> 4x5", ""},
    {"pow add_scalar mul_scalar div_scalar rsub_scalar", "4x5 -> 4x5", "scalar 3"},
    {"add sub mul div maximum minimum", "4x6 4x6 -> 4x6", ""},
    {"add sub mul div maximum minimum", "4x6 4x1 -> 4x6", ""},
    {"add sub mul div maximum minimum", "6 4x6 -> 4x6", ""},
    {"where", "4x6b 4x6 6 -> 4x6", ""},
    {"sum mean amax amin", "4x6x3 -> 4x6", "dims 2"},
    {"sum mean amax amin", "4x6x3 -> 4x6x1", "dims 2 keep"},
    {"sum mean amax amin", "4x6x3 -> 3", "dims 0,1"},
    {"sum mean amax amin", "4x5x3 -> 1x1x3", "dims 0,1 keep"},

    {"embedding", "7x6 4x6i -> 4x6x6", "below 7 picks 0,0,1"},
    {"embedding_backward", "4x6x6 4x6i -> 7x6", "below 7"},
    {"gather", "5x6 4x6i -> 4x6", "dims 0 below 5 picks 0,0,1"},
    {"gather", "4x7x3 4x5x3i -> 4x5x3", "dims 1 below 7 picks 0,1,1"},
    {"gather", "6x5 4x1i -> 4x1", "dims 1 below 5 picks 0,1,1"},
    {"gather_backward", "4x6 4x6i -> 5x6", "dims 0 below 5"},
    {"gather_backward", "4x2 4x2i -> 4x7", "dims 1 below 7"},
    {"scatter", "5x4 3x4i 3x4 -> 5x4", "dims 0 below 5"},
    {"scatter_add", "5x4 6x4i 6x4 -> 5x4", "dims 0 below 5"},
    {"scatter_add", "6x5 4x5i 4x5 -> 6x5", "dims 0 below 6"},
    {"histogram", "4x5i -> 7i", "index 7 below 7"},

    {"cat", "4x5 4x2 4x6 -> 4x13", "dims 1"},
    {"cat", "3x5 4x5 -> 7x5", "dims 0"},
    {"split", "4x9 -> 4x2 4x4 4x3", "dims 1"},
    {"slice", "7x5 -> 4x5", "dims 0 index 2"},
    {"pad", "4x5 -> 9x5", "dims 0 index 3"},
    {"sort", "4x5 -> 4x5 4x5i", "dims 1"},
    {"topk", "4x5x3 -> 4x2x3 4x2x3i", "dims 1"},
    {"log_softmax_backward", "4x5x3 4x5x3 -> 4x5x3", "dims 2"},
    {"softmax_backward", "4x5x3 4x5x3 -> 4x5x3", "dims 2"},
    {"softmax log_softmax cumsum", "4x5x3 -> 4x5x3", "dims 0"},
    {"softmax log_softmax cumsum", "4x5x3 -> 4x5x3", "dims 1"},

    {"flip cumprod", "4x5x3 -> 4x5x3", "dims 1"},
    {"roll", "4x5x3 -> 4x5x3", "dims 1 index 2"},
    {"repeat", "4x5x3 -> 4x15x3", "dims 1"},
    {"prod logsumexp", "4x6x3 -> 4x6", "dims 2"},
    {"prod logsumexp", "4x6x3 -> 1x6x1", "dims 0,2 keep"},
    {"argmax argmin", "4x6x3 -> 4x3i", "dims 1"},
    {"prod argmax argmin logsumexp", "4x3 -> s", ""},
    {"any all", "4x6x3b -> 6x3b", "dims 0"},

    {"index", "5x6x3 4i -> 5x4x3", "dims 1 below 6"},
    {"index", "5x6x3 4x2i -> 4x2x6x3", "dims 0 below 5"},
    {"index", "5x6x3 4x2i 4x1i -> 4x2x3", "dims 0,1 below 5"},
    {"index", "3x5x6 4i 3x1i -> 3x3x4", "dims 1,2 below 5"},
    {"index", "5x3x6 4i 4i -> 4x3", "dims 0,2 below 5"},
    {"index_backward", "5x4x3 4i -> 5x6x3", "dims 1 below 6"},
    {"index_backward", "4x2x3 4x2i 4x1i -> 5x6x3", "dims 0,1 below 5"},
    {"index_backward", "4x3 4i 4i -> 5x3x6", "dims 0,2 below 5"},
    {"index_put", "5x6x3 5x4x3 4i -> 5x6x3", "dims 1 below 6"},
    {"index_put", "5x6x3 4x2x3 4x2i 4x1i -> 5x6x3", "dims 0,1 below 5"},
    {"index_put", "5x3x6 4x3 4i 4i -> 5x3x6", "dims 0,2 below 5"},

    // one, two and three dimensions of space; groups of 2, 3 and 1 channels, one filter for each channel, and two
    {"convolution", "4x3x5 6x3x3 -> 4x6x3", ""},
    {"convolution", "3x4x4x3 6x4x2x2 -> 3x6x3x2", ""},
    {"convolution", "2x4x3x2x2 3x4x2x1x2 -> 2x3x2x2x1", ""},
    {"convolution", "4x4x4 6x2x2 -> 4x6x3", ""},
    {"convolution", "3x6x4 6x2x2 -> 3x6x3", ""},
    {"convolution", "3x5x4 5x1x2 -> 3x5x3", ""},
    {"convolution", "3x4x4 8x1x2 -> 3x8x3", ""},
    {"convolution_backward", "4x6x3 4x3x5 6x3x3 -> 4x3x5 6x3x3", ""},
    {"convolution_backward", "4x6x3 4x4x4 6x2x2 -> 4x4x4 6x2x2", ""},
    {"convolution_backward", "3x5x3 3x5x4 5x1x2 -> 3x5x4 5x1x2", ""},
    {"convolution_backward_input", "4x6x3 4x3x5 6x3x3 -> 4x3x5", ""},
    {"convolution_backward_input", "3x6x3 3x6x4 6x2x2 -> 3x6x4", ""},
    {"convolution_backward_weight", "4x6x3 4x3x5 6x3x3 -> 6x3x3", ""},
    {"convolution_backward_weight", "3x6x3 3x6x4 6x2x2 -> 6x2x2", ""},
    {"transposed_convolution", "4x6x3 6x3x3 -> 4x3x5", ""},
    {"transposed_convolution", "4x6x3 6x2x2 -> 4x4x4", ""},
    {"transposed_convolution_backward", "4x3x5 4x6x3 6x3x3 -> 4x6x3 6x3x3", ""},
    {"transposed_convolution_backward", "4x4x4 4x6x3 6x2x2 -> 4x6x3 6x2x2", ""},
    {"transposed_convolution_backward_input", "4x3x5 4x6x3 6x3x3 -> 4x6x3", ""},
    {"transposed_convolution_backward_weight", "4x3x5 4x6x3 6x3x3 -> 6x3x3", ""},
    {"channelwise", "4x6x5 -> 4x6x3", ""},
    {"channelwise", "4x5x2x3 4x5x4x4 -> 4x5x4x4", ""},

    {"rms_norm", "4x5x3 3 -> 4x5x3 4x5", "scalar 0.1"},
    {"rms_norm_backward", "4x5x3 4x5x3 3 4x5 -> 4x5x3 3", ""},
    {"layer_norm", "4x5 5 5 -> 4x5 4 4", "scalar 0.1"},
    {"layer_norm_backward", "4x5 4x5 5 4 4 -> 4x5 5 5", ""},
    {"cross_entropy", "4x5x7 4x5i -> 4x5 4x5", "below 7"},
    {"cross_entropy_backward", "4x5 4x5x7 4x5i 4x5 -> 4x5x7", "below 7"},
    // 4 groups of 5 tokens choose 2 of 6 experts, which have 2 places for each group: some find none
    {"moe_dispatch", "4x5x3 4x5x2i -> 6x4x2x3", "below 6"},
    {"moe_combine", "6x4x2x3 4x5x2i -> 4x5x3", "below 6 picks 0,0,1"},
    {"moe_combine", "5x4x2x3 4x5x2i 4x5x2 -> 4x5x3", "below 5 picks 0,0,1"},
    {"moe_combine_backward", "4x5x3 6x4x2x3 4x5x2i 4x5x2 -> 6x4x2x3 4x5x2", "below 6 picks 1,0,2"},
    // 8, 4 and 2 key heads; values may be of another width
    {"sdpa", "4x8x3x2 4x8x3x2 4x8x3x3 -> 4x8x3x3 4x8x3 2 s", ""},
    {"sdpa", "4x8x3x2 4x4x3x2 4x4x3x3 -> 4x8x3x3 4x8x3 2 s", ""},
    {"sdpa", "4x8x3x2 4x2x3x2 4x2x3x2 -> 4x8x3x2 4x8x3 2 s", ""},
    {"sdpa_backward", "4x8x3x3 4x8x3x2 4x8x3x2 4x8x3x3 4x8x3x3 4x8x3 2 s -> 4x8x3x2 4x8x3x2 4x8x3x3", ""},
    // masks: of each head, of each sequence, of all heads, of all
    {"sdpa", "4x8x3x2 4x8x3x2 4x8x3x3 4x8x3x3 -> 4x8x3x3 4x8x3 2 s", ""},
    {"sdpa", "4x8x3x2 4x4x3x2 4x4x3x3 4x1x3x3 -> 4x8x3x3 4x8x3 2 s", ""},
    {"sdpa", "4x8x3x2 4x8x3x2 4x8x3x3 1x8x3x3 -> 4x8x3x3 4x8x3 2 s", ""},
    {"sdpa", "4x8x3x2 4x8x3x2 4x8x3x3 3x3 -> 4x8x3x3 4x8x3 2 s", ""},
    {"sdpa_backward", "4x8x3x3 4x8x3x2 4x8x3x2 4x8x3x3 4x8x3x3 4x8x3 4x1x3x3 -> 4x8x3x2 4x8x3x2 4x8x3x3", ""},
    {"sdpa_backward", "4x8x3x3 4x8x3x2 4x4x3x2 4x4x3x3 4x8x3x3 4x8x3 2 s 1x1x3x3 -> 4x8x3x2 4x4x3x2 4x4x3x3", ""},
    {"sdpa_backward", "4x8x3x2 4x8x3x2 4x4x3x2 4x4x3x2 4x8x3x2 4x8x3 2 s -> 4x8x3x2 4x4x3x2 4x4x3x2", ""},
    {"sdpa_backward", "4x8x3x2 4x8x3x2 4x2x3x2 4x2x3x2 4x8x3x2 4x8x3 2 s -> 4x8x3x2 4x2x3x2 4x2x3x2", ""}};

}  // namespace

TEST_SUITE("standard_rules") {
  TEST_CASE("every strategy of every operator gives its result") {
    std::set<std::string> tried{"parameter", "input", "constant", "tangent"};  // have no argument to get wrong
    std::size_t trials = 0;
    for (const auto& [operators, shapes, options] : table) {
      std::istringstream words(operators);
      for (std::string op; words >> op;) {
        tried.insert(op);
        const trial t(op, shapes, options);
        if (is_small_scale)
          check(t, meshes[trials % 4 == 0 ? 1 : 0]);  // the larger one now and then
        else
          for (const std::string& mesh : meshes) check(t, mesh);
        ++trials;
      }
    }
    for (const std::string& op : standard_rules().operators()) CHECK_MESSAGE(tried.contains(op), op);
  }

  TEST_CASE("a rule that claims too much is found out") {
    const dim_placement whole;
    const dim_placement rows = dim_placement::shard(0);
    const auto wrong = [](const trial& t, const std::string& mesh, const auto& rule) {
      rule_table rules = standard_rules();
      rules.add(t.op, rule, {.moves_data_only = true});
      const outcome found = carry_out(t, mesh, rules);
      CHECK(found.wrong.size() < found.labels.size());
      return joined(found.wrong);
    };
    CHECK(wrong({"silu", "4x6 -> 4x6"}, "2", linear_rule()) == "P(avg)->P(avg) P->P");
    CHECK(wrong({"softmax", "4x6 -> 4x6", "dims 1"}, "2", pointwise_rule{}) == "S(1)->S(1)");
    CHECK(wrong({"mul", "4x6 4x6 -> 4x6"}, "3", addition_rule()) ==
          "P(avg),P(avg)->P(avg) P(max),R->P(max) P(min),R->P(min) P,P->P");
    CHECK(wrong({"conv", "4x6 -> 4x6i"}, "2", same_placement_rule{}) == "P(avg)->P(avg) P->P");
    CHECK(wrong({"amax", "4x5 -> 5", "dims 0"}, "2", reduction_rule{}) == "P->P S(0)->P");
    CHECK(wrong({"slice", "4x6 -> 4x4", "dims 1 index 1"}, "2", same_placement_rule{}) == "S(1)->S(1)");
    CHECK(wrong({"rms_norm", "4x6 6 -> 4x6 4", "scalar 1"}, "2", letter_rule{"...d,d->...d,..."}) == "S(1),S(0)->S(1)");
    CHECK(wrong({"moe_combine", "6x4x2x3 4x5x2i -> 4x5x3", "below 6 picks 0,0,1"}, "2",
                letter_rule{"egcd,gsk->gsd", "ek"}) == "R,S(1)->S(1) S(2),R->P");
    // a masked sum that overlaps is no mask, though its sum is right
    CHECK(wrong({"cumsum", "4x6 -> 4x6", "dims 0"}, "2", line_rule{partial_passing::all}) ==
          "P(mask)->P(mask) P(max)->P(max) P(min)->P(min)");
    const auto lookup = [&](const operation_view&, std::int64_t) {
      return std::vector<dim_strategy>{{{whole}, {whole, whole}},
                                       {{dim_placement::partial(partial_kind::max)}, {rows, whole}},
                                       {{dim_placement::partial()}, {whole, rows}}};
    };
    CHECK(wrong({"embedding", "4x6 3x4i -> 3x4x6", "below 4 picks 0,0,1"}, "2", lookup) == "R,S(0)->P S(0),R->P(max)");
  }

  TEST_CASE("a contraction is cut by any of its letters") {
    CHECK(check({"einsum", "4x6x5 5x4 -> 4x6x4", "einsum bsk,kn->bsn"}, "2") ==
          "R,R->R R,S(1)->S(2) S(0),R->S(0) S(1),R->S(1) S(2),S(0)->P");
    CHECK(check({"einsum", "4x6 6x5 -> 4x5", "einsum mk,kn->mn"}, "2") ==
          "R,R->R R,S(1)->S(1) S(0),R->S(0) S(1),S(0)->P");
  }

  TEST_CASE("partial results pass where the function lets them") {
    CHECK(check({"add", "4x6 4x6 -> 4x6"}, "2") ==
          "P(avg),P(avg)->P(avg) P(avg),R->P(avg) P(max),R->P(max) P(min),R->P(min) P,P->P R,P(avg)->P(avg) R,R->R "
          "S(0),S(0)->S(0) S(1),S(1)->S(1)");
    CHECK(check({"mul", "4x6 4x1 -> 4x6"}, "2") ==
          "P(avg),R->P(avg) P,R->P R,P(avg)->P(avg) R,P->P R,R->R S(0),S(0)->S(0) S(1),R->S(1)");
    CHECK(check({"neg", "4x6 -> 4x6"}, "2") ==
          "P(avg)->P(avg) P(max)->P(min) P(min)->P(max) P->P R->R S(0)->S(0) S(1)->S(1)");
    CHECK(check({"rsqrt", "4x6 -> 4x6"}, "2") == "R->R S(0)->S(0) S(1)->S(1)");
    // sums and averages mix along two mesh dimensions, other kinds do not
    const auto labels = check({"conv", "4x6 -> 4x6"}, "2x2");
    CHECK(has(labels, "PP(avg)->PP(avg)"));
    CHECK(has(labels, "P(max)P(max)->P(max)P(max)"));
    CHECK_FALSE(has(labels, "P(max)P->P(max)P"));
    CHECK_FALSE(has(labels, "P(max)P(min)->P(max)P(min)"));
  }

  TEST_CASE("an average or an extreme of pieces needs even pieces, or at least some element in each") {
    // an average of uneven pieces would not be the average: 5 on 2 devices
    CHECK_FALSE(has(check({"mean", "5x4 -> 4", "dims 0"}, "2"), "S(0)->P(avg)"));
    CHECK(has(check({"mean", "6x4 -> 4", "dims 0"}, "2"), "S(0)->P(avg)"));
    CHECK(has(check({"sum", "5x4 -> 4", "dims 0"}, "2"), "S(0)->P"));
    // 5 on 2 devices are 3 and 2; 4 on 3 would be 2, 2 and none
    CHECK(has(check({"amax", "5x4 -> 4", "dims 0"}, "2"), "S(0)->P(max)"));
    CHECK_FALSE(has(check({"amax", "4x5 -> 5", "dims 0"}, "3"), "S(0)->P(max)"));
    CHECK(has(check({"sum", "4x5 -> 5", "dims 0"}, "3"), "S(0)->P"));
    // 3 on 2x2 devices would be 1, 1, 1 and none
    CHECK_FALSE(has(check({"amax", "3x4 -> 4", "dims 0"}, "2x2"), "S(0)S(0)->P(max)P(max)"));
    CHECK(has(check({"amax", "4x3 -> 3", "dims 0"}, "2x2"), "S(0)S(0)->P(max)P(max)"));
  }

  TEST_CASE("sums along two mesh dimensions are independent") {
    const auto labels = check({"sum", "4x6x4 -> 4", "dims 0,1"}, "2x2");
    for (const char* label : {"S(0)S(1)->PP", "S(2)S(2)->S(0)S(0)", "S(0)S(2)->PS(0)", "PS(2)->PS(0)"})
      CHECK_MESSAGE(has(labels, label), label);
    CHECK(has(check({"mean", "4x8x4 -> 4", "dims 0,1"}, "2x2"), "S(0)S(1)->P(avg)P(avg)"));
  }

  TEST_CASE("a view keeps the cut of the leading dimension of a group") {
    CHECK(check({"view", "4x6x12 -> 4x6x6x2"}, "2") ==
          "P(avg)->P(avg) P(mask)->P(mask) P(max)->P(max) P(min)->P(min) P->P R->R S(0)->S(0) S(1)->S(1) S(2)->S(2)");
    // the inner of two merged dimensions cannot stay cut, nor a dimension whose pieces would be uneven
    CHECK_FALSE(has(check({"view", "4x6 -> 24"}, "2"), "S(1)->S(0)"));
    CHECK_FALSE(has(check({"view", "4x6 -> 24"}, "3"), "S(0)->S(0)"));
    CHECK(has(check({"view", "5x8 -> 5x2x4"}, "3"), "S(0)->S(0)"));
  }

  TEST_CASE("an embedding is cut by rows, by width and by indices") {
    CHECK(check({"embedding", "8x4 4x6i -> 4x6x4", "below 8 picks 0,0,1"}, "2") ==
          "R,R->R R,S(0)->S(0) R,S(1)->S(1) S(0),R->P(mask) S(1),R->S(2)");
    CHECK(check({"embedding_backward", "4x6x4 4x6i -> 8x4", "below 8"}, "2") ==
          "P,R->P R,R->R S(0),S(0)->P S(1),S(1)->P S(2),R->S(1)");
  }

  TEST_CASE("attention by heads needs whole groups of query heads") {
    const std::string by_heads = "S(1),S(1),S(1)->S(1)";
    for (const std::string heads : {"8", "4", "2"}) {
      const std::string key = "4x" + heads + "x3x2 ";
      const trial t("sdpa", "4x8x3x2 " + key + key + "-> 4x8x3x2 4x8x3 2 s");
      CHECK(has(check(t, "3"), by_heads) == (heads == "8"));
      CHECK(has(check(t, "2"), by_heads));
    }
  }

  TEST_CASE("attention is cut by positions of queries beside whole keys and values, and so is what masks them") {
    const rule_table rules = standard_rules({.attention_by_positions = true});
    const std::vector<std::pair<std::string, std::string>> masks = {
        {"4x8x4x4", "S(2)"}, {"4x1x4x4", "S(2)"}, {"1x8x4x4", "S(2)"}, {"4x4", "S(0)"}, {"4x1x1x4", "R"}, {"1x4", "R"}};
    for (const auto& [mask, lies] : masks)
      for (const std::string& mesh : meshes) {
        CAPTURE(mask);
        CAPTURE(mesh);
        const outcome forward =
            carry_out({"sdpa", "4x8x4x2 4x4x4x2 4x4x4x3 " + mask + " -> 4x8x4x3 4x8x4 2 s"}, mesh, rules);
        CHECK(joined(forward.wrong) == "");
        const outcome backward = carry_out({"sdpa_backward", "4x8x4x3 4x8x4x2 4x4x4x2 4x4x4x3 4x8x4x3 4x8x4 2 s " +
                                                                 mask + " -> 4x8x4x2 4x4x4x2 4x4x4x3"},
                                           mesh, rules);
        CHECK(joined(backward.wrong) == "");
        if (mesh.find('x') != std::string::npos) continue;
        CHECK(forward.labels.contains("S(2),R,R," + lies + "->S(2)"));
        CHECK(backward.labels.contains("S(2),S(2),R,R,S(2),S(2),R,R," + lies + "->S(2)"));
      }
  }

  TEST_CASE("results of adding at places are cut by place where the rule says that pieces take what is theirs") {
    rule_table rules = standard_rules();
    const auto cut = [&](const trial& t, bool adds, bool has_base, const std::string& label) {
      rules.add(t.op, scatter_rule{.adds = adds, .has_base = has_base, .by_place = true}, {.moves_data_only = true});
      for (const std::string& mesh : meshes) {
        CAPTURE(t.op);
        CAPTURE(mesh);
        const outcome found = carry_out(t, mesh, rules);
        CHECK(joined(found.wrong) == "");
        if (mesh.find('x') == std::string::npos) CHECK(found.labels.contains(label));
      }
    };
    cut({"gather_backward", "4x2 4x2i -> 4x7", "dims 1 below 7 picks 2,1,1"}, true, false, "R,R->S(1)");
    cut({"scatter_add", "5x4 6x4i 6x4 -> 5x4", "dims 0 below 5 picks 0,0,1"}, true, true, "S(0),R,R->S(0)");
    cut({"scatter", "5x4 3x4i 3x4 -> 5x4", "dims 0 below 5 picks 0,0,1"}, false, true, "S(0),R,R->S(0)");
  }

  TEST_CASE("conversions that round or test take whole values") {
    CHECK(check({"conv", "4x2 -> 4x2"}, "2") ==
          "P(avg)->P(avg) P(mask)->P(mask) P(max)->P(max) P(min)->P(min) P->P R->R S(0)->S(0) S(1)->S(1)");
    CHECK(check({"conv", "4x2 -> 4x2i"}, "2") == "P(max)->P(max) P(min)->P(min) R->R S(0)->S(0) S(1)->S(1)");
    CHECK(check({"conv", "4x2 -> 4x2b"}, "2") == "R->R S(0)->S(0) S(1)->S(1)");
    CHECK(check({"conv", "4x2b -> 4x2"}, "2") == "R->R S(0)->S(0) S(1)->S(1)");
    CHECK(check({"conv", "4x2i -> 4x2", "below 5"}, "2") ==
          "P(avg)->P(avg) P(mask)->P(mask) P(max)->P(max) P(min)->P(min) P->P R->R S(0)->S(0) S(1)->S(1)");
  }

  TEST_CASE("operators along a dimension keep it whole, and pass what they move or add up") {
    CHECK(check({"slice", "4x6 -> 2x6", "dims 0 index 1"}, "2") ==
          "P(avg)->P(avg) P(mask)->P(mask) P(max)->P(max) P(min)->P(min) P->P R->R S(1)->S(1)");
    CHECK(check({"split", "4x6 -> 1x6 3x6", "dims 0"}, "2") ==
          "P(avg)->P(avg) P(mask)->P(mask) P(max)->P(max) P(min)->P(min) P->P R->R S(1)->S(1)");
    CHECK(check({"cumsum", "4x6 -> 4x6", "dims 0"}, "2") == "P(avg)->P(avg) P->P R->R S(1)->S(1)");
    CHECK(check({"softmax", "4x6 -> 4x6", "dims 0"}, "2") == "R->R S(1)->S(1)");
    CHECK(check({"cat", "4x6 4x6 -> 8x6", "dims 0"}, "2") ==
          "P(avg),P(avg)->P(avg) P(max),P(max)->P(max) P(min),P(min)->P(min) P,P->P R,R->R S(1),S(1)->S(1)");
  }

  TEST_CASE("elements are picked from a cut dimension by masks") {
    CHECK(check({"gather", "4x6 4x2i -> 4x2", "dims 1 below 6 picks 0,1,1"}, "2") ==
          "P(avg),R->P(avg) P(max),R->P(max) P(min),R->P(min) P,R->P R,R->R R,S(1)->S(1) S(0),S(0)->S(0) "
          "S(1),R->P(mask)");
  }

  TEST_CASE("pictures are cut by themselves, by channels that come in or go out, and by groups that stay together") {
    CHECK(check({"convolution", "4x4x5 6x4x3 -> 4x6x3"}, "2") == "R,R->R R,S(0)->S(1) S(0),R->S(0) S(1),S(1)->P");
    CHECK(check({"convolution_backward", "4x6x3 4x4x5 6x4x3 -> 4x4x5 6x4x3"}, "2") ==
          "R,R,R->R R,S(1),S(1)->S(1) S(0),S(0),R->S(0) S(1),R,S(0)->P");
    CHECK(check({"transposed_convolution", "4x6x3 6x4x3 -> 4x4x5"}, "2") ==
          "R,R->R R,S(1)->S(1) S(0),R->S(0) S(1),S(0)->P");
    // 2 groups on 2 devices, and on 3, which cannot keep them together; 5 channels each for itself are cut unevenly
    CHECK(check({"convolution", "6x4x4 6x2x2 -> 6x6x3"}, "2") == "R,R->R S(0),R->S(0) S(1),S(0)->S(1)");
    CHECK(check({"convolution", "6x4x4 6x2x2 -> 6x6x3"}, "3") == "R,R->R S(0),R->S(0)");
    CHECK(has(check({"convolution", "3x5x4 5x1x2 -> 3x5x3"}, "3"), "S(1),S(0)->S(1)"));
    // a device that holds one group has no more groups to keep together
    CHECK(has(check({"convolution", "6x4x4 6x2x2 -> 6x6x3"}, "2x2"), "S(1)S(1),S(0)S(1)->S(1)P"));
  }

  TEST_CASE("a convolution takes two operations for every product of its windows") {
    for (const char* text :
         {"4x3x5 6x3x3 -> 4x6x3", "3x4x4x3 6x4x2x2 -> 3x6x3x2", "4x4x4 6x2x2 -> 4x6x3", "3x5x4 5x1x2 -> 3x5x3"}) {
      const trial forward("convolution", text);
      const tensor &x = forward.inputs[0], &weight = forward.inputs[1], &y = forward.outputs[0];
      double products = 0;
      interpreter::each_product(interpreter::zeros(x.shape), interpreter::zeros(y.shape),
                                interpreter::zeros(weight.shape), [&](auto, auto, auto) { ++products; });
      const auto counted = [&](convolution_results results, bool is_transposed, std::vector<tensor> in,
                               std::vector<tensor> out) {
        const operation op{"tested", "convolution", phase::forward, role::none, {}, out, {}};
        return convolution_flops{results, is_transposed}(operation_view{op, in, in, out});
      };
      CHECK(counted(convolution_results::forward, false, {x, weight}, {y}) == 2 * products);
      CHECK(counted(convolution_results::forward, true, {y, weight}, {x}) == 2 * products);
      CHECK(counted(convolution_results::both_gradients, false, {y, x, weight}, {x, weight}) == 4 * products);
      CHECK(counted(convolution_results::weight_gradient, false, {y, x, weight}, {weight}) == 2 * products);
      CHECK(counted(convolution_results::input_gradient, true, {x, y, weight}, {y}) == 2 * products);
    }
  }

  TEST_CASE("rows that numbers pick are cut by what is not named, and by the numbers") {
    CHECK(check({"index", "4x6x4 4x2i 4x1i -> 4x2x4", "dims 0,1 below 4"}, "2") ==
          "P(avg),R,R->P(avg) P(max),R,R->P(max) P(min),R,R->P(min) P,R,R->P R,R,R->R R,S(0),S(0)->S(0) "
          "R,S(1),R->S(1) S(2),R,R->S(2)");
    CHECK(check({"index_backward", "4x2x4 4x2i 4x1i -> 4x6x4", "dims 0,1 below 4"}, "2") ==
          "P(avg),R,R->P(avg) P,R,R->P R,R,R->R S(0),S(0),S(0)->P S(1),S(1),R->P S(2),R,R->S(2)");
    CHECK(check({"index_put", "4x4x6 4x4 4i 4i -> 4x4x6", "dims 0,2 below 4"}, "2") ==
          "P(avg),P(avg),R,R->P(avg) P(max),P(max),R,R->P(max) P(min),P(min),R,R->P(min) P,P,R,R->P R,R,R,R->R "
          "S(1),S(1),R,R->S(1)");
  }

  TEST_CASE("shapes that do not fit are refused by name") {
    const auto refused = [](const trial& t) {
      return shardweave_test::refusal_of([&] { return carry_out(t, "2", standard_rules()); });
    };
    CHECK(refused({"convolution", "4x4x5 6x3x3 -> 4x6x3"}) ==
          "operation 'tested': a weight of [6, 3, ...] does not fit 4 channels in and 6 out");
    CHECK(refused({"convolution", "4x4x5 6x4 -> 4x6x3"}) ==
          "operation 'tested': tensors of a convolution have one rank of at least 3, found 3 and 2");
    CHECK(refused({"convolution_backward", "4x6x3 4x4x5 6x4x3 -> 4x4x5"}) ==
          "operation 'tested': a convolution gives 2 tensors here, found 1");
    CHECK(refused({"convolution", "4x6x5 6x6x3 6 -> 4x6x3"}) ==
          "operation 'tested': a convolution takes 2 tensors here, found 3");
    CHECK(refused({"convolution", "3x6x4 4x2x2 -> 3x4x3"}) ==
          "operation 'tested': 4 channels are not divided among 3 groups");
    CHECK(refused({"index", "5x6x3 4i -> 4x3", "dims 0,1 below 4"}) ==
          "operation 'tested': indexing 2 dimensions takes 3 tensors, at least 2, found 2");
    CHECK(refused({"index", "5x6x3 4i 3i -> 4x3", "dims 0,1 below 4"}) ==
          "operation 'tested': numbers of extents 4 and 3 cannot be spread over each other");
    CHECK(refused({"index", "5x6x3 4i -> 5x4x4", "dims 1 below 4"}) ==
          "operation 'tested': what is indexed has shape [5, 4, 3], found [5, 4, 4]");
    CHECK(refused({"index", "5x6x3 4i 4i -> 4x6", "dims 2,0 below 3"}) ==
          "operation 'tested': indexed dimensions are ascending numbers below 3, found 0");
  }

  TEST_CASE("experts are reached by groups, by width, or each by those who hold it") {
    CHECK(check({"moe_dispatch", "4x5x4 4x5x2i -> 6x4x2x4", "below 6"}, "2") ==
          "P,R->P R,R->R S(0),S(0)->S(1) S(2),R->S(3)");
    CHECK(check({"moe_combine", "6x4x2x4 4x5x2i 4x5x2 -> 4x5x4", "below 6 picks 0,0,1"}, "2") ==
          "P,R,R->P R,R,P->P R,R,R->R S(0),R,R->P S(1),S(0),S(0)->S(0) S(3),R,R->S(2)");
  }
}

}  // namespace rules_semantics_tests
