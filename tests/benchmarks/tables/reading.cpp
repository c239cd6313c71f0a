// How fast problems are read and what that takes, against limits measured in the same process: unpacking the same file
// and doing nothing with it, and copying its text in memory. The last row is a file of 1.3 GB: copies of the largest
// problem beside one another, whose costs differ from copy to copy.
#include "benchmarks/tables/table.hpp"
#include <shardweave/io/placement_file.hpp>
#include <shardweave/io/write_placement.hpp>
#include <shardweave/placement/compile.hpp>

#include <malloc.h>
#include <zlib.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <variant>

namespace sw = shardweave;

namespace {

/// Calls `use(piece)` for all of a file's text, as zlib gives it.
template <class Use>
void unpack(const std::filesystem::path& file, Use use) {
  const gzFile input = gzopen(file.c_str(), "rb");
  gzbuffer(input, 1U << 17);
  std::vector<char> piece(1U << 18);
  for (int count = 0; (count = gzread(input, piece.data(), static_cast<unsigned>(piece.size()))) > 0;)
    use(std::string_view(piece.data(), static_cast<std::size_t>(count)));
  gzclose(input);
}

/// What is allocated now, in bytes.
double allocated() {
  const auto known = mallinfo2();
  return static_cast<double>(known.uordblks + known.hblkhd);
}

/// Copies of a problem beside one another; copy k has k more in every cost of a table that is neither 0 nor forbidden.
sw::placement_description<double> copies(const sw::placement_description<double>& one, std::uint32_t count) {
  sw::placement_description<double> all;
  all.unit = one.unit;
  const auto vertices = static_cast<std::uint32_t>(one.vertices.size());
  const auto tables = static_cast<std::uint32_t>(one.tables.size());
  for (std::uint32_t k = 0; k < count; ++k) {
    all.vertices.insert(all.vertices.end(), one.vertices.begin(), one.vertices.end());
    for (const auto& table : one.tables) {
      std::vector<double> entries;
      for (std::size_t i = 0; i < table->rows(); ++i)
        for (std::size_t j = 0; j < table->columns(); ++j)
          entries.push_back((*table)(i, j) == 0 ? 0 : (*table)(i, j) + k);
      all.tables.push_back(std::make_shared<const sw::cost_table<double>>(
          sw::cost_table<double>::from_entries(table->rows(), table->columns(), entries).packed()));
    }
    for (sw::described_edge e : one.edges) {
      e.from += k * vertices;
      e.to += k * vertices;
      for (std::uint32_t* number : {&e.communication, &e.transition})
        if (*number != sw::no_table) *number += k * tables;
      all.edges.push_back(e);
    }
    for (sw::fixed_strategies f : one.constraints.fixed) {
      f.vertex += k * vertices;
      all.constraints.fixed.push_back(std::move(f));
    }
    for (sw::pairing p : one.constraints.pairs) {
      p.a += k * vertices;
      p.b += k * vertices;
      all.constraints.pairs.push_back(std::move(p));
    }
    for (sw::tie t : one.constraints.ties) {
      for (std::uint32_t& v : t.vertices) v += k * vertices;
      all.constraints.ties.push_back(std::move(t));
    }
  }
  return all;
}

std::vector<std::string> row_of(const std::filesystem::path& file) {
  const std::int64_t peak_before = tables::peak_memory();
  const double before = allocated();
  const auto peak = [&] { return static_cast<double>(tables::peak_memory() - peak_before) / 1e6; };
  auto read = sw::read_any_placement(file);
  const double problem = (allocated() - before) / 1e6, peak_of_reading = peak();
  const double compiled = std::visit(
      [&](auto& d) {
        const auto made = sw::compile(std::move(d));
        return (allocated() - before) / 1e6;
      },
      read);
  const double peak_of_both = peak();
  read = {};

  const auto plain = std::filesystem::temp_directory_path() / ("shardweave-table-" + std::to_string(getpid()));
  std::string text;  // some of it
  double mb = 0;
  {
    std::ofstream out(plain, std::ios::binary);
    unpack(file, [&](std::string_view piece) {
      out << piece;
      if (text.size() < 200'000'000) text += piece;
      mb += static_cast<double>(piece.size()) / 1e6;
    });
  }
  std::string copy(text.size(), ' ');
  const double copying = tables::median_seconds(5, [&] {
    std::memcpy(copy.data(), text.data(), text.size());
    asm volatile("" : : "r"(copy.data()) : "memory");
  });
  const double inflating = tables::median_seconds(3, [&] { unpack(file, [](std::string_view) {}); });
  const double packed = tables::median_seconds(3, [&] { (void)sw::read_any_placement(file); });
  const double raw = tables::median_seconds(3, [&] { (void)sw::read_any_placement(plain); });
  const double wall_before = tables::wall_seconds();
  (void)sw::read_any_placement(file);
  const double wall = tables::wall_seconds() - wall_before;
  std::filesystem::remove(plain);
  return {tables::number(mb, 1),
          tables::number(mb / raw, 0),
          tables::number(mb / packed, 0),
          tables::number(mb / wall, 0),
          tables::number(mb / inflating, 0),
          tables::number(static_cast<double>(text.size()) / 1e6 / copying, 0),
          tables::number(problem, 1),
          tables::number(peak_of_reading, 1),
          tables::number(compiled, 1),
          tables::number(peak_of_both, 1),
          tables::number(peak_of_both / compiled)};
}

}  // namespace

int main(int argc, char** argv) {
  const tables::request asked(argc, argv);
  tables::table out(
      asked, {"file", "JSON MB", "read MB/s", "read .gz MB/s", "by the wall clock MB/s", "inflate alone MB/s",
              "copy MB/s", "problem MB", "peak of reading MB", "compiled MB", "peak of both MB", "peak / compiled"});
  for (const char* folder : {"iopddl", "placement"})
    for (const auto& file : asked.files(folder)) out.row(tables::short_name(file), [&] { return row_of(file); });
  const auto largest = asked.file("placement", "llama3-1b-4layer-3d-2x4x8");
  const std::string name = "15 times " + tables::short_name(largest);
  if (!asked.asks_for(name) || !std::filesystem::exists(largest)) return 0;
  const auto made = std::filesystem::temp_directory_path() / ("shardweave-copies-" + std::to_string(getpid()) + ".gz");
  if (const pid_t child = fork(); child == 0) {  // what this takes is not what reading takes
    sw::write_placement(made, copies(sw::read_placement(largest), 15));
    _exit(0);
  } else {
    waitpid(child, nullptr, 0);
  }
  out.row(name, [&] { return row_of(made); });
  std::filesystem::remove(made);
}
