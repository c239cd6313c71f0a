#ifdef SHARDWEAVE_HAS_GLPK
#include "solve/linear/linear_models.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/solve/backend/glpk.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <utility>

namespace glpk_tests {
namespace {

namespace sw = shardweave;

using linear_models::infinity;
using linear_models::textbook;

static_assert(sw::integer_backend<sw::glpk>);

/// Five choices, tables between them, and limits, of which one has a weight that rounding left over: scaled by GLPK 5.0
/// itself, and with its cuts, it is found to have no solution, or its simplex method runs in circles within a node.
sw::linear_model left_over_model(double left_over) {
  struct weight {
    std::uint32_t row, column;
    int value;
  };
  const int costs[] = {30, 28, 0, 33, 4,  0,  110, 0, 26, 45, 11, 20, 0,  21, 0,  2, 1,  0, 27,
                       31, 28, 8, 14, 50, 48, 0,   2, 14, 5,  40, 45, 28, 50, 56, 3, 42, 0, 16};
  const sw::linear_row limits[] = {{0x1.555553781d5ffp+0, 0x1.555557328d4acp+0},
                                   {0x1.db6daede34bfap+0, 0x1.db6dbed8a6ae1p+0},
                                   {-infinity, 0x1.e50d7a256b594p+0},
                                   {-infinity, 0x1.bca1b00a78d28p+0},
                                   {-infinity, 0x1.af286cac27fafp+0}};
  const weight weights[] = {
      {0, 0, 1},    {0, 1, 1},    {0, 2, 1},    {0, 3, 1},    {1, 4, 1},    {1, 5, 1},    {1, 6, 1},    {2, 7, 1},
      {2, 8, 1},    {3, 9, 1},    {3, 10, 1},   {3, 11, 1},   {3, 12, 1},   {4, 13, 1},   {4, 14, 1},   {4, 15, 1},
      {5, 0, 1},    {5, 16, -1},  {5, 17, -1},  {6, 1, 1},    {6, 2, 1},    {6, 3, 1},    {6, 18, -1},  {6, 19, -1},
      {7, 4, 1},    {7, 16, -1},  {7, 18, -1},  {8, 4, 1},    {8, 20, -1},  {8, 21, -1},  {9, 5, 1},    {9, 22, -1},
      {9, 23, -1},  {10, 6, 1},   {10, 24, -1}, {10, 25, -1}, {11, 7, 1},   {11, 20, -1}, {11, 22, -1}, {11, 24, -1},
      {12, 4, 1},   {12, 26, -1}, {12, 27, -1}, {12, 28, -1}, {12, 29, -1}, {13, 5, 1},   {13, 30, -1}, {13, 31, -1},
      {13, 32, -1}, {13, 33, -1}, {14, 6, 1},   {14, 34, -1}, {14, 35, -1}, {14, 36, -1}, {14, 37, -1}, {15, 9, 1},
      {15, 26, -1}, {15, 30, -1}, {15, 34, -1}, {16, 10, 1},  {16, 27, -1}, {16, 31, -1}, {16, 35, -1}, {17, 11, 1},
      {17, 28, -1}, {17, 32, -1}, {17, 36, -1}, {18, 5, 2},   {18, 9, 9},   {18, 10, 8},  {18, 12, 7},  {18, 14, 8},
      {18, 15, 3},  {19, 0, 17},  {19, 1, 7},   {19, 2, 18},  {19, 4, 21},  {19, 6, 0},   {19, 7, 15},  {19, 9, 8},
      {19, 10, 14}, {19, 12, 1},  {19, 14, 7},  {19, 15, 3},  {20, 2, 1},   {20, 3, 8},   {20, 4, 19},  {20, 5, 9},
      {20, 9, 1},   {20, 10, 9},  {20, 12, 9},  {20, 13, 10}, {20, 15, 3},  {21, 2, 1},   {21, 3, 8},   {21, 4, 19},
      {21, 5, 9},   {21, 8, 3},   {21, 13, 10}, {21, 15, 3},  {22, 0, 13},  {22, 2, 2},   {22, 3, 17},  {22, 4, 18},
      {22, 5, 10},  {22, 8, 3},   {22, 9, 5},   {22, 10, 7},  {22, 12, 1},  {22, 13, 10}, {22, 15, 3}};
  sw::linear_model model;
  for (std::uint32_t j = 0; j < std::size(costs); ++j)
    model.add_column({0, j < 16 ? 1 : infinity, 8192.0 * costs[j], j < 16});
  for (int r = 0; r < 18; ++r) model.add_row(r < 5 ? sw::linear_row{1, 1} : sw::linear_row{0, 0});
  for (const sw::linear_row& r : limits) model.add_row(r);
  for (const weight& w : weights) {
    const double unit = w.row < 18 ? 1 : w.row == 18 ? 9 : w.row == 19 ? 21 : 19;
    model.add_entry(w.row, w.column, w.value == 0 ? left_over : w.value / unit);
  }
  return model;
}

/// What is left of an integer program with budget chains whose optimum GLPK's own rounding cuts cut off: seven choices,
/// sums of them, and rows of weights between 617 and 2e-5.
sw::linear_model small_weights_model() {
  sw::linear_model model;
  for (const double cost : {0.0, 0.1, 0.0, 0.0, 0.0, 0.14, 0.0}) model.add_column({0, 1, cost, true});
  for (std::uint32_t j = 7; j < 18; ++j) model.add_column({0, infinity, j == 13 ? 1024.0 : 0.0, false});
  const std::uint32_t equal[][2] = {{0, 7}, {1, 7}, {0, 8}, {6, 8}, {1, 9}, {2, 9}, {2, 10}, {3, 11}, {5, 12}, {6, 12}};
  for (const auto& [choice, sum] : equal) {
    const std::uint32_t row = model.add_row({0, 0});
    model.add_entry(row, choice, 1);
    model.add_entry(row, sum, -1);
  }
  const auto add_row = [&](double low, double high, std::initializer_list<std::pair<std::uint32_t, double>> weights) {
    const std::uint32_t row = model.add_row({low, high});
    for (const auto& [column, weight] : weights) model.add_entry(row, column, weight);
  };
  add_row(1, 1, {{10, 1}, {11, 1}});
  add_row(0, infinity, {{3, -617}, {14, 1}});
  add_row(0, infinity, {{4, -496}, {13, 1}});
  add_row(-infinity, 136.51883048919228, {{4, -1.8202502815256594e-05}, {15, 1}});
  add_row(-infinity, 273.04805460750856, {{1, -0.0001}, {16, -1}, {17, 1}});
  add_row(-infinity, 144, {{14, 1}, {17, -1}});
  return model;
}

}  // namespace

TEST_SUITE("glpk") {
  TEST_CASE("an optimum beside small weights is not cut off") {
    CHECK(sw::glpk{}.solve(small_weights_model()).objective ==
          doctest::Approx(0));  // columns 3 and 11 are 1, 14 is 617
  }
  TEST_CASE("what GLPK itself refuses becomes an error with its words, and the next call works") {
    const std::string words = shardweave_test::refusal_of(
        [] {
          sw::detail::in_glpk_environment([](sw::detail::glpk_terminal&) {
            glp_prob* p = glp_create_prob();
            glp_add_rows(p, -1);
          });
        },
        sw::error_category::backend);
    CHECK(words.find("glpk: ") == 0);
    CHECK(words.find("glp_add_rows: nrs = -1; invalid number of rows") != std::string::npos);
    CHECK(sw::glpk{}.solve(textbook()).objective == doctest::Approx(-36));
  }
  TEST_CASE("what rounding left over among weights does not change the optimum") {
    for (const double left_over : {0.0, 0x1p-60, 0x1p-53, 1e-15, 1e-12, 1e-10, 1e-9, 1e-7}) {
      CAPTURE(left_over);
      const auto out = sw::glpk{}.solve(left_over_model(left_over));
      CHECK(out.status == sw::backend_status::optimal);
      CHECK(out.objective == doctest::Approx(142 * 8192));
    }
  }
}

}  // namespace glpk_tests
#endif
