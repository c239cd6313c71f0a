// Any text is read or refused as a solution, with floating and with exact costs.
#include <shardweave/io/solution.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sw = shardweave;

namespace solution_fuzz {
int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto read = [&]<class Cost>(Cost) {
    try {
      auto input = sw::text_input::of_memory("input", text, 1 + size / 2);
      (void)sw::read_solution<Cost>(input);
    } catch (const sw::error&) {
    }
  };
  read(0.0);
  read(std::int64_t{0});
  return 0;
}

}  // namespace solution_fuzz
