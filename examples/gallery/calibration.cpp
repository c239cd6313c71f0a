// Measurements make a model: read what nccl-tests printed, correct an analytic model by it, see how good it is on sizes
// that it did not see, keep it in a small file. Needs component io.
#include <shardweave/cost/accuracy.hpp>
#include <shardweave/cost/bucket_cost.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/cost/contention.hpp>
#include <shardweave/cost/device_calibration.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/nccl_smooth.hpp>
#include <shardweave/cost/shared_links.hpp>
#include <shardweave/io/collective_records.hpp>
#include <shardweave/io/device_file.hpp>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace {

/// What a machine with 8 devices might print: a latency of 18 us, 250 GB/s at last and half of it at 20 MB.
std::string log_of_a_machine() {
  std::string text = "# Collective test starting: all_reduce_perf\n";
  for (int rank = 0; rank < 8; ++rank)
    text += "#  Rank  " + std::to_string(rank) + " Group  0 Pid  100 on     host device  " + std::to_string(rank) +
            " [0x53] an accelerator\n";
  for (double size = 1024; size <= 4.0 * (1 << 30); size *= 2) {
    const double us = 18 + size / 250e3 * (1 + std::sqrt(20e6 / size));
    char line[160];
    std::snprintf(line, sizeof line, "%14.0f %14.0f float sum -1 %10.2f 0 0 0 %10.2f 0 0 0\n", size, size / 4, us, us);
    text += line;
  }
  return text;
}

}  // namespace

int main() {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "shardweave_gallery_calibration";
  std::filesystem::create_directories(folder);
  const std::string text = log_of_a_machine();

  // [calibrate]
  auto log = sw::text_input::of_memory("all_reduce.log", text);  // or the name of a file
  const auto measured = sw::measurements_of(sw::read_collective_records(log));
  const auto found = sw::calibrate(sw::nccl_smooth(sw::find_device("h100")), measured);
  for (std::size_t band = 0; band < sw::size_bands.size(); ++band)
    std::printf("%-16s median error %5.1f %% alone, %4.1f %% corrected, on sizes left out\n",
                sw::size_bands[band].name.data(), found.before[band].median, found.held_out[band].median);
  const auto half = found.model.estimate(sw::collective::all_reduce, sw::mebibytes(24), {8, 1});
  // [calibrate]
  std::printf("an all_reduce of 24 MiB takes %.1f us\n", half.time_us);

  // [file]
  const sw::device_calibration kept{
      .name = "our rack", .device = "h100", .source = "nccl-tests, today", .collectives = sw::condensed(measured)};
  sw::write_device(folder / "rack.json", kept, &found.held_out);
  const sw::device_calibration again = sw::read_device(folder / "rack.json");
  const auto model = again.correct(sw::nccl_smooth(sw::find_device(again.device)));
  // [file]
  const auto other = model.estimate(sw::collective::all_reduce, sw::mebibytes(24), {8, 1});
  std::printf("from %ju bytes of file: %.1f us\n",
              static_cast<std::uintmax_t>(std::filesystem::file_size(folder / "rack.json")), other.time_us);
  std::filesystem::remove_all(folder);

  // [links]
  // what runs inside a node does not meet what runs between nodes; two between nodes share the network
  const sw::group_shape cluster{8, 4};
  const auto flight = [&](sw::collective kind, sw::group_shape group) {
    return sw::collective_in_flight{model.estimate(kind, sw::mebibytes(64), group), sw::tier_of(group)};
  };
  const std::vector<sw::collective_in_flight> together{flight(sw::collective::all_reduce, cluster),
                                                       flight(sw::collective::all_gather, cluster),
                                                       flight(sw::collective::all_gather, {8, 1})};
  const std::vector<double> ends = sw::ends_on_shared_links(together);
  // [links]
  const bool two_wait = ends[0] > together[0].alone.time_us && ends[1] > together[1].alone.time_us;

  // [buckets]
  const std::vector<sw::bytes> gradients(16, sw::mebibytes(4));
  const sw::bucket_trade trade =
      sw::price_bucket(model, sw::collective::all_reduce, gradients, {8, 1}, 2000);  // copies at 2000 GB/s
  // [buckets]
  std::printf("16 all_reduces of 4 MiB: %.0f us apart, %.0f us in a bucket and %.0f us of copies\n", trade.apart_us,
              trade.merged_us, trade.copies_us);

  // [compute]
  const sw::device_preset& preset = sw::find_preset("h100");
  const sw::compute_profile compute = preset.compute();  // the share of the peak depends on the shape
  const double wide = compute.compute_time(sw::work_of({.rows = 8192, .inner = 8192, .columns = 8192}, 2));
  const double slim = compute.compute_time(sw::work_of({.rows = 128, .inner = 8192, .columns = 8192}, 2));
  const double slower = preset.contention().slowdown({.blocks = 4096}, {.channels = 24, .wire_bandwidth = 360});
  // [compute]
  std::printf("a product of 8192 rows takes %.0f us, of 128 rows %.0f us; beside 24 channels %.2f times as long\n",
              wide, slim, slower);

  const double truth = 18 + 24.0 * (1 << 20) / 250e3 * (1 + std::sqrt(20e6 / (24.0 * (1 << 20))));
  const bool is_near = std::abs(half.time_us / truth - 1) < 0.05 && std::abs(other.time_us / half.time_us - 1) < 1e-9;
  return is_near && two_wait && trade.is_worthwhile() && wide > slim && slower > 1 ? 0 : 1;
}
