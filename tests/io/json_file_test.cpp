#include "io/refused.hpp"
#include "support/temporary_folder.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/io/json_file.hpp>
#include <shardweave/io/json_writer.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <stop_token>
#include <string>

namespace json_file_tests {
namespace {

namespace sw = shardweave;

}  // namespace

TEST_SUITE("json_file") {
  TEST_CASE("an error while writing leaves the old file as it was") {
    const temporary_folder folder;
    const auto target = folder.write("file", "old");
    CHECK(refused([&] {
            sw::write_json_file(target, [](sw::json_writer& out) {
              out.value("half");
              sw::refuse(sw::error_category::input, "no more");
            });
            return 0;
          }) == "no more");
    CHECK(temporary_folder::read(target) == "old");
    CHECK(folder.file_count() == 1);
  }

  TEST_CASE("after a stop a small file is written and a large one given up, with the old one as it was") {
    const temporary_folder folder;
    const auto target = folder.write("file", "old");
    std::stop_source source;
    const auto endless = [&](sw::json_writer& out) {
      out.begin_list();
      for (std::uint64_t pieces = 0;; ++pieces) {
        out.value("a piece of a file that would have no end");
        if (pieces == 100'000) source.request_stop();
      }
    };
    CHECK(refused([&] { return sw::write_json_file(target, endless, source.get_token()), 0; }) ==
          target.string() + ": was not written to the end before the stop");
    CHECK(temporary_folder::read(target) == "old");
    CHECK(folder.file_count() == 1);
    sw::write_json_file(
        target, [](sw::json_writer& out) { out.value("new"); }, source.get_token());
    CHECK(temporary_folder::read(target) == "\"new\"");
    CHECK(folder.file_count() == 1);
  }

  TEST_CASE("names that end in .gz are compressed") {
    const temporary_folder folder;
    sw::write_json_file(folder / "a.json.gz", [](sw::json_writer& out) { out.value(1); });
    sw::write_json_file(folder / "a.json", [](sw::json_writer& out) { out.value(1); });
    CHECK(temporary_folder::read(folder / "a.json.gz").starts_with("\x1f\x8b"));
    CHECK(temporary_folder::read(folder / "a.json") == "1");
  }

  TEST_CASE("a folder that is not there is refused by name") {
    const temporary_folder folder;
    const std::string target = (folder / "no/such/file").string();
    CHECK(refused([&] { return sw::write_json_file(target, [](sw::json_writer&) {}), 0; }) ==
          target + ": cannot be opened for writing: No such file or directory");
  }
}

}  // namespace json_file_tests
