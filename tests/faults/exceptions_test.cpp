#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/engine/replay.hpp>
#include <shardweave/engine/virtual_engine.hpp>
#include <shardweave/graph/compressed_graph.hpp>
#include <shardweave/io/json_writer.hpp>
#include <shardweave/io/write_tasks.hpp>
#include <shardweave/memory/recomputation_choices.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/report/chrome_trace.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/schedule/search.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/simulate/validate_schedule.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/solve/branch_and_bound.hpp>
#include <shardweave/solve/budgeted.hpp>
#include <shardweave/solve/guided_search.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/race.hpp>
#include <shardweave/solve/search/dive.hpp>
#include <shardweave/solve/trws.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/standard_rules.hpp>

#include <doctest/doctest.h>
#include <support/limited_step.hpp>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>
#include <support/small_llama.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

// What a host's own code throws comes out as it was thrown, whenever that is; no thread is left, nothing is changed,
// and the next call gives the answer that it gives without.
namespace sw = shardweave;

namespace exceptions_tests {
namespace {

struct host_error {
  int number = 0;
};

/// Throws at the n-th of its calls, from 1 on; 0: never.
struct trap {
  std::atomic<int> at = 0;
  std::atomic<int> calls = 0;
  void operator()() {
    if (++calls == at) throw host_error{7};
  }
};

/// How many threads this process has; 0 where that cannot be told.
std::size_t threads_here() {
  std::error_code unknown;
  std::size_t count = 0;
  for (std::filesystem::directory_iterator at("/proc/self/task", unknown), end; !unknown && at != end; ++at) ++count;
  return count;
}
/// A thread that was joined may still be listed for a moment.
bool are_gone(std::size_t expected) {
  for (int i = 0; i < 1000; ++i) {
    if (threads_here() == expected) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

/// `work` with a trap at its first, second, ... call and at some later ones.
template <class Work>
void each_call_throws(const std::string& name, trap& t, Work work, bool deterministic = true) {
  INFO(name);
  t.at = 0;
  t.calls = 0;
  const std::string expected = work();
  const int count = t.calls;
  CHECK(count > 0);
  const std::size_t threads = threads_here();
  const int step = count / 5 + 1;
  for (int n = 1; n <= count; n += step) {
    t.at = n;
    t.calls = 0;
    bool came = false;
    try {
      const std::string answer = work();
    } catch (const host_error& e) {
      came = e.number == 7;
    }
    if (deterministic ? !came : !came && t.calls >= n)
      FAIL_CHECK("what call ", n, " of ", count, " threw did not come out");
    if (!are_gone(threads)) FAIL_CHECK("after call ", n, " of ", count, " a thread is left");
  }
  t.at = 0;
  if (deterministic) CHECK(work() == expected);
}

/// Costs of a host, 3 strategies per vertex, that look random.
struct trapped_costs {
  using cost_type = double;
  trap* t;
  static double noise(std::uint64_t seed) { return static_cast<double>(sw::random_source(seed).below(50)); }
  std::size_t strategy_count(std::uint32_t) const {
    (*t)();
    return 3;
  }
  double vertex_cost(std::uint32_t v, sw::strategy s) const {
    (*t)();
    return noise(10 * v + s);
  }
  double edge_cost(sw::edge_t<sw::compressed_graph> e, sw::strategy a, sw::strategy b) const {
    (*t)();
    return noise(1000 + 100 * e.index + 10 * a + b);
  }
};

sw::compressed_graph grid() {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;
  for (std::uint32_t v = 0; v < 16; ++v) {
    if (v % 4 != 3) ends.emplace_back(v, v + 1);
    if (v < 12) ends.emplace_back(v, v + 4);
  }
  return {16, ends};
}

std::string text_of(const sw::solution<double>& answer) {
  std::string text = std::to_string(answer.objective);
  for (const sw::strategy s : answer.choice) text += " " + std::to_string(s);
  return text;
}

/// A grid with a budget that binds.
sw::placement_problem<double> problem(bool budget) {
  trap never;
  sw::constraint_set constraints;
  if (budget) {
    sw::budget memory{.name = "memory", .high = 13, .terms = {}};
    for (std::uint32_t v = 0; v < 16; ++v) memory.terms.push_back({v, {0, 1, 2}, {}});
    constraints.budgets.push_back(std::move(memory));
  }
  return sw::compile(sw::describe(grid(), trapped_costs{&never}, constraints));
}

template <class Solver>
void try_progress(const char* name, const Solver& solver, bool budget, sw::solve_control control = {}) {
  trap t;
  const auto p = problem(budget);
  control.progress = [&](const sw::progress_report&) { t(); };
  const bool deterministic = control.threads == 1 && control.seconds == sw::solve_control{}.seconds;
  each_call_throws(
      name, t, [&] { return text_of(solver.solve(p, control)); }, deterministic);
}

/// A tiny training step whose costs and work are a host's.
struct trapped_step : tiny_training::model {
  trap* t = nullptr;
  [[nodiscard]] std::size_t strategy_count(std::uint32_t v) const {
    (*t)();
    return model::strategy_count(v);
  }
  [[nodiscard]] double vertex_cost(std::uint32_t v, sw::strategy s) const {
    (*t)();
    return model::vertex_cost(v, s);
  }
  [[nodiscard]] double edge_cost(edge e, sw::strategy a, sw::strategy b) const {
    (*t)();
    return model::edge_cost(e, a, b);
  }
  [[nodiscard]] double vertex_time(std::uint32_t v, sw::strategy s) const {
    (*t)();
    return model::vertex_time(v, s);
  }
  [[nodiscard]] sw::edge_work edge_work(edge e, sw::strategy a, sw::strategy b) const {
    (*t)();
    return model::edge_work(e, a, b);
  }
};

/// An engine whose n-th call fails.
struct trapped_engine {
  static constexpr std::string_view name = "trapped";
  trap* t;
  sw::virtual_engine clock = {};
  void connect(std::span<const sw::process_group> groups) {
    (*t)();
    clock.connect(groups);
  }
  std::size_t run(const sw::compute_call& work) {
    (*t)();
    return clock.run(work);
  }
  std::size_t start(const sw::collective_call& call) {
    (*t)();
    return clock.start(call);
  }
  std::size_t wait(std::size_t operation) {
    (*t)();
    return clock.wait(operation);
  }
  void finish() {
    (*t)();
    clock.finish();
  }
  sw::nanoseconds now() const { return clock.now(); }
  sw::time_span span(std::size_t operation) const { return clock.span(operation); }
};

}  // namespace

TEST_SUITE("what hosts throw") {
  TEST_CASE("a cost model may throw at any call") {
    trap t;
    const sw::compressed_graph g = grid();
    each_call_throws("describe", t,
                     [&] { return text_of(sw::trws{}.solve(sw::compile(sw::describe(g, trapped_costs{&t})))); });
  }

  TEST_CASE("who is told of progress may throw, in every solver, on several threads too") {
    try_progress("trws", sw::trws{}, false);
    try_progress("budgeted", sw::budgeted{}, true);
    try_progress("local_search", sw::local_search{}, true);
    try_progress("branch_and_bound", sw::branch_and_bound{}, true);
    try_progress("dive", sw::dive{}, true);
    try_progress("guided_search", sw::guided_search{}, true, {.iterations = 20});
    try_progress("auto", sw::auto_solver{}, true);
    try_progress("guided_search on two threads", sw::guided_search{}, true, {.seconds = 0.05, .threads = 2});
    try_progress("race", sw::race(sw::budgeted{}, sw::local_search{}), true, {.threads = 2});
  }

  TEST_CASE("a model of collectives may throw, on several threads too") {
    const auto device = sw::find_device("h100");
    const auto graph = shardweave_test::small_llama();
    struct trapped_collectives {
      trap* t;
      sw::node_table<> model;
      [[nodiscard]] sw::collective_estimate estimate(sw::collective kind, sw::bytes size,
                                                     const sw::group_shape& group) const {
        (*t)();
        return model.estimate(kind, size, group);
      }
    };
    for (const unsigned threads : {1U, 3U}) {
      trap t;
      const trapped_collectives collectives{&t, sw::node_table<>(device)};
      each_call_throws(
          "collectives", t,
          [&] {
            const sw::spmd_cost_model model(graph, sw::device_mesh({2}), sw::roofline{device}, collectives,
                                            sw::standard_rules(), {.threads = threads});
            return std::to_string(model.table_count());
          },
          threads == 1);
    }
  }

  TEST_CASE("an operator's rule and what says its operations may throw, on several threads too") {
    using sw::dim_placement, sw::dim_strategy, sw::operation_view;
    trap t;
    sw::rule_table rules = sw::standard_rules();
    rules.add("row_softmax",
              [&t](const operation_view&, std::int64_t) -> std::vector<dim_strategy> {
                t();
                return {{{dim_placement::replicate()}, {dim_placement::replicate()}},
                        {{dim_placement::shard(0)}, {dim_placement::shard(0)}}};
              },
              {.flops = [&t](const operation_view& view) {
                t();
                return 4.0 * static_cast<double>(view.outputs.front().size().count());
              }});
    sw::graph_builder b("softmax after softmax");
    const auto x = b.input("x", {{64, 8}, sw::dtype::bf16});
    for (std::int64_t rows = 64; rows >= 16; rows /= 2)  // of several shapes: what is equal is asked once
      b.result(b.apply("row_softmax", {b.input("rows" + std::to_string(rows), {{rows, 8}, sw::dtype::bf16})},
                       {sw::tensor{{rows, 8}, sw::dtype::bf16}}));
    b.result(b.apply("row_softmax", {x}, {sw::tensor{{64, 8}, sw::dtype::bf16}}));
    const sw::computation computation = b.finish();
    const auto device = sw::find_device("h100");
    for (const unsigned threads : {1U, 3U})
      each_call_throws(
          "rules", t,
          [&] {
            const sw::spmd_cost_model model(computation, sw::device_mesh({2, 2}), sw::roofline{device},
                                            sw::node_table<>(device), rules, {.threads = threads});
            return text_of(sw::trws{}.solve(sw::compile(sw::describe(model.graph(), model))));
          },
          threads == 1);
  }

  TEST_CASE(
      "in the search for the step costs, work, lowering, what is held and orders may throw, on several threads too") {
    trap t;
    const limited_step::tight_step tight = limited_step::random_step(2);
    const trapped_step trapped{tight.model, &t};
    for (const unsigned threads : {1U, 3U}) {
      each_call_throws("costs and work", t, [&] {
        return limited_step::text_of(limited_step::fastest_within(trapped, tight.memory, {.threads = threads}));
      });
      each_call_throws(
          "calls", t,
          [&] {
            return limited_step::text_of(
                limited_step::fastest_within(tight.model, tight.memory, {.threads = threads}, [&] { t(); }));
          },
          threads == 1);
      each_call_throws(
          "progress", t,
          [&] {
            const auto told = [&](const sw::progress_report&) { t(); };
            return limited_step::text_of(
                limited_step::fastest_within(tight.model, tight.memory, {.threads = threads, .progress = told}));
          },
          threads == 1);
    }
  }

  TEST_CASE("who tells what is made again may throw") {
    trap t;
    const tiny_training::model m = limited_step::random_step(2).model;
    const sw::task_graph g = m.lower(std::vector<sw::strategy>(m.times.size()));
    const std::vector<std::uint32_t> block(g.size(), 0U);
    each_call_throws("dropped", t, [&] {
      std::string text;
      for (const char dropped : sw::dropped_storages(g, block, [&](sw::task_index) {
             t();
             return true;
           }))
        text += dropped != 0 ? '1' : '0';
      return text;
    });
  }

  TEST_CASE(
      "after a stop the search for the step asks a host for one more lowering and order at most, and has a plan") {
    const limited_step::tight_step tight = limited_step::random_step(4);
    int calls = 0;
    static_cast<void>(limited_step::fastest_within(tight.model, tight.memory, {}, [&] { ++calls; }));
    REQUIRE(calls > 3);
    for (int n = 1; n <= calls; n += shardweave_test::sized(1, 5)) {
      CAPTURE(n);
      std::stop_source stop;
      int now = 0;
      const auto found = limited_step::fastest_within(tight.model, tight.memory, {.stop = stop.get_token()}, [&] {
        if (++now == n) stop.request_stop();
      });
      CHECK(now <= n + 1);
      REQUIRE(found.plan.tasks);
      sw::validate_schedule(found.plan.lowered->tasks, found.plan.tasks->order);
      CHECK((found.stopped || n == calls));
    }
  }

  TEST_CASE("an engine and a sink of text may throw at any call") {
    const sw::task_graph g = random_tasks(3);
    const sw::schedule s = sw::prefetch{}(g, sw::greedy{.fsdp_only = false}(g, {}), {});
    trap t;
    each_call_throws("engine", t, [&] {
      trapped_engine engine{&t};
      return std::to_string(sw::replay(g, s, engine).end_to_end.count());
    });
    const sw::timeline line = sw::simulate(g, s, {.memory_samples = true});
    each_call_throws("trace", t, [&] {
      std::string text;
      sw::write_chrome_trace(
          [&](std::string_view piece) {
            t();
            text += piece;
          },
          g, s, line);
      return text;
    });
    each_call_throws("json", t, [&] {
      std::string text;
      sw::json_writer out([&](std::string_view piece) {
        t();
        text += piece;
      });
      sw::write_task_graph(out, g);
      out.flush();
      return text;
    });
  }
}

}  // namespace exceptions_tests
