// replay TARGET FOLDER: feeds stored inputs to a fuzz target under any compiler: each file whole, cut at many places,
// and with one byte changed at many places. What libFuzzer once found stays found.
#include "targets.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

int main(int argc, char** argv) {
#define TARGET(name) {#name, &name##_fuzz::run},
  const std::map<std::string, int (*)(const std::uint8_t*, std::size_t)> targets{SHARDWEAVE_FUZZ_TARGETS};
#undef TARGET
  const auto target = targets.find(argc == 3 ? argv[1] : "");
  if (target == targets.end() || !std::filesystem::is_directory(argv[2])) {
    std::fputs("usage: replay TARGET FOLDER, where TARGET is one of", stderr);
    for (const auto& [name, run] : targets) std::fprintf(stderr, " %s", name.c_str());
    std::fputs("\n", stderr);
    return 2;
  }
#ifdef SHARDWEAVE_SMALL_TESTS
  constexpr std::size_t places = 10;  // of cuts and of changes per file
#else
  constexpr std::size_t places = 200;
#endif
  std::size_t files = 0;
  std::size_t runs = 0;
  const auto run = [&](const std::vector<std::uint8_t>& input) {
    target->second(input.data(), input.size());
    ++runs;
  };
  for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[2])) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::vector<std::uint8_t> input{std::istreambuf_iterator<char>(file), {}};
    ++files;
    run(input);
    const std::size_t step = input.size() / places + 1;
    for (std::size_t at = 0; at < input.size(); at += step) {
      const auto cut = input.begin() + static_cast<std::ptrdiff_t>(at);
      run({input.begin(), cut});
      std::vector<std::uint8_t> changed = input;
      changed[at] = static_cast<std::uint8_t>(changed[at] ^ (1U << (at % 8)));
      run(changed);
    }
  }
  std::printf("%zu files, %zu runs\n", files, runs);
  return files > 0 ? 0 : 1;
}
