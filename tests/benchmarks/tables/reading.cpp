// How fast problems are read, against limits measured in the same process: unpacking the same file and doing nothing
// with it, and copying its text in memory.
#include "benchmarks/tables/table.hpp"
#include <shardweave/io/placement_file.hpp>
#include <shardweave/io/text_input.hpp>

#include <cstring>
#include <fstream>
#include <variant>

namespace sw = shardweave;

namespace {

std::string unpacked(const std::filesystem::path& file) {
  std::string text;
  sw::text_input input(file);
  for (std::string_view piece = input.next(); !piece.empty(); piece = input.next()) text += piece;
  return text;
}

/// Bytes that a stated problem holds: costs, tables with their classes, edges, and the names of strategies.
template <class Cost>
double size_of(const sw::placement_description<Cost>& d) {
  double size = 0;
  for (const auto& v : d.vertices) {
    size += sizeof v + static_cast<double>(v.compute.size() * sizeof(Cost) + v.memory.size() * sizeof(double));
    size += static_cast<double>(v.labels.size() * sizeof(std::string));
  }
  size += static_cast<double>(d.edges.size() * sizeof(d.edges.front()));
  for (const auto& t : d.tables)
    size += static_cast<double>(sizeof *t + (t->rows() + t->columns()) * 4 +
                                t->row_classes() * t->column_classes() * sizeof(Cost));
  return size;
}

}  // namespace

int main(int argc, char** argv) {
  const tables::request asked(argc, argv);
  tables::table out(asked, {"file", "JSON MB", "read MB/s", "read .gz MB/s", "inflate alone MB/s",
                            "read / inflate time", "copy MB/s", "problem MB", "peak MiB (reading alone)"});
  for (const char* folder : {"iopddl", "placement"})
    for (const auto& file : asked.files(folder))
      out.row(tables::short_name(file), [&] {
        const std::int64_t before = tables::peak_memory();
        const double problem = std::visit([](const auto& d) { return size_of(d); }, sw::read_any_placement(file)) / 1e6;
        const double peak = static_cast<double>(tables::peak_memory() - before) / (1 << 20);
        const std::string text = unpacked(file);
        const auto plain = std::filesystem::temp_directory_path() / ("shardweave-table-" + std::to_string(getpid()));
        std::ofstream(plain, std::ios::binary) << text;
        const double mb = static_cast<double>(text.size()) / 1e6;
        std::string copy(text.size(), ' ');
        const double copying = tables::median_seconds(5, [&] {
          std::memcpy(copy.data(), text.data(), text.size());
          asm volatile("" : : "r"(copy.data()) : "memory");
        });
        const double inflating = tables::median_seconds(3, [&] {
          sw::text_input input(file);
          while (!input.next().empty()) continue;
        });
        const double packed = tables::median_seconds(3, [&] { (void)sw::read_any_placement(file); });
        const double raw = tables::median_seconds(3, [&] { (void)sw::read_any_placement(plain); });
        std::filesystem::remove(plain);
        return std::vector<std::string>{tables::number(mb, 1),
                                        tables::number(mb / raw, 0),
                                        tables::number(mb / packed, 0),
                                        tables::number(mb / inflating, 0),
                                        tables::number(packed / inflating),
                                        tables::number(mb / copying, 0),
                                        tables::number(problem, 1),
                                        tables::number(peak, 0)};
      });
}
