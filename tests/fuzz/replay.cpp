// Feeds stored inputs to a fuzz test under any compiler: each file whole, cut at many places, and with one byte
// changed at many places. What libFuzzer once found stays found.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
#ifdef SHARDWEAVE_SMALL_TESTS
  constexpr std::size_t places = 25;  // of cuts and of changes per file
#else
  constexpr std::size_t places = 200;
#endif
  std::size_t files = 0;
  std::size_t runs = 0;
  const auto run = [&](const std::vector<std::uint8_t>& input) {
    LLVMFuzzerTestOneInput(input.data(), input.size());
    ++runs;
  };
  for (int i = 1; i < argc; ++i) {
    if (!std::filesystem::is_directory(argv[i])) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
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
  }
  std::printf("%zu files, %zu runs\n", files, runs);
  return files > 0 ? 0 : 1;
}
