#include <shardweave/core/random.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>
#include <support/scale.hpp>
#include <support/tried_backends.hpp>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace sw = shardweave;
using shardweave_test::sized;
using shardweave_test::tried_backends;

namespace backend_tests {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A model from dense rows.
sw::linear_model model_of(std::vector<sw::linear_column> columns, std::vector<sw::linear_row> rows,
                          const std::vector<std::vector<double>>& weights) {
  sw::linear_model model{0, std::move(columns), std::move(rows), {}};
  for (std::uint32_t r = 0; r < weights.size(); ++r)
    for (std::uint32_t j = 0; j < weights[r].size(); ++j) model.add_entry(r, j, weights[r][j]);
  return model;
}

/// maximise 3x + 5y with x <= 4, 2y <= 12, 3x + 2y <= 18: 36 at (2, 6), multipliers 0, 3/2 and 1.
sw::linear_model textbook() {
  return model_of({{0, infinity, -3}, {0, infinity, -5}}, {{-infinity, 4}, {-infinity, 12}, {-infinity, 18}},
                  {{1, 0}, {0, 2}, {3, 2}});
}

/// A knapsack of random items as a minimisation, and its optimum by dynamic programming.
struct knapsack {
  sw::linear_model model;
  double optimum = 0;
};
knapsack random_knapsack(std::uint64_t seed, std::size_t items) {
  sw::random_source random(seed);
  knapsack result;
  std::vector<std::size_t> weight;
  std::vector<double> gain;
  std::size_t total = 0;
  for (std::size_t i = 0; i < items; ++i) {
    weight.push_back(3 + random.below(40));
    gain.push_back(static_cast<double>(5 + random.below(60)));
    total += weight.back();
  }
  const std::size_t room = total / 3;
  result.model.add_row({-infinity, static_cast<double>(room)});
  std::vector<double> best(room + 1);
  for (std::size_t i = 0; i < items; ++i) {
    const std::uint32_t j = result.model.add_column({0, 1, -gain[i], true});
    result.model.add_entry(0, j, static_cast<double>(weight[i]));
    for (std::size_t w = room; w >= weight[i]; --w) best[w] = std::max(best[w], best[w - weight[i]] + gain[i]);
  }
  result.optimum = -best[room];
  return result;
}

/// min sum of products of random columns: large enough to take a while.
sw::linear_model slow_model(bool whole) {
  sw::random_source random(5);
  sw::linear_model model;
  constexpr std::uint32_t rows = 700, columns = 900;
  for (std::uint32_t j = 0; j < columns; ++j) model.add_column({0, whole ? 3.0 : infinity, 1 + random.unit(), whole});
  for (std::uint32_t r = 0; r < rows; ++r) {
    model.add_row({static_cast<double>(5 + random.below(50)), infinity});
    for (std::uint32_t j = 0; j < columns; ++j)
      if (random.chance(0.3)) model.add_entry(r, j, 1 + random.unit());
  }
  return model;
}

void check_refused(const sw::linear_model& model, const std::string& text) {
  CHECK(shardweave_test::refusal_of([&] { sw::validate(model); }, sw::error_category::input) == text);
}

#ifdef SHARDWEAVE_HAS_GLPK
/// Five choices, tables between them, and limits, of which one has a weight that rounding left over. GLPK 5.0 finds an
/// optimum without it; with it its simplex method runs in circles within a node.
sw::linear_model endless_model(double left_over) {
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
#endif

struct no_backend {
  static constexpr const char* name = "none";
};

}  // namespace

static_assert(!sw::linear_backend<no_backend>);
static_assert(!sw::linear_backend<int>);
static_assert(sw::integer_backend<sw::any_backend>);
#ifdef SHARDWEAVE_HAS_GLPK
static_assert(sw::integer_backend<sw::glpk>);
#endif
#ifdef SHARDWEAVE_HAS_CLP
static_assert(sw::linear_backend<sw::clp> && !sw::integer_backend<sw::clp>);
#endif

TEST_SUITE("linear_model") {
  TEST_CASE("the objective counts the offset, and zero weights are left out") {
    sw::linear_model model = textbook();
    model.offset = 10;
    CHECK(model.objective_of(std::vector<double>{2, 6}) == -26);
    CHECK(model.entries.size() == 4);
    CHECK_FALSE(model.has_integers());
    model.columns[1].integer = true;
    CHECK(model.has_integers());
  }
  TEST_CASE("what a backend would answer wrongly is refused, and the culprit is named") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    auto model = textbook();
    CHECK_NOTHROW(sw::validate(model));
    model.columns[1].objective = nan;
    check_refused(model, "linear model: column 1 costs nan, expected a finite number");
    model = textbook();
    model.columns[0].objective = infinity;
    check_refused(model, "linear model: column 0 costs inf, expected a finite number");
    model = textbook();
    model.entries.push_back({2, 1, 1});
    check_refused(model, "linear model: row 2 has two weights in column 1");
    model = textbook();
    model.entries[0].value = nan;
    check_refused(model, "linear model: the weight in row 0 and column 0 is nan, expected a finite number");
    model = textbook();
    model.entries[0].column = 2;
    check_refused(model, "linear model: a weight stands in row 0 and column 2 of 3 rows and 2 columns");
    model = textbook();
    model.rows[1] = {5, 4};
    check_refused(model, "linear model: row 1 has limits 5 and 4, expected the lower one first");
    model = textbook();
    model.columns[0].low = nan;
    check_refused(model, "linear model: column 0 has limits nan and inf, expected the lower one first");
    model = textbook();
    model.columns[0] = {0.2, 0.8, 1, true};
    check_refused(model, "linear model: column 0 has no whole number between its limits 0.2 and 0.8");
    model = textbook();
    model.offset = nan;
    check_refused(model, "linear model: the offset is nan, expected a finite number");
  }
}

