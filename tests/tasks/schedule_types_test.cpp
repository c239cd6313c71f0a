#include <shardweave/tasks/schedule_types.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace sw = shardweave;

TEST_SUITE("schedule_types") {
  TEST_CASE("each task knows its bucket, and the member that leads it") {
    std::vector<sw::bucket> buckets(2);
    buckets[0].members = {4, 1};
    buckets[1].members = {2};
    CHECK(sw::bucket_of_tasks(6, buckets) ==
          std::vector<std::uint32_t>{sw::no_index, 0, 1, sw::no_index, 0, sw::no_index});
    CHECK(sw::launch_leaders(6, buckets) == std::vector<sw::task_index>{0, 4, 2, 3, 4, 5});
    CHECK(sw::bucket_of_tasks(1, {}) == std::vector<std::uint32_t>{sw::no_index});
    CHECK(sw::launch_leaders(2, {}) == std::vector<sw::task_index>{0, 1});
  }
}
