// A second file that includes the same headers: whatever is not inline does not link. ALONE it is a program.
#include <shardweave/graph/stable_order.hpp>
#include <shardweave/overlap/savings.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

std::size_t other();

std::size_t other() {
  const std::array<std::pair<std::uint32_t, std::uint32_t>, 1> ends{{{0, 1}}};
  return shardweave::stable_topological_order(shardweave::compressed_graph(2, ends)).size();
}

#ifdef ALONE
int main() { return other() == 2 ? 0 : 1; }
#endif
