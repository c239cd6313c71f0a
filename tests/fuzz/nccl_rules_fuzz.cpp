// Any text is read or refused, and what was read is written and read again to the same rows.
#include <shardweave/io/read_nccl_rules.hpp>

#include <support/nccl_rules_text.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace sw = shardweave;

namespace nccl_rules_fuzz {
int run(const std::uint8_t* data, std::size_t size) {
  const auto read = [](std::string_view text, std::size_t piece) {
    auto input = sw::text_input::of_memory("input", text, piece);
    return sw::read_nccl_rules(input);
  };
  sw::nccl_rules rules;
  try {
    rules = read({reinterpret_cast<const char*>(data), size}, 1 + size / 3);
  } catch (const sw::error&) {
    return 0;
  }
  if (read(shardweave_test::nccl_rules_text(rules), 64) != rules) std::abort();
  return 0;
}

}  // namespace nccl_rules_fuzz
