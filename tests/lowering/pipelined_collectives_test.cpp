#include <shardweave/core/error.hpp>
#include <shardweave/lowering/lower.hpp>
#include <shardweave/lowering/pipelined_collectives.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/pieces.hpp>
#include <shardweave/tasks/task.hpp>

#include <doctest/doctest.h>
#include <support/two_layers.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace pipelined_collectives_tests {

namespace sw = shardweave;

struct planned : shardweave_test::two_layers {
  using shardweave_test::two_layers::two_layers;
  sw::lowered_graph lowered = sw::lower(model, choice);
};

TEST_SUITE("pipelined collectives") {
  TEST_CASE("collectives of tensor parallelism are cut, those of parameters and their gradients are not") {
    const planned p;
    const auto made = sw::with_pipelined_collectives(p.lowered, p.model, p.choice, 2);
    CHECK(made.collectives >= 2 * 6);
    const sw::task_graph &whole = p.lowered.tasks, &cut = made.lowered.tasks;
    REQUIRE(made.cut.size() == whole.size());
    REQUIRE(made.lowered.origin.size() == cut.size());
    for (sw::task_index t = 0; t < whole.size(); ++t)
      if (made.cut[t] != sw::piecewise::no && whole.is_collective(t))
        CHECK(whole.groups()[whole.collective(t).group].name == "tp");
    for (std::size_t v = 0; v < p.lowered.task_of.size(); ++v) {
      const std::string name(whole.name_of(p.lowered.task_of[v])), now(cut.name_of(made.lowered.task_of[v]));
      CHECK(now.starts_with(name));
    }

    // what is done: all of it, and what is moved: the same; pieces never take less than their part
    std::map<std::string, std::int64_t> moved, moved_now;
    std::int64_t before = 0, now = 0;
    for (sw::task_index t = 0; t < whole.size(); ++t)
      whole.is_collective(t) ? moved[std::string(whole.op(t))] += whole.collective(t).bytes_in.count()
                             : before += whole.duration(t).count();
    for (sw::task_index t = 0; t < cut.size(); ++t)
      cut.is_collective(t) ? moved_now[std::string(cut.op(t))] += cut.collective(t).bytes_in.count()
                           : now += cut.duration(t).count();
    CHECK(moved == moved_now);
    CHECK(now >= before);
    CHECK(now - before == made.longer.count());
    CHECK(static_cast<double>(now) < 1.1 * static_cast<double>(before));
  }

  TEST_CASE("the step gets shorter where products hide pieces, and longer where they are cut into crumbs") {
    const planned p;
    const auto step = [](const sw::task_graph& g) { return sw::simulate(g, sw::prefetch{}(g, {})).end_to_end; };
    const sw::nanoseconds whole = step(p.lowered.tasks);
    const auto in = [&](unsigned pieces) {
      return sw::with_pipelined_collectives(p.lowered, p.model, p.choice, pieces);
    };
    CHECK(step(in(2).lowered.tasks) < whole);
    const auto crumbs = in(64);
    CHECK(step(crumbs.lowered.tasks) > step(in(2).lowered.tasks));
    CHECK(crumbs.longer > in(2).longer);
  }

  TEST_CASE("attention begins with the first piece of gathered keys and values, and is read as a whole") {
    const planned p(16, "cp=8");
    const auto made = sw::with_pipelined_collectives(p.lowered, p.model, p.choice, 4);
    const sw::task_graph &whole = p.lowered.tasks, &cut = made.lowered.tasks;
    std::size_t attentions = 0, hidden = 0;
    for (sw::task_index t = 0; t < whole.size(); ++t) {
      if (!whole.op(t).starts_with("sdpa")) continue;
      ++attentions;
      CHECK(made.cut[t] == sw::piecewise::sum);
      std::size_t gathered = 0;
      for (const sw::task_index from : whole.inputs(t)) gathered += made.cut[from] != sw::piecewise::no ? 1U : 0U;
      CHECK(gathered == 2);  // keys and values, not queries
    }
    CHECK(attentions == 4);
    for (sw::task_index t = 0; t < cut.size(); ++t) {
      const std::string name(cut.name_of(t));
      if (cut.op(t).starts_with("sdpa")) hidden += name.ends_with(".1of4") ? 1U : 0U;
      if (cut.op(t).starts_with("sdpa")) continue;
      std::size_t pieces = 0;
      for (const sw::task_index from : cut.inputs(t)) pieces += cut.op(from).starts_with("sdpa") ? 1U : 0U;
      CHECK(pieces % 4 == 0);
    }
    CHECK(hidden == 4);
    CHECK(made.longer > sw::nanoseconds(0));
    const sw::schedule order = sw::in_order{}(whole, {});
    const sw::schedule now = sw::in_pieces(whole, order, made.cut, 4);
    CHECK(sw::simulate(cut, now).end_to_end < sw::simulate(whole, order).end_to_end);
  }

  TEST_CASE("only wanted collectives are cut, and a list of another graph is refused") {
    const planned p;
    const std::vector<char> none(p.lowered.tasks.size());
    const auto same = sw::with_pipelined_collectives(p.lowered, p.model, p.choice, 2, none);
    CHECK(same.collectives == 0);
    CHECK(same.lowered.tasks.size() == p.lowered.tasks.size());
    CHECK_THROWS_AS(
        static_cast<void>(sw::with_pipelined_collectives(p.lowered, p.model, p.choice, 2, std::vector<char>(1))),
        sw::error);
  }
}

}  // namespace pipelined_collectives_tests
