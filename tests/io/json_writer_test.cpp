#include "io/refused.hpp"
#include "support/temporary_folder.hpp"
#include <shardweave/core/error.hpp>
#include <shardweave/io/json_file.hpp>
#include <shardweave/io/json_writer.hpp>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <stop_token>
#include <string>
#include <vector>

namespace sw = shardweave;

TEST_SUITE("json_writer") {
  TEST_CASE("objects and lists nest, with commas between and lines where asked for") {
    const std::string text = sw::json_string([](sw::json_writer& out) {
      out.begin_object().member("a", 1).line().key("b").begin_list().value(true).null().begin_object().end_object();
      out.begin_list().end_list().end_list().list("c", std::vector{1, 2}).text_if_any("d", "").end_object().line();
    });
    CHECK(text == "{\"a\":1,\n\"b\":[true,null,{},[]],\"c\":[1,2]}\n");
  }

  TEST_CASE("any text survives, as another parser confirms") {
    std::string every;
    for (int c = 1; c < 0x80; ++c) every += static_cast<char>(c);
    every += "\xc3\xa4\xe2\x82\xac";
    const std::string text = sw::json_string([&](sw::json_writer& out) { out.value(every); });
    CHECK(boost::json::parse(text).as_string() == every);
  }

  TEST_CASE("numbers are the shortest text that means the same, and no JSON number becomes null") {
    const auto of = [](auto number) { return sw::json_string([&](sw::json_writer& out) { out.value(number); }); };
    CHECK(of(0.1) == "0.1");
    CHECK(of(-0.0) == "-0");
    CHECK(of(1e18) == "1e+18");
    CHECK(of(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
    CHECK(of(std::numeric_limits<double>::infinity()) == "null");
    CHECK(of(std::numeric_limits<double>::quiet_NaN()) == "null");
  }

  TEST_CASE("long output reaches the sink in pieces") {
    std::size_t pieces = 0;
    std::string text;
    sw::json_writer out([&](std::string_view piece) {
      ++pieces;
      text += piece;
    });
    out.begin_list();
    for (int i = 0; i < 100'000; ++i) out.value(i);
    out.end_list();
    out.flush();
    CHECK(pieces > 5);
    CHECK(boost::json::parse(text).as_array().size() == 100'000);
  }
}

TEST_SUITE("atomic_file") {
  TEST_CASE("a file takes its name only when it is complete, and nothing else is left") {
    const temporary_folder folder;
    const auto target = folder.write("file", "old");
    {
      sw::atomic_file file(target);
      file.write("half");
      CHECK(temporary_folder::read(target) == "old");
    }
    CHECK(temporary_folder::read(target) == "old");
    CHECK(folder.file_count() == 1);
    sw::atomic_file file(target);
    file.write("new");
    file.commit();
    CHECK(temporary_folder::read(target) == "new");
    CHECK(folder.file_count() == 1);
  }

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
