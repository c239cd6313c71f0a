#include "solve/linear/linear_models.hpp"
#include <shardweave/core/random.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>
#include <support/scale.hpp>
#include <support/tried_backends.hpp>

#include <algorithm>
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

#ifdef __has_feature
#if __has_feature(address_sanitizer)
/// What the presolve of CoinUtils loses is not ours.
extern "C" const char* __lsan_default_suppressions();  // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __lsan_default_suppressions() { return "leak:implied_free_action::presolve\n"; }  // NOLINT
#endif
#endif

namespace sw = shardweave;
using shardweave_test::sized;
using shardweave_test::tried_backends;

namespace backend_tests {
namespace {

using linear_models::infinity;
using linear_models::model_of;
using linear_models::textbook;

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

/// Groups of choices, of each of which one is taken, under limits whose weights reach from 1e-12 to 9 and to which no
/// choice comes nearer than 0.005; and the optimum by trying them all, infinite if there is none.
struct weighed_choices {
  sw::linear_model model;
  double optimum = infinity;
};
weighed_choices random_choices(std::uint64_t seed) {
  sw::random_source random(seed);
  weighed_choices result;
  const std::size_t groups = 3 + random.below(3), each = 2 + random.below(3), columns = groups * each;
  for (std::size_t j = 0; j < columns; ++j) {
    const double cost = 1000 * static_cast<double>(random.below(1000));
    result.model.add_column({0, 1, random.chance(0.25) ? cost / 1000 : cost, true});
  }
  for (std::size_t g = 0; g < groups; ++g) {
    const std::uint32_t row = result.model.add_row({1, 1});
    for (std::size_t k = 0; k < each; ++k) result.model.add_entry(row, static_cast<std::uint32_t>(g * each + k), 1);
  }
  std::size_t choices = 1;
  for (std::size_t g = 0; g < groups; ++g) choices *= each;
  const auto sum = [&](std::size_t choice, const auto& of_column) {
    double total = 0;
    for (std::size_t g = 0; g < groups; ++g, choice /= each) total += of_column(g * each + choice % each);
    return total;
  };
  std::vector<char> allowed(choices, 1);
  for (std::size_t limits = 1 + random.below(4); limits > 0; --limits) {
    std::vector<double> weight(columns), used(choices);
    for (double& w : weight) {
      if (random.chance(1.0 / 3)) continue;
      w = static_cast<double>(1 + random.below(9)) * (random.chance(1.0 / 6) ? -1 : 1);
      if (random.chance(1.0 / 3)) w *= std::pow(10, -12 * random.unit());
    }
    for (std::size_t c = 0; c < choices; ++c) used[c] = sum(c, [&](std::size_t j) { return weight[j]; });
    std::vector<double> sorted = used;
    std::sort(sorted.begin(), sorted.end());
    const std::size_t at = random.below(choices - 1);
    if (sorted[at + 1] - sorted[at] < 0.01) continue;
    const double most = (sorted[at] + sorted[at + 1]) / 2;
    const std::uint32_t row = result.model.add_row({-infinity, most});
    for (std::size_t j = 0; j < columns; ++j) result.model.add_entry(row, static_cast<std::uint32_t>(j), weight[j]);
    for (std::size_t c = 0; c < choices; ++c)
      if (used[c] > most) allowed[c] = 0;
  }
  for (std::size_t c = 0; c < choices; ++c)
    if (allowed[c] != 0)
      result.optimum =
          std::min(result.optimum, sum(c, [&](std::size_t j) { return result.model.columns[j].objective; }));
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

struct no_backend {
  static constexpr const char* name = "none";
};

}  // namespace

static_assert(!sw::linear_backend<no_backend>);
static_assert(!sw::linear_backend<int>);

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
  TEST_CASE("weights of a trillionth beside others do not change the optimum") {
    for (const sw::any_backend& backend : tried_backends(true))
      for (std::uint64_t seed = 1; seed <= sized(4000U, 500U); ++seed) {
        const weighed_choices w = random_choices(seed);
        const auto out = backend.solve(w.model);
        CAPTURE(backend.name);
        CAPTURE(seed);
        if (w.optimum == infinity) {
          CHECK(out.status == sw::backend_status::infeasible);
        } else {
          CHECK(out.status == sw::backend_status::optimal);
          CHECK(out.objective == doctest::Approx(w.optimum).epsilon(1e-7));
        }
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
  TEST_CASE("whenever it is stopped, its bound holds") {
    // a choice of four in each of thirty groups under three limits, from a start that is not the best
    sw::random_source random(3);
    sw::linear_model model;
    std::vector<double> start;
    for (std::uint32_t g = 0; g < 30; ++g) {
      const std::uint32_t row = model.add_row({1, 1});
      for (int k = 0; k < 4; ++k) {
        model.add_entry(row, model.add_column({0, 1, 100.0 * k + static_cast<double>(random.below(90)), true}), 1);
        start.push_back(k == 3 ? 1 : 0);
      }
    }
    for (int limit = 0; limit < 3; ++limit) {
      const std::uint32_t row = model.add_row({-infinity, 1000});
      for (std::uint32_t j = 0; j < model.columns.size(); ++j)
        model.add_entry(row, j, (j % 4 == 3 ? 0.0 : 40.0 - 10 * (j % 4)) + static_cast<double>(random.below(20)));
    }
    for (const sw::any_backend& backend : tried_backends(true)) {
      CAPTURE(backend.name);
      double least = infinity, most = -infinity;
      for (int i = 0; i < sized(60, 30); ++i) {
        const auto out = backend.solve(model, {.seconds = 0.001 * i, .start = start});
        least = std::min(least, out.objective);
        most = std::max(most, out.bound);
      }
      CHECK(std::isfinite(most));
      CHECK(least >= backend.solve(model).objective - 1e-6);
      CHECK(most <= least + 1e-6);
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

}  // namespace backend_tests
