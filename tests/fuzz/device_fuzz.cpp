// Any text is read as a device file or refused, whatever the pieces it comes in; what is read is written and read
// again to the same text. The JSON of nccl-tests is read or refused alike.
#include <shardweave/io/device_file.hpp>
#include <shardweave/io/nccl_tests_json.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace sw = shardweave;

namespace device_fuzz {
namespace {

std::string outcome(std::string_view text, std::size_t piece) {
  try {
    auto input = sw::text_input::of_memory("input", text, piece);
    const sw::device_calibration d = sw::read_device(input);
    return sw::json_string([&](sw::json_writer& out) { sw::write_device(out, d); });
  } catch (const sw::error&) {
    return "refused";  // the byte that the message names may depend on the pieces
  }
}

std::size_t records(std::string_view text, std::size_t piece) {
  try {
    auto input = sw::text_input::of_memory("input", text, piece);
    return sw::read_nccl_tests_json(input, {.group = sw::group_shape{8, 1}}).size();
  } catch (const sw::error&) {
    return static_cast<std::size_t>(-1);
  }
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string first = outcome(text, 1U << 20);
  if (first != outcome(text, 1)) std::abort();
  if (first != "refused" && outcome(first, 64) != first) std::abort();
  if (records(text, 1U << 20) != records(text, 1)) std::abort();
  return 0;
}

}  // namespace device_fuzz
