#include "support/random_problem.hpp"
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/move.hpp>
#include <shardweave/placement/restrict.hpp>
#include <shardweave/solve/exhaustive.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace move_tests {
namespace {

namespace sw = shardweave;

template <class Check>
void for_random_problems(unsigned seeds, Check check) {
  for (unsigned seed = 0; seed < seeds; ++seed) {
    CAPTURE(seed);
    std::optional<sw::placement_problem<std::int64_t>> problem;
    try {
      problem = sw::compile(
          shardweave_test::draw_problem<std::int64_t>(seed, shardweave_test::problem_features::combination(seed % 128))
              .description);
    } catch (const sw::error&) {
      continue;
    }
    sw::random_source random(seed);
    if (problem->compact().size() > 0) check(*problem, random);
  }
}

std::vector<sw::strategy> any_labels(const sw::compact_problem<std::int64_t>& p, sw::random_source& random) {
  std::vector<sw::strategy> labels;
  for (std::size_t x = 0; x < p.size(); ++x)
    labels.push_back(static_cast<sw::strategy>(random.below(p.label_count(x))));
  return labels;
}

}  // namespace

TEST_SUITE("labeling_state") {
  TEST_CASE("moves, one by one and in blocks, keep cost, conflicts and usage as if added up anew") {
    for_random_problems(256, [](const auto& problem, sw::random_source& random) {
      const auto& p = problem.compact();
      sw::labeling_state<std::int64_t> state(p, any_labels(p, random));
      for (int i = 0; i < 12; ++i) {
        std::vector<sw::relabel> moves;
        for (std::uint32_t x = 0; x < p.size(); ++x)
          if (random.chance(0.4)) moves.push_back({x, static_cast<sw::strategy>(random.below(p.label_count(x)))});
        const auto conflicts = state.conflicts();
        const auto price = state.delta(moves);
        const bool fits = state.fits(moves), kept = state.keeps_rows();
        if (moves.size() == 1) {
          CHECK(price == state.delta(moves[0].variable, moves[0].label));
          CHECK(fits == state.fits(moves[0].variable, moves[0].label));
        }
        const auto before = state.cost();
        state.apply(moves);
        const sw::labeling_state<std::int64_t> anew(p, {state.labels().begin(), state.labels().end()});
        CHECK(state.conflicts() == conflicts + price.conflicts);
        CHECK(state.conflicts() == anew.conflicts());
        CHECK(state.cost() == anew.cost());
        CHECK(state.cost() == p.cost(state.labels()));
        if (!sw::is_forbidden(before) && !sw::is_forbidden(state.cost())) CHECK(state.cost() == before + price.cost);
        for (std::size_t r = 0; r < p.rows().size(); ++r) CHECK(state.usage()[r] == doctest::Approx(anew.usage()[r]));
        CHECK(state.keeps_rows() == p.keeps_rows(state.labels()));
        if (kept) CHECK(fits == state.keeps_rows());
      }
    });
  }
}

TEST_SUITE("restriction") {
  TEST_CASE("the optimum of what is left is the best of the whole that agrees with it") {
    std::size_t solved = 0, refused = 0;
    for_random_problems(400, [&](const auto& problem, sw::random_source& random) {
      const auto& p = problem.compact();
      // by tables: keep random labels, change some unary costs; by hand: the same as penalties on the whole
      sw::restriction<std::int64_t> part(p);
      std::vector<std::vector<bool>> allowed;
      std::vector<std::int64_t> extra(p.total_labels());
      for (std::size_t x = 0; x < p.size(); ++x) {
        allowed.emplace_back(p.label_count(x), true);
        for (sw::strategy l = 0; l < p.label_count(x); ++l) {
          if (random.chance(0.3)) {
            part.forbid(x, l);
            allowed[x][l] = false;
          }
          if (random.chance(0.2)) {
            extra[p.label_start(x) + l] = 7;
            part.add_unary(x, l, 7);
          }
        }
      }
      std::optional<std::int64_t> best;  // over all labelings of the whole
      std::vector<sw::strategy> labels(p.size());
      const auto descend = [&](auto&& self, std::size_t x) -> void {
        if (x == p.size()) {
          std::int64_t cost = p.cost(labels);
          for (std::size_t y = 0; y < p.size(); ++y) cost = sw::plus(cost, extra[p.label_start(y) + labels[y]]);
          if (!sw::is_forbidden(cost) && p.keeps_rows(labels) && (!best || cost < *best)) best = cost;
          return;
        }
        for (labels[x] = 0; labels[x] < p.label_count(x); ++labels[x])
          if (allowed[x][labels[x]]) self(self, x + 1);
      };
      descend(descend, 0);
      const auto left = part.build();
      if (!left) {
        CHECK_FALSE(best);
        ++refused;
        return;
      }
      const auto answer = sw::exhaustive{}.solve(left->problem);
      CHECK(answer.has_assignment() == best.has_value());
      if (!best) return;
      ++solved;
      CHECK(answer.objective == *best);
      const auto outer = left->lift(answer.choice);
      CHECK(p.keeps_rows(outer));
      std::int64_t cost = p.cost(outer);
      for (std::size_t y = 0; y < p.size(); ++y) cost = sw::plus(cost, extra[p.label_start(y) + outer[y]]);
      CHECK(cost == *best);
      for (std::size_t i = 0; i < left->row_of.size(); ++i)
        CHECK(left->problem.compact().rows()[i].budget == p.rows()[left->row_of[i]].budget);
    });
    CHECK(solved > 50);
    CHECK(refused > 10);
  }
}

}  // namespace move_tests
