#include "cost/flat_price.hpp"
#include "cost/measured_machine.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/cost/accuracy.hpp>
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/measurement.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace accuracy_tests {
namespace {

using namespace shardweave;
using namespace flat_prices;
using namespace measured_machine;

}  // namespace

TEST_SUITE("accuracy") {
  TEST_CASE("bands cover every size once, under names that say from where to where") {
    const std::array<std::tuple<std::string, std::int64_t, std::int64_t>, 5> bands{{
        {"below 64 KiB", 0, 65535},
        {"64 KiB to 1 MiB", 65536, (1 << 20) - 1},
        {"1 to 32 MiB", 1 << 20, (1 << 25) - 1},
        {"32 to 512 MiB", 1 << 25, (1 << 29) - 1},
        {"from 512 MiB", 1 << 29, std::int64_t{1} << 62},
    }};
    REQUIRE(size_bands.size() == bands.size());
    for (std::size_t i = 0; i < bands.size(); ++i) {
      const auto& [name, first, last] = bands[i];
      CHECK(std::string(size_bands[i].name) == name);
      for (std::size_t j = 0; j < bands.size(); ++j) {
        CHECK(size_bands[j].holds(bytes(first)) == (i == j));
        CHECK(size_bands[j].holds(bytes(last)) == (i == j));
      }
    }
  }

  TEST_CASE("errors are signed shares of the measured time, band by band") {
    std::vector<collective_measurement> rows;
    // the flat price of 10 us and 100 GB/s is 25 % over, right, and 20 % under
    for (const auto& [size, factor] : {std::pair{1000, .8}, {100'000, 1.0}, {2'000'000, 1.25}, {3'000'000, 1.25}})
      rows.push_back(measured(collective::all_gather, {2, 1}, size, factor * (10 + size / 1e5)));
    const accuracy_report report = accuracy(flat_price{}, rows);
    CHECK(report[0].count == 1);
    CHECK(report[0].signed_median == doctest::Approx(25));
    CHECK(report[0].median == doctest::Approx(25));
    CHECK(report[1].mean == doctest::Approx(0));
    CHECK(report[2].count == 2);
    CHECK(report[2].signed_median == doctest::Approx(-20));
    CHECK(report[2].p90 == doctest::Approx(20));
    CHECK(report[3].count == 0);
    CHECK(report[4].count == 0);
    CHECK(signed_errors(flat_price{}, rows, size_bands[2]).size() == 2);
  }

  TEST_CASE("nine of ten errors are at most p90, whatever their number and order") {
    random_source random(4);
    for (std::size_t n = 1; n < 40; ++n) {
      std::vector<double> errors;
      for (std::size_t i = 0; i < n; ++i) errors.push_back(static_cast<double>(random.below(2001)) / 10 - 100);
      const error_figures f = error_figures::of(errors);
      std::size_t at_most = 0, below = 0;
      double sum = 0;
      for (const double e : errors) {
        at_most += std::abs(e) <= f.p90 ? 1U : 0U;
        below += std::abs(e) < f.p90 ? 1U : 0U;
        sum += std::abs(e);
      }
      CHECK(at_most * 10 >= n * 9);
      CHECK(below * 10 < n * 9);
      CHECK(f.mean == doctest::Approx(sum / static_cast<double>(n)));
      CHECK(f.median <= f.p90);
      CHECK(std::abs(f.signed_median) <= 100);
    }
  }

  TEST_CASE("errors by band are those of their definition") {
    const std::vector<double> errors{10, -20, 30, -40, 50};
    const error_figures f = error_figures::of(errors);
    CHECK(f.count == 5);
    CHECK(f.mean == doctest::Approx(30));
    CHECK(f.median == doctest::Approx(30));
    CHECK(f.p90 == doctest::Approx(50));
    CHECK(f.signed_median == doctest::Approx(10));
    CHECK(error_figures::of({}).count == 0);
    std::vector<double> ten;
    for (int i = 1; i <= 10; ++i) ten.push_back(i);
    CHECK(error_figures::of(ten).p90 == doctest::Approx(9));
    CHECK(error_figures::of(ten).median == doctest::Approx(5.5));
    for (std::size_t i = 1; i < size_bands.size(); ++i) CHECK(size_bands[i].from == size_bands[i - 1].to);
  }

  TEST_CASE("a calibrated model is far better on sizes that it did not see, also with noise") {
    const auto result = calibrate(alpha_beta(), campaign(campaign_groups, 0.05));
    for (std::size_t i = 0; i < size_bands.size(); ++i) {
      CAPTURE(std::string(size_bands[i].name));
      CHECK(result.held_out[i].count > 0);
      CHECK(result.held_out[i].median < 5);
      CHECK(result.held_out[i].p90 < 12);
      CHECK(result.held_out[i].median < result.before[i].median / 2);
    }
    CHECK(result.model.estimate(collective::all_gather, mebibytes(16), {8, 1}).quality == estimate_quality::measured);
  }
}

}  // namespace accuracy_tests
