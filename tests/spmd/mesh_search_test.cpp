#include <shardweave/cost/node_table.hpp>
#include <shardweave/models/alias_pass.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/solve/conclude.hpp>
#include <shardweave/solve/exhaustive.hpp>
#include <shardweave/solve/trws.hpp>
#include <shardweave/spmd/mesh_search.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/training_constraints.hpp>

#include <doctest/doctest.h>
#include <support/random_savings.hpp>
#include <support/refusal.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace mesh_search_tests {
namespace {

using namespace shardweave;
using shardweave_test::refusal_of;

std::vector<std::string> names_of(std::int64_t devices, std::size_t most_dims) {
  std::vector<std::string> names;
  for (const device_mesh& mesh : mesh_shapes(devices, most_dims)) names.push_back(mesh.to_string());
  return names;
}

/// A problem whose assignments cost what is listed.
placement_problem<double> listed(const std::vector<double>& costs) {
  compact_builder<double> builder;
  builder.add_variable(costs);
  return placement_problem<double>(builder.build());
}

/// Raises its bound by 1 a step from 0 and reports it, until it meets the optimum or is stopped; notes when it is
/// asked.
struct slow {
  static constexpr std::string_view name = "slow";
  static constexpr solver_abilities abilities{};
  std::vector<double>* ended_at;  ///< the bound, for every call
  double most = std::numeric_limits<double>::infinity();
  bool assigns = true;

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control) const {
    const auto costs = problem.compact().unary(0);
    const auto least = std::ranges::min_element(costs);
    double bound = 0;
    bool stopped = false;
    for (; bound < *least && bound < most && !stopped; ++bound, stopped = deadline(control).expired())
      if (control.progress) control.progress({.stage = name, .lower_bound = bound});
    ended_at->push_back(bound);
    std::vector<strategy> labels;
    if (assigns && !stopped) labels.push_back(static_cast<strategy>(least - costs.begin()));
    return conclude<Cost>(problem, labels, std::min(bound, *least), stopped || bound == most, {.solver = "slow"});
  }
};

/// Finds nothing; the bound is lower where the second choice is cheaper.
struct uneven {
  static constexpr std::string_view name = "uneven";
  static constexpr solver_abilities abilities{};

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control&) const {
    const Cost bound = problem.compact().unary(0)[1] == 70 ? Cost{11} : Cost{10};
    return conclude<Cost>(problem, {}, bound, true, {.solver = "uneven"});
  }
};

/// Knows the best assignment; tells it unless it is stopped for the bound on costs alone that it reports before.
struct bound_on_costs {
  static constexpr std::string_view name = "bound on costs";
  static constexpr solver_abilities abilities{};
  double costs, objective;
  const assignment* best;

  template <cost_value Cost>
  [[nodiscard]] solution<Cost> solve(const placement_problem<Cost>& problem, const solve_control& control) const {
    if (problem.savings() == nullptr) return exhaustive{}.solve(problem, control);
    control.progress({.stage = name, .lower_bound = costs});
    const bool stopped = deadline(control).expired();
    std::vector<strategy> labels;
    if (!stopped) labels = problem.labels_of(*best).value();
    return conclude<Cost>(problem, labels, objective, stopped, {.solver = "bound on costs"}, {}, bound_on::objective);
  }
};

/// Two layers with their gradients.
computation two_layers() {
  graph_builder b("two layers");
  const auto x = b.input("x", {{4096, 512}, dtype::bf16});
  const auto w1 = b.parameter("w1", {{512, 2048}, dtype::bf16});
  const auto w2 = b.parameter("w2", {{2048, 512}, dtype::bf16});
  const auto u = b.einsum("bk,kn->bn", {x, w1});
  const auto y = b.einsum("bk,kn->bn", {u, w2});
  b.result(y);
  b.when(phase::backward);
  const auto g = b.tangent("dy", y);
  b.gradient(w2, b.einsum("bk,bn->kn", {u, g}));
  const auto du = b.einsum("bn,kn->bk", {g, w2});
  b.gradient(w1, b.einsum("bk,bn->kn", {x, du}));
  return insert_aliases(b.finish());
}

}  // namespace

