#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/bucket_cost.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/cost/contention.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/fusion_group.hpp>
#include <shardweave/cost/shared_links.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <vector>

using namespace shardweave;

namespace compute_profile_tests {
TEST_SUITE("compute_profile") {
  TEST_CASE("flat shares give the times of the roofline") {
    const roofline flat{find_device("h100")};
    const compute_profile same(flat);
    for (std::int64_t n = 1; n < 1 << 15; n *= 2)
      for (const arithmetic kind : {arithmetic::f64, arithmetic::f32, arithmetic::f16, arithmetic::i8}) {
        const device_work work = work_of({1, n, 4096, n}, 2, kind);
        for (const kernel_kind kernel :
             {kernel_kind::matrix_product, kernel_kind::attention, kernel_kind::attention_backward})
          CHECK(same.compute_time(work, kernel) == doctest::Approx(flat.compute_time(work)));
        CHECK(same.compute_time(work, kernel_kind::memory_bound) == doctest::Approx(flat.memory_time(work.moved)));
        CHECK(same.memory_time(work.moved) == doctest::Approx(flat.memory_time(work.moved)));
      }
  }

  TEST_CASE("the published curve of matrix products is met") {
    // share = 0.742 a^1.47 / (a^1.47 + 150^1.47), a operations per byte
    const compute_profile h100 = find_preset("h100").compute();
    const device_work work = work_of({1, 8192, 8192, 8192}, 2);
    const double intensity = work.flops / static_cast<double>(work.moved.count());
    CHECK(intensity == doctest::Approx(8192.0 / 3));
    const double raised = std::pow(intensity, 1.47);
    const double share = 0.742 * raised / (raised + std::pow(150, 1.47));
    CHECK(h100.compute_time(work) == doctest::Approx(work.flops / (989e12 * share) * 1e6));
    CHECK(find_preset("h100").shares.product.at(150) == doctest::Approx(0.371));
    CHECK(h100.compute_time(work_of({1, 64, 64, 64}, 2)) == 9);  // no product is shorter than its floor
  }

  TEST_CASE("more rows never take less time") {
    const compute_profile h100 = find_preset("h100").compute();
    for (const std::int64_t inner : {512, 4096, 16384}) {
      double last = 0;
      for (std::int64_t rows = 64; rows <= 1 << 17; rows += rows / 4) {
        const double now = h100.compute_time(work_of({1, rows, inner, 4096}, 2));
        CHECK(now >= last * (1 - 1e-12));
        last = now;
      }
    }
  }

  TEST_CASE("arithmetic without a rate is refused") {
    compute_profile blank;
    blank.device.name = "blank";
    blank.device.memory_bandwidth = 1e12;
    CHECK(blank.compute_time({0, bytes(8), arithmetic::i8}) == 7);
    CHECK_THROWS_WITH_AS(blank.compute_time({1, bytes(8), arithmetic::i8}),
                         "device 'blank' states no rate for this kind of arithmetic", error);
  }
}

TEST_SUITE("fit_saturation") {
  TEST_CASE("a curve is found again from its points, in spite of outliers") {
    const saturation truth{0.742, 150, 1.47};
    std::vector<reached_share> points;
    for (double x = 5; x < 5000; x *= 1.3) points.push_back({x, truth.at(x)});
    points[3].share *= 4;
    const saturation found = fit_saturation(points);
    for (double x = 10; x < 5000; x *= 1.7) CHECK(found.at(x) == doctest::Approx(truth.at(x)).epsilon(0.03));
  }

  TEST_CASE("flat shares stay flat, and wrong points are refused") {
    const std::vector<reached_share> flat{{1, 0.7}, {10, 0.7}, {100, 0.7}};
    CHECK(fit_saturation(flat).at(1) == doctest::Approx(0.7).epsilon(0.01));
    CHECK(fit_saturation(flat).at(1e6) == doctest::Approx(0.7).epsilon(0.01));
    CHECK_THROWS_WITH_AS(fit_saturation({}), "a curve of shares needs a measurement", error);
    const std::vector<reached_share> wrong{{1, -0.5}};
    CHECK_THROWS_AS(fit_saturation(wrong), error);
    CHECK(saturation{}.at(7) == 1);
    CHECK(saturation{1, 10, 1}.at(0) == 0);
  }
}

TEST_SUITE("fusion_group") {
  TEST_CASE("only what crosses the border moves") {
    // c = a + b; d = c * a; only d is used outside
    fusion_group group;
    group.reads(0, bytes(100)).reads(1, bytes(100)).writes(2, bytes(100), false);
    group.reads(2, bytes(100)).reads(0, bytes(100)).writes(3, bytes(100), true);
    CHECK(group.work().moved == bytes(300));
    CHECK(group.work().flops == 0);
    group.computes(50).computes(25);
    CHECK(group.work().flops == 75);
  }

  TEST_CASE("a tensor that is read inside and outside leaves once") {
    fusion_group group;
    group.reads(0, bytes(8)).writes(1, bytes(8), true).reads(1, bytes(8)).writes(1, bytes(8), true);
    CHECK(group.work().moved == bytes(16));
    CHECK(fusion_group().work().moved == bytes(0));
  }

  TEST_CASE("random chains move what a count by sets says, and never more than apart") {
    std::mt19937_64 random(3);
    for (int round = 0; round < 200; ++round) {
      fusion_group together;
      std::set<std::uint64_t> written, read_before_written, left;
      std::int64_t apart = 0;
      for (int op = 0; op < 6; ++op) {
        for (int k = 0; k < 2; ++k) {
          const std::uint64_t t = random() % 8;
          together.reads(t, bytes(static_cast<std::int64_t>(t) + 1));
          apart += static_cast<std::int64_t>(t) + 1;
          if (!written.contains(t)) read_before_written.insert(t);
        }
        const std::uint64_t t = 100 + random() % 4;
        const bool leaves = random() % 2 == 0;
        together.writes(t, bytes(static_cast<std::int64_t>(t)), leaves);
        apart += static_cast<std::int64_t>(t);
        written.insert(t);
        if (leaves) left.insert(t);
      }
      std::int64_t expected = 0;
      for (const std::uint64_t t : read_before_written) expected += static_cast<std::int64_t>(t) + 1;
      for (const std::uint64_t t : left) expected += static_cast<std::int64_t>(t);
      CHECK(together.work().moved.count() == expected);
      CHECK(together.work().moved.count() <= apart);
    }
  }
}

TEST_SUITE("contention") {
  TEST_CASE("published slowdowns are of the model's order") {
    const contention h100;
    // a product of exactly one wave under 24 channels needs two: 80 to 47 % of peak is 1.7
    CHECK(h100.slowdown({.blocks = 132}, {.channels = 24}) == doctest::Approx(2));
    // large products lose their share of the multiprocessors: 132 / 108
    CHECK(h100.slowdown({}, {.channels = 24}) == doctest::Approx(132.0 / 108));
    CHECK(h100.slowdown({.blocks = 132 * 100}, {.channels = 24}) == doctest::Approx(1.23));  // 123 waves for 100
    CHECK(h100.slowdown({}, {.channels = 2}) < 1.02);
    // copy engines leave a product alone, and a memory-bound kernel loses what the wire takes
    CHECK(h100.slowdown({}, {.channels = 0, .wire_bandwidth = 360}) == 1);
    CHECK(h100.slowdown({.memory_share = 1}, {.channels = 0, .wire_bandwidth = 360}) ==
          doctest::Approx(1 / (1 - 2.5 * 360 / 3350)));
  }

  TEST_CASE("a factor is at least 1, grows with channels, and terms can be switched off") {
    contention c;
    for (const std::int64_t blocks : {0, 1, 131, 132, 133, 500, 10000}) {
      double last = 1;
      for (int channels = 0; channels <= 140; ++channels) {
        const double now = c.slowdown({.blocks = blocks}, {.channels = static_cast<double>(channels)});
        CHECK(now >= last);
        last = now;
      }
    }
    c.counts_processors = false;
    CHECK(c.slowdown({.blocks = 132}, {.channels = 24}) == 1);
    c.compute_factor = 1.2;
    CHECK(c.slowdown({}, {.channels = 24}) == doctest::Approx(1.2));
    c.counts_memory = false;
    CHECK(c.slowdown({.memory_share = 1}, {.wire_bandwidth = 1e9}) == doctest::Approx(1.2));
    CHECK(c.collective_slowdown() == doctest::Approx(1.1));
  }
}

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

TEST_SUITE("price_bucket") {
  TEST_CASE("a bucket of a line saves its launches and pays for its copies") {
    struct line {
      collective_estimate estimate(collective, bytes size, group_shape) const {
        collective_estimate e;
        e.time_us = 20 + static_cast<double>(size.count()) / 1e5;  // 100 GB/s
        return e;
      }
    };
    const std::vector<bytes> sizes{bytes(1'000'000), bytes(2'000'000), bytes(3'000'000)};
    const bucket_trade free = price_bucket(line{}, collective::all_reduce, sizes, {8, 1}, 0);
    CHECK(free.apart_us == doctest::Approx(60 + 60));
    CHECK(free.merged_us == doctest::Approx(20 + 60));
    CHECK(free.saved_us() == doctest::Approx(40));
    const bucket_trade copied = price_bucket(line{}, collective::all_reduce, sizes, {8, 1}, 1000);
    CHECK(copied.copies_us == doctest::Approx(24));  // in and out, read and written: 4 x 6 MB at 1000 GB/s
    CHECK(copied.is_worthwhile());
    CHECK_FALSE(price_bucket(line{}, collective::all_reduce, sizes, {8, 1}, 500).is_worthwhile());
    // of an all-gather only the outputs are large
    CHECK(price_bucket(line{}, collective::all_gather, sizes, {8, 1}, 1000).copies_us == doctest::Approx(12 * 1.125));
    const std::vector<bytes> one{bytes(1'000'000)};
    CHECK(price_bucket(line{}, collective::all_gather, one, {8, 1}, 1000).saved_us() == 0);
    CHECK(bucketing_factor(line{}, collective::all_reduce, bytes(10'000'000), bytes(1'000'000), {8, 1}) ==
          doctest::Approx(300.0 / 120));
    CHECK(bucketing_factor(line{}, collective::all_reduce, bytes(10'000'000), bytes(4'000'000), {8, 1}) ==
          doctest::Approx(160.0 / 120));
  }
}

}  // namespace compute_profile_tests
