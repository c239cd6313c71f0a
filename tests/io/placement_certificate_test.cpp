#include <shardweave/core/error.hpp>
#include <shardweave/io/placement_certificate.hpp>
#include <shardweave/placement/placement_certificate.hpp>

#include <doctest/doctest.h>
#include <support/random_certificate.hpp>
#include <support/random_problem.hpp>
#include <support/refusal.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace sw = shardweave;

namespace placement_certificate_tests {
namespace {

template <class Cost>
std::string text_of(const sw::placement_certificate<Cost>& c) {
  return sw::json_string([&](sw::json_writer& out) { sw::write_certificate(out, c); });
}
template <class Cost>
sw::placement_certificate<Cost> read(std::string_view text) {
  auto input = sw::text_input::of_memory("proof.json", text, 1 + text.size() / 2);
  return sw::read_placement_certificate<Cost>(input);
}
std::string refusal_of(std::string_view text) {
  return shardweave_test::refusal_of([&] { return read<double>(text); }, sw::error_category::format);
}
/// Knapsacks are.
void check_equal(const sw::placement_multipliers& a, const sw::placement_multipliers& b) {
  REQUIRE(a.knapsacks.size() == b.knapsacks.size());
  for (std::size_t k = 0; k < a.knapsacks.size(); ++k) {
    const sw::row_knapsack &one = a.knapsacks[k], &other = b.knapsacks[k];
    CHECK(one.budget == other.budget);
    CHECK(one.time == other.time);
    CHECK(one.cells == other.cells);
    REQUIRE(one.members.size() == other.members.size());
    for (std::size_t i = 0; i < one.members.size(); ++i) {
      CHECK(one.members[i].vertex == other.members[i].vertex);
      CHECK(one.members[i].amounts == other.members[i].amounts);
    }
  }
}

}  // namespace

TEST_SUITE("placement_certificate") {
  TEST_CASE_TEMPLATE("what is written reads back to the same", Cost, double, std::int64_t) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      const auto stated = shardweave_test::draw_problem<Cost>(seed);
      auto c = shardweave_test::draw_certificate(stated.description, seed);
      c.problem = "random";
      c.lower_bound = std::numeric_limits<Cost>::max() / 7;  // with all its digits
      c.ruled_out.push_back(
          {.vertex = 1, .strategies = {0, 2}, .budget = 3, .time = -4, .of_lower_limit = seed % 2 == 0});
      const auto again = read<Cost>(text_of(c));
      CHECK(again.lower_bound == c.lower_bound);
      CHECK(text_of(again) == text_of(c));
      REQUIRE(again.multipliers.size() == c.multipliers.size());
      CHECK(again.multipliers[0].only_limits == c.multipliers[0].only_limits);
      REQUIRE(again.multipliers[0].messages.size() == c.multipliers[0].messages.size());
      for (std::size_t i = 0; i < c.multipliers[0].messages.size(); ++i)
        CHECK(std::ranges::equal(again.multipliers[0].messages[i].amounts, c.multipliers[0].messages[i].amounts));
      for (std::size_t m = 0; m < c.multipliers.size(); ++m) check_equal(again.multipliers[m], c.multipliers[m]);
      CHECK(again.ruled_out[0].of_lower_limit == c.ruled_out[0].of_lower_limit);
      REQUIRE(again.reductions.size() == c.reductions.size());
      for (std::size_t i = 0; i < c.reductions.size(); ++i) {
        CHECK(again.reductions[i].rows == c.reductions[i].rows);
        CHECK(again.reductions[i].steps == c.reductions[i].steps);
        REQUIRE(again.reductions[i].dominated.size() == c.reductions[i].dominated.size());
        for (std::size_t k = 0; k < c.reductions[i].dominated.size(); ++k) {
          const sw::dominated_strategy &one = again.reductions[i].dominated[k], &other = c.reductions[i].dominated[k];
          CHECK(one.step == other.step);
          CHECK(one.vertex == other.vertex);
          CHECK(one.removed == other.removed);
          CHECK(one.by == other.by);
        }
      }
      REQUIRE(again.cases.size() == c.cases.size());
      for (std::size_t i = 0; i < c.cases.size(); ++i) {
        CHECK(again.cases[i].reduction == c.cases[i].reduction);
        CHECK(again.cases[i].elimination_order == c.cases[i].elimination_order);
        CHECK(again.cases[i].multipliers == c.cases[i].multipliers);
        CHECK(again.cases[i].parts == c.cases[i].parts);
        CHECK(again.cases[i].cases == c.cases[i].cases);
      }
      c.infeasible = true;
      CHECK(read<Cost>(text_of(c)).infeasible);
    }
  }
  TEST_CASE("what is no certificate is refused, with its place") {
    const std::string head = R"({"format":"shardweave.certificate","version":1,"of":"placement",)";
    CHECK(refusal_of(head + R"("lower_bound":1,"multipliers":[{}],"cases":[{"multipliers":0}]})").empty());
    CHECK(refusal_of(head + R"("multipliers":[{}],"cases":[{"multipliers":0}]})")
              .find("needs lower_bound or infeasible, and not both") != std::string::npos);
    CHECK(refusal_of(head + R"("lower_bound":1,"infeasible":true,"multipliers":[{}],"cases":[{"multipliers":0}]})")
              .find("needs lower_bound or infeasible, and not both") != std::string::npos);
    CHECK(refusal_of(head + R"("lower_bound":1,"multipliers":[{}],"cases":[{"multipliers":0,"parts":[]}]})")
              .find("needs one of reduction, multipliers and parts") != std::string::npos);
    CHECK(refusal_of(head + R"("lower_bound":1,"multipliers":[{}],"cases":[{}]})")
              .find("needs one of reduction, multipliers and parts") != std::string::npos);
    CHECK(refusal_of(head +
                     R"("lower_bound":1,"multipliers":[{"messages":[{"from":0,"to":1,"amounts":[1.5]}]}],"cases":[]})")
              .find("multipliers[0].messages[0].amounts[0]") != std::string::npos);
    CHECK(refusal_of(head + R"("lower_bound":1,"multipliers":[{"knapsacks":[{"budget":0,"members":[]}]}],"cases":[]})")
              .find("multipliers[0].knapsacks[0] has no field 'cells'") != std::string::npos);
    CHECK(refusal_of(R"({"format":"shardweave.certificate","version":1,"of":"something"})").find("\"placement\"") !=
          std::string::npos);
  }
}

}  // namespace placement_certificate_tests
