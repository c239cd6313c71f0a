#include "io/refused.hpp"
#include "support/temporary_folder.hpp"
#include <shardweave/io/atomic_file.hpp>
#include <shardweave/io/text_input.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

namespace atomic_file_tests {
namespace {

namespace sw = shardweave;

}  // namespace

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

  TEST_CASE("long texts and empty ones arrive whole, compressed or not") {
    const temporary_folder folder;
    std::string text;
    for (int i = 0; i < 30'000; ++i) text += std::to_string(i * i) + "\n";
    for (const std::string name : {"a.txt", "a.gz"})
      for (const std::string& content : {std::string(), std::string("x"), text}) {
        sw::atomic_file file(folder / name);
        file.write(content);
        file.write("");
        file.write(content);
        file.commit();
        sw::text_input input(folder / name);
        std::string found;
        for (auto piece = input.next(); !piece.empty(); piece = input.next()) found += piece;
        CHECK(found == content + content);
      }
    CHECK(folder.file_count() == 2);
    CHECK(std::filesystem::file_size(folder / "a.gz") < text.size());
  }

  TEST_CASE("a folder is no file, and two writers of one file do not disturb each other") {
    const temporary_folder folder;
    std::filesystem::create_directory(folder / "sub");
    CHECK(refused([&] { return sw::atomic_file(folder / "sub"), 0; }) ==
          (folder / "sub").string() + ": cannot be opened for writing: Is a directory");
    {
      sw::atomic_file one(folder / "f"), two(folder / "f");
      one.write("one");
      two.write("two");
      one.commit();
      CHECK(temporary_folder::read(folder / "f") == "one");
      two.commit();
    }
    CHECK(temporary_folder::read(folder / "f") == "two");
    CHECK(folder.file_count() == 2);
  }
}

}  // namespace atomic_file_tests
