#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// What the programs behind docs/performance.md share: rows in a process of their own, printed as CSV or Markdown.

namespace tables {

namespace fs = std::filesystem;

/// Arguments: [--markdown] [--seconds S] [--data FOLDER] [part of a name]...
/// Data are those that tests read: of the folder that SHARDWEAVE_SHARED names, or `shared` beside the sources, else
/// what the build unpacked of tests/data.
struct request {
  bool markdown = false;
  double seconds = -1;  ///< negative: the table's own limit
  fs::path data;
  std::vector<std::string> only;

  request(int argc, char** argv) {
    const char* named = std::getenv("SHARDWEAVE_SHARED");
    data = (named != nullptr ? fs::path(named) : fs::path(SHARDWEAVE_SOURCE_DIR) / ".." / "shared") / "data";
    std::error_code ignored;
    if (named == nullptr && !fs::exists(data, ignored)) data = SHARDWEAVE_TEST_DATA;
    for (int i = 1; i < argc; ++i) {
      const std::string_view argument = argv[i];
      if (argument == "--markdown") {
        markdown = true;
      } else if (argument == "--seconds" && i + 1 < argc) {
        seconds = std::atof(argv[++i]);
      } else if (argument == "--data" && i + 1 < argc) {
        data = argv[++i];
      } else {
        only.emplace_back(argument);
      }
    }
  }
  [[nodiscard]] bool asks_for(const std::string& name) const {
    return only.empty() || std::any_of(only.begin(), only.end(),
                                       [&](const std::string& part) { return name.find(part) != std::string::npos; });
  }
  [[nodiscard]] double limit(double by_default) const { return seconds >= 0 ? seconds : by_default; }
  /// A file of the data, packed or not: `name` without ".json" or ".json.gz".
  [[nodiscard]] fs::path file(const char* folder, const std::string& name) const {
    std::error_code ignored;
    const fs::path plain = data / folder / (name + ".json");
    return fs::exists(plain, ignored) ? plain : fs::path(plain.string() + ".gz");
  }
  /// The files of one folder of the data, smallest first; empty, and said so, if it is not there.
  [[nodiscard]] std::vector<fs::path> files(const char* folder) const {
    std::vector<fs::path> found;
    std::error_code ignored;
    for (const char* extension : {".gz", ".json"}) {  // packed ones if there are any
      for (const auto& entry : fs::directory_iterator(data / folder, ignored))
        if (entry.path().extension() == extension && asks_for(entry.path().filename().string()))
          found.push_back(entry.path());
      if (!found.empty()) break;
    }
    if (found.empty()) std::fprintf(stderr, "no data in %s\n", (data / folder).c_str());
    std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
      return std::pair(fs::file_size(a), a) < std::pair(fs::file_size(b), b);
    });
    return found;
  }
};

/// "asplos-2025-iopddl-A.json.gz" is "asplos-2025-iopddl-A".
inline std::string short_name(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.substr(0, name.find(".json"));
}

inline std::string number(double value, int digits = 2) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

/// Seconds of the processor that this thread used, which a busy machine disturbs less than the clock on the wall.
inline double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}
inline double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The median of `times` runs, in seconds of this thread's processor time.
template <class Work>
double median_seconds(int times, Work work) {
  std::vector<double> runs;
  for (int i = 0; i < times; ++i) {
    const double start = thread_seconds();
    work();
    runs.push_back(thread_seconds() - start);
  }
  std::nth_element(runs.begin(), runs.begin() + times / 2, runs.end());
  return runs[static_cast<std::size_t>(times / 2)];
}

inline std::int64_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
}

/// Prints rows as they come.
class table {
 public:
  table(const request& asked, std::vector<std::string> columns) : markdown_(asked.markdown) {
    print(columns);
    if (!markdown_) return;
    for (std::size_t i = 0; i < columns.size(); ++i) std::fputs(i == 0 ? "|---|" : "---|", stdout);
    std::fputs("\n", stdout);
  }

  /// Makes a row in a process of its own, so that its memory is its own, and what it breaks too. `peak` as a cell is
  /// replaced by the process's peak memory in MiB.
  template <class Row>
  void row(const std::string& name, Row make) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child < 0) std::abort();
    if (child == 0) {
      std::vector<std::string> cells = {name};
      try {
        for (std::string& cell : make()) cells.push_back(std::move(cell));
      } catch (const std::exception& e) {
        cells.push_back(std::string("failed: ") + e.what());
      }
      std::replace(cells.begin(), cells.end(), std::string("peak"),
                   number(static_cast<double>(peak_memory()) / (1 << 20), 0));
      print(cells);
      std::fflush(stdout);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) print({name, "ended with status " + std::to_string(status)});
  }

 private:
  void print(const std::vector<std::string>& cells) const {
    std::string line = markdown_ ? "| " : "";
    for (std::size_t i = 0; i < cells.size(); ++i) line += (i > 0 ? (markdown_ ? " | " : ",") : "") + cells[i];
    std::printf("%s%s\n", line.c_str(), markdown_ ? " |" : "");
  }

  bool markdown_;
};

}  // namespace tables
