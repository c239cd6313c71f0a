#include "solve/linear/linear_models.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/solve/linear/model/linear_model.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace linear_model_tests {
namespace {

namespace sw = shardweave;

using linear_models::infinity;
using linear_models::textbook;

void check_refused(const sw::linear_model& model, const std::string& text) {
  CHECK(shardweave_test::refusal_of([&] { sw::validate(model); }, sw::error_category::input) == text);
}

}  // namespace

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
  TEST_CASE("columns and rows are numbered as they come, and weights of zero are no weights") {
    sw::linear_model model;
    CHECK_FALSE(model.has_integers());
    CHECK(model.add_column({0, 4, 2.5, false}) == 0);
    CHECK(model.add_column({-1, 1, -3, true}) == 1);
    CHECK(model.has_integers());
    CHECK(model.add_row({1, 2}) == 0);
    CHECK(model.add_row({}) == 1);
    model.add_entry(1, 0, 7);
    model.add_entry(0, 1, 0);
    model.add_entry(0, 1, -0.0);
    model.add_entry(1, 1, 2);
    model.add_entry(0, 0, 5);
    REQUIRE(model.entries.size() == 3);
    sw::sort_entries(model);
    const double values[] = {5, 7, 2};
    for (std::size_t i = 0; i < 3; ++i) CHECK(model.entries[i].value == values[i]);
    CHECK(model.entries[2].column == 1);
    model.offset = 100;
    CHECK(model.objective_of(std::vector<double>{2, 1}) == 100 + 5 - 3);
    CHECK_NOTHROW(sw::validate(model));
  }
  TEST_CASE("no limits, equal limits and a whole number between limits are no offence") {
    sw::linear_model model;
    model.add_column({-infinity, infinity, 0, true});
    model.add_column({3, 3, 1, true});
    model.add_column({0.5, 1.5, 1, true});
    model.add_row({});
    model.add_row({2, 2});
    CHECK_NOTHROW(sw::validate(model));
    model.rows[1] = {infinity, infinity};
    check_refused(model, "linear model: row 1 has limits inf and inf, expected the lower one first");
    model.rows[1] = {-infinity, -infinity};
    check_refused(model, "linear model: row 1 has limits -inf and -inf, expected the lower one first");
  }
}

}  // namespace linear_model_tests
