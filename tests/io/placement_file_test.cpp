#include "io/refused.hpp"
#include "io/small_placement.hpp"
#include "support/temporary_folder.hpp"
#include <shardweave/io/placement_file.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace placement_file_tests {
namespace {

namespace sw = shardweave;
using namespace small_placements;

}  // namespace

TEST_SUITE("read_any_placement") {
  TEST_CASE("the content tells the format") {
    const temporary_folder folder;
    const auto ours = folder.write("a.iopddl", small);
    const auto contest = folder.write("b.json", R"({"more": 1, "problem": {"name": "n",
        "nodes": {"intervals": [[0, 1]], "costs": [[5]], "usages": [[1]]}, "edges": {"nodes": [], "costs": []}}})");
    CHECK(std::get<sw::placement_description<double>>(sw::read_any_placement(ours)).name == "small");
    CHECK(std::get<sw::placement_description<std::int64_t>>(sw::read_any_placement(contest)).vertices.size() == 1);
  }

  TEST_CASE("what is neither is refused") {
    const temporary_folder folder;
    const auto other = folder.write("other.json", "{\"vertices\": []}").string();
    CHECK(refused([&] { return sw::read_any_placement(other); }) ==
          other +
              ": is no placement problem: it has neither a field 'problem' (IOPDDL) nor a field 'format' "
              "(shardweave.placement)");
    const auto tasks = folder.write("tasks.json", "{\"format\": \"shardweave.tasks\"}").string();
    CHECK(refused([&] {
            return sw::read_any_placement(tasks);
          }).ends_with("format is \"shardweave.tasks\", expected \"shardweave.placement\""));
    CHECK(is_one_line(refused([&] { return sw::read_any_placement(folder.write("empty", "")); })));
  }
}

}  // namespace placement_file_tests
