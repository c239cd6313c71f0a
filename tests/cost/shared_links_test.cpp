#include <shardweave/cost/shared_links.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace shared_links_tests {
namespace {

using namespace shardweave;

}  // namespace

TEST_SUITE("ends_on_shared_links") {
  /// The same by small steps of time.
  std::vector<double> ends_by_steps(const std::vector<collective_in_flight>& all) {
    std::vector<double> left, ends(all.size());
    for (const auto& c : all) left.push_back(c.alone.time_us - c.alone.latency_us);
    constexpr double step = 2e-3;
    for (double now = 0; std::any_of(ends.begin(), ends.end(), [](double e) { return e == 0; }); now += step) {
      double users[2] = {};
      const auto moves = [&](std::size_t i) { return all[i].alone.latency_us <= now && left[i] > 0; };
      for (std::size_t i = 0; i < all.size(); ++i)
        if (moves(i)) ++users[static_cast<std::size_t>(all[i].tier)];
      for (std::size_t i = 0; i < all.size(); ++i)
        if (moves(i) && (left[i] -= step / users[static_cast<std::size_t>(all[i].tier)]) <= 0) ends[i] = now + step;
    }
    return ends;
  }

  TEST_CASE("collectives on one tier share it, as small steps of time say") {
    std::mt19937_64 random(4);
    std::uniform_real_distribution<double> latency(0, 10), transfer(1, 40);
    for (int round = 0; round < 20; ++round) {
      std::vector<collective_in_flight> all(1 + random() % 5);
      double work[2] = {};
      for (auto& c : all) {
        c.tier = tier_of({8, 1 + static_cast<std::int64_t>(random() % 2)});
        c.alone.latency_us = latency(random);
        const double moving = transfer(random);
        c.alone.time_us = c.alone.latency_us + moving;
        work[static_cast<std::size_t>(c.tier)] += moving;
      }
      const std::vector<double> ends = ends_on_shared_links(all), expected = ends_by_steps(all);
      for (std::size_t i = 0; i < all.size(); ++i) {
        CHECK(ends[i] == doctest::Approx(expected[i]).epsilon(0.01));
        CHECK(ends[i] >= all[i].alone.time_us - 1e-9);
        CHECK(ends[i] <= all[i].alone.latency_us + work[static_cast<std::size_t>(all[i].tier)] + 10 + 1e-9);
      }
    }
  }

  TEST_CASE("alone, and on different tiers, nothing is slower; two alike take twice the transfer") {
    const collective_estimate price{.time_us = 30, .latency_us = 10};
    CHECK(ends_on_shared_links({}).empty());
    const std::vector<collective_in_flight> apart{{price, link_tier::inside}, {price, link_tier::between}};
    for (const double end : ends_on_shared_links(apart)) CHECK(end == doctest::Approx(30));
    const std::vector<collective_in_flight> together{{price, link_tier::inside}, {price, link_tier::inside}};
    for (const double end : ends_on_shared_links(together)) CHECK(end == doctest::Approx(50));
    const std::vector<collective_in_flight> nothing{{{}, link_tier::inside}, {price, link_tier::inside}};
    CHECK(ends_on_shared_links(nothing)[0] == 0);
    CHECK(ends_on_shared_links(nothing)[1] == doctest::Approx(30));
  }
}

}  // namespace shared_links_tests
