// Any text is read or refused, and what was read makes a node that can be priced, or is refused.
#include <shardweave/cost/nccl_smooth.hpp>
#include <shardweave/cost/nccl_topology.hpp>
#include <shardweave/io/read_nccl_topology.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace sw = shardweave;

namespace nccl_topology_fuzz {
int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    auto input = sw::text_input::of_memory("input", text, 1 + size / 3);
    const sw::nccl_node node = sw::nccl_node_of(sw::read_nccl_topology(input));
    const sw::nccl_smooth model(node);
    const double time =
        model.estimate(sw::collective::all_reduce, sw::mebibytes(1), {node.devices, node.nics > 0 ? 4 : 1}).time_us;
    if (!std::isfinite(time) || time < 0) std::abort();
  } catch (const sw::error&) {
  }
  return 0;
}

}  // namespace nccl_topology_fuzz
