#include <shardweave/bucketing/bucketing_policy.hpp>
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/schedule/best_of.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/pass.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/schedule/schedule_price.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <string_view>

namespace best_of_tests {
namespace {

namespace sw = shardweave;

sw::timeline played(const sw::task_graph& g, const sw::schedule& s) { return sw::simulate(g, s); }

/// The original order, nothing merged.
struct plain {
  static constexpr std::string_view name = "plain";
  int* runs = nullptr;
  [[nodiscard]] sw::schedule plan(const sw::task_graph& g, const sw::solve_control& = {}) const {
    if (runs != nullptr) ++*runs;
    return sw::in_order{}(g, {});
  }
};

}  // namespace

TEST_SUITE("best_of") {
  TEST_CASE("the schedule that ends first is kept, of equal ones the first, and all ends are told") {
    std::size_t gained = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::sized<std::uint64_t>(200, 40); ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 10 + seed % 20});
      const sw::two_steps<sw::greedy, sw::prefetch> early{.bucketing = {.fsdp_only = false}};
      const sw::schedule a = sw::in_order{}(g, {}), b = early.plan(g);
      const sw::schedule best = sw::best_of(plain(), early).plan(g), turned = sw::best_of(early, plain()).plan(g);
      const bool first_wins = !(sw::price_of(g, b) < sw::price_of(g, a));
      CHECK(best.order == (first_wins ? a.order : b.order));
      CHECK(best.buckets == (first_wins ? a.buckets : b.buckets));
      CHECK(sw::price_of(g, turned).end_to_end == sw::price_of(g, best).end_to_end);
      gained += !first_wins;
      const auto& told = best.statistics;
      REQUIRE(told.size() >= 2);
      CHECK(told[told.size() - 2].name == "plain_end_ns");
      CHECK(told[told.size() - 2].value == static_cast<double>(played(g, a).end_to_end.count()));
      CHECK(told.back().name == "greedy_end_ns");
      CHECK(told.back().value == static_cast<double>(played(g, b).end_to_end.count()));
    }
    CHECK(gained > 10);
  }

  TEST_CASE("what keeps a budget is better than what does not, and a stop leaves the first pass") {
    std::size_t dearer = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      const sw::task_graph g = random_tasks(seed, {.blocks = 20});
      const sw::two_steps<sw::no_bucketing, sw::prefetch> early;
      const sw::bytes least = played(g, plain().plan(g)).peak, other = played(g, early.plan(g)).peak;
      sw::best_of both(early, plain());
      both.memory = least;
      const sw::schedule s = both.plan(g);
      CHECK(s.within_memory);
      CHECK(played(g, s).peak <= least);
      dearer += other > least;
      both.memory = sw::bytes(0);
      CHECK(both.plan(g).within_memory == (played(g, both.plan(g)).peak == sw::bytes(0)));
    }
    CHECK(dearer > 0);
    std::stop_source stopped;
    stopped.request_stop();
    int runs = 0;
    const sw::schedule s = sw::best_of(plain{&runs}, plain{&runs}).plan(random_tasks(1), {.stop = stopped.get_token()});
    CHECK(runs == 1);
    CHECK(!s.order.empty());
  }
}

}  // namespace best_of_tests