TEST_SUITE("backends") {
  TEST_CASE("which there are") {
    std::set<std::string_view> names;
    for (const sw::any_backend& backend : tried_backends()) CHECK(names.insert(backend.name).second);
    for (const std::string_view name : names) MESSAGE("tested: " << std::string(name));
  }
  TEST_CASE("a small program has its optimum, and the multipliers prove it") {
    for (const sw::any_backend& backend : tried_backends()) {
      CAPTURE(backend.name);
      auto model = textbook();
      model.offset = 100;
      const auto out = backend.solve(model);
      CHECK(out.status == sw::backend_status::optimal);
      REQUIRE(out.primal.size() == 2);
      CHECK(out.primal[0] == doctest::Approx(2));
      CHECK(out.primal[1] == doctest::Approx(6));
      CHECK(out.objective == doctest::Approx(64));
      CHECK(out.bound == doctest::Approx(64));
      REQUIRE(out.duals.size() == 3);
      CHECK(out.duals[0] == doctest::Approx(0));
      CHECK(out.duals[1] == doctest::Approx(-1.5));
      CHECK(out.duals[2] == doctest::Approx(-1));
    }
  }
  TEST_CASE("fixed, free and doubly limited columns and rows are all understood") {
    // x fixed at 3, y free, z in [-2, 2]; y = x + z by a row of equality, y >= 2: least y is 2
    const auto model =
        model_of({{3, 3, 0}, {-infinity, infinity, 1}, {-2, 2, 0}}, {{0, 0}, {2, 9}}, {{1, -1, 1}, {0, 1, 0}});
    for (const sw::any_backend& backend : tried_backends()) {
      CAPTURE(backend.name);
      const auto out = backend.solve(model);
      CHECK(out.status == sw::backend_status::optimal);
      CHECK(out.objective == doctest::Approx(2));
      REQUIRE(out.primal.size() == 3);
      CHECK(out.primal[2] == doctest::Approx(-1));
      REQUIRE(out.duals.size() == 2);
    }
  }
  TEST_CASE("what is infeasible or unbounded is a status, with whole numbers and without") {
    for (const bool whole : {false, true})
      for (const sw::any_backend& backend : tried_backends(whole)) {
        CAPTURE(backend.name);
        CAPTURE(whole);
        const auto impossible = model_of({{0, 1, 1, whole}, {0, 1, 1, whole}}, {{3, infinity}}, {{1, 1}});
        const auto out = backend.solve(impossible);
        CHECK(out.status == sw::backend_status::infeasible);
        CHECK(out.primal.empty());
        CHECK(out.bound == infinity);
        const auto endless = model_of({{0, infinity, -1, whole}}, {{0, infinity}}, {{1}});
        CHECK(backend.solve(endless).status == sw::backend_status::unbounded);
      }
    // a relaxation with points, but no whole ones
    const auto halves = model_of({{0, 5, 1, true}, {0, 5, 1, true}}, {{3, 3}}, {{2, 2}});
    for (const sw::any_backend& backend : tried_backends(true))
      CHECK_MESSAGE(backend.solve(halves).status == sw::backend_status::infeasible, backend.name);
  }
  TEST_CASE("models without rows, without columns and without either are answered") {
    for (const sw::any_backend& backend : tried_backends()) {
      CAPTURE(backend.name);
      CHECK(backend.solve(sw::linear_model{7}).objective == 7);
      const auto no_rows = model_of({{1, 4, 2}, {-3, 4, -1}}, {}, {});
      CHECK(backend.solve(no_rows).objective == doctest::Approx(-2));
      CHECK(backend.solve(model_of({}, {{0, 1}}, {})).status == sw::backend_status::optimal);
      CHECK(backend.solve(model_of({}, {{1, 2}}, {})).status == sw::backend_status::infeasible);
    }
  }
  TEST_CASE("knapsacks have the optimum of dynamic programming") {
    for (const sw::any_backend& backend : tried_backends(true))
      for (std::uint64_t seed = 1; seed <= 60; ++seed) {
        const knapsack k = random_knapsack(seed, 12 + seed % 9);
        const auto out = backend.solve(k.model);
        CAPTURE(backend.name);
        CAPTURE(seed);
        CHECK(out.status == sw::backend_status::optimal);
        CHECK(out.objective == doctest::Approx(k.optimum).epsilon(1e-9));
        CHECK(out.bound <= out.objective + 1e-9);
      }
  }
  TEST_CASE("a known solution is taken, and does not keep a better one from being found") {
    for (const sw::any_backend& backend : tried_backends(true))
      for (std::uint64_t seed = 1; seed <= sized(20U, 4U); ++seed) {
        const knapsack k = random_knapsack(seed, 20);
        const auto best = backend.solve(k.model);
        for (const bool at_optimum : {false, true}) {
          sw::backend_limits limits;
          limits.start = at_optimum ? best.primal : std::vector<double>(k.model.columns.size(), 0);
          const auto out = backend.solve(k.model, limits);
          CAPTURE(backend.name);
          CAPTURE(seed);
          CHECK(out.status == sw::backend_status::optimal);
          CHECK(out.objective == doctest::Approx(k.optimum).epsilon(1e-9));
        }
      }
  }
  TEST_CASE("a gap ends branch and bound early, and the bound tells the truth") {
    for (const sw::any_backend& backend : tried_backends(true))
      for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        knapsack k = random_knapsack(seed, 30);
        const auto out = backend.solve(k.model, {.gap = 0.05});
        CAPTURE(backend.name);
        CAPTURE(seed);
        REQUIRE_FALSE(out.primal.empty());
        CHECK(out.bound <= k.optimum + 1e-6);
        CHECK(out.objective >= k.optimum - 1e-6);
        CHECK(out.objective - out.bound <= 0.05 * std::abs(out.objective) + 1e-6);
      }
  }
  TEST_CASE("no time gives no answer, and no error") {
    for (const bool whole : {false, true}) {
      const auto model = slow_model(whole);
      for (const sw::any_backend& backend : tried_backends(whole)) {
        CAPTURE(backend.name);
        const auto out = backend.solve(model, {.seconds = 0});
        CHECK(out.status == sw::backend_status::stopped);
        CHECK(out.primal.empty());
      }
    }
  }
  TEST_CASE("a stop or a time limit ends a long run within a second or so") {
    for (const bool whole : {false, true}) {
      const auto model = slow_model(whole);
      for (const sw::any_backend& backend : tried_backends(whole))
        for (const bool by_clock : {false, true}) {
          CAPTURE(backend.name);
          CAPTURE(whole);
          CAPTURE(by_clock);
          std::stop_source stop;
          std::thread later([&] {
            if (by_clock) return;
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            stop.request_stop();
          });
          const auto start = std::chrono::steady_clock::now();
          sw::backend_limits limits;
          by_clock ? static_cast<void>(limits.seconds = 0.05) : static_cast<void>(limits.stop = stop.get_token());
          const auto out = backend.solve(model, limits);
          const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
          later.join();
          CHECK(seconds < 10);  // a second at full speed; sanitizers and busy machines are slow
          if (whole) {
            CHECK(out.status == sw::backend_status::stopped);
            CHECK(out.bound <= out.objective);
          } else if (out.status == sw::backend_status::stopped) {
            CHECK((out.duals.empty() || out.duals.size() == model.rows.size()));
          }
        }
    }
  }
  TEST_CASE("slices do not change the optimum") {
    const auto model = slow_model(false);
    double optimum = 0;  // that all agree on
    for (const sw::any_backend& backend : tried_backends()) {
      std::stop_source never;
      const auto sliced = backend.solve(model, {.stop = never.get_token()});
      CAPTURE(backend.name);
      CHECK(sliced.status == sw::backend_status::optimal);
      if (optimum == 0) optimum = backend.solve(model).objective;
      CHECK(sliced.objective == doctest::Approx(optimum).epsilon(1e-9));
    }
  }
  TEST_CASE("threads may solve at once") {
    for (const sw::any_backend& backend : tried_backends(true)) {
      std::atomic<int> wrong = 0;
      std::vector<std::thread> threads;
      for (std::uint64_t t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
          for (std::uint64_t seed = 1; seed <= 15; ++seed) {
            const knapsack k = random_knapsack(100 * t + seed, 14);
            if (std::abs(backend.solve(k.model).objective - k.optimum) > 1e-6) ++wrong;
          }
        });
      for (std::thread& t : threads) t.join();
      CHECK_MESSAGE(wrong == 0, backend.name);
    }
  }
  TEST_CASE("equal calls give equal bits") {
    const knapsack k = random_knapsack(3, 25);
    for (const sw::any_backend& backend : tried_backends(true)) {
      CAPTURE(backend.name);
      const auto a = backend.solve(k.model), b = backend.solve(k.model);
      CHECK(a.primal == b.primal);
      CHECK(a.bound == b.bound);
      CHECK(a.nodes == b.nodes);
      CHECK(a.iterations == b.iterations);
    }
  }
  TEST_CASE("a model that is none is refused by each, and so is a gap or a time limit that is no number") {
    auto nameless = textbook();
    nameless.columns[1].objective = std::nan("");
    for (const sw::any_backend& backend : tried_backends()) {
      CAPTURE(backend.name);
      CHECK_THROWS_WITH_AS(static_cast<void>(backend.solve(nameless)),
                           "linear model: column 1 costs nan, expected a finite number", sw::error);
      CHECK_THROWS_AS(static_cast<void>(backend.solve(textbook(), {.gap = -1})), sw::error);
      const std::string text =
          std::string(backend.name) + ": the gap is 0 and the time limit nan, expected numbers not below zero";
      CHECK_THROWS_WITH_AS(static_cast<void>(backend.solve(textbook(), {.seconds = std::nan("")})), text.c_str(),
                           sw::error);
    }
  }
}

#ifdef SHARDWEAVE_HAS_CLP
TEST_SUITE("clp") {
  TEST_CASE("whole numbers are refused") {
    CHECK_THROWS_WITH_AS(static_cast<void>(sw::clp{}.solve(random_knapsack(1, 3).model)),
                         "clp: the model asks for whole numbers, which CLP has not", sw::error);
  }
}
#endif

#ifdef SHARDWEAVE_HAS_GLPK
TEST_SUITE("glpk") {
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
  TEST_CASE("a stop ends what runs in circles within a node, and the next call works") {
    const auto whole = sw::glpk{}.solve(endless_model(0));
    CHECK(whole.objective == 142 * 8192);
    std::stop_source stop;
    std::thread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      stop.request_stop();
    });
    const auto out = sw::glpk{}.solve(endless_model(0x1p-53), {.stop = stop.get_token()});  // for ever
    later.join();
    CHECK(out.status == sw::backend_status::stopped);
    CHECK(out.bound <= whole.objective);
    CHECK(out.bound > 0);
    CHECK(sw::glpk{}.solve(textbook()).objective == doctest::Approx(-36));
  }
}
#endif

}  // namespace backend_tests
