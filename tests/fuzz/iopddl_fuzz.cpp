// Any text is read or refused, whatever the pieces it comes in, and always with the same outcome.
#include <shardweave/io/iopddl.hpp>
#include <shardweave/io/write_placement.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace sw = shardweave;

namespace iopddl_fuzz {
namespace {

/// What comes of the text: the problem in our own format, or the refusal.
std::string outcome(std::string_view text, std::size_t piece) {
  try {
    auto input = sw::text_input::of_memory("input", text, piece);
    const auto d = sw::read_iopddl(input);
    return sw::json_string([&](sw::json_writer& out) { sw::write_placement(out, d); });
  } catch (const sw::error&) {
    return "refused";  // the byte that the message names may depend on the pieces
  }
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (outcome(text, 1U << 20) != outcome(text, 1)) std::abort();
  return 0;
}

}  // namespace iopddl_fuzz
