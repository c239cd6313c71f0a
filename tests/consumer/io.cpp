// What a host does with component io; the texts of README.md build it.
#include <shardweave/core/error.hpp>
#include <shardweave/io/device_file.hpp>
#include <shardweave/io/text_input.hpp>

#include <cstdio>

namespace sw = shardweave;

int main() {
  auto input =
      sw::text_input::of_memory("slow.json", R"({"format": "shardweave.device", "version": 1, "name": "slow"})");
  if (sw::read_device(input).name != "slow") return 1;
  auto cut = sw::text_input::of_memory("cut.json", "{\"format\": ");
  try {
    (void)sw::read_device(cut);
  } catch (const sw::error& e) {
    std::puts(e.what());
    return 0;
  }
  return 1;
}
