// Random models through all rooms: a training graph on a mesh, its placements, their tasks, buckets and orders, and the
// search for the fastest plan. Costs are added up anew, placements tried one by one, timelines made by a second
// simulator, what is made again followed back to what it repeats; no plan that is seen anywhere may end before a bound.
#include "soak.hpp"
#include <shardweave/core/control.hpp>
#include <shardweave/core/number_text.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/nccl_smooth.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/fastest_plan.hpp>
#include <shardweave/io/json_writer.hpp>
#include <shardweave/io/placement_certificate.hpp>
#include <shardweave/io/step_problem.hpp>
#include <shardweave/io/tasks.hpp>
#include <shardweave/lowering/batch_parts_lowering.hpp>
#include <shardweave/lowering/held_values_of.hpp>
#include <shardweave/lowering/lower.hpp>
#include <shardweave/lowering/lowered_work.hpp>
#include <shardweave/lowering/pipelined_collectives.hpp>
#include <shardweave/lowering/spmd_lowering.hpp>
#include <shardweave/memory/recomputation.hpp>
#include <shardweave/memory/recomputation_choices.hpp>
#include <shardweave/models/joint_graph.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/pipeline.hpp>
#include <shardweave/placement/check_certificate.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/schedule/benefit.hpp>
#include <shardweave/schedule/certify_order.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/validate_schedule.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/solve/proof/certify_placement.hpp>
#include <shardweave/spmd/describe_spmd.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/training_constraints.hpp>
#include <shardweave/step/certify_step.hpp>
#include <shardweave/step/check_step_certificate.hpp>
#include <shardweave/step/fitted_plan.hpp>
#include <shardweave/tasks/check_order_certificate.hpp>
#include <shardweave/tasks/pieces.hpp>

#include <examples/support/schedulers.hpp>
#include <examples/support/solvers.hpp>
#include <support/judged_answer.hpp>
#include <support/slow_timeline.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace soak {

step_figures of_steps;

