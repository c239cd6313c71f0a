#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/io/detail/csv_table.hpp>
#include <shardweave/io/detail/record_text.hpp>
#include <shardweave/io/detail/shortened.hpp>
#include <shardweave/io/text_input.hpp>

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

/// \file
/// Reads tables of measured training steps.

namespace shardweave::inline v0 {

/// One measured configuration. A number is 0 and a text is empty where the source does not say it.
struct training_run {
  std::string id, date, model, gpu, precision, sharing, checkpointing, framework, mixture, notes;
  std::int64_t hidden = 0, layers = 0, heads = 0, key_heads = 0, feed = 0, vocabulary = 0;
  std::int64_t devices = 0, devices_per_node = 0, sequence = 0, micro_batch = 0, micro_batches = 0;
  std::int64_t data = 0, tensor = 0, pipeline = 0, context = 0;
  double network = 0;  ///< GB/s of each device between nodes
  bool sequence_parallel = false;
  double step_seconds = 0;
  double memory_gib = 0;
  std::string fault = {};  ///< the first cell that cannot be read as its column's number, and what was expected

  /// What comes before the last dash: rows of one source and date.
  [[nodiscard]] std::string series() const { return id.substr(0, id.rfind('-')); }
};

namespace detail {

/// Where the cells of a column go.
struct run_column {
  std::string_view name;
  std::variant<std::string training_run::*, std::int64_t training_run::*, double training_run::*> into;
};
inline constexpr run_column run_columns[] = {
    {"id", &training_run::id},
    {"date", &training_run::date},
    {"model", &training_run::model},
    {"gpu", &training_run::gpu},
    {"precision", &training_run::precision},
    {"fsdp_or_zero", &training_run::sharing},
    {"activation_checkpointing", &training_run::checkpointing},
    {"compile_or_framework", &training_run::framework},
    {"moe", &training_run::mixture},
    {"notes", &training_run::notes},
    {"hidden", &training_run::hidden},
    {"layers", &training_run::layers},
    {"heads", &training_run::heads},
    {"kv_heads", &training_run::key_heads},
    {"ffn", &training_run::feed},
    {"vocab", &training_run::vocabulary},
    {"gpus", &training_run::devices},
    {"gpus_per_node", &training_run::devices_per_node},
    {"seq_len", &training_run::sequence},
    {"micro_batch_per_dp_rank", &training_run::micro_batch},
    {"grad_accum", &training_run::micro_batches},
    {"dp", &training_run::data},
    {"tp", &training_run::tensor},
    {"pp", &training_run::pipeline},
    {"cp", &training_run::context},
    {"inter_node_GBps_per_gpu", &training_run::network},
    {"step_time_s", &training_run::step_seconds},
    {"memory_gib", &training_run::memory_gib},
};

/// Fills in what is not stated and follows from the rest: extents are 1 where they are empty.
/// \param batch   sequences of all devices in a step; 0: not stated
/// \param tokens  per second and device; 0: not stated
inline void derive(training_run& r, std::int64_t batch, double tokens) {
  const auto part_of = [](std::int64_t all, std::initializer_list<std::int64_t> parts) {
    for (const std::int64_t part : parts) {
      if (part > 1 && all % part != 0) return std::int64_t{0};
      all /= std::max<std::int64_t>(part, 1);
    }
    return all;
  };
  if (r.data == 0) r.data = part_of(r.devices, {r.tensor, r.pipeline, r.context});
  if (r.micro_batch == 0) r.micro_batch = part_of(batch, {r.data, r.micro_batches});
  if (r.step_seconds > 0 || !(tokens > 0) || r.devices == 0) return;
  const double ranks = static_cast<double>(std::max<std::int64_t>(r.data, 1));
  const double times = static_cast<double>(std::max<std::int64_t>(r.micro_batches, 1));
  const double sequences = batch > 0 ? static_cast<double>(batch) : static_cast<double>(r.micro_batch) * ranks * times;
  r.step_seconds = sequences * static_cast<double>(r.sequence) / (tokens * static_cast<double>(r.devices));
}

}  // namespace detail

/// Reads CSV with a line of names: `id`, `date`, `model`, `hidden`, `layers`, `heads`, `kv_heads`, `ffn`, `vocab`,
/// `moe`, `gpu`, `gpus`, `gpus_per_node`, `inter_node_GBps_per_gpu`, `precision`, `seq_len`, `micro_batch_per_dp_rank`,
/// `grad_accum`, `fsdp_or_zero`, `dp`, `tp`, `sp`, `pp`, `cp`, `activation_checkpointing`, `compile_or_framework`,
/// `step_time_s`, `memory_gib`, `notes`. What is empty is derived where two more columns tell it: `dp` of the devices,
/// the micro-batch of `global_batch`, the step time of `tokens_per_s_per_gpu`. Three dots in `compile_or_framework`
/// stand for the words of the row before, if it is of the same series. Other columns, and lines that begin with
/// #, are skipped; empty cells are allowed, but for `id`. A cell that is no number where one is expected makes its
/// row's `fault`: one source's way to write a column does not cost the others theirs.
///
/// \throws error (format) naming the file and the line, where columns are missing, cells are too few or too many, or
///         `id` is empty
[[nodiscard]] inline std::vector<training_run> read_training_runs(text_source input) {
  const std::string text = input.rest();
  const detail::record_text source{input.name(), text};
  std::vector<std::string_view> required;
  for (const detail::run_column& column : detail::run_columns) required.push_back(column.name);
  required.push_back("sp");
  std::vector<training_run> runs;
  detail::csv_records(source, required, [&](const detail::csv_record& row) {
    training_run r;
    const auto figure = [&](std::string_view name, auto& value) {
      const std::string_view found = row[name];
      if (found.empty()) return;
      std::remove_reference_t<decltype(value)> read = 0;
      const auto [end, code] = std::from_chars(found.data(), found.data() + found.size(), read);
      constexpr auto most = 1'000'000'000;  // of anything: what is computed of it stays in 64 bits
      if (code == std::errc{} && end == found.data() + found.size() && read >= 0 && read <= most) {
        value = read;
      } else if (r.fault.empty()) {
        r.fault = std::string(name) + " is '" + detail::shortened(found) + "', expected a number from 0 to 10^9";
      }
    };
    for (const detail::run_column& column : detail::run_columns)
      std::visit(
          [&](auto into) {
            if constexpr (std::same_as<decltype(into), std::string training_run::*>) {
              r.*into = row[column.name];
            } else {
              figure(column.name, r.*into);
            }
          },
          column.into);
    if (r.id.empty()) source.fail(row.line, "id is empty, expected a name");
    r.sequence_parallel = row["sp"] == "yes";
    std::int64_t batch = 0;
    double tokens = 0;
    figure("global_batch", batch);
    figure("tokens_per_s_per_gpu", tokens);
    detail::derive(r, batch, tokens);
    const std::size_t gap = r.framework.find("...");
    if (gap != std::string::npos && !runs.empty() && runs.back().series() == r.series())
      r.framework.replace(gap, 3, runs.back().framework);
    runs.push_back(std::move(r));
  });
  if (runs.empty()) refuse(error_category::format, input.name() + ": holds no measured step");
  return runs;
}

}  // namespace shardweave::inline v0
