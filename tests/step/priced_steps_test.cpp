#include <shardweave/core/random.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/step/detail/game_value.hpp>
#include <shardweave/step/priced_steps.hpp>
#include <shardweave/step/step_claim.hpp>
#include <shardweave/step/step_work.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>
#include <support/tiny_steps.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace priced_steps_tests {

TEST_SUITE("priced steps") {
  TEST_CASE("an assignment costs its work at the prices, with ties, in each problem that is priced anew") {
    sw::random_source random(31);
    for (std::size_t i = 0; i < shardweave_test::at_scale(100); ++i) {
      const tiny_steps::model m = tiny_steps::random_model(random);
      sw::constraint_set constraints;
      const auto last = static_cast<std::uint32_t>(m.times.size() - 1);
      if (i % 2 == 0) constraints.ties.push_back({{0, last}, "alike"});
      if (i % 3 == 0) constraints.fixed.push_back({1, {0}, "given"});
      const auto problem = sw::compile(sw::describe(m.graph, m, constraints));
      const sw::step_work work = sw::describe_work(m.graph, m);
      const sw::priced_steps priced(problem, work);
      for (int again = 0; again < 3; ++again) {
        sw::work_prices prices{std::vector<double>(work.vertex_count()),
                               std::vector<double>(work.edges.size() * work.channels),
                               std::vector<double>(work.edges.size())};
        for (std::vector<double>* some : {&prices.time, &prices.load, &prices.chain})
          for (double& p : *some) p = static_cast<double>(random.below(8)) / 8;
        const sw::compact_problem<double> p = priced.at(prices);
        std::size_t seen = 0;
        tiny_steps::for_each_assignment(m, [&](const std::vector<sw::strategy>& choice) {
          const auto labels = problem.labels_of(choice);
          CHECK(labels.has_value() == ((i % 2 != 0 || choice[0] == choice[last]) && (i % 3 != 0 || choice[1] == 0)));
          if (!labels) return;
          ++seen;
          const sw::taken_work taken = sw::work_of(work, choice, &prices);
          double sum = 0;
          for (std::size_t v = 0; v < taken.time.size(); ++v) sum += prices.time[v] * taken.time[v];
          for (std::size_t k = 0; k < taken.load.size(); ++k) sum += prices.load[k] * taken.load[k];
          for (std::size_t e = 0; e < taken.chain.size(); ++e) sum += prices.chain[e] * taken.chain[e];
          CHECK(p.cost(*labels) == doctest::Approx(sum));
        });
        CHECK(seen > 0);
      }
    }
  }

  TEST_CASE("the value of a game is what each side's mixture makes sure of") {
    sw::random_source random(9);
    for (std::size_t i = 0; i < shardweave_test::at_scale(500); ++i) {
      const std::size_t rows = 1 + random.below(6), columns = 1 + random.below(6);
      std::vector<std::vector<double>> gain(rows, std::vector<double>(columns));
      for (auto& row : gain)
        for (double& g : row) g = static_cast<double>(random.below(20)) - (i % 2 == 0 ? 0.0 : 10.0);
      const auto game = sw::detail::value_of_game(gain);
      double least = 1e9, most = -1e9;  // what the rows make sure of, and what the columns do
      for (std::size_t c = 0; c < columns; ++c) {
        double sum = 0;
        for (std::size_t r = 0; r < rows; ++r) sum += game.rows[r] * gain[r][c];
        least = std::min(least, sum);
      }
      for (std::size_t r = 0; r < rows; ++r) {
        double sum = 0;
        for (std::size_t c = 0; c < columns; ++c) sum += game.columns[c] * gain[r][c];
        most = std::max(most, sum);
      }
      CHECK(least == doctest::Approx(game.value).epsilon(1e-7));
      CHECK(most == doctest::Approx(game.value).epsilon(1e-7));
    }
  }
}

}  // namespace priced_steps_tests
