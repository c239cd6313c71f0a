// What a host does with component io; the texts of README.md build it.
#include <shardweave/core/error.hpp>
#include <shardweave/io/read_placement.hpp>
#include <shardweave/io/text_input.hpp>

#include <cstdio>

namespace sw = shardweave;

int main() {
  auto input = sw::text_input::of_memory("two.json", R"({"format": "shardweave.placement", "version": 1, "name": "two",
    "unit": "us", "vertices": [{"name": "a", "compute": [1, 4]}, {"name": "b", "compute": [6, 2]}],
    "matrices": [[0, 3, null, 0]], "edges": [{"from": 0, "to": 1, "slot": 0, "communication": 0}]})");
  if (sw::read_placement(input).vertices.size() != 2) return 1;
  auto cut = sw::text_input::of_memory("cut.json", "{\"format\": ");
  try {
    (void)sw::read_placement(cut);
  } catch (const sw::error& e) {
    std::puts(e.what());
    return 0;
  }
  return 1;
}
