#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/nccl_smooth.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/io/json_writer.hpp>
#include <shardweave/io/placement.hpp>
#include <shardweave/io/placement_certificate.hpp>
#include <shardweave/io/schedule.hpp>
#include <shardweave/io/tasks.hpp>
#include <shardweave/lowering/lower.hpp>
#include <shardweave/lowering/whole_step.hpp>
#include <shardweave/memory/recomputation_choices.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/schedule/best_known.hpp>
#include <shardweave/schedule/compatibility.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/schedule/search.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/solve/auto_solver.hpp>
#include <shardweave/solve/branch_and_bound.hpp>
#include <shardweave/solve/budgeted.hpp>
#include <shardweave/solve/elimination.hpp>
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
#include <shardweave/step/fitted_plan.hpp>

#include <doctest/doctest.h>
#include <support/limited_step.hpp>
#include <support/random_problem.hpp>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>
#include <support/small_llama.hpp>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Equal input and seed give equal bits: on every machine, by every compiler, at every level of optimization. The
// figures below were the same by g++ 12 and clang++ 16 without optimization, and by g++ at -O2 with fused products off.
namespace sw = shardweave;

namespace equal_bits_tests {
namespace {

/// FNV-1a over the bytes of texts and the bits of numbers.
class bits {
 public:
  bits& operator<<(std::string_view text) {
    for (const char c : text) take(static_cast<unsigned char>(c));
    return *this;
  }
  bits& operator<<(double number) {
    auto rest = std::bit_cast<std::uint64_t>(number);
    for (int i = 0; i < 8; ++i, rest >>= 8) take(static_cast<unsigned char>(rest));
    return *this;
  }
  [[nodiscard]] std::string text() const {
    char hex[20];
    std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(sum_));
    return hex;
  }

 private:
  void take(unsigned char byte) { sum_ = (sum_ ^ byte) * 0x100000001b3ULL; }
  std::uint64_t sum_ = 0xcbf29ce484222325ULL;
};

template <class Write>
std::string text_of(Write write) {
  return sw::json_string([&](sw::json_writer& out) { write(out); });
}

/// Costs with all their digits, so that sums are rounded.
sw::placement_description<double> uneven(std::uint64_t seed) {
  auto features = shardweave_test::problem_features::combination(static_cast<unsigned>(seed * 37 % 128));
  features.max_vertices = 10;
  auto d = shardweave_test::draw_problem<double>(seed, features).description;
  sw::random_source random(seed);
  for (auto& v : d.vertices)
    for (double& c : v.compute)
      if (!sw::is_forbidden(c)) c *= 0.9 + 0.2 * random.unit();
  return d;
}

/// Answers of a solver to all problems of both costs.
template <class Solver>
std::string answers(const Solver& solver, const sw::solve_control& control = {}) {
  bits all;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    try {
      const auto problem = sw::compile(uneven(seed));
      const auto answer = solver.solve(problem, control);
      all << answer.objective << answer.lower_bound << sw::name_of(answer.status) << answer.statistics.note;
      for (const sw::strategy s : answer.choice) all << static_cast<double>(s);
    } catch (const sw::error& e) {
      all << e.what();
    }
  }
  return all.text();
}

std::string timelines(const auto& make) {
  bits all;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const sw::task_graph g = random_tasks(seed);
    const sw::schedule s = make(g);
    all << text_of([&](sw::json_writer& out) { sw::write_schedule(out, g, s); });
    all << static_cast<double>(sw::simulate(g, s).end_to_end.count());
  }
  return all.text();
}

}  // namespace

