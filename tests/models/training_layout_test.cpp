#include <shardweave/core/error.hpp>
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/lowering/lower.hpp>
#include <shardweave/models/deepseek.hpp>
#include <shardweave/models/f8_products.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/models/training_layout.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/spmd/describe_spmd.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/standard_rules.hpp>
#include <shardweave/spmd/training_constraints.hpp>
#include <shardweave/tasks/fsdp_tags.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace training_layout_tests {
namespace {

sw::llama_config tiny(sw::feed_forward_kind feed = sw::feed_forward_kind::gated_silu) {
  sw::llama_config c{.name = "tiny",
                     .hidden_size = 2048,
                     .num_hidden_layers = 2,
                     .num_attention_heads = 16,
                     .num_key_value_heads = 4,
                     .intermediate_size = 8192,
                     .vocab_size = 32000};
  c.feed_forward = feed;
  return c;
}

struct laid_out {
  sw::spmd_cost_model model;
  sw::lowered_graph lowered;
};

laid_out lay_out(sw::computation graph, const sw::training_layout& layout, bool again) {
  const auto device = sw::find_device("h100");
  sw::spmd_cost_model model(std::move(graph), layout.mesh(), sw::roofline{device}, sw::alpha_beta(device),
                            sw::layout_rules(layout), {.reduce_after_cast = true});  // gradients are added up in f32
  const auto problem = sw::compile(sw::describe(model, sw::layout_constraints(model, layout)));
  const auto placed = sw::auto_solver{}.solve(problem);
  REQUIRE(placed.has_assignment());
  auto lowered = sw::lower(model, placed.choice, {.regather_parameters = again, .wait_shares_storage = true});
  return {std::move(model), std::move(lowered)};
}
laid_out lay_out(const sw::llama_config& config, const std::string& words, bool again = false,
                 sw::training_shape shape = {.sequence = 4096}) {
  const auto layout = sw::training_layout::parse(words);
  shape.batch = 2 * layout.data_ranks();
  return lay_out(sw::llama_training_graph(config, shape), layout, again);
}

/// One layer with a feed-forward, one with experts.
const sw::deepseek_config mixture{.name = "mixture",
                                  .hidden_size = 1024,
                                  .num_hidden_layers = 2,
                                  .first_k_dense_replace = 1,
                                  .num_attention_heads = 8,
                                  .q_lora_rank = 256,
                                  .kv_lora_rank = 192,
                                  .qk_nope_head_dim = 128,
                                  .qk_rope_head_dim = 64,
                                  .v_head_dim = 128,
                                  .intermediate_size = 4096,
                                  .moe_intermediate_size = 512,
                                  .n_routed_experts = 16,
                                  .n_shared_experts = 1,
                                  .num_experts_per_tok = 4,
                                  .vocab_size = 32000};
constexpr std::int64_t of_experts = 16LL * 3 * 1024 * 512;  // weights
/// The same of the mixture of experts, two sequences of 2,048 tokens for each data rank.
laid_out lay_out_mixture(const std::string& words) {
  const auto layout = sw::training_layout::parse(words);
  return lay_out(sw::deepseek_training_graph(mixture, {.batch = 2 * layout.data_ranks(), .sequence = 2048}), layout,
                 false);
}
/// Bytes of the slots that the tokens of a data rank take: each token has four, of the model's width, in bf16.
constexpr std::int64_t slots = 2LL * 2048 * 4 * 1024 * 2;

/// Bytes that a device holds of the parameters.
std::int64_t held(const laid_out& plan) {
  std::int64_t sum = 0;
  const sw::task_graph& g = plan.lowered.tasks;
  for (sw::task_index t = 0; t < g.size(); ++t)
    if (g.kind(t) == sw::task_kind::input && g.role(t) == sw::task_role::parameter) sum += g.output(t, 0).size.count();
  return sum;
}

struct moved {
  std::int64_t count = 0, bytes = 0;  ///< of the larger buffer
};
std::map<sw::collective, moved> moved_on(const laid_out& plan, std::uint32_t group, bool parameters) {
  std::map<sw::collective, moved> all;
  const sw::task_graph& g = plan.lowered.tasks;
  const std::vector<bool> tags = sw::fsdp_tags(g);
  for (sw::task_index t = 0; t < g.size(); ++t) {
    if (!g.is_collective(t) || g.collective(t).group != group || tags[t] != parameters) continue;
    moved& m = all[g.collective(t).op];
    ++m.count;
    m.bytes += std::max(g.collective(t).bytes_in, g.collective(t).bytes_out).count();
  }
  return all;
}

TEST_SUITE("training_layout") {
  TEST_CASE("nothing of a loss over words that are cut is whole on a rank") {
    const auto layout = sw::training_layout::parse("fsdp=2,tp=4");
    const sw::llama_config config = tiny();
    const auto device = sw::find_device("h100");
    const sw::training_shape shape{.batch = 4, .sequence = 512, .loss = sw::training_loss::sharded};
    const sw::spmd_cost_model model(sw::llama_training_graph(config, shape), layout.mesh(), sw::roofline{device},
                                    sw::alpha_beta(device), sw::layout_rules(layout), {});
    const auto placed =
        sw::auto_solver{}.solve(sw::compile(sw::describe(model, sw::layout_constraints(model, layout))));
    REQUIRE(placed.has_assignment());
    const auto lowered = sw::lower(model, placed.choice, {});
    const std::int64_t share = 2 * 512 * config.vocab_size / 4 * 4;  // of a data rank's logits, in f32
    std::int64_t largest = 0;
    for (sw::task_index t = 0; t < lowered.tasks.size(); ++t)
      if (model.operations().operations[lowered.origin[t].operation].group == "loss")
        for (std::size_t i = 0; i < lowered.tasks.output_count(t); ++i)
          largest = std::max(largest, lowered.tasks.output(t, i).size.count());
    CHECK(largest == share);
  }

  using sw::collective;

  TEST_CASE("a loss in chunks gathers and reduces the output weight as one of all logits does, and holds fewer") {
    for (const char* words : {"fsdp=8", "fsdp=2,tp=4", "fsdp=2,cp=4"}) {
      CAPTURE(words);
      const auto of = [&](std::int64_t chunks) {
        return lay_out(tiny(), words, false,
                       {.sequence = 4096, .loss = sw::training_loss::float32, .loss_chunks = chunks});
      };
      const laid_out whole = of(1), cut = of(8);
      for (const std::uint32_t group : {0U, 1U})
        for (const collective op : {collective::all_gather, collective::reduce_scatter}) {
          const auto moved_by = [&](const laid_out& plan) {
            double bytes = 0;
            for (const bool of_parameters : {false, true})
              if (const auto all = moved_on(plan, group, of_parameters); all.contains(op))
                bytes += static_cast<double>(all.at(op).bytes);
            return bytes;
          };
          CHECK(moved_by(cut) <= moved_by(whole) * 1.1);  // a little more may save launches
        }
      const auto most_logits = [](const laid_out& plan) {
        std::int64_t most = 0;
        const sw::task_graph& g = plan.lowered.tasks;
        for (sw::task_index t = 0; t < g.size(); ++t) {
          const sw::operation& op = plan.model.operations().operations[plan.lowered.origin[t].operation];
          if (op.group == "loss" && !op.outputs.empty() && op.outputs.front().rank() == 3 &&
              op.outputs.front().shape[2] == 32000)
            most = std::max(most, g.output(t, 0).size.count());
        }
        return most;
      };
      CHECK(most_logits(cut) * 8 == most_logits(whole));
    }
  }

  TEST_CASE("a search may cut attention by positions, prices it as the layout that states it, and finds no worse") {
    // one long sequence on four devices: nothing of the batch can be cut, and of three heads not each device has one
    sw::llama_config config = tiny();
    config.hidden_size = 384;
    config.num_attention_heads = config.num_key_value_heads = 3;
    config.intermediate_size = 1024;
    const auto device = sw::find_device("h100");
    const auto layout = sw::training_layout::parse("fsdp=1,cp=4");
    const auto graph = sw::llama_training_graph(config, {.batch = 1, .sequence = 32768});
    const auto model_by = [&](const sw::rule_table& rules) {
      return sw::spmd_cost_model(graph, layout.mesh(), sw::roofline{device}, sw::alpha_beta(device), rules);
    };
    const auto model = model_by(sw::standard_rules({.attention_by_positions = true}));
    const sw::training_options wanted{.inputs = sw::sharding::parse("S(1)"), .results = sw::sharding::parse("S(1)")};
    const auto problem = sw::compile(sw::describe(model, sw::training_constraints(model, wanted)));
    const auto found = sw::auto_solver{}.solve(problem);
    REQUIRE(found.status == sw::solve_status::optimal);

    const auto stated_model = model_by(sw::layout_rules(layout));
    const auto stated =
        sw::auto_solver{}.solve(sw::compile(sw::describe(stated_model, sw::layout_constraints(stated_model, layout))));
    REQUIRE(stated.has_assignment());
    // the stated plan is one of the search's, strategy by strategy, at the same price
    const double of_stated = sw::evaluate(problem, stated.choice).objective;
    CHECK(of_stated == doctest::Approx(stated.objective).epsilon(1e-9));
    CHECK(found.objective <= of_stated * (1 + 1e-9));
    // where parts of keys and values may go round, too, a search finds no worse, and the ring that a layout states
    const auto ring_model = model_by(sw::standard_rules({.attention_by_positions = true, .attention_in_rings = true}));
    const auto ring_problem = sw::compile(sw::describe(ring_model, sw::training_constraints(ring_model, wanted)));
    const auto any = sw::auto_solver{}.solve(ring_problem);
    REQUIRE(any.status == sw::solve_status::optimal);
    CHECK(any.objective <= found.objective * (1 + 1e-9));
    const auto ring = sw::training_layout::parse("fsdp=1,ring=4");
    const auto stated_ring_model = model_by(sw::layout_rules(ring));
    const auto stated_ring = sw::auto_solver{}.solve(
        sw::compile(sw::describe(stated_ring_model, sw::layout_constraints(stated_ring_model, ring))));
    REQUIRE(stated_ring.has_assignment());
    CHECK(any.objective <= stated_ring.objective * (1 + 1e-9));
    CHECK(stated_ring.objective < of_stated);  // 32,768 tokens hide what a gather leaves in the open
    // and what it gains over attention that is whole on each device
    const auto whole_model = model_by(sw::standard_rules());
    const auto whole =
        sw::auto_solver{}.solve(sw::compile(sw::describe(whole_model, sw::training_constraints(whole_model, wanted))));
    REQUIRE(whole.has_assignment());
    CHECK(found.objective < whole.lower_bound);
    std::size_t cut = 0;
    const auto& operations = model.operations().operations;
    for (std::uint32_t v = 0; v < operations.size(); ++v)
      if (operations[v].op == "sdpa" || operations[v].op == "sdpa_backward") {
        const sw::mesh_strategy& placed = model.strategies(v).strategies[found.choice[v]];
        CHECK(placed.outputs.front() == sw::sharding::parse("S(2)"));
        ++cut;
      }
    CHECK(cut == 4);
    // lowered as the layout is: keys and values are gathered, and what is made of their gradients is reduced
    const laid_out plan{model, sw::lower(model, found.choice)};
    const std::int64_t keys = 32768LL * 3 * 128 * 2;  // bf16
    const auto all = moved_on(plan, 0, false);
    CHECK(all.at(collective::all_gather).bytes >= 2 * 2 * keys);
    CHECK(all.at(collective::reduce_scatter).bytes >= 2 * keys);
  }

  TEST_CASE("words are read, written, and refused by name") {
    for (const char* words : {"fsdp=8", "fsdp=8,tp=8", "dp=4", "zero1=8,tp=4", "zero2=8", "hsdp=4x8", "hsdp=2x16,tp=2",
                              "zero1=8,cp=2,tp=4", "fsdp=2,ring=4,tp=2", "fsdp=16,ep=8", "hsdp=2x8,ep=4,tp=2"})
      CHECK(sw::training_layout::parse(words).to_string() == words);
    CHECK(sw::training_layout::parse("tp=2,fsdp=4") == sw::training_layout::parse("fsdp=4,tp=2"));
    CHECK(sw::training_layout::parse("hsdp=4x8,tp=2").size() == 64);
    CHECK(sw::training_layout::parse("hsdp=4x8,tp=2").mesh().to_string() == "4x8x2");
    CHECK(sw::training_layout::parse("ring=1") == sw::training_layout::parse("cp=1"));
    CHECK(sw::training_layout::parse("tp=1,fsdp=1").mesh().to_string() == "1");
    for (const char* words : {"", "fsdp", "fsdp=", "fsdp=0", "fsdp=8x2", "hsdp=8", "pp=2", "fsdp=8,dp=2", "tp=2,tp=2",
                              "cp=2,ring=2", "ring=0"})
      CHECK_THROWS_AS((void)sw::training_layout::parse(words), sw::error);
    CHECK_THROWS_WITH_AS((void)sw::training_layout{.shards = 0}.mesh(),
                         "a layout has 0 ranks along fsdp, expected at least 1", sw::error);
    CHECK_THROWS_WITH_AS((void)sw::training_layout::parse("fsdp=8,ep=two"), doctest::Contains("'ep=two'"), sw::error);
    CHECK_THROWS_WITH_AS((void)sw::training_layout::parse("fsdp=8,ep=3"),
                         doctest::Contains("ep=3 does not divide the 8 that see different data"), sw::error);
    CHECK_THROWS_WITH_AS((void)sw::training_layout::parse("zero1=8,ep=2"),
                         doctest::Contains("experts that are shared out are updated where they are"), sw::error);
    CHECK_THROWS_WITH_AS((void)(sw::training_layout{.shards = 8, .experts = 3}.mesh()),
                         "a layout shares out experts over 3 ranks, expected a divisor of its 8 shards", sw::error);
    CHECK(sw::training_layout::parse("fsdp=16,ep=8,tp=2").mesh().to_string() == "2x8x2");
    CHECK(sw::training_layout::parse("fsdp=8,ep=8").mesh().to_string() == "8");
    CHECK(sw::training_layout::parse("fsdp=16,ep=8,tp=2").size() == 32);
  }

  TEST_CASE("sharded data parallelism holds an equal share and gathers every parameter twice") {
    const laid_out plan = lay_out(tiny(), "fsdp=8", true);
    const std::int64_t parameters = tiny().parameter_count();
    CHECK(held(plan) == 4 * parameters / 8);
    const auto all = moved_on(plan, 0, true);
    // once forward, once backward, in bf16; the embedding's rows are looked up before any gradient needs them
    const std::int64_t embedding = 32000 * 2048;
    CHECK(all.at(collective::all_gather).bytes >= 2 * 2 * (parameters - embedding));
    CHECK(all.at(collective::all_gather).bytes <= 2 * 2 * parameters);
    CHECK(all.at(collective::reduce_scatter).bytes == 4 * parameters);
    CHECK_FALSE(all.contains(collective::all_reduce));
    CHECK(moved_on(plan, 0, false).empty());  // activations stay where they are
  }

  TEST_CASE(
      "a matrix with fewer rows than there are ranks is shared out by columns, what has too few of both stays whole") {
    sw::llama_config few = tiny();  // 2 * 4 rows of keys, 64 features
    few.hidden_size = 64;
    few.num_attention_heads = 8;
    few.num_key_value_heads = 1;
    few.intermediate_size = 128;
    const laid_out plan = lay_out(few, "fsdp=32");
    std::int64_t expected = 0, few_rows = 0;
    for (const sw::operation& op : plan.model.operations().operations) {
      if (op.kind != sw::role::parameter) continue;
      const sw::tensor& t = op.outputs.front();
      const bool can_be_cut = std::ranges::any_of(t.shape, [](std::int64_t extent) { return extent >= 32; });
      CHECK(can_be_cut);  // norms have 64 elements, keys 8 rows of 64
      few_rows += t.shape.front() < 32 ? 1 : 0;
      expected += t.size().count() / 32;
    }
    CHECK(few_rows == 4);  // keys and values of two layers
    CHECK(held(plan) == expected);
  }

  TEST_CASE("without sharing out parameters are held whole, and gradients are all-reduced or scattered") {
    const std::int64_t parameters = tiny().parameter_count();
    const laid_out plain = lay_out(tiny(), "dp=8");
    CHECK(held(plain) == 4 * parameters);
    std::int64_t reduced = 0;
    for (const bool tagged : {false, true}) {
      const auto all = moved_on(plain, 0, tagged);
      if (all.contains(collective::all_reduce)) reduced += all.at(collective::all_reduce).bytes;
    }
    CHECK(reduced == 4 * parameters);
    for (const char* words : {"zero1=8", "zero2=8"}) {
      const laid_out zero = lay_out(tiny(), words);
      CHECK(held(zero) == 4 * parameters);
      CHECK(moved_on(zero, 0, true).at(collective::reduce_scatter).bytes == 4 * parameters);
      CHECK_FALSE(moved_on(zero, 0, true).contains(collective::all_gather));
    }
  }

  TEST_CASE("replicas of shards all-reduce what their shards have scattered") {
    const laid_out plan = lay_out(tiny(), "hsdp=2x4");
    const std::int64_t parameters = tiny().parameter_count();
    CHECK(held(plan) == 4 * parameters / 4);
    CHECK(moved_on(plan, 1, true).at(collective::reduce_scatter).bytes == 4 * parameters);
    std::int64_t reduced = 0;
    for (const bool tagged : {false, true})
      for (const auto& [op, m] : moved_on(plan, 0, tagged))
        if (op == collective::all_reduce) reduced += m.bytes;
    CHECK(reduced == 4 * parameters / 4);
  }

  TEST_CASE("tensor parallelism gathers and scatters positions around each half of a layer") {
    for (const auto feed : {sw::feed_forward_kind::gated_silu, sw::feed_forward_kind::gelu}) {
      const laid_out plan = lay_out(tiny(feed), "fsdp=2,tp=4");
      std::int64_t cut = 0, whole = 0;
      for (const sw::operation& op : plan.model.operations().operations)
        if (op.kind == sw::role::parameter)
          (op.outputs.front().rank() == 2 ? cut : whole) += op.outputs.front().element_count();
      CHECK(held(plan) == 4 * (cut / 8 + whole / 2));
      const auto all = moved_on(plan, 1, false);
      // two halves of two layers, forward and backward
      CHECK(all.at(collective::reduce_scatter).count >= 2 * 2 * 2);
      CHECK(all.at(collective::all_gather).count >= 2 * 2 * 2);
      const std::int64_t value = 2LL * 2 * 4096 * 2048;  // two sequences of a rank, bf16
      CHECK(all.at(collective::reduce_scatter).bytes >= 8 * value);
    }
  }

  TEST_CASE("context parallelism shares out the work of attention, and gathers keys and values alone") {
    const laid_out whole = lay_out(tiny(), "fsdp=2"), cut = lay_out(tiny(), "fsdp=2,cp=4");
    const auto attention = [](const laid_out& plan) {
      sw::nanoseconds sum;
      const sw::task_graph& g = plan.lowered.tasks;
      for (sw::task_index t = 0; t < g.size(); ++t)
        if (g.op(t) == "sdpa" || g.op(t) == "sdpa_backward") sum += g.duration(t);
      return static_cast<double>(sum.count());
    };
    CHECK(attention(cut) == doctest::Approx(attention(whole) / 4).epsilon(.01));
    CHECK(held(cut) == held(whole) / 4);  // parameters are shared out over both dimensions
    const auto all = moved_on(cut, 1, false);
    const std::int64_t keys = 2LL * 2 * 4096 * 4 * 128;  // two sequences of a rank, 4 heads of 128, bf16
    // keys and values of two layers; attention's backward part may take the same copies or gather again
    CHECK(all.at(collective::all_gather).bytes >= 2 * 2 * keys);
    CHECK(all.at(collective::all_gather).bytes <= 2 * 2 * 2 * keys + keys / 100);
  }

  TEST_CASE("in rings no keys and values are gathered: parts of them go round, and their gradients once more") {
    const sw::training_shape shape{.sequence = 16384};
    const laid_out gathered = lay_out(tiny(), "fsdp=2,cp=4", false, shape);
    const laid_out cut = lay_out(tiny(), "fsdp=2,ring=4", false, shape);
    CHECK(held(cut) == held(gathered));
    const auto all = moved_on(cut, 1, false);
    const std::int64_t part = 2LL * 2 * 4096 * 4 * 128 * 2;  // keys and values of two sequences, 4 heads of 128, bf16
    REQUIRE(all.contains(collective::shift));
    CHECK(all.at(collective::shift).count == 2 * (3 + 3 + 4));                // of two layers
    CHECK(all.at(collective::shift).bytes == 2 * (6 * part + 4 * 2 * part));  // gradients in f32
    if (all.contains(collective::all_gather)) CHECK(all.at(collective::all_gather).bytes < part / 10);
    CHECK(!all.contains(collective::reduce_scatter));
    double blocks = 0, whole = 0;
    for (const auto& [plan, sum] : {std::pair(&cut, &blocks), std::pair(&gathered, &whole)})
      for (sw::task_index t = 0; t < plan->lowered.tasks.size(); ++t)
        if (plan->lowered.tasks.op(t).starts_with("sdpa"))
          *sum += static_cast<double>(plan->lowered.tasks.duration(t).count());
    CHECK(blocks > whole);  // what blocks add up is work
    CHECK(blocks < 1.25 * whole);
  }

  TEST_CASE("experts that are shared out stay where they are: their tokens go to them, and come back") {
    const std::int64_t rest = mixture.parameter_count() - of_experts;
    for (const char* words : {"fsdp=8,ep=4", "fsdp=4,ep=4", "hsdp=2x4,ep=4", "dp=4,ep=4"}) {
      CAPTURE(words);
      const auto layout = sw::training_layout::parse(words);
      const laid_out plan = lay_out_mixture(words);
      const bool whole = layout.stage == sw::zero_stage::none;
      CHECK(held(plan) == 4 * (whole ? rest + of_experts / 4 : (rest + of_experts) / layout.shards));

      const std::uint32_t experts = layout.replicas > 1 || layout.shards > 4 ? 1 : 0;  // their mesh dimension
      std::int64_t ways = 0;
      const sw::task_graph& g = plan.lowered.tasks;
      for (sw::task_index t = 0; t < g.size(); ++t) {
        if (!g.is_collective(t) || g.collective(t).group != experts) continue;
        const sw::operation& of = plan.model.operations().operations[plan.lowered.origin[t].operation];
        if (of.group.starts_with("experts.") && of.outputs.front().rank() == 3)
          FAIL_CHECK("a weight of experts, or its gradient, is communicated: ", of.name);
        if (g.collective(t).op == collective::all_to_all &&
            (of.op.starts_with("moe_") || of.outputs.front().rank() == 4))
          ways += g.collective(t).bytes_in.count();
      }
      CHECK(ways == 4 * slots);  // there and back, forward and backward
    }
  }

  TEST_CASE("where experts are shared out, weights are converted to 8 bits whole, and rows of the embedding summed") {
    const auto layout = sw::training_layout::parse("fsdp=8,ep=4");
    const auto device = sw::find_device("h100");
    const sw::spmd_cost_model model(
        sw::with_f8_products(sw::deepseek_training_graph(mixture, {.batch = 16, .sequence = 2048})), layout.mesh(),
        sw::roofline{device}, sw::alpha_beta(device), sw::layout_rules(layout), {.reduce_after_cast = true});
    const auto placed =
        sw::auto_solver{}.solve(sw::compile(sw::describe(model, sw::layout_constraints(model, layout))));
    REQUIRE(placed.has_assignment());
    std::size_t converted = 0, of_an_expert = 0, summed = 0;
    for (std::uint32_t v = 0; v < model.operations().operations.size(); ++v) {
      const sw::operation& op = model.operations().operations[v];
      if (op.outputs.empty()) continue;
      const sw::sharding_classes& offered = model.strategies(v).outputs.front();
      const std::string lies = offered.distinct[offered.of[placed.choice[v]]].to_string();
      CAPTURE(op.name);
      CAPTURE(lies);
      if (op.op == "embedding_backward") {
        ++summed;
        CHECK(lies == "PP");  // of the shards that experts leave, of the experts
      }
      if (!sw::is_f8(op.outputs.front().type)) continue;
      std::uint32_t from = v;
      while (model.operations().operations[from].inputs.size() == 1)
        from = model.operations().operations[from].inputs.front();
      if (model.operations().operations[from].kind != sw::role::parameter) continue;
      const bool of_experts = op.group.starts_with("experts.");
      ++(of_experts ? of_an_expert : converted);
      CHECK(lies == (of_experts ? "RS(0)" : "RR"));
    }
    CHECK(summed == 1);
    CHECK(of_an_expert > 0);
    CHECK(converted > 0);
  }

  TEST_CASE("experts that are not shared out are weights like others, gathered over all that share them") {
    const laid_out plan = lay_out_mixture("fsdp=8");
    CHECK(held(plan) == 4 * mixture.parameter_count() / 8);
    const auto all = moved_on(plan, 0, true);
    CHECK(all.at(collective::all_gather).bytes >= 2 * of_experts);
    CHECK(all.at(collective::reduce_scatter).bytes == 4 * mixture.parameter_count());
    CHECK_FALSE(all.contains(collective::all_to_all));
    // of fewer experts than ranks each has a part of every expert
    const laid_out many = lay_out_mixture("fsdp=32");
    CHECK(held(many) == 4 * mixture.parameter_count() / 32);
  }

  TEST_CASE("tensor parallelism cuts latent attention by heads and each expert by its features") {
    for (const char* words : {"fsdp=2,tp=4", "fsdp=2,ep=2,tp=4"}) {
      CAPTURE(words);
      const laid_out plan = lay_out_mixture(words);
      const std::vector<std::string> cut = {"wq_b",       "wkv_b",      "wo",        "w1",        "w2",
                                            "w3",         "shared.w1",  "shared.w2", "shared.w3", "experts.w1",
                                            "experts.w2", "experts.w3", "embedding", "output"};
      std::int64_t expected = 0;
      for (const sw::operation& op : plan.model.operations().operations)
        if (op.kind == sw::role::parameter)
          expected += op.outputs.front().element_count() / (std::ranges::count(cut, op.group) > 0 ? 8 : 2);
      CHECK(held(plan) == 4 * expected);
      const sw::task_graph& g = plan.lowered.tasks;
      for (sw::task_index t = 0; t < g.size(); ++t) {
        if (g.is_collective(t)) continue;
        const sw::operation& op = plan.model.operations().operations[plan.lowered.origin[t].operation];
        if (op.op == "sdpa" && g.op(t) == "sdpa")  // two sequences, two of the eight heads
          CHECK(g.output(t, 0).size.count() == 2LL * 2 * 2048 * 128 * 2);
        if (op.op == "einsum" && op.group == "experts.w1" && op.when == sw::phase::forward && g.op(t) == "einsum")
          CHECK(g.output(t, 0).size.count() == slots / 1024 * 512 / 4);
      }
    }
  }

  TEST_CASE("a search that may do all that a layout of experts does finds no worse") {
    const auto device = sw::find_device("h100");
    const auto layout = sw::training_layout::parse("fsdp=8,ep=8");
    const sw::spmd_cost_model model(sw::deepseek_training_graph(mixture, {.batch = 16, .sequence = 2048}),
                                    layout.mesh(), sw::roofline{device}, sw::alpha_beta(device),
                                    sw::layout_rules(layout));
    const sw::training_options wanted{.inputs = sw::sharding::parse("S(0)"), .results = sw::sharding::parse("S(0)")};
    const auto problem = sw::compile(sw::describe(model, sw::training_constraints(model, wanted)));
    const auto found = sw::auto_solver{}.solve(problem);
    const auto stated =
        sw::auto_solver{}.solve(sw::compile(sw::describe(model, sw::layout_constraints(model, layout))));
    REQUIRE(found.has_assignment());
    REQUIRE(stated.has_assignment());
    const double of_stated = sw::evaluate(problem, stated.choice).objective;
    CHECK(of_stated == doctest::Approx(stated.objective).epsilon(1e-9));
    CHECK(found.objective <= of_stated * (1 + 1e-9));
    CHECK(found.lower_bound <= of_stated * (1 + 1e-9));
  }

  TEST_CASE("a model on another mesh is refused") {
    const auto device = sw::find_device("h100");
    const sw::spmd_cost_model model(sw::llama_training_graph(tiny(), {.batch = 8, .sequence = 4096}),
                                    sw::device_mesh({4}), sw::roofline{device}, sw::alpha_beta(device));
    CHECK_THROWS_WITH_AS((void)sw::layout_constraints(model, sw::training_layout::parse("fsdp=8")),
                         "layout fsdp=8 is one of a mesh 8, found 4", sw::error);
    CHECK_THROWS_WITH_AS((void)sw::layout_constraints(model, sw::training_layout::parse("fsdp=4,ep=4")),
                         "layout fsdp=4,ep=4 shares out experts, but the model has none", sw::error);
  }
}

}  // namespace
}  // namespace training_layout_tests
