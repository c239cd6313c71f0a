// Any bytes are read as a Chakra trace or refused, in either format and whatever the pieces they come in, and what is
// read becomes a task graph that can be simulated, or is refused.
#include <shardweave/core/error.hpp>
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/io/chakra_tasks.hpp>
#include <shardweave/io/read_chakra.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace sw = shardweave;

namespace chakra_fuzz {
namespace {

/// The refusal, or nothing and what was read.
std::string outcome(std::string_view text, std::size_t piece, sw::chakra_format format, sw::chakra_trace& trace) {
  try {
    auto input = sw::text_input::of_memory("input", text, piece);
    trace = sw::read_chakra(input, format);
    return {};
  } catch (const sw::error& e) {
    return e.what();
  }
}

void convert(const sw::chakra_trace& trace, const sw::chakra_options& options) {
  try {
    const sw::task_graph g = sw::task_graph_of(trace, options);
    if (g.size() < trace.nodes.size() || sw::simulate(g).end_to_end < sw::nanoseconds(0)) std::abort();
  } catch (const sw::error&) {
  }
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const sw::device_profile device = sw::find_device("h100");
  for (const auto format : {sw::chakra_format::messages, sw::chakra_format::json}) {
    sw::chakra_trace whole, pieces;
    const std::string wrong = outcome(text, 1U << 20, format, whole), in_pieces = outcome(text, 1, format, pieces);
    if (wrong != in_pieces) std::abort();
    if (!wrong.empty()) continue;
    if (whole != pieces) std::abort();
    convert(whole, {});
    convert(whole, {.ranks = 16, .prices = sw::chakra_prices{{.device = device}, sw::alpha_beta(device)}});
  }
  return 0;
}

}  // namespace chakra_fuzz
