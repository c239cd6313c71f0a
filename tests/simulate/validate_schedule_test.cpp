#include <shardweave/simulate/validate_schedule.hpp>
#include <shardweave/tasks/bucket_costs.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>

#include <numeric>
#include <string>

namespace sw = shardweave;

namespace validate_schedule_tests {
namespace {
/// 0 x, 1 c1, 2 c2, 3 w1, 4 w2, 5 mm(w1, w2), 6 other op, 7 other group, 8 other dtype, 9 other reduction,
/// 10 and 11 all_to_all, 12 c without a wait, 13 c with a foreign user 14, 15 wait for 13, 16 w of c 6..9
struct fixture {
  sw::task_graph g;
  sw::schedule s;
  fixture() {
    sw::task_graph_builder b;
    b.add_group({});
    b.add_group({});
    b.add_task({.name = "x", .kind = sw::task_kind::input});
    const auto launch = [&](const char* name, sw::collective op, std::uint32_t group, const char* dtype,
                            const char* reduce) {
      return b.add_task({.name = name,
                         .kind = sw::task_kind::collective,
                         .inputs = {0},
                         .collective = sw::collective_record{op, group, sw::bytes(4), sw::bytes(6), dtype, reduce}});
    };
    const auto wait = [&](const char* name, sw::task_index c) {
      return b.add_task({.name = name, .kind = sw::task_kind::wait, .inputs = {c}, .completes = c});
    };
    launch("c1", sw::collective::all_reduce, 0, "f32", "sum");
    launch("c2", sw::collective::all_reduce, 0, "f32", "sum");
    wait("w1", 1);
    wait("w2", 2);
    b.add_task({.name = "mm", .kind = sw::task_kind::compute, .inputs = {3, 4}});
    launch("op", sw::collective::all_gather, 0, "f32", "sum");
    launch("group", sw::collective::all_reduce, 1, "f32", "sum");
    launch("dtype", sw::collective::all_reduce, 0, "bf16", "sum");
    launch("reduce", sw::collective::all_reduce, 0, "f32", "avg");
    launch("a2a1", sw::collective::all_to_all, 0, "f32", "none");
    launch("a2a2", sw::collective::all_to_all, 0, "f32", "none");
    launch("lonely", sw::collective::all_reduce, 0, "f32", "sum");
    launch("used", sw::collective::all_reduce, 0, "f32", "sum");
    b.add_task({.name = "user", .inputs = {13}});
    wait("w13", 13);
    g = std::move(b).build();
    s.order.resize(g.size());
    std::iota(s.order.begin(), s.order.end(), 0u);
  }
  void merge(std::vector<sw::task_index> members) { s.buckets.push_back(sw::make_bucket(g, std::move(members))); }
};
}  // namespace

TEST_SUITE("validate_schedule") {
  TEST_CASE("good schedules pass") {
    fixture f;
    CHECK_NOTHROW(sw::validate_schedule(f.g, f.s));
    f.merge({1, 2});
    CHECK_NOTHROW(sw::validate_schedule(f.g, f.s));
    f.s.after = {{5, 6}};
    CHECK_NOTHROW(sw::validate_schedule(f.g, f.s));
  }
  TEST_CASE("bad schedules are refused, and the message names the culprit") {
    fixture f;
    std::string expected;
    SUBCASE("too few tasks") {
      f.s.order.pop_back();
      expected = "the order lists 15 tasks, expected each of 16 once";
    }
    SUBCASE("an unknown task") {
      f.s.order[3] = 77;
      expected = "position 3 of the order names task 77, but there are only 16";
    }
    SUBCASE("a task twice") {
      f.s.order[3] = 1;
      expected = "the order lists task 1 (c1) at positions 1 and 3";
    }
    SUBCASE("a user before its producer") {
      std::swap(f.s.order[4], f.s.order[5]);
      expected = "the order has task 5 (mm) at position 4, before task 4 (w2), on which it depends, at position 5";
    }
    SUBCASE("an added dependency on an unknown task") {
      f.s.after = {{3, 99}};
      expected = "an added dependency names task 99, but there are only 16";
    }
    SUBCASE("an added dependency that is broken") {
      f.s.after = {{6, 5}};
      expected = "the order breaks the added dependency of task 5 (mm) on task 6 (op)";
    }
    SUBCASE("a bucket of one") {
      f.merge({1});
      expected = "bucket 0 has 1 member, expected two or more";
    }
    SUBCASE("a bucket with an unknown task") {
      f.merge({1, 2});
      f.s.buckets[0].members[1] = 50;
      expected = "bucket 0 names task 50, but there are only 16";
    }
    SUBCASE("a bucket with a computation") {
      f.merge({1, 2});
      f.s.buckets[0].members[1] = 5;
      expected = "bucket 0: task 5 (mm) is of kind compute, expected collective";
    }
    SUBCASE("a collective in two buckets") {
      f.merge({1, 2});
      f.merge({2, 12});
      expected = "bucket 1: task 2 (c2) is a member of bucket 0 too";
    }
    SUBCASE("another operation") {
      f.merge({1, 6});
      expected = "bucket 0: task 6 (op) has op all_gather, expected all_reduce as task 1 (c1)";
    }
    SUBCASE("another group") {
      f.merge({1, 7});
      expected = "bucket 0: task 7 (group) has group 1, expected 0 as task 1 (c1)";
    }
    SUBCASE("another dtype") {
      f.merge({1, 8});
      expected = "bucket 0: task 8 (dtype) has dtype bf16, expected f32 as task 1 (c1)";
    }
    SUBCASE("another reduction") {
      f.merge({1, 9});
      expected = "bucket 0: task 9 (reduce) has reduction avg, expected sum as task 1 (c1)";
    }
    SUBCASE("all_to_all") {
      f.merge({10, 11});
      expected = "bucket 0: task 10 (a2a1) is an all_to_all";
    }
    SUBCASE("wrong sums") {
      f.merge({1, 2});
      f.s.buckets[0].bytes_out = sw::bytes(11);
      expected = "bucket 0 states bytes_out 11, expected 12";
    }
    SUBCASE("wrong channel") {
      f.merge({1, 2});
      f.s.buckets[0].channel = 1;
      expected = "bucket 0 states channel 1, expected 0";
    }
    SUBCASE("a wait before the launch") {
      f.merge({1, 2});
      f.s.order = {0, 1, 3, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
      expected =
          "bucket 0 is launched at position 3, after the wait task 3 (w1) for its member task 1 (c1) at position 2";
    }
    SUBCASE("a member with another user") {
      f.merge({2, 13});
      f.s.order = {0, 1, 2, 13, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15};
      expected =
          "bucket 0: its member task 13 (used) is used by task 14 (user), expected no users but its wait and the "
          "output";
    }
    SUBCASE("a member without a wait") {
      f.merge({2, 12});
      f.s.order = {0, 1, 2, 12, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15};
      expected = "bucket 0: nothing waits for its member task 12 (lonely)";
    }
    CHECK_THROWS_WITH_AS(sw::validate_schedule(f.g, f.s), expected.c_str(), sw::error);
  }
}

}  // namespace validate_schedule_tests
