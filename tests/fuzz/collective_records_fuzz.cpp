// Any text is read as a table of measurements or refused, whatever the pieces it comes in, and what is read can be
// used: every measurement makes a model. The same of shares of links, and of kernels.
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/collective_table.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/kernel_calibration.hpp>
#include <shardweave/io/collective_records.hpp>
#include <shardweave/io/read_kernels.hpp>
#include <shardweave/io/read_link_shares.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace sw = shardweave;

namespace collective_records_fuzz {
namespace {

/// The refusal, or nothing and the records.
std::string outcome(std::string_view text, std::size_t piece, std::vector<sw::measured_record>& records) {
  try {
    auto input = sw::text_input::of_memory("input", text, piece);
    records = sw::read_collective_records(input);
    return {};
  } catch (const sw::error& e) {
    return e.what();
  }
}

}  // namespace

int run(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    auto input = sw::text_input::of_memory("shares", text);
    const sw::link_shares<> model(sw::read_link_shares(input));
    if (!(model.estimate(sw::collective::all_gather, sw::mebibytes(1), {8, 2}).time_us >= 0)) std::abort();
  } catch (const sw::error&) {  // no table of shares
  }
  try {
    auto input = sw::text_input::of_memory("kernels", text);
    const auto kernels = sw::read_kernels(input);
    const sw::compute_profile found = sw::calibrate_kernels(sw::find_preset("h100").compute(), kernels);
    for (const sw::measured_kernel& k : kernels)
      if (!(found.compute_time(k.work, k.kind) > 0)) std::abort();
  } catch (const sw::error&) {  // no table of kernels
  }
  std::vector<sw::measured_record> whole, pieces;
  if (outcome(text, 1U << 20, whole) != outcome(text, 1, pieces)) std::abort();
  if (whole.size() != pieces.size()) std::abort();
  if (whole.empty()) return 0;
  const auto measured = sw::measurements_of(whole);
  const sw::collective_table<> model(measured);
  for (const auto& m : measured) {
    const double time = model.estimate(m.kind, m.size, m.group).time_us;
    if (!std::isfinite(time) || time < 0) std::abort();
  }
  return 0;
}

}  // namespace collective_records_fuzz
