#include "support/random_tasks.hpp"
#include "support/run_program.hpp"
#include "support/temporary_folder.hpp"
#include <shardweave/io/schedule.hpp>
#include <shardweave/io/tasks.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include <string>

namespace sw = shardweave;

TEST_SUITE("schedule_tasks") {
  TEST_CASE("the figures it prints are those of the schedule it writes, and never worse than its bound") {
    const temporary_folder folder;
    const sw::task_graph g = random_tasks(11, {.blocks = 60});
    sw::write_task_graph(folder / "tasks.json.gz", g);
    for (const char* policies : {"", "--bucketing none", "--scheduler in_order"}) {
      CAPTURE(policies);
      const auto run = run_program("schedule_tasks",
                                   (folder / "tasks.json.gz").string() + " --json " + policies + " --schedule " +
                                       (folder / "schedule.json").string(),
                                   folder.path());
      CHECK(run.status == 0);
      CHECK(run.err.empty());
      const auto line = boost::json::parse(run.out).as_object();
      const sw::timeline replayed = sw::simulate(g, sw::read_schedule(folder / "schedule.json", g, {.strict = true}));
      const auto number = [&](const char* field) { return line.at(field).to_number<std::int64_t>(); };
      CHECK(number("tasks") == static_cast<std::int64_t>(g.size()));
      CHECK(number("end_to_end_ns") == replayed.end_to_end.count());
      CHECK(number("exposed_ns") == replayed.exposed.count());
      CHECK(number("hidden_ns") == replayed.hidden.count());
      CHECK(number("tail_ns") == replayed.tail.count());
      CHECK(number("peak_bytes") == replayed.peak.count());
      CHECK(number("collectives_after") == static_cast<std::int64_t>(replayed.collectives));
      CHECK(number("makespan_bound_ns") <= number("end_to_end_ns"));
    }
  }

  TEST_CASE("a memory budget that nothing meets ends with status 1") {
    const temporary_folder folder;
    sw::write_task_graph(folder / "tasks.json", random_tasks(3));
    const auto run = run_program("schedule_tasks", (folder / "tasks.json").string() + " --memory 0", folder.path());
    CHECK(run.status == 1);
    CHECK(run.err.find("no order within 0 bytes was found") != std::string::npos);
  }

  TEST_CASE("wrong input ends with status 2 and one line") {
    const temporary_folder folder;
    const std::string file = folder.write("wrong.json", "{\"format\": \"shardweave.placement\"}").string();
    const auto run = run_program("schedule_tasks", file, folder.path());
    CHECK(run.status == 2);
    CHECK(run.err == "schedule_tasks: " + file +
                         ": line 1, byte 33: format is \"shardweave.placement\", expected \"shardweave.tasks\"\n");
  }
}