TEST_SUITE("mesh_shapes") {
  TEST_CASE("are all ordered factorizations, fewer dimensions first") {
    CHECK(names_of(12, 4) == std::vector<std::string>{"12", "2x6", "3x4", "4x3", "6x2", "2x2x3", "2x3x2", "3x2x2"});
    CHECK(names_of(12, 2) == std::vector<std::string>{"12", "2x6", "3x4", "4x3", "6x2"});
    CHECK(names_of(7, 3) == std::vector<std::string>{"7"});
    CHECK(names_of(1, 3) == std::vector<std::string>{"1"});
    for (const std::int64_t devices : {2, 8, 36, 60, 64, 97, 128}) {
      CAPTURE(devices);
      // counted another way: an ordered factorization begins with any divisor but 1
      std::map<std::int64_t, std::map<std::size_t, std::size_t>> count;  // by product and number of factors
      count[1][0] = 1;
      for (std::int64_t n = 2; n <= devices; ++n)
        for (std::int64_t d = 2; d <= n; ++d)
          if (n % d == 0)
            for (const auto& [factors, ways] : count[n / d]) count[n][factors + 1] += ways;
      for (std::size_t most = 1; most <= 4; ++most) {
        std::size_t expected = 0;
        for (const auto& [factors, ways] : count[devices]) expected += factors <= most ? ways : 0;
        const auto names = names_of(devices, most);
        CHECK(names.size() == expected);
        CHECK(std::set<std::string>(names.begin(), names.end()).size() == expected);
        for (const device_mesh& mesh : mesh_shapes(devices, most)) CHECK(mesh.size() == devices);
      }
    }
  }

  TEST_CASE("no devices and too many dimensions are refused") {
    CHECK(refusal_of([] { static_cast<void>(mesh_shapes(0)); }) ==
          "meshes of 0 devices are asked for, expected 1 or more");
    CHECK(refusal_of([] { static_cast<void>(mesh_shapes(8, 0)); }) ==
          "meshes of up to 0 dimensions are asked for, expected 1 to 7");
    CHECK(refusal_of([] { static_cast<void>(mesh_shapes(8, 8)); }) ==
          "meshes of up to 8 dimensions are asked for, expected 1 to 7");
  }
}

