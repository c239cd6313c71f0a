#include <shardweave/core/random.hpp>
#include <shardweave/memory/recomputation.hpp>
#include <shardweave/step/detail/retention_search.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>
#include <support/tiny_training.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace sw = shardweave;

namespace retention_search_tests {
namespace {

/// What keeping some of a few storages takes: those that are dropped cost time, alone and in pairs, and those that are
/// kept need room.
struct priced_choice {
  double step = std::numeric_limits<double>::infinity();
  double peak = 0;
  std::vector<char> dropped = {};
};
struct choices {
  std::vector<std::int64_t> size, time;
  std::vector<std::vector<std::int64_t>> both;  ///< more time, or less, if two are dropped
  std::int64_t room = 0;

  explicit choices(sw::random_source& random, std::size_t n) : both(n, std::vector<std::int64_t>(n)) {
    std::int64_t all = 0;
    for (std::size_t i = 0; i < n; ++i) {
      size.push_back(static_cast<std::int64_t>(1 + random.below(20)));
      time.push_back(static_cast<std::int64_t>(10 + random.below(30)));
      all += size.back();
      for (std::size_t j = 0; j < i; ++j) both[i][j] = static_cast<std::int64_t>(random.below(9)) - 4;
    }
    room = all / 2;
  }
  [[nodiscard]] priced_choice operator()(const std::vector<char>& dropped) const {
    std::int64_t held = 0, takes = 100;
    for (std::size_t i = 0; i < size.size(); ++i) {
      if (dropped[i] == 0) held += size[i];
      if (dropped[i] == 0) continue;
      takes += time[i];
      for (std::size_t j = 0; j < i; ++j) takes += dropped[j] != 0 ? both[i][j] : 0;
    }
    priced_choice priced{.peak = static_cast<double>(held), .dropped = dropped};
    if (held <= room) priced.step = static_cast<double>(takes);
    return priced;
  }
};

}  // namespace

TEST_SUITE("retention search") {
  TEST_CASE("what is found is no worse than anything that differs in one storage or two, and mostly the best of all") {
    sw::random_source random(3);
    const std::size_t count = shardweave_test::at_scale(200);
    std::size_t best = 0;
    for (std::size_t i = 0; i < count; ++i) {
      CAPTURE(i);
      const std::size_t n = 2 + random.below(7);
      const choices all(random, n);
      std::vector<std::uint32_t> free;
      for (std::uint32_t s = 0; s < n; ++s) free.push_back(s);
      std::size_t made = 0;
      const auto make = [&](const std::vector<char>& dropped) {
        ++made;
        return all(dropped);
      };
      const auto is_over = [] { return false; };
      const std::vector<char> none(n);
      const priced_choice found = sw::detail::search_retention(all(none), none, free, 100'000, make, is_over);
      double least = std::numeric_limits<double>::infinity();
      for (std::uint32_t some = 0; some < (1U << n); ++some) {
        std::vector<char> dropped(n);
        for (std::size_t s = 0; s < n; ++s) dropped[s] = static_cast<char>(some >> s & 1U);
        least = std::min(least, all(dropped).step);
      }
      CHECK(found.step >= least);
      best += found.step == least ? 1U : 0U;
      CHECK(made < 100'000);
      for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = 0; b < n; ++b) {
          std::vector<char> near = found.dropped;
          near[a] = near[a] != 0 ? 0 : 1;
          if (b != a) near[b] = near[b] != 0 ? 0 : 1;
          CHECK_FALSE(sw::detail::is_better(all(near), found));
        }

      made = 0;
      const priced_choice early = sw::detail::search_retention(all(none), none, free, 3, make, is_over);
      CHECK(made == 3);
      CHECK_FALSE(sw::detail::is_better(early, found));
      CHECK_FALSE(sw::detail::is_better(all(none), early));
      made = 0;
      const auto stopped = sw::detail::search_retention(all(none), none, free, 100, make, [] { return true; });
      CHECK(made == 0);
      CHECK(stopped.peak == all(none).peak);
      // a storage that is not free stays as it is
      free.pop_back();
      static_cast<void>(sw::detail::search_retention(
          all(none), none, free, 1000,
          [&](const std::vector<char>& dropped) {
            CHECK(dropped.back() == 0);
            return all(dropped);
          },
          is_over));
    }
    MESSAGE("best of all: " << best << " of " << count);
    CHECK(best * 10 >= count * 8);
  }

  TEST_CASE("where all choices are looked at the best is found, and none is ordered that its bound excludes") {
    sw::random_source random(5);
    std::size_t ordered = 0, made = 0;
    for (std::size_t i = 0; i < shardweave_test::at_scale(200); ++i) {
      CAPTURE(i);
      const std::size_t n = 1 + random.below(7);
      const choices all(random, n);
      std::vector<std::uint32_t> free;
      for (std::uint32_t s = 0; s < n; ++s) free.push_back(s);
      double least = std::numeric_limits<double>::infinity();
      for (std::uint32_t some = 0; some < (1U << n); ++some) {
        std::vector<char> dropped(n);
        for (std::size_t s = 0; s < n; ++s) dropped[s] = static_cast<char>(some >> s & 1U);
        least = std::min(least, all(dropped).step);
      }
      const std::vector<char> none(n);
      const auto make = [&](const std::vector<char>& dropped) {
        ++made;
        return priced_choice{.dropped = dropped};
      };
      choices without_limit = all;
      without_limit.room = std::numeric_limits<std::int64_t>::max();
      const auto bound = [&](const priced_choice& choice) { return without_limit(choice.dropped).step; };
      const auto order = [&](priced_choice& choice) {
        ++ordered;
        choice = all(choice.dropped);
      };
      const auto search = [&](double below, bool is_over = false) {
        return sw::detail::search_all_retention(priced_choice{}, below, none, free, make, bound, order,
                                                [=] { return is_over; });
      };
      CHECK(search(std::numeric_limits<double>::infinity()).step == least);
      CHECK(search(least + 1).step == least);
      CHECK(search(0).dropped.empty());  // nothing may be so soon
      CHECK(search(least + 1, true).dropped.empty());
    }
    CHECK(ordered < made / 2);
  }

  TEST_CASE("storages of the forward part may be dropped, and what that takes is told block by block") {
    sw::random_source random(11);
    std::size_t some_time = 0;
    for (std::size_t i = 0; i < shardweave_test::at_scale(40); ++i) {
      CAPTURE(i);
      const tiny_training::model m = tiny_training::random_model(random);
      const std::vector<sw::strategy> choice(m.times.size());
      const tiny_training::model::tasks all = m.lower_all(choice);
      const sw::task_graph& g = all.lowered.tasks;
      const std::vector<std::uint32_t> may = sw::detail::droppable_storages(g);
      for (const std::uint32_t s : all.droppable) CHECK(std::ranges::count(may, s) == 1);
      std::vector<std::uint32_t> block_of;
      for (const sw::task_origin& from : all.lowered.origin)
        block_of.push_back(m.block_of[from.operation] == ~0U ? sw::no_index : m.block_of[from.operation]);
      std::vector<char> dropped(g.storages().size());
      for (const std::uint32_t s : may) dropped[s] = static_cast<char>(random.below(2));
      const sw::recomputation_plan told = sw::detail::recomputation_of(g, dropped, block_of);
      REQUIRE(told.graph);
      CHECK(told.dropped == dropped);
      sw::nanoseconds time{};
      sw::bytes kept{};
      for (const sw::block_policy& policy : told.policies) {
        time += policy.time;
        kept += policy.kept;
      }
      CHECK(time == told.chosen.time);
      CHECK(kept == told.chosen.kept);
      CHECK(time <= sw::with_recomputation(g, dropped).compute);
      some_time += time > sw::nanoseconds(0) ? 1U : 0U;
      const sw::recomputation_plan everything =
          sw::detail::recomputation_of(g, std::vector<char>(g.storages().size()), block_of);
      CHECK(everything.chosen.time == sw::nanoseconds(0));
      CHECK(everything.chosen.kept >= kept);
    }
    CHECK(some_time > 0);
  }
}

}  // namespace retention_search_tests
