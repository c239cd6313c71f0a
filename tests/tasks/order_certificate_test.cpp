// What the rows of a proof about orders state; tests/io has what its file does.
#include "order_refusal.hpp"
#include <shardweave/tasks/check_order_certificate.hpp>
#include <shardweave/tasks/order_certificate.hpp>
#include <shardweave/tasks/task_graph.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>
#include <support/small_tasks.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace order_certificate_tests {
namespace {

using order_proofs::none;
using order_proofs::refusal_of;
using small_tasks::scatter;
using small_tasks::wait_for;
using small_tasks::work;

}  // namespace

TEST_SUITE("order_row") {
  TEST_CASE("a stream and a channel in a row, by Johnson's rule or by weights") {
    sw::task_graph_builder b;
    for (std::uint32_t c = 0; c < 2; ++c) b.add_group({.id = c, .size = 4});
    const auto first = b.add_task(work("first", 200)), second = b.add_task(work("second", 100, {first}));
    std::vector<sw::order_job> sides;
    for (int i = 0; i < 10; ++i) {
      const auto side = b.add_task(work("side", 10, {first}));
      sides.push_back({b.add_task(scatter("s", 40, {side}, 1, 1)), {3 * side, 3 * (side + 1)}});
    }
    const auto last = b.add_task(scatter("last", 300, {second}, 1, 0));
    const sw::task_graph g = std::move(b).build();
    sw::order_certificate c = none();
    sw::order_row& row = c.row.emplace();
    row.collective = last;
    row.jobs = {{last, {3 * first, 3 * second, 3 * last}}};
    CHECK(sw::check_certificate(g, c).bound == sw::nanoseconds(200 + 100 + 300));
    row.weights = {1, 1, 0};  // half all work, half what the last one waits for
    CHECK(sw::check_certificate(g, c).bound == sw::nanoseconds((400 + 600) / 2));
    row.jobs.insert(row.jobs.end(), sides.begin(), sides.end());
    // all orders end at 630 or later: of each side's work 1 * 10 counts before, a quarter of 40 after
    row.weights = {0, 3, 1};
    CHECK(sw::check_certificate(g, c).bound == sw::nanoseconds(300 + 225 + 100));
    row.weights = {};
    CHECK(refusal_of(g, c) == "row: jobs[1] is of another channel");
    row.weights = {0, 0, 0};
    CHECK(refusal_of(g, c) == "row: all weights are 0");
    row.weights = {1, -1, 1};
    CHECK(refusal_of(g, c) == "row: a weight is not from 0 to 1000000");
    row.weights = {1, 1};
    CHECK(refusal_of(g, c) == "row: there are 2 weights, expected 3 or none");
    row.weights = {0, 3, 1};
    row.jobs[1].work.push_back(3 * second);
    CHECK(refusal_of(g, c).find("is in two jobs") != std::string::npos);
    row.jobs[1].work.back() = 3 * last;
    CHECK(refusal_of(g, c).find("is in two jobs") != std::string::npos);
    row.jobs[0].work = {};
    CHECK(refusal_of(g, c).find("(last), does not lead to activity 10, run of task 3 (s),") != std::string::npos);
    row.jobs[1] = row.jobs[2];
    CHECK(refusal_of(g, c).find("has two jobs") != std::string::npos);
    row.collective = first;
    CHECK(refusal_of(g, c) == "row: task 0 launches nothing");
  }
  TEST_CASE("a row backward is the same with time reversed") {
    // the graph of the case above, the other way round: what came before is what follows
    sw::task_graph_builder b;
    for (std::uint32_t c = 0; c < 2; ++c) b.add_group({.id = c, .size = 4});
    const auto first = b.add_task(scatter("first", 300, {}, 1, 0)), begun = b.add_task(wait_for("w", first));
    const auto second = b.add_task(work("second", 100, {begun}));
    std::vector<sw::task_index> before_last{second};
    std::vector<sw::order_job> sides;
    for (int i = 0; i < 10; ++i) {
      const auto run = b.add_task(scatter("s", 40, {}, 1, 1)), waited = b.add_task(wait_for("w", run));
      before_last.push_back(b.add_task(work("side", 10, {waited})));
      sides.push_back({run, {3 * waited, 3 * before_last.back()}});
    }
    const auto last = b.add_task(work("last", 200, before_last));
    const sw::task_graph g = std::move(b).build();
    sw::order_certificate c = none();
    sw::order_row& row = c.row.emplace();
    row.backward = true;
    row.collective = first;
    row.jobs = {{first, {3 * begun, 3 * second, 3 * last}}};
    CHECK(sw::check_certificate(g, c).bound == sw::nanoseconds(200 + 100 + 300));
    row.weights = {1, 1, 0};
    CHECK(sw::check_certificate(g, c).bound == sw::nanoseconds((400 + 600) / 2));
    row.jobs.insert(row.jobs.end(), sides.begin(), sides.end());
    row.weights = {0, 3, 1};
    CHECK(sw::check_certificate(g, c).bound == sw::nanoseconds(300 + 225 + 100));
    row.backward = false;  // that work does not lead to its collective
    CHECK(!sw::check_certificate(g, c).accepted);
  }
  TEST_CASE("jobs of a row are of two channels at most, of what is there and leads to them") {
    sw::task_graph_builder b;
    for (std::uint32_t c = 0; c < 3; ++c) b.add_group({.id = c, .size = 4});
    std::vector<sw::order_job> jobs;
    for (std::uint32_t c = 0; c < 3; ++c) {
      const auto before = b.add_task(work("before", 5));
      jobs.push_back({b.add_task(scatter("c", 7, {before}, 1, c)), {3 * before, 3 * before + 3}});
    }
    const sw::task_graph g = std::move(b).build();
    sw::order_certificate c = none();
    c.row = sw::order_row{.collective = jobs[0].collective, .jobs = {jobs[0], jobs[1]}, .weights = {1, 1, 1}};
    CHECK(sw::check_certificate(g, c).accepted);
    c.row->jobs.push_back(jobs[2]);
    CHECK(refusal_of(g, c) == "row: jobs[2] is of a third channel");
    c.row->jobs.pop_back();
    c.row->weights = {1, 1, 1'000'001};
    CHECK(refusal_of(g, c) == "row: a weight is not from 0 to 1000000");
    c.row->weights = {1, 1, 1};
    c.row->jobs[1].work.push_back(1000);
    CHECK(refusal_of(g, c) == "row: jobs[1]: activity 1000 is not there");
    c.row->jobs[1].work.back() = 1;
    CHECK(refusal_of(g, c) == "row: jobs[1]: activity 1 is not there");
    c.row->jobs[1] = {1000, {}};
    CHECK(refusal_of(g, c) == "row: jobs[1]: task 1000 launches nothing");
    c.row->collective = 1000;
    CHECK(refusal_of(g, c) == "row: task 1000 launches nothing");
  }
}

}  // namespace order_certificate_tests