TEST_SUITE("equal bits") {
  TEST_CASE("solvers give the bits that they gave") {
    CHECK(answers(sw::trws{}) == "77f9719c2ff29c3b");
    CHECK(answers(sw::reduced(sw::elimination{})) == "f0c3d7d709b77746");
    CHECK(answers(sw::budgeted{}) == "5bd7e93001d4f3e6");
    CHECK(answers(sw::local_search{}) == "f246c68a772117b3");
    CHECK(answers(sw::reduced(sw::branch_and_bound{})) == "bb90320046090c0f");
    CHECK(answers(sw::dive{}) == "b41ccfbc25c45636");
    CHECK(answers(sw::guided_search{}, {.iterations = 100}) == "3233a1a39d9730a0");
    CHECK(answers(sw::auto_solver{}) == "bb90320046090c0f");
    CHECK(answers(sw::auto_solver{}, {.threads = 3}) == answers(sw::auto_solver{}));
  }

  TEST_CASE("certificates are the same, number by number") {
    bits all;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      try {
        const auto problem = sw::compile(uneven(seed));
        const auto known = sw::auto_solver{}.solve(problem).objective;
        all << text_of(
            [&](sw::json_writer& out) { sw::write_certificate(out, sw::certify_placement(problem, known)); });
      } catch (const sw::error& e) {
        all << e.what();
      }
    }
    CHECK(all.text() == "028c819f699f8b1c");
  }

  TEST_CASE("costs, placements and tasks of a model are the same, on several threads too") {
    const sw::llama_config config{.name = "one layer",
                                  .hidden_size = 2048,
                                  .num_hidden_layers = 1,
                                  .num_attention_heads = 16,
                                  .num_key_value_heads = 8,
                                  .intermediate_size = 5632,
                                  .vocab_size = 32000};
    const auto preset = sw::find_preset("h100");
    const auto graph = sw::llama_training_graph(config, {.batch = 8, .sequence = 1024});
    for (const unsigned threads : {1U, 3U}) {
      const sw::spmd_cost_model model(graph, sw::device_mesh({16}), preset.compute(),
                                      sw::nccl_smooth(sw::nccl_node_of(preset.profile)), sw::standard_rules(),
                                      {.threads = threads});
      const auto d = sw::describe(model, sw::training_constraints(model, {}));
      bits all;
      all << text_of([&](sw::json_writer& out) { sw::write_placement(out, d); });
      const auto answer = sw::auto_solver{}.solve(sw::compile(d));
      all << answer.objective << answer.lower_bound;
      all << text_of([&](sw::json_writer& out) { sw::write_task_graph(out, sw::lower(model, answer.choice).tasks); });
      CHECK(all.text() == "1268e48a6fba4bc1");
    }
  }

  TEST_CASE("the fastest plan within a memory and its bound are the same, on several threads too") {
    const limited_step::tight_step tight = limited_step::random_step(1);
    std::string of_one;
    for (const unsigned threads : {1U, 3U}) {
      const auto found = limited_step::fastest_within(tight.model, tight.memory, {.threads = threads});
      bits all;
      all << limited_step::text_of(found) << found.bounds.bound;
      if (of_one.empty()) of_one = all.text();
      CHECK(all.text() == of_one);
    }
    CHECK(of_one == shardweave_test::sized<std::string_view>("92080bdbd395fc63", "1427bcff124eda11"));
  }

  TEST_CASE("what is made again, and a whole step, are the same") {
    const auto device = sw::find_device("h100");
    const sw::spmd_cost_model model(shardweave_test::small_llama(), sw::device_mesh({2}), sw::roofline{device},
                                    sw::node_table<>(device));
    const std::vector<sw::strategy> choice(model.graph().vertex_count());
    const sw::lowered_graph lowered = sw::lower(model, choice);
    std::vector<std::uint32_t> layer;
    for (const sw::operation& op : model.operations().operations)
      layer.push_back(op.layer < 0 ? ~0U : static_cast<std::uint32_t>(op.layer));
    const sw::recomputation_choices choices(lowered.tasks, sw::blocks_of_tasks(lowered, layer),
                                            {.least = sw::bytes(1)});
    bits all;
    for (const std::int64_t less : {1, 4096, 65536}) {
      const auto made = choices.within(sw::simulate(lowered.tasks).peak - sw::bytes(less));
      all << static_cast<double>(made.chosen.time.count()) << static_cast<double>(made.chosen.kept.count());
      if (made.graph) all << text_of([&](sw::json_writer& out) { sw::write_task_graph(out, made.graph->tasks); });
    }
    all << text_of([&](sw::json_writer& out) {
      sw::write_task_graph(out, sw::with_optimizer(lowered, model, choice, {.micro_batches = 2}).lowered.tasks);
    });
    CHECK(all.text() == "3f84ff2aa1f996d9");
  }

  TEST_CASE("orders and their timelines are the same") {
    CHECK(timelines([](const sw::task_graph& g) {
            return sw::prefetch{}(g, sw::greedy{.fsdp_only = false}(g, {}), {});
          }) == "639301acec09b8fe");
    CHECK(timelines([](const sw::task_graph& g) { return sw::torch_default{}.plan(g, {}); }) == "4b16f7ff731bdbdd");
    CHECK(timelines([](const sw::task_graph& g) { return sw::best_known{}.plan(g, {.iterations = 20}); }) ==
          "c1f496997ab675dd");
  }
}

}  // namespace equal_bits_tests
