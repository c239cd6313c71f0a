#include "io/refused.hpp"
#include "support/temporary_folder.hpp"
#include <shardweave/io/text_input.hpp>

#include <doctest/doctest.h>
#include <zlib.h>

#include <cstddef>
#include <string>
#include <utility>

namespace sw = shardweave;

namespace text_input_tests {
namespace {

std::string all_of(sw::text_input input) {
  std::string text;
  for (std::string_view piece = input.next(); !piece.empty(); piece = input.next()) text += piece;
  return text;
}

std::string long_text() {
  std::string text;
  for (unsigned i = 0; text.size() < 600'000; ++i) text += std::to_string(7919U * i) + ' ';
  return text;
}

std::filesystem::path gzipped(const temporary_folder& folder, const std::string& name, const std::string& text) {
  gzFile file = gzopen((folder / name).c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return folder / name;
}

}  // namespace

TEST_SUITE("text_input") {
  TEST_CASE("plain and compressed files give the same text, whatever their names say") {
    const temporary_folder folder;
    const std::string text = long_text();
    CHECK(all_of(sw::text_input(folder.write("plain.json.gz", text))) == text);
    CHECK(all_of(sw::text_input(gzipped(folder, "compressed.json", text))) == text);
    CHECK(all_of(sw::text_input(folder.write("empty", ""))).empty());
  }

  TEST_CASE("gzip files that were joined are read to the end") {
    const temporary_folder folder;
    const auto one = gzipped(folder, "one", "first "), two = gzipped(folder, "two", "second");
    const auto both = folder.write("both", temporary_folder::read(one) + temporary_folder::read(two));
    CHECK(all_of(sw::text_input(both)) == "first second");
  }

  TEST_CASE("a compressed file that is left before its end gives up nothing but the rest") {
    const temporary_folder folder;
    std::string text = long_text();
    for (int i = 0; i < 3; ++i) text += text;
    const auto file = gzipped(folder, "long.gz", text);
    for (std::size_t pieces = 0; pieces < 8; ++pieces) {
      CAPTURE(pieces);
      sw::text_input input(file);
      std::string read;
      for (std::size_t i = 0; i < pieces; ++i) read += input.next();
      CHECK(read == text.substr(0, read.size()));
      CHECK(read.size() == pieces << 18U);
      if (pieces == 7) CHECK(all_of(std::move(input)) == text.substr(read.size()));  // it can be handed on
    }
  }

  TEST_CASE("what follows the end is nothing, and the same error each time where reading failed") {
    const temporary_folder folder;
    const auto whole = gzipped(folder, "whole", long_text());
    sw::text_input input(whole);
    while (!input.next().empty()) continue;
    CHECK(input.next().empty());
    const std::string data = temporary_folder::read(whole);
    sw::text_input cut(folder.write("cut", data.substr(0, data.size() - 9)));
    const std::string message = refused([&] {
      while (!cut.next().empty()) continue;
    });
    CHECK(message.find("the gzip data ends too early") != std::string::npos);
    CHECK(refused([&] { (void)cut.next(); }) == message);
  }

  TEST_CASE("a text in memory comes in pieces of the size asked for") {
    auto input = sw::text_input::of_memory("text", "abcde", 2);
    CHECK(input.name() == "text");
    CHECK(input.next() == "ab");
    CHECK(input.next() == "cd");
    CHECK(input.next() == "e");
    CHECK(input.next().empty());
    CHECK(input.next().empty());
  }

  TEST_CASE("a file that is not there or cannot be read is refused by name") {
    const temporary_folder folder;
    const std::string missing = (folder / "missing").string();
    CHECK(refused([&] { return sw::text_input(missing); }) ==
          missing + ": cannot be opened: No such file or directory");
    CHECK(refused([&] { return all_of(sw::text_input(folder.path())); }) ==
          folder.path().string() + ": cannot be read: Is a directory");
  }

  TEST_CASE("a gzip file that is cut anywhere is refused") {
    const temporary_folder folder;
    const std::string whole = temporary_folder::read(gzipped(folder, "whole", long_text()));
    for (const std::size_t size :
         {std::size_t{12}, whole.size() / 2, whole.size() - 9, whole.size() - 4, whole.size() - 1}) {
      CAPTURE(size);
      const std::string cut = folder.write("cut", whole.substr(0, size)).string();
      const std::string message = refused([&] { return all_of(sw::text_input(cut)); });
      CHECK(message.starts_with(cut + ": the gzip data ends too early, after "));
      CHECK(message.ends_with(" bytes of text"));
    }
  }

  TEST_CASE("a gzip file that is damaged is refused") {
    const temporary_folder folder;
    std::string data = temporary_folder::read(gzipped(folder, "whole", long_text()));
    SUBCASE("in its data") { data[data.size() / 2] = static_cast<char>(data[data.size() / 2] ^ 0x10); }
    SUBCASE("in its check sum") { data[data.size() - 6] = static_cast<char>(data[data.size() - 6] ^ 0x10); }
    const std::string damaged = folder.write("damaged", data).string();
    const std::string message = refused([&] { return all_of(sw::text_input(damaged)); });
    CHECK(message.starts_with(damaged + ": the gzip data is damaged, after "));
    CHECK(is_one_line(message));
  }
}

}  // namespace text_input_tests
