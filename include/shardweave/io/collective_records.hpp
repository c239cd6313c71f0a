#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/cost/measurement.hpp>
#include <shardweave/io/detail/collective_csv.hpp>
#include <shardweave/io/detail/nccl_tests_text.hpp>
#include <shardweave/io/detail/record_text.hpp>
#include <shardweave/io/detail/xla_table.hpp>
#include <shardweave/io/measured_record.hpp>
#include <shardweave/io/text_input.hpp>

#include <string>
#include <vector>

/// \file
/// Reads measured collectives: what nccl-tests prints, the performance tables of XLA, and tables of our own.

namespace shardweave::inline v0 {

/// Reads a table of measured collectives; which of the three kinds it is, its content tells:
///  - CSV with a line of names: `collective`, `nodes`, `ranks`, `size_bytes`, `time_us`, and if wanted `system`,
///    `placement`, `note`; other columns and lines that begin with # are skipped; nodes -1 means not stated;
///  - the standard output of an nccl-tests program, with two records per line (out of place and in place);
///  - a text-format table of XLA (`DeviceHloInstructionProfiles`), of which entries other than the four collectives
///    are skipped.
/// Sizes are converted to those of `collective_cost_model`. Memory: the text and the records.
/// \throws error (format) naming the file, the line, the field, what was found and what was expected; (input) if the
///         text does not say what `options` could say
[[nodiscard]] inline std::vector<measured_record> read_collective_records(text_source input,
                                                                          const record_options& options = {}) {
  const std::string text = input.rest();
  const detail::record_text source{input.name(), text};
  std::vector<measured_record> records;
  switch (source.kind()) {
    case detail::record_text::format::csv:
      records = detail::read_collective_csv(source, options);
      break;
    case detail::record_text::format::xla:
      records = detail::read_xla_table(source, options);
      break;
    case detail::record_text::format::nccl_tests:
      records = detail::read_nccl_tests(source, options);
      break;
  }
  if (records.empty())
    refuse(error_category::format, input.name() + ": holds no measured collective; expected a CSV table, the output " +
                                       "of nccl-tests or a performance table of XLA");
  return records;
}

/// What models and calibration take.
[[nodiscard]] inline std::vector<collective_measurement> measurements_of(const std::vector<measured_record>& records) {
  std::vector<collective_measurement> result;
  result.reserve(records.size());
  for (const measured_record& r : records) result.push_back(r.measurement);
  return result;
}

}  // namespace shardweave::inline v0
