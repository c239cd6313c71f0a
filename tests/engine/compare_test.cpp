#include <shardweave/engine/compare.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

namespace sw = shardweave;
using ns = sw::nanoseconds;

TEST_SUITE("compare") {
  TEST_CASE("errors are measured less predicted, and shares of what was predicted") {
    constexpr sw::compared_time late{ns(200), ns(250)}, early{ns(200), ns(150)}, equal{ns(0), ns(0)},
        new_one{ns(0), ns(1)};
    CHECK(late.error() == ns(50));
    CHECK(late.relative_error() == 0.25);
    CHECK(early.error() == ns(-50));
    CHECK(early.relative_error() == -0.25);
    CHECK(equal.relative_error() == 0);
    CHECK(std::isinf(new_one.relative_error()));
  }

  TEST_CASE("every figure stands in its place, and the worst task is the one farthest off") {
    sw::timeline predicted, measured;
    predicted.start = predicted.end = {ns(10), ns(20), ns(30), ns(40)};
    measured.start = measured.end = {ns(11), ns(13), ns(37), ns(40)};
    predicted.channel_busy = {ns(5), ns(6)};
    measured.channel_busy = {ns(7), ns(6)};
    const auto fill = [](sw::timeline& line, std::int64_t from) {
      line.end_to_end = ns(from + 1);
      line.compute = ns(from + 2);
      line.packing = ns(from + 3);
      line.communication = ns(from + 4);
      line.exposed = ns(from + 5);
      line.tail = ns(from + 6);
    };
    fill(predicted, 100);
    fill(measured, 200);
    const sw::timeline_comparison c = sw::compare(predicted, measured);
    CHECK(c.end_to_end == sw::compared_time{ns(101), ns(201)});
    CHECK(c.compute == sw::compared_time{ns(102), ns(202)});
    CHECK(c.packing == sw::compared_time{ns(103), ns(203)});
    CHECK(c.communication == sw::compared_time{ns(104), ns(204)});
    CHECK(c.exposed == sw::compared_time{ns(105), ns(205)});
    CHECK(c.tail == sw::compared_time{ns(106), ns(206)});
    CHECK(c.channels == std::vector<sw::compared_time>{{ns(5), ns(7)}, {ns(6), ns(6)}});
    CHECK(c.worst == 1);  // too early by 7; task 2 is as far off, and comes later
    CHECK(c.worst_end == sw::compared_time{ns(20), ns(13)});
    const sw::timeline_comparison same = sw::compare(predicted, predicted);
    CHECK(same.worst == 0);
    CHECK(same.worst_end.error() == ns(0));
  }

  TEST_CASE("timelines of different schedules are refused, empty ones are not") {
    sw::timeline two, three;
    two.start = two.end = {ns(1), ns(2)};
    three.start = three.end = {ns(1), ns(2), ns(3)};
    CHECK_THROWS_WITH_AS(sw::compare(two, three), "the measured timeline has 3 tasks, expected 2 as the predicted one",
                         sw::error);
    three = two;
    three.channel_busy = {ns(1)};
    CHECK_THROWS_WITH_AS(sw::compare(two, three),
                         "the measured timeline has 1 channels, expected 0 as the predicted one", sw::error);
    CHECK(sw::compare({}, {}).worst == sw::no_index);
  }
}
