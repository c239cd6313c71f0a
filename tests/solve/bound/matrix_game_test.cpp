#include <shardweave/core/random.hpp>
#include <shardweave/solve/bound/detail/matrix_game.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace sw = shardweave;

namespace matrix_game_tests {
namespace {
using matrix = std::vector<std::vector<double>>;

sw::detail::matrix_game game_of(const matrix& payoff) {
  sw::detail::matrix_game game;
  for (std::size_t j = 0; j < payoff.front().size(); ++j) game.add_column([](std::size_t) { return 0.0; });
  for (const auto& row : payoff) game.add_row(row);
  return game;
}
/// The value of a game of two rows and two columns, by the textbook.
double value_of_four(double a, double b, double c, double d) {
  const double floor = std::max(std::min(a, c), std::min(b, d)), ceiling = std::min(std::max(a, b), std::max(c, d));
  return floor == ceiling ? floor : (a * d - b * c) / (a + d - b - c);
}
}  // namespace

TEST_SUITE("matrix_game") {
  TEST_CASE("the value of games of two by two is that of the formula, from below") {
    sw::random_source random(5);
    const auto number = [&] { return static_cast<double>(random.below(21)) - 10; };
    const std::vector<std::size_t> all{0, 1};
    for (int i = 0; i < 100; ++i) {
      const double a = number(), b = number(), c = number(), d = number(), high = number(), low = number();
      CAPTURE(i);
      const auto game = game_of({{a - high, b - high}, {c - low, d - low}});
      // penalties stand beside the matrix
      const double found = game.value_of(all, std::vector<double>{high, low}, 2000), value = value_of_four(a, b, c, d);
      CHECK(found <= value + 1e-9);
      CHECK(found >= value - 0.2);  // a hundredth of the span of payoffs
    }
  }
  TEST_CASE("without a round to play a mixture is one all the same") {
    auto game = game_of({{0, 1, -1}, {-1, 0, 1}, {1, -1, 0}});
    game.play(std::vector<double>(3), 0);
    double weight = 0, share = 0;
    for (const double w : game.weight()) weight += w;
    for (const double s : game.share()) share += s;
    CHECK(weight == doctest::Approx(1));
    CHECK(share == doctest::Approx(1));
    CHECK(game.value_of(std::vector<std::size_t>{0, 2}, std::vector<double>(2), 0) == doctest::Approx(0));
  }
  TEST_CASE("both mixtures of stone, scissors and paper become even, and a row too dear is not played") {
    auto game = game_of({{0, 1, -1}, {-1, 0, 1}, {1, -1, 0}});
    CHECK(game.rows() == 3);
    CHECK(game.columns() == 3);
    game.play(std::vector<double>{0, 0, 0}, 5000);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(game.weight()[i] == doctest::Approx(1.0 / 3).epsilon(0.01));
      CHECK(game.share()[i] == doctest::Approx(1.0 / 3).epsilon(0.01));
    }
    game.play(std::vector<double>{9, 0, 0}, 5000);
    CHECK(game.share()[0] < 0.01);
  }
  TEST_CASE("what is added has no part in the mixture until it is played, and then takes what is best for it") {
    auto game = game_of({{2, 1}});
    game.play(std::vector<double>{0}, 100);
    CHECK(game.weight()[0] == doctest::Approx(1).epsilon(0.05));
    game.add_column([](std::size_t row) { return row == 0 ? 5.0 : 0.0; });
    game.add_row({9, 9, 9});
    CHECK(game.weight().back() == 0);
    CHECK(game.share() == std::vector<double>{1, 0});
    game.play(std::vector<double>{0, 0}, 400);
    CHECK(game.weight().back() > 0.95);
    CHECK(game.share()[1] < 0.05);
    game.level();
    CHECK(game.weight() == std::vector<double>(3, 1.0 / 3));
  }
}

}  // namespace matrix_game_tests
