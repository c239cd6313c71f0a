#include "support/shared_data.hpp"
#include "support/temporary_folder.hpp"
#include <shardweave/io/read_tasks.hpp>
#include <shardweave/io/schedule.hpp>
#include <shardweave/io/tasks.hpp>
#include <shardweave/io/write_tasks.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <boost/json.hpp>
#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <string>

namespace sw = shardweave;
namespace json = boost::json;

namespace tasks_tests {
TEST_SUITE("shardweave.tasks") {
  TEST_CASE("captured graphs have the figures that their files state, before and after writing") {
    for (const char* name : {"llama3-8b-fw-64-1d", "deepseek-v3-fw-64"}) {
      const auto path = shared_data(std::string("tasks/") + name + ".json.gz");
      if (!path) return;
      if (shardweave_test::is_small_scale && std::string_view(name) != "llama3-8b-fw-64-1d") continue;
      CAPTURE(name);
      sw::text_input input(*path);
      std::string text;
      for (auto piece = input.next(); !piece.empty(); piece = input.next()) text += piece;
      const json::value document = json::parse(text);
      const json::object& check = document.at("check").as_object();

      const sw::task_graph g = sw::read_task_graph(*path, {.strict = true});
      const sw::timeline line = sw::simulate(g);
      CHECK(g.size() == check.at("tasks").to_number<std::size_t>());
      CHECK(line.compute.count() == check.at("compute").to_number<std::int64_t>());
      CHECK(line.communication.count() == check.at("comm").to_number<std::int64_t>());
      CHECK(line.exposed.count() == check.at("exposed").to_number<std::int64_t>());
      CHECK(line.end_to_end.count() == check.at("end_to_end").to_number<std::int64_t>());
      CHECK(line.peak.count() == check.at("peak").to_number<std::int64_t>());

      const temporary_folder folder;
      sw::write_task_graph(folder / "again.json.gz", g);
      const sw::task_graph again = sw::read_task_graph(folder / "again.json.gz", {.strict = true});
      CHECK(sw::content_hash_text(again) == sw::content_hash_text(g));
      CHECK(sw::simulate(again) == line);
    }
  }
}

}  // namespace tasks_tests
