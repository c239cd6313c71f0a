#include "cost/flat_price.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/cost/collective_table.hpp>
#include <shardweave/cost/device_calibration.hpp>
#include <shardweave/cost/measurement.hpp>
#include <shardweave/cost/residual.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

using namespace shardweave;

namespace measurement_tests {
namespace {

using namespace flat_prices;

constexpr std::array measured_kinds{collective::all_gather, collective::reduce_scatter, collective::all_reduce,
                                    collective::all_to_all};

}  // namespace

TEST_SUITE("measurement") {
  TEST_CASE("rows are kept by collective, nodes, ranks per node, then size, repetitions in their order") {
    const std::vector<collective_measurement> given{
        measured(collective::all_reduce, {2, 1}, 8, 1),  measured(collective::all_gather, {8, 2}, 8, 2),
        measured(collective::all_gather, {4, 1}, 64, 3), measured(collective::all_gather, {4, 1}, 8, 5),
        measured(collective::all_gather, {4, 1}, 8, 4),  measured(collective::all_gather, {2, 2}, 8, 6),
        measured(collective::all_gather, {16, 1}, 1, 7)};
    std::vector<double> order;
    for (const auto& m : detail::sorted_measurements(given)) order.push_back(m.time_us);
    CHECK(order == std::vector<double>{5, 4, 3, 7, 6, 2, 1});
    std::vector<std::size_t> lengths;
    const auto sorted = detail::sorted_measurements(given);
    detail::for_each_curve(sorted, [&](std::span<const collective_measurement> c) { lengths.push_back(c.size()); });
    CHECK(lengths == std::vector<std::size_t>{3, 1, 1, 1, 1});
    CHECK(detail::sorted_measurements({}).empty());
  }

  TEST_CASE("a group of fewer than two ranks cannot be measured") {
    for (const group_shape group : {group_shape{1, 1}, {0, 2}, {2, 0}, {-2, -2}}) {
      const std::vector<collective_measurement> rows{measured(collective::reduce_scatter, group, 8, 1)};
      const std::string words = "a measured reduce_scatter of " + std::to_string(group.nodes) + " nodes with " +
                                std::to_string(group.ranks_per_node) + " ranks each: a collective needs two ranks";
      CHECK_THROWS_WITH_AS(detail::sorted_measurements(rows), words.c_str(), error);
      CHECK_THROWS_WITH_AS(every_second_size(rows), words.c_str(), error);
      CHECK_THROWS_WITH_AS(condensed(rows), words.c_str(), error);
      CHECK_THROWS_WITH_AS(collective_table<>{std::span<const collective_measurement>(rows)}, words.c_str(), error);
      CHECK_THROWS_WITH_AS(residual(flat_price{}, rows), words.c_str(), error);
    }
  }

  TEST_CASE("seen and unseen sizes take turns in each curve, and together are all rows") {
    random_source random(3);
    for (int round = 0; round < 50; ++round) {
      std::vector<collective_measurement> rows;
      for (std::size_t i = 0; i < 1 + random.below(30); ++i)
        rows.push_back(measured(measured_kinds[random.below(4)],
                                {2 + 2 * static_cast<std::int64_t>(random.below(2)), 1}, 1 << random.below(6),
                                1 + static_cast<double>(random.below(100))));
      for (const bool first : {true, false}) {
        const held_out parts = every_second_size(rows, first);
        CHECK(parts.seen.size() + parts.unseen.size() == rows.size());
        std::map<std::tuple<collective, std::int64_t>, std::set<std::int64_t>> sizes;
        for (const auto& m : rows) sizes[{m.kind, m.group.ranks()}].insert(m.size.count());
        const auto place_of = [&](const collective_measurement& m) {
          const auto& known = sizes.at({m.kind, m.group.ranks()});
          return static_cast<std::size_t>(std::distance(known.begin(), known.find(m.size.count())));
        };
        for (const auto& m : parts.seen) CHECK((place_of(m) % 2 == 0) == first);
        for (const auto& m : parts.unseen) CHECK((place_of(m) % 2 == 1) == first);
      }
    }
  }

  TEST_CASE("every second size is left out, repetitions together") {
    std::vector<collective_measurement> rows;
    for (const std::int64_t size : {64, 8, 16, 32, 8, 64})
      rows.push_back({collective::all_gather, {2, 1}, bytes(size), 1.0 + static_cast<double>(size)});
    rows.push_back({collective::all_gather, {4, 1}, bytes(16), 1});
    const held_out parts = every_second_size(rows);
    CHECK(parts.seen.size() == 4);    // 8, 8, 32 and the other group's only size
    CHECK(parts.unseen.size() == 3);  // 16, 64, 64
    for (const auto& m : parts.unseen) CHECK((m.size == bytes(16) || m.size == bytes(64)));
    const held_out other = every_second_size(rows, false);
    CHECK(other.seen.size() == parts.unseen.size());
    CHECK(other.unseen.size() == parts.seen.size());
  }
}

}  // namespace measurement_tests
