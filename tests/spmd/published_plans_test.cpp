#include <shardweave/cost/autoparallel_formula.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/models/llama_config.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/solve/trws.hpp>
#include <shardweave/spmd/training_constraints.hpp>

#include <doctest/doctest.h>
#include <support/published_llama.hpp>
#include <support/scale.hpp>
#include <support/skipped.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

// Optima that AutoParallel published for LLaMA-3 on 64 devices, from the same model, rules and costs built anew:
// upstream's compatibility policy is `autoparallel_formula`, one step per mesh dimension, and gradients that are added
// up after their cast to f32.

namespace published_plans_tests {
namespace {

using namespace shardweave;
using shardweave_test::is_small_scale;
using shardweave_test::published_llama;

const llama_config llama_1b = published_llama(2048, 16, 32, 8192, true);
const llama_config llama_1b_untied = published_llama(2048, 16, 32, 8192, false);
const llama_config llama_3b = published_llama(3072, 28, 24, 8192, true);
const llama_config llama_8b = published_llama(4096, 32, 32, 14336, false);
const llama_config llama_70b = published_llama(8192, 80, 64, 28672, false);
const llama_config llama_405b = published_llama(16384, 126, 128, 53248, false);

struct setting {
  const char* mesh;
  const char* inputs;
  const char* results;
  training_shape shape = {64, 256};
  /// The published runs on one mesh dimension are older than the ramp of collectives over full nodes.
  bool has_ramp = true;
  bool tied = true;
  bool search = false;
  bool is_proven = true;
};

constexpr setting line{.mesh = "64", .inputs = "S(0)", .results = "S(0)", .has_ramp = false};
constexpr setting square{.mesh = "8x8", .inputs = "S(0)R", .results = "S(0)S(2)"};

struct optimum {
  double objective = 0;
  double communication = 0;
  double transition = 0;
};

/// Every model is written down once for each shape of its inputs.
const computation& graph_of(const llama_config& config, const training_shape& shape) {
  static std::map<std::tuple<const llama_config*, std::int64_t, std::int64_t>, computation> written;
  const auto [at, is_new] = written.try_emplace({&config, shape.batch, shape.sequence});
  if (is_new) at->second = llama_training_graph(config, shape);
  return at->second;
}

optimum best(const llama_config& config, const setting& s) {
  const device_profile device = find_device("h100");
  autoparallel_formula formula(device);
  if (!s.has_ramp) formula.devices_per_node = 1000;  // no node is full
  const spmd_cost_model model(graph_of(config, s.shape), device_mesh::parse(s.mesh), roofline{device}, formula,
                              standard_rules(), {.reduce_after_cast = true, .redistribution = {.search = s.search}});
  const auto solved = trws{}.solve(compile(describe(
      model.graph(), model,
      training_constraints(
          model, {.inputs = sharding::parse(s.inputs), .results = sharding::parse(s.results), .tie_layers = s.tied}))));
  CHECK((solved.status == solve_status::optimal) == s.is_proven);
  optimum found{solved.objective, 0, 0};
  for (const auto& e : model.graph().all_edges()) {
    const auto parts = model.edge_parts(e, solved.choice[e.source], solved.choice[e.target]);
    found.communication += parts.communication;
    found.transition += parts.transition;
  }
  return found;
}

/// Of the smallest model, which several tests look at, once each.
const optimum& best_of_1b_on_line() {
  static const optimum found = best(llama_1b, line);
  return found;
}
const optimum& best_of_1b_on_square() {
  static const optimum found = best(llama_1b, square);
  return found;
}

/// Published figures have two decimals.
doctest::Approx cents(double value) { return doctest::Approx(value).epsilon(0.006 / value); }

}  // namespace

TEST_SUITE("published plans") {
  TEST_CASE("the published optima on 64 devices in a line are met to the cent") {
    CHECK(best_of_1b_on_line().objective == cents(75411.02));
    if (shardweave_test::skipped_at_small_scale()) return;
    CHECK(best(llama_3b, line).objective == cents(155857.57));
    CHECK(best(llama_8b, line).objective == cents(213343.36));
    CHECK(best(llama_70b, line).objective == cents(965500.04));
    // out of reach for message passing alone, by less than a ten thousandth
    setting large = line;
    large.is_proven = false;
    CHECK(best(llama_405b, large).objective == doctest::Approx(3172012.70).epsilon(1e-4));
  }

  TEST_CASE("the published optima on 8 times 8 devices are met to the cent, or explained") {
    if (!is_small_scale) {
      CHECK(best(llama_3b, square).objective == cents(122291.94));
      CHECK(best(llama_8b, square).objective == cents(178228.33));
    }
    // upstream ties only those layers whose surroundings are alike: 57041.81 lies between all tied and none
    setting untied = square;
    untied.tied = false;
    const double tied = best_of_1b_on_square().objective;
    CHECK(tied > 57041.81);
    CHECK(tied < 57041.81 * 1.01);
    if (!is_small_scale) CHECK(best(llama_1b, untied).objective < 57041.81);
  }

  TEST_CASE(
      "communication of upstream's own plans is met to the cent where their graphs compute with other operators") {
    const auto check = [](const llama_config& config, const setting& s, double communication, double transition) {
      const optimum found = best(config, s);
      CHECK(found.communication == cents(communication));
      CHECK(found.transition == transition);
    };
    setting longer = line;
    longer.shape = {64, 2048};
    longer.has_ramp = true;
    check(llama_1b_untied, longer, 75379.00, 295);
    if (shardweave_test::skipped_at_small_scale()) return;
    longer = square;
    longer.shape = {64, 2048};
    check(llama_1b_untied, longer, 58066.40, 377);
    longer.shape = {16, 8192};
    check(llama_8b, longer, 262919.44, 1033);
    longer.mesh = "4x4";
    longer.shape = {8, 8192};
    check(llama_8b, longer, 212780.17, 1033);
  }

  TEST_CASE("with searched redistributions the optimum is never worse") {
    const auto check = [](setting s, const optimum& fixed) {
      s.search = true;
      CHECK(best(llama_1b, s).objective <= fixed.objective * (1 + 1e-12));
    };
    check(line, best_of_1b_on_line());
    if (shardweave_test::skipped_at_small_scale()) return;
    check(square, best_of_1b_on_square());
    setting searched = square;
    searched.search = true;
    CHECK(best(llama_3b, searched).objective < 122291.94 - 100);
  }
}

}  // namespace published_plans_tests