namespace {

namespace sw = shardweave;
using value = sw::graph_builder::value;
using sw::dtype;
using sw::random_source;

template <class T>
const T& one_of(random_source& random, const std::vector<T>& all) {
  return all[random.below(all.size())];
}

// --- models -------------------------------------------------------------------------------------------------------

/// A decoder of one or two layers.
sw::computation random_llama(random_source& random) {
  sw::llama_config c{.name = "llama"};
  c.num_attention_heads = one_of<std::int64_t>(random, {1, 2, 3, 4, 8});
  c.num_key_value_heads =
      random.below(2) == 0 || c.num_attention_heads % 2 != 0 ? c.num_attention_heads : c.num_attention_heads / 2;
  c.hidden_size = c.num_attention_heads * one_of<std::int64_t>(random, {8, 32, 128});
  c.num_hidden_layers = 1 + static_cast<std::int64_t>(random.below(5) == 0);
  c.intermediate_size = c.hidden_size * one_of<std::int64_t>(random, {1, 2, 3});
  c.vocab_size = one_of<std::int64_t>(random, {48, 256, 1000, 32'000});
  c.tie_word_embeddings = random.below(3) == 0;
  c.feed_forward = one_of<sw::feed_forward_kind>(
      random, {sw::feed_forward_kind::gated_silu, sw::feed_forward_kind::gelu, sw::feed_forward_kind::squared_relu});
  c.rotary = random.below(2) == 0;
  c.normed_heads = random.below(3) == 0;
  sw::training_shape shape;
  shape.batch = one_of<std::int64_t>(random, {1, 2, 3, 4, 8, 16});
  shape.sequence = one_of<std::int64_t>(random, {8, 48, 256, 2048});
  shape.loss = one_of<sw::training_loss>(random, {sw::training_loss::logits, sw::training_loss::fused,
                                                  sw::training_loss::float32, sw::training_loss::sharded});
  shape.attention = random.below(3) == 0 ? sw::attention_form::plain : sw::attention_form::fused;
  return sw::llama_training_graph(c, shape);
}

/// A few operators in a row, with branches that come together again.
/// \param is_large  several layers, of values of many megabytes, which are worth a copy to the host's memory
sw::computation random_layers(random_source& random, bool is_large) {
  sw::graph_builder b("layers");
  const auto extent = [&] {
    if (is_large) return one_of<std::int64_t>(random, {96, 512, 1024, 4096});
    return one_of<std::int64_t>(random, {1, 2, 3, 4, 8, 12, 64, 96, 512, 4096});
  };
  const std::int64_t batch = extent(), rows = extent();
  std::int64_t width = extent();
  value x = b.input("x", {{batch, rows, width}, dtype::bf16});
  std::vector<value> before = {};  // of the width that x has
  const auto weight = [&](const std::string& name, sw::shape_vector shape) {
    const bool is_wide = random.below(2) == 0;
    const value w = b.parameter(name, {std::move(shape), is_wide ? dtype::f32 : dtype::bf16});
    return is_wide ? b.cast(w, dtype::bf16) : w;
  };
  const std::size_t layers = is_large ? 2 + random.below(3) : 1 + random.below(3);
  const bool are_layers = is_large || random.below(2) == 0;
  for (std::size_t l = 0; l < layers; ++l) {
    if (are_layers) b.layer(static_cast<std::int64_t>(l));
    const std::string number = std::to_string(l);
    b.group("part" + number);
    switch (random.below(6)) {
      case 0: {  // a product
        const std::int64_t wide = extent();
        x = b.einsum("bsk,kn->bsn", {x, weight("w" + number, {width, wide})});
        width = wide;
        before.clear();
        break;
      }
      case 1: {  // up and down
        const std::int64_t wide = extent();
        const value up = b.einsum("bsk,kn->bsn", {x, weight("up" + number, {width, wide})});
        const value y = random.below(2) == 0 ? b.mul(up, b.sigmoid(up)) : b.exp(up);
        x = b.einsum("bsn,kn->bsk", {y, weight("down" + number, {width, wide})});
        break;
      }
      case 2:  // a norm
        x = b.mul(x, b.rsqrt(b.add_scalar(b.mean(b.pow(x, 2), {-1}, true), 1e-6)));
        if (random.below(2) == 0) x = b.mul(x, weight("scale" + number, {width}));
        break;
      case 3: {  // attention of one head to a part
        const value q = b.view(x, {batch, 1, rows, width});
        x = b.view(b.getitem(b.sdpa(q, q, q), 0), {batch, rows, width});
        break;
      }
      case 4:
        x = b.softmax(x, random.below(2) == 0 ? -1 : 1);
        break;
      default:  // the dimensions in another order, and back
        x = b.permute(b.neg(b.permute(x, {0, 2, 1})), {0, 2, 1});
        break;
    }
    if (!before.empty() && random.below(2) == 0) x = b.add(x, one_of(random, before));
    before.push_back(x);
  }
  b.layer(-1).group("end");
  if (random.below(2) == 0) {
    b.result(b.sum(x, {0, 1, 2}));
  } else {
    b.result(random.below(2) == 0 ? x : b.mean(x, {-1}));
  }
  return sw::joint_graph(std::move(b));
}

sw::device_mesh random_mesh(random_source& random) {
  static const std::vector<std::vector<std::int64_t>> shapes = {{2},  {2},    {3},    {4},    {4},   {8},
                                                                {16}, {2, 2}, {2, 2}, {4, 2}, {2, 4}};
  static const std::vector<std::int64_t> cube = {2, 2, 2};
  return sw::device_mesh(random.below(24) == 0 ? cube : one_of(random, shapes));
}

sw::any_collectives random_collectives(random_source& random, const sw::device_preset& preset) {
  switch (random.below(3)) {
    case 0:
      return sw::alpha_beta(preset.profile);
    case 1:
      return sw::node_table<>(preset.profile);
    default:
      return sw::nccl_smooth(sw::nccl_node_of(preset.profile));
  }
}

/// Pairs of strategies at the ends of edges: most of the work on a model grows with them.
double pairs_of(const sw::spmd_cost_model& model) {
  double sum = 0;
  for (const auto& e : model.graph().all_edges())
    sum += static_cast<double>(model.strategy_count(e.source)) * static_cast<double>(model.strategy_count(e.target));
  return sum;
}

sw::spmd_cost_model any_random_model(random_source& random) {
  const sw::device_preset& preset = sw::find_preset(one_of<const char*>(random, {"h100", "a100", "b200"}));
  sw::spmd_options options;
  options.transition_us = random.below(3) == 0 ? 0 : 1;
  options.gather_after_cast = random.below(4) != 0;
  options.reduce_after_cast = random.below(4) == 0;
  const std::size_t kind = random.below(16);
  sw::computation graph = kind == 0 ? random_llama(random) : random_layers(random, kind < 7);
  return {std::move(graph),     random_mesh(random),
          preset.compute(),     random_collectives(random, preset),
          sw::standard_rules(), options};
}

/// One that is looked at in a second or so.
sw::spmd_cost_model random_model(random_source& random) {
  const double most = random.below(32) == 0 ? 60'000 : 15'000;
  while (true) {
    sw::spmd_cost_model model = any_random_model(random);
    if (pairs_of(model) <= most) return model;
  }
}

sw::training_options random_demands(random_source& random, const sw::spmd_cost_model& model) {
  sw::training_options demands;
  demands.tie_layers = random.below(4) != 0;
  demands.pair_gradients = random.below(8) != 0;
  if (random.below(2) == 0) demands.parameter_share.reset();
  if (random.below(3) == 0) demands.unit = sw::parameter_unit::size;
  if (random.below(3) == 0) {
    double all = 0;
    for (const sw::operation& op : model.operations().operations)
      for (const sw::tensor& t : op.outputs)
        all += static_cast<double>(sw::local_size(t, sw::sharding(model.mesh().rank()), model.mesh()).count());
    demands.device_memory = sw::bytes(static_cast<std::int64_t>(all * (0.05 + 0.6 * random.unit())));
  }
  return demands;
}

// --- placements ---------------------------------------------------------------------------------------------------

/// Fixes all but a few vertices as an assignment has them, so that what is left can be tried whole.
void leave_free(sw::constraint_set& all, const sw::spmd_cost_model& model, const sw::assignment& choice,
                random_source& random) {
  const auto n = static_cast<std::uint32_t>(choice.size());
  std::vector<char> is_free(n);
  double assignments = 1;
  for (std::size_t tries = 0; tries < 30; ++tries) {
    std::vector<std::uint32_t> some = {static_cast<std::uint32_t>(random.below(n))};
    if (random.below(2) == 0)
      for (const auto& e : model.graph().out(some[0])) some.push_back(e.target);
    for (const std::uint32_t v : sw::placed_together(all, some)) {
      if (is_free[v] != 0 || assignments * static_cast<double>(model.strategy_count(v)) > 200) continue;
      is_free[v] = 1;
      assignments *= static_cast<double>(model.strategy_count(v));
    }
  }
  for (std::uint32_t v = 0; v < n; ++v)
    if (is_free[v] == 0) all.fixed.push_back({v, {choice[v]}, "left as it is"});
}

/// What the model says that an assignment costs, asked strategy by strategy.
double priced_by_model(const sw::spmd_cost_model& model, const sw::assignment& choice) {
  double sum = 0;
  for (std::uint32_t v = 0; v < choice.size(); ++v) sum += model.vertex_cost(v, choice[v]);
  for (const auto& e : model.graph().all_edges()) sum += model.edge_cost(e, choice[e.source], choice[e.target]);
  return sum;
}

bool is_near(double a, double b) { return std::abs(a - b) <= 1e-7 * std::max({1.0, std::abs(a), std::abs(b)}); }

// --- plans ----------------------------------------------------------------------------------------------------------

/// A plan that somebody found: where it ends, and what it holds beside what no timeline sees.
struct seen_plan {
  double end = 0;
  double held = 0;  ///< with the optimizer's state
  bool copies = false;
  sw::assignment choice = {};
};

/// Memory and bandwidth with which a placement is best off with copies to the host.
struct worth_a_copy {
  sw::assignment choice = {};
  double memory = 0;
  double bandwidth = 0;
};

/// \returns the first task that runs before what it reads is there; empty: none does
std::string read_too_early(const sw::task_graph& g, const sw::timeline& line) {
  for (sw::task_index t = 0; t < g.size(); ++t) {
    const sw::task_index awaited = g.completes(t);
    if (awaited != sw::no_index && line.end[t] < line.end[awaited]) return std::string(g.name_of(t));
    for (const sw::task_index p : g.inputs(t))
      if (p != awaited && line.start[t] < line.end[p] && !g.is_collective(p)) return std::string(g.name_of(t));
  }
  return "";
}

/// What tasks compute, as numbers that are made of what they read, by name: tasks that repeat others compute the same.
using meanings = std::map<std::string, std::set<std::uint64_t>, std::less<>>;
std::uint64_t meaning_of(std::string_view name, std::span<const sw::task_index> inputs,
                         const std::vector<std::uint64_t>& known) {
  std::uint64_t sum = std::hash<std::string_view>{}(name);
  for (const sw::task_index from : inputs) sum = random_source(sum ^ known[from])();
  return sum;
}
meanings meanings_of(const sw::task_graph& g) {
  meanings all;
  std::vector<std::uint64_t> known(g.size());
  for (sw::task_index t = 0; t < g.size(); ++t) {
    known[t] = meaning_of(g.name_of(t), g.inputs(t), known);
    all[std::string(g.name_of(t))].insert(known[t]);
  }
  return all;
}

/// \returns the first task of a graph that makes values again which computes something else than its task in the given
///          one; empty if there is none, and all that the given graph returns is there. Copies to the host and back
///          hand on what they are given
std::string miscomputed(const sw::task_graph& again, const sw::task_graph& plain) {
  const meanings expected = meanings_of(plain);
  std::vector<std::uint64_t> known(again.size());
  std::size_t outputs = 0, wanted = 0;
  for (sw::task_index t = 0; t < again.size(); ++t) {
    std::string name(again.name_of(t));
    auto at = expected.find(name);
    if (const std::size_t cut = name.rfind(".again"); at == expected.end() && cut != std::string::npos)
      at = expected.find(name.erase(cut, 6));
    if (at == expected.end()) {  // a copy, or its wait
      if (again.inputs(t).empty()) return name + ", which is nowhere else";
      known[t] = known[again.inputs(t)[0]];
      continue;
    }
    known[t] = meaning_of(at->first, again.inputs(t), known);
    if (!at->second.contains(known[t])) return std::string(again.name_of(t));
    outputs += again.kind(t) == sw::task_kind::output ? 1U : 0U;
  }
  for (sw::task_index t = 0; t < plain.size(); ++t) wanted += plain.kind(t) == sw::task_kind::output ? 1U : 0U;
  return outputs == wanted ? "" : "fewer outputs";
}

/// What is copied to the host's memory.
struct copied_values {
  std::string wrong = {};  ///< the first thing that is; empty: every value is copied once, back at most once after
                           ///< that, waited for before it is read, and nothing late reads what has been copied
  std::int64_t moved = 0;  ///< bytes to the host
};

/// What the copies of a graph do, read off its tasks alone.
copied_values copies_of(const sw::task_graph& g, double bytes_per_second) {
  copied_values found;
  const auto is_wrong = [&](sw::task_index t, const char* what) {
    if (found.wrong.empty()) found.wrong = std::string(g.name_of(t)) + " " + what;
  };
  const auto is_copy = [&](sw::task_index t) {
    return g.is_collective(t) && (g.name_of(t).ends_with(".to_host") || g.name_of(t).ends_with(".from_host"));
  };
  std::map<std::uint32_t, std::uint32_t> at_host;   // by storage: where it waits
  std::map<std::uint32_t, std::uint32_t> is_there;  // by storage of the host, once it is filled: that of the device
  std::set<std::uint32_t> back;                     // of the host
  for (sw::task_index t = 0; t < g.size(); ++t) {
    for (const sw::task_index p : g.inputs(t)) {
      if (is_copy(p) && g.completes(t) != p) is_wrong(t, "reads what may not be there yet");
      const bool is_late = g.when(t) && *g.when(t) != sw::phase::forward;
      for (std::size_t i = 0; is_late && i < g.output_count(p); ++i)
        if (at_host.contains(g.output_storage(p, i))) is_wrong(t, "reads late what was copied");
    }
    if (const sw::task_index launch = g.completes(t); launch != sw::no_index && is_copy(launch)) {
      if (g.name_of(launch).ends_with(".from_host")) continue;
      if (!is_there.emplace(g.output_storage(launch, 0), g.output_storage(launch, 1)).second)
        is_wrong(t, "waits twice");
    }
    if (!is_copy(t)) continue;
    const std::uint32_t to = g.output_storage(t, 0);
    const sw::bytes size = g.storages()[to].size;
    const sw::task_index from = g.inputs(t).size() == 1 ? g.inputs(t)[0] : t;
    if (from == t) {
      is_wrong(t, "copies something else than one value");
      return found;
    }
    const bool is_whole = g.collective(t).bytes_in == size && g.collective(t).bytes_out == size;
    const auto ns = static_cast<double>(g.duration(t).count());
    const double least = static_cast<double>(size.count()) * 1e9 / bytes_per_second;
    if (!is_whole || ns < least || ns > least + 1) is_wrong(t, "takes another time");
    const bool is_out = g.name_of(t).ends_with(".to_host");
    if ((g.storages()[to].device == sw::storage_device::cpu) != is_out) is_wrong(t, "copies to the other side");
    if (is_out) {
      const std::uint32_t what = g.output_storage(from, 0);
      if (g.output_count(t) != 2 || g.output_storage(t, 1) != what) is_wrong(t, "lets go what it copies");
      if (g.storages()[what].size != size) is_wrong(t, "copies a part");
      if (!at_host.emplace(what, to).second) is_wrong(t, "copies twice");
      found.moved += size.count();
    } else {
      const auto what = is_there.find(g.output_storage(from, 0));
      if (what == is_there.end()) {
        is_wrong(t, "copies back what is not there");
        return found;
      }
      if (g.storages()[what->second].size != size) is_wrong(t, "copies back a part");
      if (!back.insert(what->first).second) is_wrong(t, "copies back twice");
    }
  }
  if (is_there.size() != at_host.size() && g.size() > 0)
    is_wrong(0, "is in a graph with a copy that nothing waits for");
  return found;
}

double computation_of(const sw::task_graph& g) {
  double sum = 0;
  for (sw::task_index t = 0; t < g.size(); ++t)
    if (!g.is_collective(t)) sum += static_cast<double>(g.duration(t).count());
  return sum;
}

/// What the tasks of a graph take of each channel, the compute stream first.
std::vector<double> busy(const sw::task_graph& g) {
  std::vector<double> sum(1 + g.groups().size());
  for (sw::task_index t = 0; t < g.size(); ++t)
    sum[g.is_collective(t) ? 1 + g.collective(t).group : 0] += static_cast<double>(g.duration(t).count());
  return sum;
}

/// One random model.
class one_step {
 public:
  explicit one_step(std::uint64_t seed) : random_(seed), seed_(seed), model_(random_model(random_)) {
    case_ = "step " + std::to_string(seed) + ", " + std::to_string(model_.graph().vertex_count()) + " operations on " +
            model_.mesh().to_string();
    about = case_;
  }

  void run() {
    try {
      constraints_ = sw::training_constraints(model_, random_demands(random_, model_));
      beside_ = sw::optimizer_state_of(model_, one_of<double>(random_, {0, 8, 12}));
      is_small_ = random_.below(2) == 0;
      if (is_small_) {
        const auto free = sw::auto_solver{}.solve(sw::compile(sw::describe(model_, constraints_)), limit());
        if (free.has_assignment()) leave_free(constraints_, model_, free.choice, random_);
        is_small_ = free.has_assignment();
      }
      place();
    } catch (const sw::error& e) {
      expect(e.category() == sw::error_category::constraint || e.category() == sw::error_category::input, e.what());
      ++of_steps.unplaceable;
      return;
    }
    ++of_steps.models;
    if (placements_.empty()) return;
    of_tasks();
    by_pipeline();
    search();
  }

 private:
  [[nodiscard]] static sw::solve_control limit() { return {.seconds = 1}; }

  // --- every solver, and the placements that they find --------------------------------------------------------

  void place() {
    sw::placement_description<double> d = sw::describe(model_, constraints_);
    if (random_.below(2) == 0) {
      d.counted = one_of<sw::savings_form>(
          random_, {sw::savings_form::windows, sw::savings_form::windows, sw::savings_form::strict,
                    sw::savings_form::inclusive, sw::savings_form::inclusive_twice});
      if (d.counted == sw::savings_form::windows) {
        d.windows.every_edge = random_.below(3) == 0;
        if (random_.below(3) == 0) d.windows.prefetch = random_.below(4);
      }
    }
    counted_ = d.counted;
    windows_ = d.windows;
    const sw::placement_problem<double> problem = sw::compile(d);
    std::optional<shardweave_test::judged_problem<double>> judged;
    if (is_small_) {
      judged.emplace(shardweave_test::with_dense_tables(d));
      of_steps.tried += judged->best.feasible;
    }
    static const auto solvers = programs::solvers<double>();
    double best = std::numeric_limits<double>::infinity(), most = -best;
    std::string of_best, of_most;
    for (std::size_t i = 0; i < solvers.size(); ++i) {
      // the first is the default; of the others some are asked, all of them over the seeds
      if (i > 0 && (i + seed_) % 4 != 0) continue;
      if (!is_small_ && solvers[i].name == "exhaustive") continue;
      const bool is_ilp = solvers[i].name.find("ilp") != std::string::npos;
      if (is_ilp && pairs_of(model_) > 2000) continue;  // seconds each
      about = case_ + ", " + std::string(sw::name_of(d.counted)) + ", " + solvers[i].name;
      try {
        const auto answer = solvers[i].solve(problem, {.seconds = 2, .iterations = 100, .seed = seed_});
        ++of_steps.answers;
        if (judged) {
          const std::string broken = broken_promise(*judged, answer);
          expect(broken.empty(), broken);
        }
        if (answer.lower_bound > most) most = answer.lower_bound, of_most = solvers[i].name;
        if (!answer.has_assignment()) continue;
        const auto priced = sw::evaluate(d, answer.choice);
        expect(priced.is_feasible(), "its assignment breaks a constraint");
        expect(is_near(priced.objective, answer.objective), "its objective is not what it costs");
        expect(is_near(priced.objective + priced.savings, priced_by_model(model_, answer.choice)),
               "the model prices it otherwise");
        if (answer.objective < best) best = answer.objective, of_best = solvers[i].name;
        if (std::ranges::find(placements_, answer.choice) == placements_.end()) placements_.push_back(answer.choice);
      } catch (const sw::error& e) {
        expect(e.category() == sw::error_category::input, e.what());
      }
    }
    about = case_ + ", " + std::string(sw::name_of(d.counted));
    expect(most <= best + 1e-7 * std::max(1.0, std::abs(best)),
           "the bound of " + of_most + ", " + sw::number_text(most) + ", is above the answer of " + of_best + ", " +
               sw::number_text(best));
    const auto proof = sw::certify_placement(problem, best, {}, limit());
    const auto verdict = sw::check_certificate(d, proof);
    expect(verdict.accepted, "its certificate is refused: " + verdict.failure);
    expect(proof.infeasible ? !std::isfinite(best)
                            : static_cast<double>(proof.lower_bound) <= best + 1e-7 * std::max(1.0, std::abs(best)),
           "certified above an answer");
    if (placements_.size() > 3) placements_.resize(3);
  }

  // --- tasks, buckets and orders ------------------------------------------------------------------------------

  [[nodiscard]] double beside(const sw::assignment& choice) const { return sw::bytes_of(beside_, choice); }

  /// \returns the timeline of an order, looked at from all sides
  sw::timeline looked_at(const sw::task_graph& g, const sw::schedule& order, bool often) {
    const sw::timeline line = sw::simulate(g, order);
    ++of_steps.ends;
    const std::string early = read_too_early(g, line);
    expect(early.empty(), early + " runs before what it reads is there");
    if (g.size() < 400 && random_.below(often ? 2 : 8) == 0) {
      shardweave_test::by_events other{g, order};
      other.run();
      expect(std::max(other.last, other.compute_end) == line.end_to_end.count(), "a second simulator ends elsewhere");
      expect(other.exposed == line.exposed.count(), "a second simulator waits for another time");
      expect(shardweave_test::peak_by_counting(g, order) == line.peak.count(), "counted anew it holds something else");
    }
    return line;
  }
  /// The same of a plan, which bounds on all plans are held against.
  sw::timeline look_at(const sw::task_graph& g, const sw::schedule& order, const sw::assignment& choice,
                       bool copies = false) {
    const sw::timeline line = looked_at(g, order, copies);
    seen_.push_back({static_cast<double>(line.end_to_end.count()),
                     static_cast<double>(line.peak.count()) + beside(choice), copies, choice});
    return line;
  }

  void of_tasks() {
    static const auto bucketings = programs::bucketings();
    static const auto schedulers = programs::schedulers();
    const sw::lowered_work told(model_);
    const sw::step_work alone = sw::describe_work(model_.graph(), told.alone());
    for (const sw::assignment& choice : placements_) {
      about = case_ + ", tasks";
      const sw::lowered_graph lowered = sw::lower(model_, choice);
      const sw::task_graph& g = lowered.tasks;
      check_work(alone, choice, g);
      const sw::order_certificate of_any = sw::certify_all_bucketings(g);
      expect(sw::check_certificate(g, of_any).accepted, "a bound of all bucketings is not proven");
      for (std::size_t i = 0; i < 3; ++i) {
        const auto& b = one_of(random_, bucketings);
        const auto& s = one_of(random_, schedulers);
        if (s.name == "exact" && g.size() > 25) continue;
        about = case_ + ", " + b.name + ", " + s.name;
        const sw::solve_control control{.iterations = 30, .seed = seed_};
        const sw::schedule order = s.run(g, b.run(g, control, std::nullopt), control, std::nullopt);
        const sw::timeline line = look_at(g, order, choice);
        expect(line.end_to_end >= of_any.lower_bound, "it ends before any order can");
        const sw::order_certificate proof = sw::certify_order(g, order.buckets);
        expect(line.end_to_end >= proof.lower_bound, "it ends before its buckets allow");
        expect(sw::check_certificate(g, proof).accepted, "the bound of its buckets is not proven");
      }
      make_some_again(lowered, choice);
      copy_some(lowered, choice);
      cut_some(lowered, choice);
      part_batch(lowered);
      for (std::size_t i = 0; i < 4; ++i) choose_some(lowered, choice);
    }
    if (seed_ % 4 == 0) check_file(sw::lower(model_, placements_[0]).tasks);
  }

  /// What a placement is told to take of each channel brackets what its tasks take: of what several share once, or
  /// each.
  void check_work(const sw::step_work& alone, const sw::assignment& choice, const sw::task_graph& g) const {
    const std::vector<double> tasks = busy(g);
    const sw::taken_work taken = sw::work_of(alone, choice);
    std::vector<double> once(alone.channels), each(alone.channels);
    for (const double t : taken.time) {
      once[0] += t;
      each[0] += t;
    }
    for (std::size_t c = 0; c < alone.channels; ++c) {
      std::map<std::uint32_t, double> of_share;
      for (std::size_t e = 0; e < alone.edges.size(); ++e) {
        const double load = taken.load[e * alone.channels + c];
        each[c] += load;
        double& largest = of_share[alone.edges[e].share];
        largest = std::max(largest, load);
      }
      for (const auto& [share, load] : of_share) once[c] += load;
      const std::string at = " of channel " + std::to_string(c);
      expect(c < tasks.size() || each[c] == 0, "no task takes anything" + at);
      if (c >= tasks.size()) continue;
      expect(once[c] <= tasks[c] + 0.5, "tasks take less than is told" + at);
      expect(tasks[c] <= each[c] + 0.5, "tasks take more than is told" + at);
    }
  }

  [[nodiscard]] std::vector<std::uint32_t> blocks_of(const sw::lowered_graph& lowered, bool as_one) const {
    std::vector<std::uint32_t> block;
    for (const sw::task_origin& from : lowered.origin) {
      const std::int64_t layer = model_.operations().operations[from.operation].layer;
      block.push_back(layer < 0 && !as_one ? sw::no_index : as_one ? 0U : static_cast<std::uint32_t>(layer));
    }
    return block;
  }

  /// The same step with some values made again: it computes the same, and its plans are seen, too.
  void make_some_again(const sw::lowered_graph& lowered, const sw::assignment& choice) {
    const auto some = [&](sw::task_index) { return random_.below(2) == 0; };
    for (std::size_t i = 0; i < 3; ++i) {
      about = case_ + ", made again";
      const auto dropped = sw::dropped_storages(lowered.tasks, blocks_of(lowered, i < 2), some);
      const sw::recomputed_graph again = sw::with_recomputation(lowered.tasks, dropped);
      const std::string wrong = miscomputed(again.tasks, lowered.tasks);
      expect(wrong.empty(), "computes something else: " + wrong);
      expect(computation_of(again.tasks) <=
                 computation_of(lowered.tasks) + static_cast<double>(again.compute.count()) + 0.5,
             "more runs twice than is told");
      look_at(again.tasks, sw::in_order{}(again.tasks, {}), choice);
      look_at(again.tasks, sw::benefit<>{}.plan(again.tasks), choice);
    }
  }

  /// The same step with values that wait in the host's memory, and some others made again.
  void copy_some(const sw::lowered_graph& lowered, const sw::assignment& choice) {
    const sw::task_graph& plain = lowered.tasks;
    const std::vector<char> may = sw::copyable_storages(plain);
    for (std::size_t i = 0; i < 2; ++i) {
      about = case_ + ", copied to the host";
      sw::host_copies copies{.storages = may, .bytes_per_second = random_bandwidth()};
      for (char& c : copies.storages) c = static_cast<char>(c != 0 && random_.below(3) != 0);
      const auto few = [&](sw::task_index) { return random_.below(4) == 0; };
      const auto dropped = sw::dropped_storages(plain, blocks_of(lowered, i == 0), few);
      std::int64_t expected = 0;
      for (std::size_t s = 0; s < dropped.size(); ++s)
        if (copies.storages[s] != 0 && dropped[s] == 0) expected += plain.storages()[s].size.count();
      look_at_copies(sw::with_recomputation(plain, dropped, copies).tasks, plain, copies.bytes_per_second, expected,
                     choice);
    }
  }

  void look_at_copies(const sw::task_graph& with, const sw::task_graph& plain, double bytes_per_second,
                      std::int64_t expected, const sw::assignment& choice) {
    const std::string wrong = miscomputed(with, plain);
    expect(wrong.empty(), "computes something else: " + wrong);
    const copied_values copied = copies_of(with, bytes_per_second);
    expect(copied.wrong.empty(), copied.wrong);
    expect(copied.moved == expected, "copies another amount than is told");
    if (copied.moved == 0) return;
    ++of_steps.copies;
    static const auto schedulers = programs::schedulers();
    const auto& s = one_of(random_, schedulers);
    look_at(with, sw::in_order{}(with, {}), choice, true);
    look_at(with, sw::benefit<>{}.plan(with), choice, true);
    if (s.name != "exact" || with.size() <= 25)
      look_at(with, s.run(with, {}, {.iterations = 30, .seed = seed_}, std::nullopt), choice, true);
    const sw::order_certificate of_any = sw::certify_all_bucketings(with);
    expect(sw::check_certificate(with, of_any).accepted, "a bound of all bucketings is not proven");
    expect_after(seen_.back().end, static_cast<double>(of_any.lower_bound.count()), "it ends before any order can");
  }

  /// The same step with some collectives in pieces: it moves and holds as much, and computes for as much longer as is
  /// told.
  void cut_some(const sw::lowered_graph& lowered, const sw::assignment& choice) {
    about = case_ + ", in pieces";
    const sw::task_graph& whole = lowered.tasks;
    const unsigned pieces = 2 + static_cast<unsigned>(random_.below(4));
    std::vector<char> wanted(whole.size());
    for (char& w : wanted) w = random_.below(3) != 0;
    const sw::pipelined_graph cut = sw::with_pipelined_collectives(lowered, model_, choice, pieces, wanted);
    of_steps.pieces += cut.collectives;
    const sw::task_graph& g = cut.lowered.tasks;
    expect(computation_of(g) == computation_of(whole) + static_cast<double>(cut.longer.count()),
           "computes for another time than is told");
    expect(moved_in(g) == moved_in(whole), "moves another amount");
    const sw::schedule own = sw::in_order{}(g, {});
    expect(sw::simulate(g, own).peak == sw::simulate(whole, sw::in_order{}(whole, {})).peak, "holds something else");
    const sw::schedule planned = sw::benefit<>{}.plan(whole);
    look_around(g, {own, sw::benefit<>{}.plan(g), sw::in_pieces(whole, planned, cut.cut, pieces)});
  }
  /// The step of a batch whose parts take turns, of which this is one.
  void part_batch(const sw::lowered_graph& part) {
    about = case_ + ", a part of the batch";
    const unsigned parts = 2 + static_cast<unsigned>(random_.below(2));
    const sw::task_graph& g = sw::with_batch_parts(part, model_, parts).tasks;
    const double once = computation_of(part.tasks), all = computation_of(g);
    expect(once <= all, "parts compute for less time than one");
    expect(moved_in(part.tasks) <= moved_in(g) && moved_in(g) <= parts * moved_in(part.tasks),
           "parts move less than one, or more than each by itself");
    look_around(g, {sw::in_order{}(g, {}), sw::benefit<>{}.plan(g)});
  }
  void look_around(const sw::task_graph& g, const std::vector<sw::schedule>& orders) {
    const sw::order_certificate of_any = sw::certify_all_bucketings(g);
    expect(sw::check_certificate(g, of_any).accepted, "a bound of all bucketings is not proven");
    for (const sw::schedule& order : orders) {
      sw::validate_schedule(g, order);
      expect(looked_at(g, order, true).end_to_end >= of_any.lower_bound, "it ends before any order can");
    }
  }
  [[nodiscard]] static std::int64_t moved_in(const sw::task_graph& g) {
    std::int64_t sum = 0;
    for (sw::task_index t = 0; t < g.size(); ++t)
      if (g.is_collective(t)) sum += g.collective(t).bytes_in.count();
    return sum;
  }

  [[nodiscard]] double random_bandwidth() { return 1e9 * std::pow(10, 4 * std::max(random_.unit(), random_.unit())); }

  /// The fastest choice of what is kept, copied and made again within some memory: it keeps what it promises, and who
  /// may copy loses no more time.
  void choose_some(const sw::lowered_graph& lowered, const sw::assignment& choice) {
    const sw::task_graph& plain = lowered.tasks;
    std::vector<std::uint32_t> layers;
    for (const sw::operation& op : model_.operations().operations)
      layers.push_back(op.layer < 0 ? sw::no_index : static_cast<std::uint32_t>(op.layer));
    const std::vector<std::uint32_t> blocks = sw::blocks_of_tasks(lowered, layers);
    sw::activation_options here{.regather = random_.below(4) == 0};
    if (random_.below(3) == 0) here.least = sw::bytes(std::int64_t{1} << random_.below(22));
    sw::activation_options there = here;
    there.host_bandwidth = random_bandwidth();
    const sw::activation_blocks found = sw::activation_blocks_of(plain, blocks, there);
    std::size_t most_choices = 0;
    bool may_copy = false;
    for (const sw::recompute_block& block : sw::activation_blocks_of(plain, blocks, here).blocks) {
      const auto is_free = [](const sw::block_value& v) { return v.may_keep && v.may_drop; };
      most_choices = std::max(most_choices, static_cast<std::size_t>(std::ranges::count_if(block.values, is_free)));
    }
    for (const sw::recompute_block& block : found.blocks)
      for (const sw::block_value& v : block.values) may_copy = may_copy || v.may_offload;
    if (found.blocks.empty() || !may_copy || most_choices > 12) return;  // more are cut, and take long
    about = case_ + ", chosen";
    const auto none = sw::recompute_by_rule(plain, blocks, sw::recompute_rule::none, here);
    const auto full = sw::recompute_by_rule(plain, blocks, sw::recompute_rule::full, here);
    const sw::recomputation_choices alone(plain, blocks, here), with_copies(plain, blocks, there);
    for (std::size_t i = 0; i < 2; ++i) {
      const auto most = static_cast<double>(std::min(none.chosen.peak, sw::simulate(plain).peak).count());
      const double least = 0.9 * std::min(static_cast<double>(full.chosen.peak.count()), most);
      const sw::bytes limit(static_cast<std::int64_t>(least + random_.unit() * (most - least)));
      const auto without = alone.within(limit), with = with_copies.within(limit);
      ++of_steps.choices;
      for (const sw::recomputation_plan* plan : {&without, &with}) {
        if (!plan->graph) {
          expect(plan->chosen.shortage && plan->chosen.shortage->least > limit, "nothing fits, and nobody says why");
          continue;
        }
        const sw::task_graph& again = plan->graph->tasks;
        expect(plan->chosen.peak <= limit, "chosen beyond the limit");
        expect(sw::simulate(again).peak <= plan->chosen.peak, "it holds more than is promised");
        if (!here.regather)  // what gathered parameters take is not counted
          expect(plan->graph->compute <= plan->chosen.time, "it makes more again than is promised");
        expect(plan->chosen.lower_bound <= plan->chosen.time, "the bound on its time is above it");
        look_at_copies(again, plain, there.host_bandwidth, plan->chosen.offloaded.count(), choice);
      }
      expect(without.chosen.offloaded == sw::bytes(0), "copies without a bandwidth");
      if (with.chosen.offloaded > sw::bytes(0) && without.chosen.time != with.chosen.time)
        worth_a_copy_.push_back({choice, static_cast<double>(limit.count()) + beside(choice), there.host_bandwidth});
      if (!without.graph) continue;
      expect(with.graph.has_value(), "nothing fits where copies are allowed, and something does where they are not");
      expect(with.chosen.lower_bound <= without.chosen.time, "where copies are allowed more time is lost");
    }
  }

  static void check_file(const sw::task_graph& g) {
    const std::string text = sw::json_string([&](sw::json_writer& out) { sw::write_task_graph(out, g); });
    auto input = sw::text_input::of_memory("tasks", text);
    expect(sw::simulate(sw::read_task_graph(input)) == sw::simulate(g), "read again it is another timeline");
  }

  // --- the pipeline -------------------------------------------------------------------------------------------

  void by_pipeline() {
    about = case_ + ", pipeline";
    sw::pipeline way(sw::auto_solver{}, sw::benefit<>{});
    const sw::training_plan plain = way.run(model_, constraints_);
    if (!plain.tasks) return;
    check_plan(plain);
    if (counted_ == sw::savings_form::off) return;
    way.counted = counted_;
    way.windows = windows_;
    const sw::deadline ends(limit());
    const sw::training_plan saving = way.run(model_, constraints_, limit());
    const bool is_whole = !ends.expired();  // what is cut off may be less than what has all its time
    if (!saving.tasks) return;
    check_plan(saving);
    expect(!is_whole || saving.tasks->after.end_to_end <= plain.tasks->after.end_to_end, "counting savings costs time");
  }

  /// A plan is what it says of itself.
  void check_plan(const sw::training_plan& plan) {
    const auto& choice = plan.placement.choice;
    const auto priced = sw::evaluate(*plan.problem, choice);
    expect(priced.is_feasible(), "its placement breaks a constraint");
    expect(is_near(priced.objective, plan.placement.objective), "its placement costs something else");
    expect(plan.placement.lower_bound <= priced.objective + 1e-7 * std::max(1.0, std::abs(priced.objective)),
           "the bound on its costs is above them");
    const sw::task_graph& tasks = plan.lowered->tasks;
    bool copies = false;
    for (sw::task_index t = 0; t < tasks.size(); ++t) copies = copies || tasks.name_of(t).ends_with(".to_host");
    const sw::timeline line = look_at(tasks, plan.tasks->order, choice, copies);
    expect(line.end_to_end == plan.tasks->after.end_to_end && line.peak == plan.tasks->after.peak,
           "it is told otherwise than it is simulated");
    expect(line.end_to_end >= plan.tasks->makespan_bound, "it ends before its buckets allow");
  }

  // --- the fastest plan -----------------------------------------------------------------------------------------

  void search() {
    const sw::pipeline way(sw::auto_solver{}, sw::benefit<>{});
    sw::fastest_plan_options how;
    how.search.plans = 3 + random_.below(5);
    how.search.improved = random_.below(3);
    how.changes = 20;
    how.rounds = 1;
    how.rebucket = random_.below(4) != 0;
    how.search.bound.entries = 5'000'000;  // otherwise a decoder takes most of a minute
    how.search.around = one_of<std::size_t>(random_, {0, 512, 2048});
    sw::solve_control control{.seed = seed_, .threads = random_.below(4) == 0 ? 2U : 1U};
    if (random_.below(16) == 0) control.seconds = 1;  // a search that has a time uses all of it

    about = case_ + ", fastest plan";
    const sw::fastest_plan_result free = sw::fastest_plan(way, model_, constraints_, how, control);
    ++of_steps.searches;
    if (!free.plan.tasks) return;
    check_plan(free.plan);
    expect(free.stopped || free.plan.tasks->after.end_to_end <= free.step_of_least_sum,
           "slower than the plan of the least sum");
    const std::string wrong =
        miscomputed(free.plan.lowered->tasks, sw::lower(model_, free.plan.placement.choice).tasks);
    expect(wrong.empty() && !free.fitted, "makes something again without a limit: " + wrong);

    // the others that there are: all of few placements, those that the bound met, and random ones
    try_placements(free, way);
    const double bound = free.bounds.bound;
    for (const seen_plan& one : seen_) expect_after(one.end, bound, "a plan ends before the bound on all plans");
    if (free.complete)
      for (const double end : by_pass_)
        expect(static_cast<double>(free.plan.tasks->after.end_to_end.count()) <= end, "complete, and is not");
    certify(free, [](const seen_plan&) { return true; });
    double earliest = std::numeric_limits<double>::infinity();
    for (const seen_plan& one : seen_) earliest = std::min(earliest, one.end);
    if (earliest > 0) of_steps.nearest = std::max(of_steps.nearest, bound / earliest);

    within_memory(free, way, how, control);
  }

  static void expect_after(double end, double bound, const char* what) {
    expect(end >= bound * (1 - 1e-9) - 1e-6,
           std::string(what) + ": " + std::to_string(end) + " and " + std::to_string(bound));
  }

  template <class Way>
  void try_placements(const sw::fastest_plan_result& found, const Way& way) {
    std::vector<sw::assignment> others;
    if (is_small_) {
      const auto stated = shardweave_test::with_dense_tables(*found.plan.problem);
      shardweave_test::for_all_feasible(stated, [&](const sw::assignment& choice) { others.push_back(choice); });
    } else {
      others = found.bounds.placements;
    }
    const std::size_t step = 1 + others.size() / 40;
    for (std::size_t i = random_.below(step); i < others.size(); i += step) {
      const sw::task_graph g = sw::lower(model_, others[i]).tasks;
      const sw::timeline line = look_at(g, way.pass.plan(g, {}), others[i]);
      if (is_small_) by_pass_.push_back(static_cast<double>(line.end_to_end.count()));
      look_at(g, sw::in_order{}(g, {}), others[i]);
    }
  }

  template <class Way>
  void within_memory(const sw::fastest_plan_result& free, const Way& way, sw::fastest_plan_options how,
                     const sw::solve_control& control) {
    about = case_ + ", within a memory";
    const double held = static_cast<double>(free.plan.tasks->after.peak.count()) + beside(free.plan.placement.choice);
    double least = held;
    for (const seen_plan& one : seen_) least = std::min(least, one.held);
    const double between = random_.unit() * 1.1 - 0.05;  // some fit as they are, some not at all
    auto memory = static_cast<std::int64_t>(least + between * (held - least));
    const bool may_copy = random_.below(3) != 0;
    if (may_copy) how.host_bandwidth = random_bandwidth();
    // others, if any, fit as they are: of some models one placement alone
    sw::constraint_set demands = constraints_;
    std::optional<sw::assignment> only;
    if (may_copy && !worth_a_copy_.empty() && random_.below(4) != 0) {
      const worth_a_copy& one = one_of(random_, worth_a_copy_);
      memory = static_cast<std::int64_t>(std::ceil(one.memory));
      how.host_bandwidth = one.bandwidth;
      only = one.choice;
      for (std::uint32_t v = 0; v < only->size(); ++v) demands.fixed.push_back({v, {(*only)[v]}, "this one alone"});
    }
    how.memory = sw::bytes(memory);
    how.beside = beside_;
    how.fills = random_.below(2) == 0;
    if (random_.below(8) != 0) how.held = [&] { return sw::held_values_of(model_, demands, 0); };
    if (random_.below(3) == 0)
      how.within = [](const sw::task_graph& g, sw::bytes room, const sw::solve_control& rest) {
        sw::benefit<> pass;
        pass.memory = pass.order.memory = room;
        return pass.plan(g, rest);
      };
    about += " of " + std::to_string(memory) + " bytes" + (may_copy ? ", with copies" : "");
    const sw::fastest_plan_result found = sw::fastest_plan(way, model_, demands, how, control);
    ++of_steps.limited;
    if (!found.plan.tasks) return expect(false, "no plan comes back");
    check_plan(found.plan);
    const sw::assignment& choice = found.plan.placement.choice;
    const sw::timeline& line = found.plan.tasks->after;
    const double holds = static_cast<double>(line.peak.count()) + beside(choice);
    const sw::task_graph& tasks = found.plan.lowered->tasks;
    const sw::lowered_graph plain = sw::lower(model_, choice);
    const std::string wrong = miscomputed(tasks, plain.tasks);
    expect(wrong.empty(), "computes something else: " + wrong);
    const auto is_copy = [&](const seen_plan& one) { return one.copies; };
    bool copies = false;
    for (sw::task_index t = 0; t < tasks.size(); ++t) copies = copies || tasks.name_of(t).ends_with(".to_host");
    expect(may_copy || !copies, "copies to the host");
    if (copies && may_copy) {
      const copied_values copied = copies_of(tasks, how.host_bandwidth);
      expect(copied.wrong.empty(), copied.wrong);
      expect(found.fitted && copied.moved == found.fitted->chosen.chosen.offloaded.count(),
             "copies another amount than is told");
    }
    if (found.fitted) {
      ++of_steps.fitted;
      of_steps.copied += copies ? 1U : 0U;
      expect(holds <= static_cast<double>(memory), "made again, and does not fit");
      expect(
          computation_of(tasks) <= computation_of(plain.tasks) + static_cast<double>(found.fitted->time.count()) + 0.5,
          "more runs twice than is told");
      if (found.step_without_limit) expect(found.step_without_limit->count() > 0, "no step without the limit");
    } else {
      expect(tasks.size() == plain.tasks.size(), "tasks are made again, and nobody says so");
    }
    if (holds <= static_cast<double>(memory)) {
      expect_after(static_cast<double>(line.end_to_end.count()), free.bounds.bound,
                   "within a memory it ends before the bound on all plans");
      expect_after(static_cast<double>(line.end_to_end.count()), found.bounds.bound, "it ends before its own bound");
      if (found.step_of_least_sum.count() > 0)
        expect(line.end_to_end <= found.step_of_least_sum, "slower than the plan of the least sum");
    }
    if (may_copy && random_.below(6) == 0) {
      sw::fastest_plan_options here = how;
      here.host_bandwidth = 0;
      const sw::fastest_plan_result alone = sw::fastest_plan(way, model_, demands, here, control);
      if (!alone.plan.tasks) return expect(false, "no plan comes back where copies are not allowed");
      const sw::timeline& other = alone.plan.tasks->after;
      const bool fits =
          static_cast<double>(other.peak.count()) + beside(alone.plan.placement.choice) <= static_cast<double>(memory);
      check_plan(alone.plan);
      expect(found.stopped || alone.stopped || !fits ||
                 (holds <= static_cast<double>(memory) && line.end_to_end <= other.end_to_end),
             "where copies are allowed the plan is slower");
    }
    const auto fits = [&](const seen_plan& one) {
      return one.held <= static_cast<double>(memory) && (may_copy || !is_copy(one)) && (!only || one.choice == *only);
    };
    for (const seen_plan& one : seen_)
      if (fits(one)) expect_after(one.end, found.bounds.bound, "a plan that fits ends before the bound on these");
    certify(found, fits);
  }

  /// The bound of a search has a proof, which is checked alone, and which no plan contradicts.
  template <class Fits>
  void certify(const sw::fastest_plan_result& found, const Fits& fits) const {
    if (!found.work || !found.bounded || !(found.bounds.bound > 0) || !std::isfinite(found.bounds.bound)) return;
    const auto proof = sw::certify_step(found.bounds, sw::compile(found.bounded), *found.work, {}, limit());
    const std::string text = sw::json_string([&](sw::json_writer& out) { sw::write_certificate(out, proof); });
    auto input = sw::text_input::of_memory("certificate", text);
    const auto read = sw::read_step_certificate(input);
    const auto verdict = sw::check_certificate(*found.bounded, *found.work, read);
    ++of_steps.proofs;
    expect(verdict.accepted, "the proof of its bound is refused: " + verdict.failure);
    for (const seen_plan& one : seen_)
      if (fits(one)) expect_after(one.end, verdict.bound, "a plan ends before the proven bound");
    if (seed_ % 4 != 0) return;
    const std::string problem =
        sw::json_string([&](sw::json_writer& out) { sw::write_step_problem(out, *found.bounded, *found.work); });
    auto stated = sw::text_input::of_memory("problem", problem);
    const sw::step_problem again = sw::read_step_problem(stated);
    const auto second = sw::check_certificate(again.description, *again.work, read);
    expect(second.accepted && second.bound == verdict.bound, "of what is read again its proof says something else");
  }

  random_source random_;
  std::uint64_t seed_;
  sw::spmd_cost_model model_;
  std::string case_ = {};
  sw::constraint_set constraints_ = {};
  std::vector<sw::held_form> beside_ = {};
  bool is_small_ = false;
  sw::savings_form counted_ = sw::savings_form::off;
  sw::windows_form windows_ = {};
  std::vector<sw::assignment> placements_ = {};
  std::vector<seen_plan> seen_ = {};
  std::vector<worth_a_copy> worth_a_copy_ = {};
  std::vector<double> by_pass_ = {};  ///< ends by the pipeline's own pass, of all placements that there are
};

}  // namespace

void try_step(std::uint64_t seed) {
  about = "step " + std::to_string(seed);
  one_step one(seed);
  try {
    one.run();
  } catch (const sw::error& e) {
    expect(false, e.what());
  }
}

}  // namespace soak
