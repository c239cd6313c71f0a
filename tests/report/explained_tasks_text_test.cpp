#include <shardweave/core/units.hpp>
#include <shardweave/report/explained_tasks_text.hpp>
#include <shardweave/step/explain_step.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace explained_tasks_text_tests {
namespace {
using ns = sw::nanoseconds;
}

TEST_SUITE("explained tasks text") {
  TEST_CASE("for people: what a microsecond more costs, and nothing of a bound that is not known") {
    sw::task_graph_builder b;
    b.add_task({.name = "product", .op = "mm", .kind = sw::task_kind::compute, .duration = ns(5'000)});
    const sw::task_graph g = std::move(b).build();
    std::vector<sw::explained_task> told(2, {.task = 0, .time = ns(5'000), .slack = ns(400)});
    told[1].slack = ns(2'000);
    told[1].together = 3;
    const std::string without = sw::to_text(told, g);
    CHECK(without ==
          "work       takes  launched as one  may take longer by  1 us more: step\n"
          "----------------------------------------------------------------------\n"
          "product  5.00 µs                               400 ns           +0.600\n"
          "product  5.00 µs                3             2.00 µs                0\n");
    told[0].in_bound = 0.25;
    CHECK(sw::to_text(told, g).find("+0.250") != std::string::npos);
    CHECK(sw::to_text(std::vector<sw::explained_task>{}, g) == "none of its work takes time\n");
  }
}

}  // namespace explained_tasks_text_tests
