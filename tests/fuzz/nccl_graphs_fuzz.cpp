// Any text is read or refused, and channels that were read give estimates.
#include <shardweave/cost/nccl_smooth.hpp>
#include <shardweave/io/read_nccl_graphs.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace sw = shardweave;

namespace nccl_graphs_fuzz {
int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    auto input = sw::text_input::of_memory("input", text, 1 + size / 3);
    const sw::nccl_known_layout known = sw::read_nccl_graphs(input);
    const sw::nccl_smooth model(sw::nccl_node_of(sw::find_device("h100")), {.tuner = {.layouts = {known}}});
    for (const std::int64_t nodes : {1, 2, 3}) {
      const sw::group_shape group{known.ranks_per_node, nodes};
      const double time = model.estimate(sw::collective::all_reduce, sw::mebibytes(1), group).time_us;
      if (!std::isfinite(time) || time < 0) std::abort();
    }
  } catch (const sw::error&) {
  }
  return 0;
}

}  // namespace nccl_graphs_fuzz
