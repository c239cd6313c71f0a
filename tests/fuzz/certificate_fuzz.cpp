// Any text is read as a certificate or refused; what is read is written and read again to the same text, and whatever
// it says, nothing that it proves of a small problem is above that problem's optimum.
#include <shardweave/io/placement_certificate.hpp>
#include <shardweave/placement/check_certificate.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sw = shardweave;

namespace {

/// Optimum 3, by the second strategies of both.
template <class Cost>
sw::placement_description<Cost> small() {
  sw::placement_description<Cost> d;
  d.vertices.push_back({.name = "a", .compute = {1, 2}});
  d.vertices.push_back({.name = "b", .compute = {4, 1}});
  d.tables.push_back(std::make_shared<const sw::cost_table<Cost>>(
      sw::cost_table<Cost>::from_entries(2, 2, std::vector<Cost>{0, 3, 3, 0})));
  d.edges.push_back({.from = 0, .to = 1, .communication = 0});
  d.constraints.budgets.push_back({.name = "memory", .high = 6, .terms = {{0, {4, 1}, {}}, {1, {1, 5}, {}}}});
  return d;
}

template <class Cost>
std::string written(const sw::placement_certificate<Cost>& c) {
  return sw::json_string([&](sw::json_writer& out) { sw::write_certificate(out, c); });
}

template <class Cost>
void try_as(std::string_view text) {
  try {
    auto input = sw::text_input::of_memory("input", text, 1 + text.size() / 3);
    const auto c = sw::read_placement_certificate<Cost>(input);
    const std::string first = written(c);
    auto again = sw::text_input::of_memory("again", first, 64);
    if (written(sw::read_placement_certificate<Cost>(again)) != first) std::abort();
    const auto verdict = sw::check_certificate(small<Cost>(), c);
    if (verdict.accepted && (c.infeasible || c.lower_bound > 3 || verdict.bound > 3)) std::abort();
  } catch (const sw::error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try_as<double>(text);
  try_as<std::int64_t>(text);
  return 0;
}
