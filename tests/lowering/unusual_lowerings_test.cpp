#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/lowering/fused_kernels.hpp>
#include <shardweave/lowering/lower.hpp>
#include <shardweave/lowering/pipelined_collectives.hpp>
#include <shardweave/models/alias_pass.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/tasks/pieces.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>
#include <support/small_tasks.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;
using sw::dtype;

namespace unusual_lowerings_tests {
namespace {

struct planned {
  sw::spmd_cost_model model;
  sw::assignment choice;

  planned(sw::computation c, std::int64_t devices)
      : model(std::move(c), sw::device_mesh({devices}, {"dp"}), sw::roofline{sw::find_device("h100")},
              sw::alpha_beta(sw::find_device("h100"))),
        choice(model.operations().operations.size()) {}

  /// The first strategy that takes and gives what lies so; an empty text is anything.
  void place(std::uint32_t v, const std::vector<std::string>& in, const std::string& out) {
    const sw::strategy_list& list = model.strategies(v);
    for (sw::strategy s = 0; s < list.size(); ++s) {
      const auto& one = list.strategies[s];
      bool fits = out.empty() || one.outputs.empty() || one.outputs[0].to_string() == out;
      for (std::size_t i = 0; i < in.size(); ++i) fits = fits && one.inputs[i].to_string() == in[i];
      if (fits) return void(choice[v] = s);
    }
    FAIL("no such strategy of " << model.operations().operations[v].name);
  }
};

/// y = x w and the gradient of w: the weight is replicated, the batch cut.
planned data_parallel() {
  sw::graph_builder b("linear");
  const auto w = b.group("w").parameter("w", {{4096, 4096}, dtype::bf16});
  const auto x = b.group("").input("x", {{8192, 4096}, dtype::bf16});
  const auto y = b.einsum("bk,nk->bn", {x, w});
  b.result(y);
  b.when(sw::phase::backward);
  const auto g = b.tangent("g", y);
  b.gradient(w, b.einsum("bn,bk->nk", {g, x}));
  planned p(sw::insert_aliases(b.finish()), 8);
  const auto& operations = p.model.operations().operations;
  for (std::uint32_t v = 0; v < operations.size(); ++v) {
    if (operations[v].name == "w")
      p.place(v, {}, "R");
    else if (operations[v].name == "x" || operations[v].kind == sw::role::tangent)
      p.place(v, {}, "S(0)");
    else if (operations[v].op == "einsum" && operations[v].when == sw::phase::forward)
      p.place(v, {"S(0)", "R"}, "S(0)");
    else if (operations[v].op == "einsum")
      p.place(v, {"S(0)", "S(0)"}, "P");
    else if (operations[v].op == "alias")
      p.place(v, {"R"}, "R");
  }
  return p;
}

}  // namespace

TEST_SUITE("unusual lowerings") {
  TEST_CASE("reductions of the gradients of parameters are not cut into pieces") {
    const planned p = data_parallel();
    const sw::lowered_graph l = sw::lower(p.model, p.choice);
    const sw::pipelined_graph made = sw::with_pipelined_collectives(l, p.model, p.choice, 4);
    std::size_t collectives = 0, reductions = 0;
    for (sw::task_index t = 0; t < l.tasks.size(); ++t) {
      if (!l.tasks.is_collective(t)) continue;
      ++collectives;
      if (l.tasks.name_of(t).find("all_reduce") == std::string::npos) continue;
      ++reductions;
      CHECK(made.cut[t] == sw::piecewise::no);
    }
    CHECK(reductions == 1);
    CHECK(made.collectives == collectives - reductions);
  }

  TEST_CASE("what is made again of a parameter may be a long chain") {
    constexpr int length = 30'000;
    sw::graph_builder b("chain");
    const auto w = b.group("w").parameter("w", {{64, 64}, dtype::bf16});
    const auto x = b.group("").input("x", {{64, 64}, dtype::bf16});
    auto last = w;
    for (int i = 0; i < length; ++i) last = b.neg(last);
    const auto y = b.einsum("bk,nk->bn", {x, last});
    b.result(y);
    b.when(sw::phase::backward);
    b.result(b.einsum("bn,nk->bk", {b.tangent("g", y), last}));
    planned p(b.finish(), 2);
    const auto& operations = p.model.operations().operations;
    for (std::uint32_t v = 0; v < operations.size(); ++v) {
      if (operations[v].name == "w")
        p.place(v, {}, "S(0)");
      else if (operations[v].op == "neg")
        p.place(v, {"R"}, "R");
      else
        p.place(v, operations[v].op == "einsum" ? std::vector<std::string>{"R", "R"} : std::vector<std::string>{}, "R");
    }
    const std::size_t once = sw::lower(p.model, p.choice).tasks.size();
    CHECK(sw::lower(p.model, p.choice, {.regather_parameters = true}).tasks.size() >= once + length);
  }

  TEST_CASE("what only comes after a result does not read it") {
    const auto fused = [](bool is_followed) {
      sw::task_graph_builder b;
      constexpr sw::bytes size(1 << 28);
      b.add_task({.name = "x",
                  .op = "input",
                  .kind = sw::task_kind::input,
                  .outputs = {{size, b.add_storage(size), "bf16", {}}}});
      for (sw::task_index before = 0; before < 2; ++before) {
        sw::task_record t = small_tasks::work("add", 50, {before});
        t.op = "add";
        t.kind = sw::task_kind::other;
        t.outputs = {{size, b.add_storage(size), "bf16", {}}};
        b.add_task(t);
      }
      sw::task_record m = small_tasks::work("m", 5);
      if (is_followed) m.after = {2};
      b.add_task(m);
      return sw::with_fused_kernels(std::move(b).build(), sw::roofline{sw::find_device("h100")});
    };
    const sw::task_graph alone = fused(false), followed = fused(true);
    CHECK(followed.duration(2) == alone.duration(2));
    CHECK(followed.output_storage(2, 0) == alone.output_storage(2, 0));
    CHECK(followed.output_storage(2, 0) != sw::no_index);
  }

  TEST_CASE("tables of buffers beyond any memory end before sizes overflow") {
    const planned p = data_parallel();
    const sw::lowered_graph l = sw::lower(p.model, p.choice, {.table_limit = sw::bytes(std::int64_t{1} << 60)});
    for (const sw::duration_table& t : l.tasks.tables()) {
      CHECK(t.bytes_in().back() >= sw::bytes(std::int64_t{1} << 56));
      CHECK(t.time().back() > t.time().front());
    }
  }
}

}  // namespace unusual_lowerings_tests
