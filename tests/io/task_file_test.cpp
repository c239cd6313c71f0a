#include "io/chakra_messages.hpp"
#include <shardweave/io/task_file.hpp>

#include <doctest/doctest.h>
#include <support/temporary_folder.hpp>

#include <fstream>
#include <string>

namespace task_file_tests {
namespace {

namespace sw = shardweave;
using namespace chakra_messages;

}  // namespace

TEST_SUITE("task_file") {
  TEST_CASE("formats are told apart by what they say") {
    const temporary_folder folder;
    const auto format = [&](const std::string& text) {
      std::ofstream(folder / "file", std::ios::binary) << text;
      return sw::task_format_of(folder / "file");
    };
    using enum sw::task_format;
    CHECK(format(R"({"format": "shardweave.tasks", "version": 1})") == shardweave);
    CHECK(format(R"({"version": 1, "tasks": []})") == shardweave);
    CHECK(format(R"( { "attr" : [] } {"id": 1})") == chakra_json);
    CHECK(format(R"({} {"id": 1})") == chakra_json);
    CHECK(format(R"({"workload_graph": []})") == chakra_json);
    CHECK(format("hello") == shardweave);
    CHECK(format("") == shardweave);
    CHECK(format(trace_of({node(1, "a", sw::chakra_type::compute)})) == chakra_messages);
    // a run of 123 bytes begins as an object of JSON does: '{', a line's end
    const std::string run = message().text(1, std::string(121, 'x')).behind_its_length();
    REQUIRE(run.starts_with("{\n"));
    CHECK(format(run) == chakra_messages);
    for (const char* name : {"every_field.et", "mlp_data_model.et", "resnet50_data_parallel.et"})
      if (const auto path = trace_file(name)) CHECK(sw::task_format_of(*path) == chakra_messages);
    for (const char* name : {"every_field.json", "mlp_data_model.json", "mlp_data_model_flat.json"})
      if (const auto path = trace_file(name)) CHECK(sw::task_format_of(*path) == chakra_json);
  }
}

}  // namespace task_file_tests