TEST_SUITE("search_meshes") {
  TEST_CASE("a shape is finished only while its bound is below the best objective") {
    std::vector<double> looked, finished;
    const slow quick{&looked, 5, false}, policy{&finished};
    const std::vector<double> optimum{30, 12, 40, 12, 3};
    const auto shapes = mesh_shapes(12, 2);  // five of them
    std::size_t built = 0;
    const auto problem_of = [&](const device_mesh& mesh, const solve_control&) {
      const auto at = std::ranges::find(shapes, mesh) - shapes.begin();
      ++built;
      return listed({50 + optimum[static_cast<std::size_t>(at)], optimum[static_cast<std::size_t>(at)]});
    };
    SUBCASE("all of equal bound") {
      const auto found = search_meshes(std::span(shapes).first(4), problem_of, policy, {}, quick);
      CHECK(built == 4);
      CHECK(looked == std::vector<double>{5, 5, 5, 5});
      // the first has nothing to beat, the second nothing better, the third is stopped at 12, the fourth as well
      CHECK(finished == std::vector<double>{30, 12, 13, 12});
      CHECK(found.best == 1);
      REQUIRE(found.problem);
      CHECK(found.problem->compact().unary(0)[1] == 12);
      CHECK(found.problem->compact().unary(0)[0] == 62);
      CHECK(found.status == solve_status::optimal);
      CHECK(found.lower_bound == 12);
      CHECK(found.shapes[0].answer.objective == 30);
      CHECK_FALSE(found.shapes[0].is_pruned);
      CHECK(found.shapes[2].is_pruned);
      CHECK_FALSE(found.shapes[2].answer.has_assignment());
      CHECK(found.shapes[3].answer.objective == 12);  // met its optimum before it was stopped
      CHECK_FALSE(found.shapes[3].is_pruned);
    }
    SUBCASE("a quick answer prunes the others before they are solved") {
      const auto found = search_meshes(shapes, problem_of, policy, {}, slow{&looked, 5, true});
      CHECK(looked == std::vector<double>{5, 5, 5, 5, 3});
      CHECK(finished.empty());
      CHECK(found.best == 4);
      REQUIRE(found.problem);
      CHECK(found.problem->compact().unary(0)[1] == 3);
      CHECK(found.status == solve_status::optimal);
      CHECK(found.lower_bound == 3);
      for (std::size_t i = 0; i < 4; ++i) CHECK(found.shapes[i].is_pruned);
    }
    SUBCASE("of equally good shapes the first is the best, whichever is finished first") {
      const auto cost_of = [&](const device_mesh& mesh, const solve_control&) {
        const bool first = mesh == shapes[0];
        return listed(first ? std::vector<double>{12, 70} : std::vector<double>{12, 60});
      };
      // the second one's bound is lower, so that it is solved before the first
      const auto found = search_meshes(std::span(shapes).first(2), cost_of, slow{&finished}, {}, uneven{});
      REQUIRE(finished.size() == 2);
      CHECK(found.best == 0);
      REQUIRE(found.problem);
      CHECK(found.problem->compact().unary(0)[1] == 70);
    }
    SUBCASE("a policy that proves nothing leaves a bound and an honest status") {
      const auto found = search_meshes(std::span(shapes).first(2), problem_of, slow{&finished, 8}, {}, quick);
      CHECK(found.best == 1);
      CHECK(found.shapes[1].answer.objective == 12);
      CHECK(found.lower_bound == 8);
      CHECK(found.status == solve_status::stopped);
      CHECK_FALSE(found.shapes[0].is_pruned);
    }
    SUBCASE("a stop ends the whole") {
      std::stop_source source;
      source.request_stop();
      const auto found = search_meshes(shapes, problem_of, policy, {.stop = source.get_token()}, quick);
      CHECK(found.best == mesh_ranking::nobody);
      CHECK_FALSE(found.problem);
      CHECK(found.status == solve_status::stopped);
      CHECK(finished.empty());
      CHECK(found.lower_bound <= 3);
      CHECK(built == 0);
      CHECK(found.shapes.size() == shapes.size());
    }
    SUBCASE("after a stop no further problem is built, and the best so far is told") {
      std::stop_source source;
      const auto until_third = [&](const device_mesh& mesh, const solve_control& control) {
        if (built == 2) source.request_stop();
        return problem_of(mesh, control);
      };
      const auto found =
          search_meshes(shapes, until_third, policy, {.stop = source.get_token()}, slow{&looked, 40, true});
      CHECK(built == 3);
      CHECK(found.shapes.size() == shapes.size());
      CHECK(found.best == 1);
      CHECK(found.status == solve_status::stopped);
      CHECK(found.lower_bound == -std::numeric_limits<double>::infinity());
    }
    SUBCASE("the user still hears of progress") {
      std::size_t heard = 0, begun = 0;
      static_cast<void>(search_meshes(std::span(shapes).first(1), problem_of, policy,
                                      {.progress = [&](const progress_report& r) { ++(r.is_new ? begun : heard); }},
                                      quick));
      CHECK(heard == 5 + 30);
      CHECK(begun == 2);  // a look and the whole: bounds of one mesh are none of another
    }
  }

  TEST_CASE("a bound on costs ends nothing where savings may bring the objective below it") {
    std::size_t tried = 0;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      CAPTURE(seed);
      auto drawn = shardweave_test::draw_savings_problem<double>(seed);
      const auto best = shardweave_test::brute_force_with_savings(drawn);
      const auto counted = std::exchange(drawn.description.counted, savings_form::off);
      const auto costs = shardweave_test::brute_force(drawn).objective;
      drawn.description.counted = counted;
      if (!costs || *costs - *best.objective < 1) continue;
      ++tried;
      const auto shapes = mesh_shapes(6, 2);
      const auto problem_of = [&](const device_mesh& mesh, const solve_control& control) {
        return mesh.rank() == 1 ? listed({(*best.objective + *costs) / 2}) : compile(drawn.description, control);
      };
      const bound_on_costs policy{*costs, *best.objective, &best.choice};
      const auto found = search_meshes(std::span(shapes).first(2), problem_of, policy, {}, policy);
      CHECK(found.best == 1);
      CHECK(found.status == solve_status::optimal);
      CHECK(found.lower_bound == doctest::Approx(*best.objective));
    }
    CHECK(tried > 5);
  }

  TEST_CASE("a mesh on which constraints contradict each other is infeasible, and wrong data an error") {
    std::vector<double> looked;
    const slow quick{&looked};
    const auto shapes = mesh_shapes(6, 2);
    error_category category = error_category::constraint;
    const auto problem_of = [&](const device_mesh& mesh, const solve_control&) {
      if (mesh.rank() == 2) refuse(category, "no room on " + mesh.to_string());
      return listed({4});
    };
    const auto found = search_meshes(shapes, problem_of, quick, {}, quick);
    CHECK(found.best == 0);
    CHECK(found.status == solve_status::optimal);
    CHECK(found.shapes[1].answer.status == solve_status::infeasible);
    CHECK(found.shapes[1].answer.statistics.note == "no room on 2x3");
    CHECK(search_meshes(std::span(shapes).subspan(1), problem_of, quick, {}, quick).status == solve_status::infeasible);
    category = error_category::input;
    CHECK(refusal_of([&] { static_cast<void>(search_meshes(shapes, problem_of, quick, {}, quick)); }) ==
          "no room on 2x3");
  }

  TEST_CASE("the best shape of a computation is the best of all shapes planned one by one") {
    const device_profile h100 = find_device("h100");
    const computation graph = two_layers();
    const auto problem_of = [&](const device_mesh& mesh, const solve_control& control) {
      const spmd_cost_model model(graph, mesh, roofline{h100}, node_table<>(h100));
      return compile(describe(model.graph(), model, training_constraints(model), control), control);
    };
    const auto shapes = mesh_shapes(16, 2);
    REQUIRE(shapes.size() == 4);
    std::vector<double> alone;
    for (const device_mesh& mesh : shapes) {
      const auto answer = trws{}.solve(problem_of(mesh, {}));
      REQUIRE(answer.status == solve_status::optimal);
      alone.push_back(answer.objective);
    }
    const auto found = search_meshes(shapes, problem_of, trws{}, {}, trws{.sweeps = 3});
    const auto best = std::ranges::min_element(alone);
    CHECK(found.status == solve_status::optimal);
    REQUIRE(found.best == static_cast<std::size_t>(best - alone.begin()));
    CHECK(found.shapes[found.best].answer.objective == *best);
    CHECK(*std::ranges::max_element(alone) > *best);
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const auto& [mesh, answer, pruned] = found.shapes[i];
      CHECK(mesh == shapes[i]);
      CHECK(answer.lower_bound <= alone[i] * (1 + 1e-9));
      CHECK(answer.lower_bound >= *best * (1 - 1e-8));
      CHECK(pruned == (answer.status != solve_status::optimal));
      if (!pruned) CHECK(answer.objective == doctest::Approx(alone[i]).epsilon(1e-9));
    }
  }
}

}  // namespace mesh_search_tests
