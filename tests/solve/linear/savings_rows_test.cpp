#include "solve/savings_answer.hpp"
#include <shardweave/placement/compile.hpp>
#include <shardweave/solve/ilp.hpp>
#include <shardweave/solve/lp_relaxation.hpp>
#include <shardweave/solve/reduced.hpp>

#include <doctest/doctest.h>
#include <support/random_savings.hpp>
#include <support/scale.hpp>
#include <support/tried_backends.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace sw = shardweave;
using shardweave_test::at_scale;
using shardweave_test::near;
using shardweave_test::tried_backends;

namespace savings_rows_tests {
namespace {

template <class Cost>
std::optional<sw::placement_problem<Cost>> compiled(const shardweave_test::random_problem<Cost>& stated) {
  try {
    return sw::compile(stated.description);
  } catch (const sw::error& e) {
    CHECK(e.category() == sw::error_category::constraint);
    return std::nullopt;
  }
}

/// A problem as `savings_relaxation` makes a program of it: all communication counts as hidden.
struct program {
  explicit program(const sw::placement_problem<double>& problem) : priced(problem.compact(), *problem.savings()) {
    sw::chain_prices<double> prices(*problem.savings());
    prices.update();
    plain = priced.with_prices(prices, false);
  }
  sw::priced_problem<double> priced;
  sw::compact_problem<double> plain;
};

bool keeps_rows_of(const sw::linear_model& m, const std::vector<double>& value) {
  std::vector<double> sum(m.rows.size());
  for (const auto& e : m.entries) sum[e.row] += e.value * value[e.column];
  for (std::size_t r = 0; r < sum.size(); ++r)
    if (sum[r] < m.rows[r].low - 1e-6 || sum[r] > m.rows[r].high + 1e-6) return false;
  for (std::size_t j = 0; j < value.size(); ++j)
    if (value[j] < m.columns[j].low - 1e-6 || value[j] > m.columns[j].high + 1e-6) return false;
  return true;
}

}  // namespace

TEST_SUITE("savings rows") {
  TEST_CASE("every labeling with its best hiding is a point of the program, and costs its objective") {
    std::size_t points = 0, shared = 0;
    std::set<std::string> kinds;
    for (std::uint64_t seed = 1; seed <= at_scale(400); ++seed) {
      CAPTURE(seed);
      const auto stated = shardweave_test::draw_savings_problem<double>(seed);
      const auto problem = compiled(stated);
      if (!problem || problem->savings() == nullptr) continue;
      const program made(*problem);
      sw::presence present(made.plain);
      if (!sw::detail::tighten(made.plain, present)) continue;
      const sw::local_polytope<double> polytope(made.plain, present, true, problem->savings());
      CHECK_NOTHROW(sw::validate(polytope.model()));
      shardweave_test::for_all_feasible(stated, [&](const sw::assignment& choice) {
        const auto labels = problem->labels_of(choice);
        REQUIRE(labels.has_value());
        const std::vector<double> value = polytope.primal_of(*labels);
        REQUIRE(value.size() == polytope.model().columns.size());
        REQUIRE(keeps_rows_of(polytope.model(), value));
        const double objective = *shardweave_test::price_of(stated, choice) -
                                 shardweave_test::savings_by_flow(stated, std::span<const sw::strategy>(choice));
        REQUIRE(std::abs(polytope.unscaled(polytope.model().objective_of(value)) - objective) <= near(objective));
        ++points;
      });
      // every row and column has a name of its own, which says what it is
      const sw::linear_names names = polytope.names(*problem);
      std::set<std::string> columns(names.columns.begin(), names.columns.end()),
          rows(names.rows.begin(), names.rows.end());
      CHECK(columns.size() == names.columns.size());
      CHECK(rows.size() == names.rows.size());
      CHECK_FALSE(columns.contains(""));
      CHECK_FALSE(rows.contains(""));
      shared += columns.lower_bound("share.") != columns.end() && columns.lower_bound("share.")->starts_with("share.");
    }
    CHECK(points > at_scale(2000));
    CHECK(shared > at_scale(30));
  }

  TEST_CASE("the program of a single assignment has its objective as optimum") {
    const auto all = tried_backends();
    if (all.empty()) return;
    std::size_t tried = 0;
    const std::uint64_t first = shardweave_test::sized(1001U, 1013U);  // not all problems have savings
    for (std::uint64_t seed = first; seed < first + at_scale(120); ++seed) {
      CAPTURE(seed);
      const auto stated = shardweave_test::draw_savings_problem<double>(seed);
      const auto problem = compiled(stated);
      if (!problem || problem->savings() == nullptr) continue;
      const program made(*problem);
      std::size_t turn = 0;
      shardweave_test::for_all_feasible(stated, [&](const sw::assignment& choice) {
        if (turn++ % 7 != 0) return;
        const auto labels = problem->labels_of(choice);
        REQUIRE(labels.has_value());
        sw::presence present(made.plain);
        for (std::size_t x = 0; x < made.plain.size(); ++x)
          for (sw::strategy l = 0; l < made.plain.label_count(x); ++l)
            if (l != (*labels)[x]) present.drop_label(made.plain.label_start(x) + l);
        REQUIRE(sw::detail::tighten(made.plain, present));
        const sw::local_polytope<double> polytope(made.plain, present, false, problem->savings());
        const sw::any_backend& backend = all[turn % all.size()];
        CAPTURE(backend.name);
        const auto outcome = backend.solve(polytope.model());
        REQUIRE(outcome.status == sw::backend_status::optimal);
        const double saved = shardweave_test::savings_by_flow(stated, std::span<const sw::strategy>(choice));
        const double objective = *shardweave_test::price_of(stated, choice) - saved;
        CHECK(std::abs(polytope.unscaled(outcome.objective) - objective) <= near(objective));
        double hidden = 0;
        for (const double h : polytope.hidden(outcome.primal)) {
          CHECK(h >= -1e-9);
          hidden += h;
        }
        CHECK(hidden >= saved - near(saved));
        ++tried;
      });
    }
    CHECK(tried > at_scale(60));
  }

  TEST_CASE("prices behind the multipliers prove the optimum of the relaxation") {
    std::size_t tight = 0, tried = 0;
    for (const sw::any_backend& backend : tried_backends())
      for (std::uint64_t seed = 2001; seed < 2001 + at_scale(150); ++seed) {
        CAPTURE(seed);
        CAPTURE(backend.name);
        const auto problem = compiled(shardweave_test::draw_savings_problem<double>(seed));
        if (!problem || problem->savings() == nullptr) continue;
        program made(*problem);
        sw::presence present(made.plain);
        if (!sw::detail::tighten(made.plain, present)) continue;
        const sw::local_polytope<double> polytope(made.plain, present, false, problem->savings());
        const auto outcome = backend.solve(polytope.model());
        if (outcome.status != sw::backend_status::optimal) continue;
        REQUIRE(outcome.duals.size() == polytope.model().rows.size());
        sw::chain_prices<double> prices(*problem->savings());
        prices.values() = polytope.chain_prices_of(outcome.duals);
        for (const double price : prices.values()) CHECK((price >= 0 && price <= 1));
        prices.update();
        const auto priced = made.priced.with_prices(prices, false);
        const double bound = sw::dual_bound(priced, polytope.duals_of(outcome.duals, priced), present);
        const double value = polytope.unscaled(outcome.objective);
        CHECK(bound <= value + near(value));
        ++tried;
        tight += bound >= value - 1e-5 * std::max(1.0, std::abs(value)) ? 1U : 0U;
      }
    CHECK(tried > 0);
    CHECK(tight == tried);
  }
}

TEST_SUITE("ilp") {
  TEST_CASE("savings are counted, and every optimum is proven") {
    for (const sw::any_backend& backend : tried_backends(true)) {
      CAPTURE(backend.name);
      std::size_t proven = 0, tried = 0;
      for (std::uint64_t seed = 3001; seed < 3001 + at_scale(300); ++seed) {
        CAPTURE(seed);
        const auto stated = shardweave_test::draw_savings_problem<double>(seed);
        const auto problem = compiled(stated);
        if (!problem) continue;
        const auto best = shardweave_test::brute_force_with_savings(stated);
        ++tried;
        const bool settled =
            shardweave_test::check_savings_answer(stated, best, sw::ilp{backend, 0, seed % 2 * 200}.solve(*problem));
        CHECK(settled);
        proven += settled ? 1U : 0U;
      }
      MESSAGE(backend.name << ": " << proven << " of " << tried);
    }
  }
  TEST_CASE("savings of whole numbers are exact") {
    static_assert(sw::ilp<sw::any_backend>::abilities.savings);
    for (const sw::any_backend& backend : tried_backends(true))
      for (std::uint64_t seed = 4001; seed < 4001 + at_scale(80); ++seed) {
        CAPTURE(seed);
        CAPTURE(backend.name);
        const auto stated = shardweave_test::draw_savings_problem<std::int64_t>(seed);
        const auto problem = compiled(stated);
        if (!problem) continue;
        const auto best = shardweave_test::brute_force_with_savings(stated);
        const auto answer = sw::reduced{sw::ilp{backend, 0, 0}}.solve(*problem);
        CHECK(shardweave_test::check_savings_answer(stated, best, answer));
      }
  }
}

TEST_SUITE("lp_relaxation") {
  TEST_CASE("with savings its bound holds, and is the better one of two") {
    for (const sw::any_backend& backend : tried_backends()) {
      CAPTURE(backend.name);
      std::size_t proven = 0, tried = 0;
      for (std::uint64_t seed = 5001; seed < 5001 + at_scale(200); ++seed) {
        CAPTURE(seed);
        const auto stated = shardweave_test::draw_savings_problem<double>(seed);
        const auto problem = compiled(stated);
        if (!problem) continue;
        const auto best = shardweave_test::brute_force_with_savings(stated);
        ++tried;
        proven += shardweave_test::check_savings_answer(stated, best,
                                                        sw::lp_relaxation{backend, seed % 2 * 50}.solve(*problem))
                      ? 1U
                      : 0U;
      }
      MESSAGE(backend.name << ": " << proven << " of " << tried << " proven by the relaxation alone");
      CHECK(2 * proven > tried);
    }
  }
}

}  // namespace savings_rows_tests
