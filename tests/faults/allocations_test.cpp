#include "failing_memory.hpp"
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/bucketing/overlap_preserving.hpp>
#include <shardweave/bucketing/topological_span.hpp>
#include <shardweave/core/parallel.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/io/iopddl.hpp>
#include <shardweave/io/json_writer.hpp>
#include <shardweave/io/model_config.hpp>
#include <shardweave/io/placement.hpp>
#include <shardweave/io/placement_certificate.hpp>
#include <shardweave/io/schedule.hpp>
#include <shardweave/io/solution.hpp>
#include <shardweave/io/tasks.hpp>
#include <shardweave/lowering/lower.hpp>
#include <shardweave/lowering/whole_step.hpp>
#include <shardweave/memory/recomputation_choices.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/placement/check_certificate.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/report/chrome_trace.hpp>
#include <shardweave/report/html.hpp>
#include <shardweave/schedule/best_known.hpp>
#include <shardweave/schedule/compatibility.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/schedule/search.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/solve/branch_and_bound.hpp>
#include <shardweave/solve/budgeted.hpp>
#include <shardweave/solve/elimination.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/first_proven.hpp>
#include <shardweave/solve/guided_search.hpp>
#include <shardweave/solve/local_search.hpp>
#include <shardweave/solve/overlapped.hpp>
#include <shardweave/solve/proof/certify_placement.hpp>
#include <shardweave/solve/reduced.hpp>
#include <shardweave/solve/search/dive.hpp>
#include <shardweave/solve/trws.hpp>
#include <shardweave/spmd/describe_spmd.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/training_constraints.hpp>
#include <shardweave/step/certify_step.hpp>
#include <shardweave/step/check_step_certificate.hpp>
#include <shardweave/step/fitted_plan.hpp>
#include <shardweave/step/step_bound.hpp>
#include <shardweave/step/step_certificate.hpp>
#include <shardweave/step/step_work.hpp>

#include <doctest/doctest.h>
#include <support/limited_step.hpp>
#include <support/random_problem.hpp>
#include <support/random_tasks.hpp>
#include <support/small_llama.hpp>
#include <support/temporary_folder.hpp>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// --- the operators of this program ---------------------------------------------------------------------------

