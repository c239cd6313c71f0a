// Any text is read as a model's config, of each family, or refused; the figures of a config that is read are those of a
// model: weights can be counted. The same text is read as a table of measured training steps or refused, and a row that
// is read is stated as a step or skipped for a reason. And each of its lines is read as a layout, a mesh, a sharding
// and a demand, or refused; what is read is written and read again to the same.
#include <shardweave/core/error.hpp>
#include <shardweave/io/model_config.hpp>
#include <shardweave/io/training_runs.hpp>
#include <shardweave/models/training_layout.hpp>
#include <shardweave/spmd/constraint_log.hpp>
#include <shardweave/spmd/mesh.hpp>
#include <shardweave/spmd/sharding.hpp>

#include <examples/support/measured_steps.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace sw = shardweave;

namespace training_fuzz {
namespace {

template <class Read>
void try_config(std::string_view text, const Read& read) {
  try {
    auto input = sw::text_input::of_memory("config.json", text, 1 + text.size() / 3);
    const auto config = read(input);
    if (config.parameter_count() <= 0) std::abort();
    if constexpr (requires { config.active_parameter_count(); })
      if (config.active_parameter_count() <= 0 || config.active_parameter_count() > config.parameter_count() ||
          config.further_parameter_count() < 0 || config.capacity(4096) <= 0)
        std::abort();
  } catch (const sw::error&) {
  }
}

void try_table(std::string_view text) {
  try {
    auto input = sw::text_input::of_memory("runs.csv", text, 1 + text.size() / 3);
    for (const sw::training_run& row : sw::read_training_runs(input)) {
      if (row.id.empty()) std::abort();
      const programs::read_step read = programs::step_of(row);
      if (read.step.has_value() == !read.why_not.empty()) std::abort();
    }
  } catch (const sw::error&) {
  }
}

/// \param parse  reads a text, \param write  writes what was read
template <class Parse, class Write>
void try_words(std::string_view text, const Parse& parse, const Write& write) {
  std::string first;
  try {
    first = write(parse(text));
  } catch (const sw::error&) {
    return;
  }
  if (write(parse(first)) != first) std::abort();
}
void try_all_words(std::string_view text) {
  const auto own = [](const auto& what) { return what.to_string(); };
  try_words(text, sw::training_layout::parse, own);
  try_words(text, sw::device_mesh::parse, own);
  try_words(text, sw::sharding::parse, own);
  try_words(text, sw::parse_demand, [](const sw::demand& d) { return sw::to_string(d); });
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try_config(text, [](sw::text_input& input) { return sw::read_llama_config(input, "model"); });
  try_config(text, [](sw::text_input& input) { return sw::read_deepseek_config(input, "model"); });
  try_table(text);
  try_words(text, sw::constraint_log::parse, [](const sw::constraint_log& log) { return log.to_string(); });
  for (std::size_t at = 0; at < size && at < 4096;) {
    const std::size_t end = std::min(text.find('\n', at), size);
    try_all_words(text.substr(at, end - at));
    at = end + 1;
  }
  return 0;
}

}  // namespace training_fuzz
