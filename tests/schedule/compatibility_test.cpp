#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/schedule/compatibility.hpp>
#include <shardweave/simulate/validate_schedule.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace compatibility_tests {
namespace {
namespace sw = shardweave;
}  // namespace

TEST_SUITE("compatibility") {
  TEST_CASE_TEMPLATE("a pass with its own buckets is its plan, and with others merges no more", Pass, sw::torch_default,
                     sw::torch_overlap_only, sw::torch_no_prebucket, sw::autoparallel_span_buckets,
                     sw::autoparallel_size_buckets) {
    std::size_t merged = 0;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      CAPTURE(seed);
      const sw::task_graph g = random_tasks(seed, {.blocks = 12});
      const sw::schedule whole = Pass{}.plan(g);
      CHECK_NOTHROW(sw::validate_schedule(g, whole));
      const sw::bucketing_result own = Pass{}(g);
      CHECK(own.buckets == whole.buckets);
      const sw::schedule again = Pass{}(g, own);
      CHECK(again.buckets == whole.buckets);
      CHECK(again.order == whole.order);
      const sw::bucketing_result other = sw::greedy{.fsdp_only = false}(g);
      const sw::schedule with_others = Pass{}(g, other);
      CHECK_NOTHROW(sw::validate_schedule(g, with_others));
      CHECK(with_others.buckets == other.buckets);
      merged += other.buckets.size();
    }
    CHECK(merged > 0);
  }

  TEST_CASE("who merges when is what the names say, within the limits that were published") {
    CHECK(sw::torch_default::passes().before.has_value());
    CHECK(sw::torch_default::passes().after.has_value());
    CHECK_FALSE(sw::torch_no_prebucket::passes().before.has_value());
    CHECK(sw::torch_no_prebucket::passes().after.has_value());
    const sw::overlap_passes alone = sw::torch_overlap_only::passes();
    CHECK((!alone.before && !alone.after && !alone.keep_hidden));
    for (const sw::overlap_passes& p :
         {sw::autoparallel_span_buckets::passes(), sw::autoparallel_size_buckets::passes()}) {
      CHECK(p.before.has_value());
      CHECK_FALSE(p.after.has_value());
      CHECK(p.settings.in_flight == sw::bytes(2LL << 30));
      CHECK(p.settings.compute_ahead == 50);
      CHECK(p.settings.candidates == 100);
    }
    CHECK(sw::autoparallel_size_buckets::passes().before->cap == sw::bytes(25LL << 20));  // 25 MiB
    CHECK_FALSE(sw::autoparallel_size_buckets::passes().before->span.has_value());        // whatever the distance
  }
}

}  // namespace compatibility_tests
