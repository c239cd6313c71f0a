#include <shardweave/core/random.hpp>
#include <shardweave/engine/busy_work.hpp>
#include <shardweave/engine/compare.hpp>
#include <shardweave/engine/group_ranks.hpp>
#include <shardweave/engine/payload.hpp>
#include <shardweave/engine/rank_correlation.hpp>
#include <shardweave/engine/reprice.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>
#include <support/small_tasks.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;
using shardweave_test::refusal_of;

namespace group_ranks_tests {
namespace {}  // namespace

TEST_SUITE("group_ranks") {
  TEST_CASE("a layout is made from size, distance or the ranks that are listed") {
    struct row {
      sw::process_group group;
      std::int64_t world;
      std::optional<sw::rank_layout> layout;
    };
    using ranks = std::vector<std::int64_t>;
    for (const row& r : {
             row{{.size = 4, .stride = 2}, 8, sw::rank_layout{4, 2}},
             row{{.size = 4, .stride = 2}, 16, sw::rank_layout{4, 2}},
             row{{.size = 4, .stride = 3}, 16, std::nullopt},
             row{{.size = 3}, 8, std::nullopt},
             row{{.ranks = ranks{0, 1, 2, 3}}, 8, sw::rank_layout{4, 1}},
             row{{.ranks = ranks{1, 3, 5, 7}}, 8, sw::rank_layout{4, 2}},
             row{{.ranks = ranks{5, 7}}, 8, sw::rank_layout{2, 2}},
             row{{.ranks = ranks{6}}, 8, sw::rank_layout{1, 1}},
             row{{.size = 8, .ranks = ranks{0, 1}}, 16, sw::rank_layout{8, 1}},  // a list may leave ranks out
             row{{.ranks = ranks{3, 1}}, 4, std::nullopt},                       // against the order
             row{{.ranks = ranks{2, 2}}, 4, std::nullopt},
             row{{.size = 4, .stride = 0}, 8, std::nullopt},
             row{{.size = 4, .stride = -1}, 8, std::nullopt},
             row{{.size = 1, .stride = 0}, 8, sw::rank_layout{1, 1}},
             row{{.size = std::int64_t{1} << 62, .stride = 4}, 8, std::nullopt},
             row{{.size = 2, .stride = std::int64_t{1} << 62}, 8, std::nullopt},
         }) {
      CAPTURE(r.group.size);
      CAPTURE(r.group.ranks.size());
      std::optional<sw::rank_layout> found;
      const std::string words = refusal_of([&] { return found = sw::layout_of(r.group, r.world); });
      CHECK(found == r.layout);
      CHECK(words.empty() == r.layout.has_value());
    }
  }

  TEST_CASE("a list that begins in the middle of a group is refused: its ranks belong to two") {
    CHECK(refusal_of([] {
            return sw::layout_of({.id = 4, .name = "tp", .ranks = {2, 4}}, 8);
          }) == "group 4 (tp) begins with rank 2, expected a first rank of groups of 2 ranks, 2 apart");
    CHECK(refusal_of([] {
            return sw::layout_of({.id = 4, .ranks = {1, 2, 3, 4}}, 8);
          }) == "group 4 begins with rank 1, expected a first rank of groups of 4 ranks, 1 apart");
    // every group of a division is accepted, and leads to that division
    for (const sw::rank_layout layout : {sw::rank_layout{2, 1}, {2, 4}, {4, 3}, {3, 2}, {6, 2}})
      for (std::int64_t r = 0; r < 24; ++r) CHECK(sw::layout_of({.ranks = layout.members(r)}, 24) == layout);
  }

  TEST_CASE("labels tell groups apart, with a name and without") {
    CHECK(sw::label_of({.id = 3, .name = "dp"}) == "group 3 (dp)");
    CHECK(sw::label_of({.id = -1}) == "group -1");
  }

  TEST_CASE("shapes are what counting ranks node by node gives, and uneven groups are refused") {
    std::size_t even = 0, uneven = 0;
    for (const std::int64_t world : {1, 4, 6, 8, 12, 24})
      for (std::int64_t size = 1; size <= world; ++size)
        for (std::int64_t stride = 1; size * stride <= world; ++stride) {
          if (world % (size * stride) != 0) continue;
          for (const std::int64_t per_node : {1, 2, 3, 4, 6, 8, 24}) {
            const sw::process_group group{.id = 1, .size = size, .stride = stride};
            std::map<std::int64_t, std::int64_t> nodes;
            for (std::int64_t i = 0; i < size; ++i) ++nodes[i * stride / per_node];
            bool same = true;
            for (const auto& [node, count] : nodes) same = same && count == nodes.at(0);
            std::vector<sw::group_shape> found;
            const std::string words =
                refusal_of([&] { return found = sw::shapes_of(std::span(&group, 1), world, per_node); });
            CAPTURE(size);
            CAPTURE(stride);
            CAPTURE(per_node);
            if (same) {
              REQUIRE(found.size() == 1);
              CHECK(found[0] == sw::group_shape{nodes.at(0), static_cast<std::int64_t>(nodes.size())});
              ++even;
            } else {
              CHECK(words == "group 1 has " + std::to_string(nodes.at(0)) + " of its " + std::to_string(size) +
                                 " ranks on the first node, expected as many on each");
              ++uneven;
            }
          }
        }
    CHECK(even > 100);
    CHECK(uneven > 20);
    CHECK(refusal_of([] { return sw::shapes_of({}, 8, 0); }) == "nodes of 0 ranks, expected one or more on each");
  }
}

TEST_SUITE("reprice") {
  struct ten_per_rank {
    [[nodiscard]] sw::collective_estimate estimate(sw::collective, sw::bytes, sw::group_shape group) const {
      return {.time_us = static_cast<double>(10 * group.ranks())};
    }
  };
  sw::task_graph one_of_each() {
    sw::task_graph_builder b;
    b.name = "n";
    b.description = "d";
    b.device.dram_bytes_per_ns = 5;
    b.add_group({.id = 3, .size = 4});
    b.add_storage({.size = sw::bytes(64)});
    b.add_task(small_tasks::work("a", 7));
    b.add_task(small_tasks::gather("g", 30, {0}, 16));
    b.add_task(small_tasks::wait_for("w", 1));
    b.fused_durations = {sw::nanoseconds(3), sw::nanoseconds(30), sw::nanoseconds(0)};
    return std::move(b).build();
  }
  const std::vector<sw::group_shape> four{{4, 1}};

  TEST_CASE("durations of fused tasks are scaled too, those of collectives are the model's") {
    const sw::task_graph h = sw::reprice(one_of_each(), ten_per_rank{}, four, {.compute_scale = 3});
    CHECK(h.duration(0) == sw::nanoseconds(21));
    CHECK(h.duration(1) == sw::nanoseconds(40'000));
    REQUIRE(h.fused_durations().size() == 3);
    CHECK(h.fused_durations()[0] == sw::nanoseconds(9));
    CHECK(h.fused_durations()[1] == sw::nanoseconds(40'000));
    CHECK(h.name == "n");
    CHECK(h.description == "d");
    CHECK(h.device().dram_bytes_per_ns == 5);
    CHECK(h.storages().size() == 1);
    REQUIRE(h.table(sw::collective::all_gather, 0) != nullptr);
    CHECK((*h.table(sw::collective::all_gather, 0))(sw::bytes(16)) == sw::nanoseconds(40'000));
  }

  TEST_CASE("a scale that is none is refused, and 0 takes all computation away") {
    const sw::task_graph g = one_of_each();
    CHECK(sw::reprice(g, ten_per_rank{}, four, {.compute_scale = 0}).duration(0) == sw::nanoseconds(0));
    CHECK(refusal_of([&] { return sw::reprice(g, ten_per_rank{}, four, {.compute_scale = -1}).size(); }) ==
          "computation that takes -1 times as long, expected a finite factor, not negative");
    CHECK(refusal_of([&] { return sw::reprice(g, ten_per_rank{}, four, {.compute_scale = std::nan("")}).size(); }) ==
          "computation that takes nan times as long, expected a finite factor, not negative");
  }
}

TEST_SUITE("payload") {
  TEST_CASE("a dtype travels as a type of its size, floats of 32 and 64 bits as themselves") {
    using enum sw::element_type;
    for (const auto& [dtype, type, width] :
         std::vector<std::tuple<const char*, sw::element_type, std::int64_t>>{{"f32", f32, 4},
                                                                              {"float32", f32, 4},
                                                                              {"f64", f64, 8},
                                                                              {"float64", f64, 8},
                                                                              {"i64", u64, 8},
                                                                              {"int64", u64, 8},
                                                                              {"i32", u32, 4},
                                                                              {"uint32", u32, 4},
                                                                              {"bf16", u16, 2},
                                                                              {"f16", u16, 2},
                                                                              {"float16", u16, 2},
                                                                              {"i16", u16, 2},
                                                                              {"i8", u8, 1},
                                                                              {"u8", u8, 1},
                                                                              {"bool", u8, 1},
                                                                              {"f8e4m3", u8, 1},
                                                                              {"", u8, 1},
                                                                              {"complex64", u64, 8}}) {
      CAPTURE(std::string(dtype));
      CHECK(sw::element_of(dtype) == type);
      CHECK(sw::width_of(sw::element_of(dtype)) == width);
      CHECK(sw::with_element(type, [](auto zero) { return static_cast<std::int64_t>(sizeof zero); }) == width);
    }
    CHECK(sw::reduce_op_of("max") == sw::reduce_op::max);
    CHECK(sw::reduce_op_of("min") == sw::reduce_op::min);
    for (const char* name : {"sum", "avg", "none", ""}) CHECK(sw::reduce_op_of(name) == sw::reduce_op::sum);
  }

  TEST_CASE("buffers are blocks of the ranks that send or receive") {
    struct row {
      sw::collective op;
      std::int64_t in, unit, send, receive;
    };
    // four ranks, two bytes per element
    for (const row& r :
         {row{sw::collective::all_gather, 10, 5, 10, 40}, row{sw::collective::reduce_scatter, 40, 5, 40, 10},
          row{sw::collective::all_reduce, 10, 5, 10, 10}, row{sw::collective::all_to_all, 40, 5, 40, 40},
          row{sw::collective::all_gather, 11, 6, 12, 48}, row{sw::collective::all_to_all, 41, 6, 48, 48}}) {
      CAPTURE(std::string(sw::name_of(r.op)));
      const auto shape = sw::payload_of({.op = r.op, .dtype = "bf16", .bytes_in = sw::bytes(r.in)}, 4);
      CHECK(shape.unit == r.unit);
      CHECK(shape.send_size() == sw::bytes(r.send));
      CHECK(shape.receive_size() == sw::bytes(r.receive));
      CHECK(shape.ranks == 4);
    }
  }

  TEST_CASE("members stand side by side in every block of a bucket") {
    const std::vector<sw::bucket_part> parts{{5, sw::bytes(8)}, {9, sw::bytes(24)}};
    const auto shape = sw::payload_of({.op = sw::collective::reduce_scatter, .dtype = "f32", .parts = parts}, 2);
    CHECK(shape.tasks == std::vector<sw::task_index>{5, 9});
    CHECK(shape.units == std::vector<std::int64_t>{1, 3});
    std::string places;
    sw::for_each_unit(shape, shape.send_blocks(),
                      [&](std::size_t at, std::size_t from, std::size_t m, std::size_t size) {
                        places += std::to_string(at) + "<-" + std::to_string(m) + "@" + std::to_string(from) + "+" +
                                  std::to_string(size) + " ";
                      });
    CHECK(places == "0<-0@0+4 4<-1@0+12 16<-0@4+4 20<-1@12+12 ");
  }

  TEST_CASE("what must come out of two ranks is worked out from what they send") {
    const auto value = [](std::int64_t rank, std::int64_t element) { return sw::payload_value(6, rank, element); };
    const auto expected = [&](sw::collective op, const char* reduce, std::int64_t position, std::int64_t element) {
      return sw::expected_value(
          sw::payload_of({.task = 6, .op = op, .dtype = "i32", .reduce = reduce, .bytes_in = sw::bytes(16)}, 2), 0,
          position, element);
    };
    for (const std::int64_t rank : {0, 1}) {
      // a gather holds both ranks' four elements, whoever asks
      CHECK(expected(sw::collective::all_gather, "none", rank, 1) == value(0, 1));
      CHECK(expected(sw::collective::all_gather, "none", rank, 6) == value(1, 2));
      // a reduce-scatter leaves two of four elements with each rank
      CHECK(expected(sw::collective::reduce_scatter, "sum", rank, 1) ==
            value(0, 2 * rank + 1) + value(1, 2 * rank + 1));
      CHECK(expected(sw::collective::all_reduce, "max", rank, 3) == std::max(value(0, 3), value(1, 3)));
      CHECK(expected(sw::collective::all_reduce, "min", rank, 3) == std::min(value(0, 3), value(1, 3)));
      // an all-to-all brings the own two elements of each rank
      CHECK(expected(sw::collective::all_to_all, "none", rank, 0) == value(0, 2 * rank));
      CHECK(expected(sw::collective::all_to_all, "none", rank, 3) == value(1, 2 * rank + 1));
    }
  }

  TEST_CASE("a wrong element is told with its place, its value and the right one") {
    const auto shape = sw::payload_of(
        {.task = 6, .op = sw::collective::all_reduce, .dtype = "f64", .reduce = "sum", .bytes_in = sw::bytes(32)}, 1);
    std::vector<std::byte> received(32);
    sw::fill_payload(shape, 0, 0, received);
    CHECK(sw::payload_fault(shape, 0, 0, received).empty());
    const double wrong = 99.5;
    std::memcpy(received.data() + 16, &wrong, sizeof wrong);
    CHECK(sw::payload_fault(shape, 0, 0, received) ==
          "holds 99.500000 at element 2, expected " + std::to_string(static_cast<double>(sw::payload_value(6, 0, 2))));
  }
}

TEST_SUITE("compare") {
  TEST_CASE("errors change sign with the sides, and the worst task is one that is farthest off") {
    sw::random_source random(41);
    for (int round = 0; round < 100; ++round) {
      sw::timeline a, b;
      const auto any = [&] { return sw::nanoseconds(static_cast<std::int64_t>(random.below(50))); };
      for (std::size_t i = 0; i < 1 + random.below(8); ++i) {
        a.end.push_back(any());
        b.end.push_back(any());
      }
      a.channel_busy = {any(), any()};
      b.channel_busy = {any(), any()};
      a.end_to_end = any();
      b.end_to_end = any();
      const auto forth = sw::compare(a, b), back = sw::compare(b, a);
      CHECK(forth.end_to_end.error() == -back.end_to_end.error());
      CHECK(forth.worst == back.worst);
      for (std::size_t c = 0; c < 2; ++c) CHECK(forth.channels[c].error() == -back.channels[c].error());
      const auto off = [](const sw::compared_time& t) { return std::abs(t.error().count()); };
      for (std::size_t t = 0; t < a.end.size(); ++t) {
        const sw::compared_time end{a.end[t], b.end[t]};
        CHECK(off(end) <= off(forth.worst_end));
        if (t < forth.worst) CHECK(off(end) < off(forth.worst_end));
      }
    }
  }
}

TEST_SUITE("rank_correlation") {
  TEST_CASE("the correlation of places is Spearman's") {
    const std::vector<double> a{1, 2, 3, 4, 5}, b{5, 6, 7, 8, 7}, c{2, 1, 4, 3, 5};
    // 1 - 6 sum d^2 / (n (n^2 - 1)) where nothing is equal
    CHECK(sw::place_correlation(a, c) == doctest::Approx(1 - 6. * 4 / (5 * 24)));
    CHECK(sw::place_correlation(a, b) == doctest::Approx(0.8208).epsilon(1e-3));  // a textbook's, with a tie
    CHECK(sw::place_correlation(a, a) == doctest::Approx(1));
    CHECK(sw::place_correlation(a, std::vector<double>{5, 4, 3, 2, 1}) == doctest::Approx(-1));
    CHECK(std::isnan(sw::place_correlation(a, std::vector<double>(5, 1.0))));
  }

  TEST_CASE("it is the difference of agreeing and disagreeing pairs over what ties leave") {
    sw::random_source random(42);
    for (int round = 0; round < 200; ++round) {
      const std::size_t n = 2 + random.below(9);
      std::vector<double> a(n), b(n);
      for (double& x : a) x = static_cast<double>(random.below(5));
      for (double& x : b) x = static_cast<double>(random.below(5)) - 2;
      double alike = 0, unlike = 0, pairs = 0, tied_a = 0, tied_b = 0;
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = i + 1; j < n; ++j) {
          ++pairs;
          if (a[i] == a[j]) ++tied_a;
          if (b[i] == b[j]) ++tied_b;
          if ((a[i] < a[j] && b[i] < b[j]) || (a[i] > a[j] && b[i] > b[j])) ++alike;
          if ((a[i] < a[j] && b[i] > b[j]) || (a[i] > a[j] && b[i] < b[j])) ++unlike;
        }
      const double found = sw::rank_correlation(a, b);
      if (tied_a == pairs || tied_b == pairs) {
        CHECK(std::isnan(found));
        continue;
      }
      CHECK(found == doctest::Approx((alike - unlike) / std::sqrt((pairs - tied_a) * (pairs - tied_b))));
      CHECK(sw::rank_correlation(b, a) == doctest::Approx(found));
      // only the order counts
      std::vector<double> grown = a, turned = a;
      for (double& x : grown) x = std::exp(3 * x);
      for (double& x : turned) x = -x;
      CHECK(sw::rank_correlation(grown, b) == doctest::Approx(found));
      CHECK(sw::rank_correlation(turned, b) == doctest::Approx(-found));
    }
    CHECK(std::isnan(sw::rank_correlation({}, {})));
  }
}

TEST_SUITE("busy_work") {
  TEST_CASE("a duration is cut into slices, the last one shorter, none for nothing") {
    sw::busy_work work(sw::nanoseconds(100'000));
    for (const auto& [duration, slice, calls] : std::vector<std::array<std::int64_t, 3>>{{0, 10, 0},
                                                                                         {-5, 10, 0},
                                                                                         {1, 10, 1},
                                                                                         {10, 10, 1},
                                                                                         {11, 10, 2},
                                                                                         {1000, 100, 10},
                                                                                         {1001, 100, 11},
                                                                                         {50, 1'000'000, 1}}) {
      std::int64_t found = 0;
      work.run(sw::nanoseconds(duration), sw::nanoseconds(slice), [&] { ++found; });
      CHECK(found == calls);
    }
    CHECK(std::isfinite(work.units_per_ns()));
    CHECK(sw::busy_work(sw::nanoseconds(0)).units_per_ns() > 0);  // measures once, however short the time
  }
}

TEST_SUITE("layout_of") {
  TEST_CASE("ranks that a run does not have are refused by number") {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    CHECK_THROWS_WITH_AS(sw::layout_of({.size = 2, .ranks = {-most, most}}, 8),
                         doctest::Contains("lists rank -9223372036854775807, but this run has 8"), sw::error);
    CHECK_THROWS_WITH_AS(sw::layout_of({.size = 2, .ranks = {0, 8}}, 8), doctest::Contains("lists rank 8"), sw::error);
  }
}

}  // namespace group_ranks_tests
