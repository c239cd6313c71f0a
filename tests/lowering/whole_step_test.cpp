#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/nccl_smooth.hpp>
#include <shardweave/lowering/lower.hpp>
#include <shardweave/lowering/whole_step.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/models/training_layout.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/validate_schedule.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/spmd/describe_spmd.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/step/predict_step.hpp>
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

namespace whole_step_tests {
namespace {

const sw::llama_config tiny{.name = "tiny",
                            .hidden_size = 1024,
                            .num_hidden_layers = 2,
                            .num_attention_heads = 8,
                            .num_key_value_heads = 8,
                            .intermediate_size = 4096,
                            .vocab_size = 32000};

const sw::compute_profile& h100() {
  static const sw::compute_profile compute = sw::find_preset("h100").compute();
  return compute;
}
const sw::any_collectives& links() {
  static const sw::any_collectives made = sw::nccl_smooth(sw::find_device("h100"));
  return made;
}

struct part {
  sw::spmd_cost_model model;
  sw::assignment choice;
  sw::lowered_graph lowered;
};
part lay_out(const std::string& words, bool reduces_in_f32 = true) {
  const auto layout = sw::training_layout::parse(words);
  const sw::training_shape shape{.batch = 4 * layout.data_ranks(), .sequence = 1024, .loss = sw::training_loss::fused};
  sw::spmd_cost_model model(sw::llama_training_graph(tiny, shape), layout.mesh(), h100(), links(),
                            sw::layout_rules(layout, 0.5), {.reduce_after_cast = reduces_in_f32});
  const auto problem = sw::compile(sw::describe(model, sw::layout_constraints(model, layout)));
  auto placed = sw::auto_solver{}.solve(problem);
  REQUIRE(placed.has_assignment());
  auto lowered = sw::lower(model, placed.choice, {.wait_shares_storage = true});
  return {std::move(model), std::move(placed.choice), std::move(lowered)};
}

/// Durations by operator of the tasks that the part does not have.
std::map<std::string, sw::nanoseconds> added_time(const sw::whole_step& whole) {
  std::map<std::string, sw::nanoseconds> sums;
  for (const sw::task_index t : whole.added)
    sums[std::string(whole.lowered.tasks.op(t))] += whole.lowered.tasks.duration(t);
  return sums;
}

TEST_SUITE("whole_step") {
  TEST_CASE("the optimizer's tasks take what a predicted step says of it") {
    for (const bool clips : {true, false}) {
      const part of = lay_out("fsdp=8");
      sw::stated_step stated;
      stated.model = tiny;
      stated.sequence = 1024;
      stated.micro_batch = 4;
      stated.layout = sw::training_layout::parse("fsdp=8");
      stated.framework.optimizer.clips = clips;
      const sw::optimizer_work expected = sw::predict_step(stated, h100(), links()).optimizer;
      const sw::whole_step whole = sw::with_optimizer(of.lowered, of.model, of.choice, {.optimizer = {.clips = clips}});
      auto sums = added_time(whole);
      CHECK(sums["norm"] == expected.norm);
      CHECK(sums["clip"] == expected.clipping);
      CHECK(sums["adamw"] == expected.update);
      CHECK(sums["all_reduce"] == expected.reduction);
      CHECK(whole.work.all() == expected.all());
      CHECK(whole.state.count() == tiny.parameter_count() / 8 * 8);
    }
  }

  TEST_CASE("a step takes its part, and then the optimizer; it holds the optimizer's state all the time") {
    for (const char* words : {"fsdp=8", "fsdp=4,tp=2", "hsdp=2x4", "dp=8"}) {
      CAPTURE(words);
      const part of = lay_out(words);
      const sw::whole_step whole = sw::with_optimizer(of.lowered, of.model, of.choice);
      const sw::task_graph& g = whole.lowered.tasks;
      const sw::task_graph& before = of.lowered.tasks;
      for (const sw::schedule& order : {sw::in_order{}(before, {}), sw::prefetch{}(before, {})}) {
        const sw::schedule all = whole.order(order);
        CHECK_NOTHROW(sw::validate_schedule(g, all));
        const sw::timeline part_line = sw::simulate(before, order), line = sw::simulate(g, all);
        CHECK(line.end_to_end == part_line.end_to_end + whole.work.all());
        CHECK(line.peak == part_line.peak + whole.state);
      }
      // whatever the order: what is in the part ends no earlier than there, and the optimizer comes after it
      sw::random_source random(7);
      for (int i = 0; i < 5; ++i) {
        std::vector<std::size_t> waits(g.size());
        std::vector<sw::task_index> ready;
        for (sw::task_index t = 0; t < g.size(); ++t)
          if ((waits[t] = g.dependencies().in(t).size()) == 0) ready.push_back(t);
        sw::schedule any, restricted;
        std::map<sw::task_index, sw::task_index> in_part;
        for (sw::task_index t = 0; t < before.size(); ++t) in_part[whole.copies[0][t]] = t;
        while (!ready.empty()) {
          std::swap(ready[random.below(ready.size())], ready.back());
          const sw::task_index t = ready.back();
          ready.pop_back();
          any.order.push_back(t);
          if (in_part.contains(t)) restricted.order.push_back(in_part[t]);
          for (const auto& e : g.dependencies().out(t))
            if (--waits[e.target] == 0) ready.push_back(e.target);
        }
        REQUIRE(any.order.size() == g.size());
        CHECK(sw::simulate(g, any).end_to_end == sw::simulate(before, restricted).end_to_end + whole.work.all());
      }
    }
  }

  TEST_CASE("micro-batches follow each other, and their gradients are added up in place") {
    const part of = lay_out("fsdp=8");
    const sw::task_graph& before = of.lowered.tasks;
    const sw::schedule order = sw::prefetch{}(before, {});
    const sw::timeline once = sw::simulate(before, order);
    const sw::whole_step one = sw::with_optimizer(of.lowered, of.model, of.choice);
    const sw::whole_step three = sw::with_optimizer(of.lowered, of.model, of.choice, {.micro_batches = 3});
    const sw::task_graph& g = three.lowered.tasks;
    const sw::schedule all = three.order(order);
    CHECK_NOTHROW(sw::validate_schedule(g, all));
    const sw::timeline line = sw::simulate(g, all);
    CHECK(added_time(three)["accumulate"] == three.work.accumulation * 2);
    CHECK(three.work.accumulation > sw::nanoseconds());
    std::size_t sums = 0, of_sums = 0;  // the third gradient is added to the sum of the first two
    for (sw::task_index t = 0; t < g.size(); ++t)
      if (g.op(t) == "accumulate") {
        ++sums;
        of_sums += g.op(g.inputs(t)[0]) == "accumulate" ? 1U : 0U;
      }
    CHECK(sums > 0);
    CHECK(2 * of_sums == sums);
    const sw::nanoseconds most = once.end_to_end * 3 + three.work.accumulation * 2 + three.work.all();
    CHECK(line.end_to_end <= most);
    CHECK(line.end_to_end >= once.compute * 3 + three.work.all());
    // beyond one micro-batch it holds the sum of gradients while another one is made
    const sw::timeline single = sw::simulate(one.lowered.tasks, one.order(order));
    const std::int64_t gradients = tiny.parameter_count() / 8 * 4;
    CHECK(line.peak >= single.peak);
    CHECK(line.peak.count() <= single.peak.count() + gradients + 4 * 1024 * 1024);
    // each parameter and each constant is there once, tokens and labels in every micro-batch
    std::map<std::string, int> inputs;
    for (sw::task_index t = 0; t < g.size(); ++t)
      if (g.kind(t) == sw::task_kind::input) ++inputs[std::string(sw::to_string(g.role(t)))];
    std::map<std::string, int> inputs_once;
    for (sw::task_index t = 0; t < one.lowered.tasks.size(); ++t)
      if (one.lowered.tasks.kind(t) == sw::task_kind::input)
        ++inputs_once[std::string(sw::to_string(one.lowered.tasks.role(t)))];
    CHECK(inputs["parameter"] == inputs_once["parameter"]);
    CHECK(inputs["optimizer_state"] == inputs_once["optimizer_state"]);
    CHECK(inputs["data"] == inputs_once["data"] + 2 * 2);
    sw::bytes own;  // of one micro-batch
    for (sw::task_index t = 0; t < before.size(); ++t) {
      const sw::role kind = of.model.operations().operations[of.lowered.origin[t].operation].kind;
      if (before.kind(t) == sw::task_kind::input && kind != sw::role::parameter && kind != sw::role::constant)
        own += before.storages()[before.output_storage(t, 0)].size;
    }
    CHECK(own > sw::bytes());
    CHECK(g.memory_baseline() == before.memory_baseline() + three.state + own + own);
  }

  TEST_CASE("gradients that are reduced once are sums of all micro-batches, added up before anything is reduced") {
    for (const auto& [words, width] : {std::pair("zero1=8", 4), std::pair("zero1=8", 2), std::pair("dp=8", 4),
                                       std::pair("fsdp=4,tp=2", 4), std::pair("hsdp=2x4", 4)})
      for (const std::int64_t count : {1, 2, 3}) {
        CAPTURE(words);
        CAPTURE(width);  // bytes of an element that is reduced, and so added up
        CAPTURE(count);
        const part of = lay_out(words, width == 4);
        const sw::task_graph& before = of.lowered.tasks;
        const auto whole_of = [&](bool once) {
          return sw::with_optimizer(of.lowered, of.model, of.choice, {.micro_batches = count, .reduces_once = once});
        };
        const sw::whole_step once = whole_of(true), each = whole_of(false);
        const sw::task_graph& g = once.lowered.tasks;
        std::map<sw::task_index, std::pair<std::size_t, sw::task_index>> from;  // micro-batch and task of the part
        for (std::size_t m = 0; m < once.copies.size(); ++m)
          for (sw::task_index t = 0; t < before.size(); ++t)
            if (once.copies[m][t] != sw::no_index) from.try_emplace(once.copies[m][t], m, t);

        // what an updated gradient is made of, followed back through sums, transfers and conversions
        std::map<sw::task_index, std::map<std::size_t, int>> known;
        const auto made_of = [&](const auto& self, sw::task_index t) -> const std::map<std::size_t, int>& {
          const auto [at, fresh] = known.try_emplace(t);
          if (!fresh) return at->second;
          std::map<std::size_t, int> all;
          const auto add = [&](sw::task_index p) {
            for (const auto& [m, times] : self(self, p)) all[m] += times;
          };
          if (g.op(t) == "accumulate") {
            for (const sw::task_index p : g.inputs(t)) add(p);
          } else if (from.contains(t) && count > 1 && once.copies[0][from.at(t).second] == sw::no_index) {
            for (const sw::task_index p : g.inputs(t)) add(p);  // done with the last one alone
          } else {
            REQUIRE(from.contains(t));
            all[from.at(t).first] = 1;
          }
          return known[t] = std::move(all);
        };
        std::size_t updated = 0;
        for (const auto& [parameter, gradient] : of.model.operations().gradient_of) {
          const sw::task_index given = once.copies.back()[of.lowered.task_of[gradient]];
          sw::task_index sum = given;  // a sum of it stands in for it, where it is not made of sums itself
          for (const sw::task_index t : once.added)
            if (g.op(t) == "accumulate" && g.inputs(t)[1] == given) sum = t;
          const auto& parts = made_of(made_of, sum);
          CHECK(parts.size() == static_cast<std::size_t>(count));
          for (const auto& [m, times] : parts) CHECK(times == 1);
          bool is_read = false;
          for (const auto& e : g.dependencies().out(sum)) is_read = is_read || g.op(e.target) == "clip";
          CHECK(is_read);
          ++updated;
        }
        CHECK(updated > 10);

        // reduced once in place of each time, and what is added up are gradients before that
        const auto reduced = [&](const sw::whole_step& whole) {
          std::int64_t bytes = 0;
          const std::vector<bool> tags = sw::fsdp_tags(whole.lowered.tasks);
          for (sw::task_index t = 0; t < whole.lowered.tasks.size(); ++t)
            if (tags[t] && whole.lowered.tasks.is_collective(t) &&
                whole.lowered.tasks.collective(t).op != sw::collective::all_gather)
              bytes += whole.lowered.tasks.collective(t).bytes_in.count();
          return bytes;
        };
        CHECK(reduced(each) == reduced(once) * count);
        std::int64_t added = 0;
        for (const sw::task_index t : once.added)
          if (g.op(t) == "accumulate") added += g.output(t, 0).size.count();
        // of two tensor ranks each adds up half of the elements, but of the embedding and the norms
        const std::int64_t gradients = tiny.parameter_count() * width,
                           table = tiny.vocab_size * tiny.hidden_size * width;
        const bool is_cut = std::string(words).ends_with("tp=2");
        CHECK(added >= (count - 1) * (is_cut ? gradients / 2 : gradients));
        CHECK(added <= (count - 1) * ((is_cut ? (gradients + table) / 2 : gradients) + 100'000));
        CHECK(once.work.accumulation >= each.work.accumulation);
        CHECK(added_time(once)["accumulate"] == once.work.accumulation * (count - 1));

        for (const sw::schedule& order :
             {sw::in_order{}(before, {}), sw::prefetch{}(before, sw::greedy{.cap = sw::mebibytes(200)}(before, {}))}) {
          const sw::schedule all = once.order(order);
          CHECK_NOTHROW(sw::validate_schedule(g, all));
          const sw::timeline line = sw::simulate(g, all), other = sw::simulate(each.lowered.tasks, each.order(order));
          if (count == 1) CHECK(line.end_to_end == other.end_to_end);
          if (words == std::string("zero1=8") && width == 4 && count > 1) CHECK(line.peak > other.peak);
          CHECK(line.peak.count() <= other.peak.count() + 2 * tiny.parameter_count() * 4);
        }
      }
  }

  TEST_CASE("buckets and what is to come after what are those of the part, in every micro-batch") {
    const part of = lay_out("fsdp=8");
    const sw::task_graph& before = of.lowered.tasks;
    sw::schedule order = sw::prefetch{}(before, sw::greedy{.cap = sw::mebibytes(200)}(before, {}));
    REQUIRE_FALSE(order.buckets.empty());
    const auto result = std::ranges::find(order.order, sw::task_kind::output, [&](auto t) { return before.kind(t); });
    REQUIRE(result != order.order.end());
    order.after = {{order.order.front(), order.order[order.order.size() / 2]}, {order.order.front(), *result}};
    for (const std::int64_t count : {1, 3}) {
      CAPTURE(count);
      const sw::whole_step whole = sw::with_optimizer(of.lowered, of.model, of.choice, {.micro_batches = count});
      const sw::schedule all = whole.order(order);
      CHECK_NOTHROW(sw::validate_schedule(whole.lowered.tasks, all));
      const std::size_t times = whole.copies.size();
      CHECK(times == static_cast<std::size_t>(count));
      REQUIRE(all.buckets.size() == times * order.buckets.size());
      REQUIRE(all.after.size() == times);  // results are none of the step's until its end
      for (std::size_t copy = 0; copy < times; ++copy) {
        const std::vector<sw::task_index>& here = whole.copies[copy];
        CHECK(all.after[copy] == std::pair(here[order.after[0].first], here[order.after[0].second]));
        for (std::size_t b = 0; b < order.buckets.size(); ++b) {
          const auto& members = all.buckets[copy * order.buckets.size() + b].members;
          REQUIRE(members.size() == order.buckets[b].members.size());
          for (std::size_t i = 0; i < members.size(); ++i) CHECK(members[i] == here[order.buckets[b].members[i]]);
        }
      }
      if (count == 1)
        CHECK(sw::simulate(whole.lowered.tasks, all).end_to_end ==
              sw::simulate(before, order).end_to_end + whole.work.all());
    }
  }

  TEST_CASE("parameters that are updated in parts are gathered after it") {
    const part of = lay_out("zero1=8");
    const auto count = static_cast<double>(tiny.parameter_count());
    const auto gathering = [&](double bytes) {
      return sw::with_optimizer(of.lowered, of.model, of.choice, {.optimizer = {.gathered_bytes = bytes}})
          .work.gathering;
    };
    CHECK(gathering(2) == sw::gathering_time(count, {8, 1}, links(), 2));
    CHECK(gathering(0) == sw::gathering_time(count, {8, 1}, links(), 4));
    const sw::whole_step whole = sw::with_optimizer(of.lowered, of.model, of.choice);
    CHECK(added_time(whole)["all_gather"] == whole.work.gathering);
    CHECK(whole.state.count() == tiny.parameter_count() / 8 * 8);
    const sw::whole_step shared = [&] {
      const part other = lay_out("fsdp=8");
      return sw::with_optimizer(other.lowered, other.model, other.choice);
    }();
    CHECK(shared.work.gathering == sw::nanoseconds());
  }

  TEST_CASE("a step of no micro-batch is refused") {
    const part of = lay_out("fsdp=8");
    CHECK_THROWS_WITH_AS((void)sw::with_optimizer(of.lowered, of.model, of.choice, {.micro_batches = 0}),
                         "a step has 0 micro-batches, expected at least 1", sw::error);
  }
}

}  // namespace
}  // namespace whole_step_tests