namespace failing_memory {
namespace {

void* taken(std::size_t size, std::size_t alignment) noexcept {
  const long number = ++asked;
  if (number == fails_at) {
    failed = true;
    return nullptr;
  }
  if (size == 0) size = 1;
  void* const memory = alignment <= alignof(std::max_align_t)
                           ? std::malloc(size)
                           : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory != nullptr) ++live;
  return memory;
}
void* taken_or_throw(std::size_t size, std::size_t alignment) {
  void* const memory = taken(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void given_back(void* memory) noexcept {
  if (memory == nullptr) return;
  --live;
  std::free(memory);
}
constexpr std::size_t usual_alignment = alignof(std::max_align_t);

}  // namespace
}  // namespace failing_memory

using failing_memory::given_back;
using failing_memory::taken;
using failing_memory::taken_or_throw;
using failing_memory::usual_alignment;

void* operator new(std::size_t size) { return taken_or_throw(size, usual_alignment); }
void* operator new[](std::size_t size) { return taken_or_throw(size, usual_alignment); }
void* operator new(std::size_t size, std::align_val_t a) { return taken_or_throw(size, static_cast<std::size_t>(a)); }
void* operator new[](std::size_t size, std::align_val_t a) { return taken_or_throw(size, static_cast<std::size_t>(a)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return taken(size, usual_alignment); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return taken(size, usual_alignment); }
void* operator new(std::size_t size, std::align_val_t a, const std::nothrow_t&) noexcept {
  return taken(size, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t size, std::align_val_t a, const std::nothrow_t&) noexcept {
  return taken(size, static_cast<std::size_t>(a));
}
void operator delete(void* memory) noexcept { given_back(memory); }
void operator delete[](void* memory) noexcept { given_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { given_back(memory); }
void operator delete[](void* memory, std::size_t) noexcept { given_back(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { given_back(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { given_back(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { given_back(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { given_back(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { given_back(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { given_back(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept { given_back(memory); }
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept { given_back(memory); }

namespace sw = shardweave;
using failing_memory::each_fails;

namespace allocations_tests {
namespace {

template <class Write>
std::string text_of(Write write) {
  return sw::json_string([&](sw::json_writer& out) { write(out); });
}
template <class Cost>
std::string text_of_problem(const sw::placement_description<Cost>& d) {
  return text_of([&](sw::json_writer& out) { sw::write_placement(out, d); });
}
template <class Cost>
std::string text_of_answer(const sw::solution<Cost>& answer) {
  std::string text = std::string(sw::name_of(answer.status)) + " " + std::to_string(answer.objective) + " " +
                     std::to_string(answer.lower_bound);
  for (const sw::strategy s : answer.choice) text += " " + std::to_string(s);
  return text + answer.statistics.note;
}
std::string text_of_graph(const sw::task_graph& g) {
  return text_of([&](sw::json_writer& out) { sw::write_task_graph(out, g); });
}

/// A feasible problem with budgets and all else that problems may have.
sw::placement_description<double> feasible(bool budgets) {
  auto features = shardweave_test::problem_features::combination(budgets ? 127 : 31);
  features.max_assignments = 300;
  for (std::uint64_t seed = 1;; ++seed) {
    auto drawn = shardweave_test::draw_problem<double>(seed, features);
    const auto best = shardweave_test::brute_force(drawn);
    if (best.feasible > 5 && drawn.description.vertices.size() > 4 &&
        drawn.description.constraints.budgets.empty() != budgets)
      return std::move(drawn.description);
  }
}

template <class Solver>
void try_solver(const char* name, const Solver& solver, bool budgets, const sw::solve_control& control = {}) {
  const auto stated = feasible(budgets);
  const std::string before = text_of_problem(stated);
  const auto problem = sw::compile(stated);
  const std::size_t thrown = each_fails(name, [&] { return text_of_answer(solver.solve(problem, control)); });
  CHECK(thrown > 0);
  CHECK(text_of_problem(*problem.description()) == before);
}

sw::spmd_cost_model small_model() {
  const auto device = sw::find_device("h100");
  return {shardweave_test::small_llama(), sw::device_mesh({2}), sw::roofline{device}, sw::node_table<>(device)};
}

}  // namespace

TEST_SUITE("allocations that fail") {
  TEST_CASE("stating and compiling a problem loses nothing") {
    for (const bool budgets : {false, true}) {
      const auto stated = feasible(budgets);
      CHECK(each_fails("compile", [&] {
              const auto problem = sw::compile(stated);
              const auto answer = sw::exhaustive{}.solve(problem);
              return text_of_answer(answer) + text_of_problem(*problem.description()) +
                     std::to_string(sw::evaluate(stated, answer.choice).objective);
            }) > 0);
    }
  }

  TEST_CASE("solvers lose nothing") {
    try_solver("elimination", sw::reduced(sw::elimination{}), false);
    try_solver("trws", sw::trws{}, false);
    try_solver("budgeted", sw::budgeted{}, true);
    try_solver("local_search", sw::local_search{}, true);
    try_solver("branch_and_bound", sw::reduced(sw::branch_and_bound{}), true);
    try_solver("dive", sw::reduced(sw::dive{}), true);
    try_solver("guided_search", sw::guided_search{}, true, {.iterations = 20});
    try_solver("auto", sw::auto_solver{}, true);
    try_solver("first_proven", sw::first_proven(sw::local_search{}, sw::exhaustive{}), true);
    try_solver("overlapped", sw::overlapped{}, true);
  }

  TEST_CASE("a certificate, its text and its check lose nothing") {
    const auto stated = feasible(true);
    const auto problem = sw::compile(stated);
    const auto best = sw::exhaustive{}.solve(problem).objective;
    CHECK(each_fails("certificate", [&] {
            const std::string text = text_of(
                [&](sw::json_writer& out) { sw::write_certificate(out, sw::certify_placement(problem, best)); });
            auto input = sw::text_input::of_memory("certificate", text, 100);
            const auto c = sw::read_placement_certificate<double>(input);
            const auto verdict = sw::check_certificate(stated, c);
            CHECK(verdict.accepted);
            return text + verdict.failure;
          }) > 0);
  }

  TEST_CASE("work on several threads: the failure of one is thrown, and no thread is left") {
    for (const unsigned threads : {1U, 3U}) {
      std::size_t thrown = 0;
      for (long n = 1; n < 40; ++n) {
        failing_memory::fail_at(n);
        try {
          std::vector<std::unique_ptr<int>> made(20);
          sw::for_each_number(made.size(), threads, [&] {
            return [&](std::size_t i) { made[i] = std::make_unique<int>(static_cast<int>(i)); };
          });
          failing_memory::fail_at(0);
          for (std::size_t i = 0; i < made.size(); ++i) REQUIRE(*made[i] == static_cast<int>(i));
        } catch (const std::bad_alloc&) {
          failing_memory::fail_at(0);
          ++thrown;
        }
        failing_memory::fail_at(n);
        try {
          std::vector<int> taken;
          sw::for_each_in_order(
              20, threads, [] { return [](std::size_t i) { return std::make_unique<std::size_t>(i); }; },
              [&](std::size_t i, std::unique_ptr<std::size_t> made) {
                taken.push_back(static_cast<int>(*made));
                return *made == i;
              });
          failing_memory::fail_at(0);
          REQUIRE(taken.size() == 20);
          for (int i = 0; i < 20; ++i) REQUIRE(taken[static_cast<std::size_t>(i)] == i);
        } catch (const std::bad_alloc&) {
          failing_memory::fail_at(0);
          ++thrown;
        }
      }
      CHECK(thrown >= 40);
    }
  }

  TEST_CASE("from a model to a timeline nothing is lost") {
    CHECK(each_fails(
              "model",
              [&] {
                const sw::spmd_cost_model model = small_model();
                const auto constraints = sw::training_constraints(model, {});
                return std::to_string(sw::describe(model, constraints).edges.size());
              },
              20) > 0);
    const sw::spmd_cost_model model = small_model();
    const auto problem = sw::compile(sw::describe(model, sw::training_constraints(model, {})));
    const auto choice = sw::auto_solver{}.solve(problem).choice;
    REQUIRE_FALSE(choice.empty());
    CHECK(each_fails(
              "lower", [&] { return text_of_graph(sw::lower(model, choice).tasks); }, 40) > 0);
    const sw::task_graph g = sw::lower(model, choice).tasks;
    CHECK(each_fails(
              "schedule",
              [&] {
                const auto buckets = sw::greedy{}(g, {});
                const sw::schedule s = sw::prefetch{}(g, buckets, {});
                return text_of([&](sw::json_writer& out) { sw::write_schedule(out, g, s); }) +
                       std::to_string(sw::simulate(g, s).end_to_end.count()) +
                       std::to_string(sw::makespan_bound(g, s.buckets).value().count());
              },
              40) > 0);
  }

  TEST_CASE("the search for the step within a memory loses nothing, nor do a bound on it and its proof") {
    const limited_step::tight_step tight = limited_step::random_step(1);
    CHECK(each_fails(
              "fastest_plan",
              [&] { return limited_step::text_of(limited_step::fastest_within(tight.model, tight.memory)); }, 20) > 0);
    const auto problem = sw::compile(sw::describe(tight.model.graph, tight.model));
    const sw::step_work work = sw::describe_work(tight.model.graph, tight.model);
    CHECK(each_fails(
              "step bound",
              [&] {
                const auto found = sw::step_bound(problem, work, sw::exhaustive{}, {.rounds = 6});
                const sw::step_certificate proof = sw::certify_step(found, problem, work);
                const auto verdict = sw::check_certificate(*problem.description(), work, proof);
                CHECK(verdict.accepted);
                return std::to_string(found.bound) + " " + std::to_string(verdict.bound) + verdict.failure;
              },
              20) > 0);
  }

  TEST_CASE("making values again and a whole step lose nothing") {
    const sw::spmd_cost_model model = small_model();
    const std::vector<sw::strategy> choice(model.graph().vertex_count());
    const sw::lowered_graph lowered = sw::lower(model, choice);
    std::vector<std::uint32_t> layer;
    for (const sw::operation& op : model.operations().operations)
      layer.push_back(op.layer < 0 ? ~0U : static_cast<std::uint32_t>(op.layer));
    const sw::bytes peak = sw::simulate(lowered.tasks).peak;
    CHECK(each_fails(
              "recomputation",
              [&] {
                const sw::recomputation_choices choices(lowered.tasks, sw::blocks_of_tasks(lowered, layer),
                                                        {.least = sw::bytes(1)});
                auto made = choices.within(peak - sw::bytes(1));
                CHECK(made.graph);
                return text_of_graph(sw::with_again(lowered, std::move(made), false).lowered.tasks);
              },
              12) > 0);
    CHECK(each_fails(
              "whole step",
              [&] {
                const sw::whole_step whole = sw::with_optimizer(lowered, model, choice, {.micro_batches = 2});
                return text_of_graph(whole.lowered.tasks);
              },
              12) > 0);
  }

  TEST_CASE("buckets, orders and reports lose nothing") {
    const sw::task_graph g = random_tasks(5);
    const std::string before = text_of_graph(g);
    const auto try_order = [&](const char* name, auto make) {
      CHECK(each_fails(name, [&] {
              const sw::schedule s = make();
              const sw::timeline line = sw::simulate(g, s, {.memory_samples = true});
              std::string trace;
              sw::write_chrome_trace([&](std::string_view piece) { trace += piece; }, g, s, line);
              return text_of([&](sw::json_writer& out) { sw::write_schedule(out, g, s); }) + trace;
            }) > 0);
      CHECK(text_of_graph(g) == before);
    };
    try_order("topological_span", [&] { return sw::prefetch{}(g, sw::topological_span{}(g, {}), {}); });
    try_order("torch_default", [&] { return sw::torch_default{}.plan(g, {}); });
    try_order("size buckets", [&] { return sw::autoparallel_size_buckets{}.plan(g, {}); });
    try_order("search", [&] { return sw::search{}(g, sw::greedy{}(g, {}), {.iterations = 30}); });
    try_order("best_known", [&] { return sw::best_known{}.plan(g, {.iterations = 5}); });
    const sw::schedule s = sw::prefetch{}(g, {}, {});
    const sw::timeline line = sw::simulate(g, s, {.memory_samples = true});
    const std::vector<sw::html_plan> plans = {{.name = "one", .graph = &g, .order = &s, .line = &line}};
    CHECK(each_fails("html", [&] { return sw::html(plans, {}); }) > 0);
  }

  TEST_CASE("readers lose nothing, and leave no file") {
    const std::string placement = text_of_problem(feasible(true));
    CHECK(each_fails("placement", [&] {
            auto input = sw::text_input::of_memory("p", placement, 100);
            return text_of_problem(sw::read_placement(input));
          }) > 0);
    const std::string tasks = text_of_graph(random_tasks(7));
    CHECK(each_fails("tasks", [&] {
            auto input = sw::text_input::of_memory("t", tasks, 100);
            return text_of_graph(sw::read_task_graph(input));
          }) > 0);
    const std::string contest = R"({"problem": {"name": "e", "nodes": {"intervals": [[0, 2], [1, 3]],
      "costs": [[15], [55, 65]], "usages": [[10], [25, 20]]}, "edges": {"nodes": [[0, 1]], "costs": [[3, 4]]},
      "usage_limit": 50}})";
    CHECK(each_fails("contest", [&] {
            auto input = sw::text_input::of_memory("c", contest, 100);
            return text_of_problem(sw::read_iopddl(input));
          }) > 0);
    const std::string config = R"({"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4,
      "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 256, "tie_word_embeddings": false,
      "rope_theta": 10000.0, "rms_norm_eps": 1e-5})";
    CHECK(each_fails("config", [&] {
            auto input = sw::text_input::of_memory("m", config, 100);
            return std::to_string(sw::read_llama_config(input, "m").parameter_count());
          }) > 0);
    const temporary_folder folder;
    const sw::task_graph g = random_tasks(7);
    CHECK(each_fails("file", [&] {
            sw::write_task_graph(folder / "tasks.json.gz", g);
            return text_of_graph(sw::read_task_graph(folder / "tasks.json.gz"));
          }) > 0);
    CHECK(folder.file_count() == 1);
  }
}

}  // namespace allocations_tests
