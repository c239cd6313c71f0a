#include "lowering/planned_computation.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/lowering/lower.hpp>
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/lowering/spmd_lowering.hpp>
#include <shardweave/models/alias_pass.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/planner.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/solve/reduced.hpp>
#include <shardweave/solve/trws.hpp>
#include <shardweave/spmd/training_constraints.hpp>
#include <shardweave/tasks/fsdp_tags.hpp>
#include <shardweave/tasks/task_tags.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sw = shardweave;
using sw::dtype;
using sw::sharding;
using sw::task_index;
using sw::task_kind;

namespace lower_tests {
namespace {

using namespace planned_computations;

std::map<std::string, int> op_counts(const sw::task_graph& g) {
  std::map<std::string, int> counts;
  for (task_index t = 0; t < g.size(); ++t) ++counts[std::string(g.op(t))];
  return counts;
}

/// What holds of every lowered graph.
void check_valid(const planned& p, const sw::lowered_graph& l) {
  const sw::task_graph& g = l.tasks;
  REQUIRE(l.origin.size() == g.size());
  REQUIRE(l.task_of.size() == p.graph.operations.size());
  REQUIRE(g.groups().size() == p.model.mesh().rank());
  std::vector<int> waits(g.size());
  std::set<std::uint32_t> own_storage;
  for (task_index t = 0; t < g.size(); ++t) {
    CAPTURE(g.label(t));
    for (const task_index input : g.inputs(t)) CHECK(input < t);
    const sw::operation& op = p.graph.operations[l.origin[t].operation];
    CHECK(l.origin[t].is_redistribution() == (l.task_of[l.origin[t].operation] != t));
    if (l.origin[t].is_redistribution()) CHECK(l.origin[t].argument < op.inputs.size());
    switch (g.kind(t)) {
      case task_kind::collective:
        CHECK(g.collective(t).group < g.groups().size());
        CHECK(g.table(g.collective(t).op, g.collective(t).group) != nullptr);
        CHECK((*g.table(g.collective(t).op, g.collective(t).group))(g.collective(t).bytes_in) == g.duration(t));
        break;
      case task_kind::wait:
        CHECK(g.duration(t) == sw::nanoseconds(0));
        REQUIRE(g.completes(t) != sw::no_index);
        CHECK(g.inputs(t).size() == 1);
        CHECK(g.inputs(t)[0] == g.completes(t));
        ++waits[g.completes(t)];
        CHECK(g.output(t, 0).size <= g.collective(g.completes(t)).bytes_out);
        break;
      case task_kind::view:
        CHECK(g.duration(t) == sw::nanoseconds(0));
        if (g.output_storage(t, 0) != sw::no_index && op.op != "getitem")
          CHECK(g.output_storage(t, 0) == g.output_storage(g.inputs(t)[0], 0));
        break;
      case task_kind::input:
        CHECK(g.inputs(t).empty());
        break;
      case task_kind::output:
        CHECK(t + 1 == g.size());
        break;
      case task_kind::compute:
        CHECK((op.op == "einsum" || op.op == "sdpa" || op.op == "sdpa_backward"));
        break;
      case task_kind::other:
        break;
    }
    if (g.kind(t) != task_kind::view)
      for (std::size_t i = 0; i < g.output_count(t); ++i)
        if (g.output_storage(t, i) != sw::no_index) {
          CHECK(own_storage.insert(g.output_storage(t, i)).second);
          CHECK(g.storages()[g.output_storage(t, i)].size == g.output(t, i).size);
        }
  }
  for (task_index t = 0; t < g.size(); ++t) CHECK(waits[t] == (g.is_collective(t) ? 1 : 0));
  CHECK(own_storage.size() == g.storages().size());
}

}  // namespace

TEST_SUITE("lower") {
  TEST_CASE("sharded data parallelism gathers the parameter and scatters its gradient") {
    planned p(linear_training(), {4}, {"dp"});
    sw::assignment chosen(p.graph.operations.size());
    const auto choose = [&](const std::string& name, const std::vector<std::string>& inputs,
                            const std::string& output) { chosen[p.vertex(name)] = p.find(name, inputs, output); };
    choose("w", {}, "S(0)");
    choose("x", {}, "S(0)");
    choose("x.shared", {"S(0)"}, "S(0)");
    choose("cast", {"S(0)"}, "S(0)");
    choose("permute", {"S(0)"}, "S(1)");
    choose("einsum", {"S(0)", "R"}, "S(0)");
    choose("einsum.result", {"S(0)"}, "S(0)");
    choose("g", {}, "S(0)");
    choose("backward.einsum", {"S(0)", "S(0)"}, "P");
    choose("backward.permute", {"P"}, "P");
    choose("backward.cast", {"P"}, "P");
    choose("backward.cast.result", {"S(0)"}, "S(0)");
    const sw::lowered_graph l = p.lower(chosen);
    const sw::task_graph& g = l.tasks;
    check_valid(p, l);

    std::vector<std::string> names;
    for (task_index t = 0; t < g.size(); ++t) names.emplace_back(g.name_of(t));
    CHECK(names == std::vector<std::string>{"primals.w", "primals.x", "cast", "permute", "x.shared", "einsum.1.pack",
                                            "einsum.1.all_gather.dp", "einsum.1.wait.dp", "einsum.1.unpack", "einsum",
                                            "einsum.result", "g", "backward.einsum", "backward.permute",
                                            "backward.cast", "backward.cast.result.0.reduce_scatter.dp",
                                            "backward.cast.result.0.wait.dp", "backward.cast.result", "results"});

    const task_index gather = 6;
    CHECK(g.collective(gather).op == sw::collective::all_gather);
    CHECK(g.collective(gather).bytes_in == sw::bytes(48 * 32 * 2 / 4));
    CHECK(g.collective(gather).bytes_out == sw::bytes(48 * 32 * 2));
    CHECK(g.collective(gather).dtype == "bf16");
    CHECK(g.collective(gather).reduce == "none");
    CHECK(g.is_fsdp(gather) == true);
    CHECK(g.is_param(0));
    CHECK(!g.is_param(1));
    for (task_index t = 0; t < g.size(); ++t) CHECK(g.when(t) == (t < 11 ? sw::phase::forward : sw::phase::backward));
    std::string roles;
    for (task_index t = 0; t < g.size(); ++t) roles += sw::to_string(g.role(t)).substr(0, 1);
    CHECK(roles == "pdppappppaagggggggn");
    CHECK(sw::derived_tags(g) == sw::fsdp_tags_by_structure(g));
    const double expected = sw::alpha_beta(p.model.compute().device)
                                .estimate(sw::collective::all_gather, sw::bytes(48 * 32 * 2), {4, 1})
                                .time_us;
    CHECK(g.duration(gather) == sw::from_microseconds(expected));
    CHECK(g.duration(5) == sw::nanoseconds(7000));  // the parameter lies transposed: copied before it is sent,
    CHECK(g.duration(8) == sw::nanoseconds(7000));  // and put together along its second dimension

    const task_index scatter = 15;  // the cast before it leaves the gradient contiguous: nothing is packed
    CHECK(g.collective(scatter).op == sw::collective::reduce_scatter);
    CHECK(g.collective(scatter).bytes_in == sw::bytes(48 * 32 * 4));
    CHECK(g.collective(scatter).bytes_out == sw::bytes(48 * 32 * 4 / 4));
    CHECK(g.collective(scatter).dtype == "f32");
    CHECK(g.collective(scatter).reduce == "sum");
    CHECK(g.is_fsdp(scatter) == true);

    CHECK(l.origin[gather] == sw::task_origin{p.vertex("einsum"), 1});
    CHECK(l.origin[9] == sw::task_origin{p.vertex("einsum")});
    CHECK(g.groups()[0].name == "dp");
    CHECK(g.groups()[0].size == 4);
    CHECK(g.groups()[0].ranks == std::vector<std::int64_t>{0, 1, 2, 3});
    // parameter f32, data bf16, tangent bf16, a quarter of each
    CHECK(g.memory_baseline() == sw::bytes((48 * 32 * 4 + 64 * 32 * 2 + 64 * 48 * 2) / 4));
    CHECK(g.device().dram_bytes_per_ns == doctest::Approx(3.35 * 1099.511627776 * 0.7));
  }

  TEST_CASE("users that want a value alike share its way, and ways share what they have in common") {
    sw::graph_builder b("shared");
    const auto x = b.input("x", {{64, 32}, dtype::f32});
    const auto y = b.neg(x);
    b.result(b.add(b.exp(y), b.exp(y)));
    b.when(sw::phase::backward);
    b.result(b.exp(y));
    planned p(b.finish(), {2, 4}, {"dp", "tp"});
    sw::assignment chosen(p.graph.operations.size());
    const auto choose = [&](const std::string& name, const std::string& where) {
      const auto inputs = std::vector<std::string>(p.graph.operations[p.vertex(name)].inputs.size(), where);
      chosen[p.vertex(name)] = p.find(name, inputs, where);
    };
    choose("x", "S(0)S(1)");
    choose("neg", "S(0)S(1)");
    choose("exp", "S(0)R");
    choose("exp_1", "S(0)R");
    choose("add", "S(0)R");
    choose("backward.exp", "S(0)R");

    auto counts = op_counts(p.lower(chosen).tasks);
    CHECK(counts["all_gather"] == 2);  // one per phase
    CHECK(counts["wait"] == 2);
    counts = op_counts(p.lower(chosen, {.share_across_phases = true}).tasks);
    CHECK(counts["all_gather"] == 1);

    choose("exp_1", "RR");  // along tp as the other one, or first along dp: whichever is cheaper
    const sw::lowered_graph l = p.lower(chosen, {.share_across_phases = true});
    check_valid(p, l);
    std::set<std::pair<task_index, std::uint32_t>> launches;
    for (task_index t = 0; t < l.tasks.size(); ++t)
      if (l.tasks.is_collective(t)) CHECK(launches.emplace(l.tasks.inputs(t)[0], l.tasks.collective(t).group).second);
  }

  TEST_CASE("a wait may share the storage of its collective") {
    planned p(linear_training(), {4}, {"dp"});
    sw::random_source random(3);
    const sw::assignment chosen = p.any_assignment(random);
    const sw::lowered_graph apart = p.lower(chosen);
    const sw::lowered_graph together = p.lower(chosen, {.wait_shares_storage = true});
    int waits = 0;
    for (task_index t = 0; t < apart.tasks.size(); ++t) {
      if (apart.tasks.kind(t) != task_kind::wait) continue;
      ++waits;
      const auto storage_of = [](const sw::lowered_graph& l, task_index task) {
        return l.tasks.output_storage(task, 0);
      };
      CHECK(storage_of(apart, t) != storage_of(apart, apart.tasks.completes(t)));
      CHECK(storage_of(together, t) == storage_of(together, together.tasks.completes(t)));
    }
    CHECK(waits > 0);
    CHECK(apart.tasks.storages().size() == together.tasks.storages().size() + static_cast<std::size_t>(waits));
  }

  TEST_CASE("parameters are gathered again for the backward phase where that is asked for") {
    planned p(tiny_llama({64, 2048}), {4}, {"dp"});  // so many tokens that moving them is dear
    const sw::planner plan(
        p.model.graph(), p.model, sw::reduced{sw::trws{}},
        sw::training_constraints(p.model, {.inputs = sharding::parse("S(0)"), .results = sharding::parse("S(0)")}));
    const auto best = plan.solve();
    REQUIRE(best.has_assignment());
    const sw::lowered_graph once = p.lower(best.choice);
    const sw::lowered_graph twice = p.lower(best.choice, {.regather_parameters = true});

    const auto parts = plan.evaluate(best.choice).parts;
    CHECK(std::abs(sw::to_microseconds(once.compute_time()) - parts.compute) <
          0.5e-3 * static_cast<double>(once.tasks.size()));
    CHECK(sw::to_microseconds(once.communication_time()) <=
          parts.communication + 0.5e-3 * static_cast<double>(once.tasks.size()));

    const auto gathers = [](const sw::lowered_graph& l, bool again) {
      int count = 0;
      for (task_index t = 0; t < l.tasks.size(); ++t)
        count += l.tasks.is_collective(t) && l.tasks.is_fsdp(t) == true &&
                         l.tasks.collective(t).op == sw::collective::all_gather && l.origin[t].again == again
                     ? 1
                     : 0;
      return count;
    };
    CHECK(gathers(once, false) >= 18);  // 9 per layer at least
    CHECK(gathers(once, true) == 0);
    CHECK(gathers(twice, false) == gathers(once, false));
    CHECK(gathers(twice, true) >= 18);

    // Nothing that was gathered forward is used backward, and all else is as it was.
    std::vector<bool> gathered(twice.tasks.size());
    std::size_t more = 0;
    for (task_index t = 0; t < twice.tasks.size(); ++t) {
      more += twice.origin[t].again ? 1U : 0U;
      const bool is_gather = twice.tasks.is_collective(t) && twice.tasks.is_fsdp(t) == true &&
                             twice.tasks.collective(t).op == sw::collective::all_gather;
      gathered[t] = is_gather && !twice.origin[t].again;
      const sw::operation& op = p.graph.operations[twice.origin[t].operation];
      for (const task_index input : twice.tasks.inputs(t)) {
        if (!gathered[input]) continue;
        CHECK((op.when == sw::phase::forward && !twice.origin[t].again));
        const auto kind = twice.tasks.kind(t);
        gathered[t] = kind == task_kind::view || kind == task_kind::wait || twice.tasks.op(t) == "copy";
      }
    }
    CHECK(twice.tasks.size() == once.tasks.size() + more);
    CHECK(sw::simulate(twice.tasks).peak < sw::simulate(once.tasks).peak);
    CHECK(sw::simulate(once.tasks).compute + sw::simulate(once.tasks).communication ==
          once.compute_time() + once.communication_time());
  }

  TEST_CASE("a slice and a mesh dimension of one device need no collective") {
    sw::graph_builder b("slice");
    const auto x = b.input("x", {{64, 32}, dtype::f32});
    b.result(b.neg(b.neg(x)));
    planned p(b.finish(), {2, 1});
    sw::assignment chosen(p.graph.operations.size());
    chosen[0] = p.find("x", {}, "RS(0)");
    chosen[1] = p.find("neg", {"RR"}, "RR");
    chosen[2] = p.find("neg_1", {"S(1)R"}, "S(1)R");
    const sw::lowered_graph l = p.lower(chosen);
    check_valid(p, l);
    CHECK(op_counts(l.tasks)["slice"] == 2);
    CHECK(l.communication_time() == sw::nanoseconds(0));
    CHECK(l.tasks.output(l.tasks.inputs(l.task_of[2])[0], 0).size == sw::bytes(64 * 32 * 4 / 2));
  }

  TEST_CASE("times are those of the placement, whatever was chosen") {
    for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{4}, {2, 4}, {2, 2, 2}}) {
      CAPTURE(shape.size());
      const bool is_small = shape.size() >= shardweave_test::sized(3U, 2U);
      planned p(is_small ? linear_training() : tiny_llama(), shape);
      sw::random_source random(11 + shape.size());
      std::size_t collectives = 0;
      double shared = 0;
      for (int round = 0; round < shardweave_test::sized(6, 2); ++round) {
        const sw::assignment chosen = p.any_assignment(random);
        const sw::lowered_graph l = p.lower(chosen);
        if (round == 0) check_valid(p, l);

        double compute = 0;
        double communication = 0;
        double distinct = 0;
        std::set<std::tuple<std::uint32_t, std::size_t, bool, std::vector<std::string>>> seen;
        for (std::uint32_t v = 0; v < chosen.size(); ++v) {
          compute += p.model.strategies(v).compute_us[chosen[v]];
          communication += p.communication_into(chosen, v);
          const sw::operation& op = p.graph.operations[v];
          for (std::size_t a = 0; a < op.inputs.size(); ++a) {
            const auto [value, from, to] = p.edge(chosen, v, a);
            std::vector<std::string> way;
            for (const sw::redistribution_step& step : p.redistribution.plan(value, from, to).steps) {
              way.push_back(std::to_string(step.mesh_dim) + sharding{step.to}.to_string());
              if (seen.emplace(op.inputs[a], sw::element_taken(op, p.graph.operations[op.inputs[a]]),
                               op.when == sw::phase::backward, way)
                      .second)
                distinct += step.cost_us;
            }
          }
        }
        // every task is rounded to a nanosecond on its own
        const double slack = 0.5e-3 * static_cast<double>(l.tasks.size());
        CHECK(std::abs(sw::to_microseconds(l.compute_time()) - compute) <= slack);
        CHECK(std::abs(sw::to_microseconds(l.communication_time()) - distinct) <= slack);
        CHECK(distinct <= communication * (1 + 1e-9));
        shared += communication - distinct;
        for (task_index t = 0; t < l.tasks.size(); ++t) collectives += l.tasks.is_collective(t) ? 1U : 0U;
      }
      CHECK(collectives > 0);
      if (!is_small) CHECK(shared > 0);
    }
  }

  TEST_CASE("equal input gives equal task graphs") {
    planned p(tiny_llama(), {2, 2});
    sw::random_source random(5);
    const sw::assignment chosen = p.any_assignment(random);
    const sw::lowered_graph a = p.lower(chosen);
    const sw::lowered_graph b = p.lower(chosen);
    REQUIRE(a.tasks.size() == b.tasks.size());
    for (task_index t = 0; t < a.tasks.size(); ++t) CHECK(a.tasks.record(t) == b.tasks.record(t));
    CHECK(a.origin == b.origin);
    CHECK(a.task_of == b.task_of);
  }

  TEST_CASE("an assignment that is none is refused") {
    planned p(linear_training(), {4});
    sw::assignment chosen(p.graph.operations.size());
    chosen[0] = 99;
    CHECK_THROWS_WITH_AS((void)p.lower(chosen), "operation 'w' is assigned strategy 99 of 3", sw::error);
    chosen.pop_back();
    CHECK_THROWS_WITH_AS((void)p.lower(chosen), "an assignment of 12 strategies for 13 operations", sw::error);
    chosen.assign(p.graph.operations.size(), 0);
    chosen[p.vertex("backward.permute")] = p.find("backward.permute", {"P"}, "P");
    chosen[p.vertex("backward.einsum")] = p.find("backward.einsum", {"R", "R"}, "R");
    CHECK_THROWS_WITH_AS((void)p.lower(chosen), "operation 'backward.permute', argument 0: no way leads from R to P",
                         sw::error);
  }
}

}  // namespace lower_tests
