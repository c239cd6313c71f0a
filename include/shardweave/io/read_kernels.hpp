#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/kernel_calibration.hpp>
#include <shardweave/io/detail/csv_table.hpp>
#include <shardweave/io/detail/record_text.hpp>
#include <shardweave/io/detail/shortened.hpp>
#include <shardweave/io/text_input.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Reads tables of what kernels of a device take.

namespace shardweave::inline v0 {

/// Reads CSV with a line of names: `kind` (`product`, `product_f8`, `attention`, `attention_backward` or `memory`;
/// `host` is skipped), `operations`, `bytes` that are moved at least, `time_us`. Products and attention compute with
/// 16-bit numbers, `product_f8` with 8-bit ones. Other columns and lines that begin with # are skipped.
/// `examples/pytorch/scripts/measure_kernels.py` writes such tables.
/// \throws error (format) naming the file, the line, the field, what was found and what was expected
[[nodiscard]] inline std::vector<measured_kernel> read_kernels(text_source input) {
  const std::string text = input.rest();
  const detail::record_text source{input.name(), text};
  constexpr std::array<std::string_view, 4> names{"kind", "operations", "bytes", "time_us"};
  struct named_kind {
    std::string_view name;
    kernel_kind kind;
    arithmetic type;
  };
  constexpr std::array<named_kind, 5> kinds{named_kind{"product", kernel_kind::matrix_product, arithmetic::f16},
                                            {"product_f8", kernel_kind::matrix_product, arithmetic::f8},
                                            {"attention", kernel_kind::attention, arithmetic::f16},
                                            {"attention_backward", kernel_kind::attention_backward, arithmetic::f16},
                                            {"memory", kernel_kind::memory_bound, arithmetic::f16}};
  std::vector<measured_kernel> kernels;
  detail::csv_records(source, names, [&](const detail::csv_record& row) {
    if (row["kind"] == "host") return;
    const auto found = std::ranges::find(kinds, row["kind"], &named_kind::name);
    if (found == kinds.end())
      source.fail(row.line, "kind is '" + detail::shortened(row["kind"]) +
                                "', expected product, product_f8, attention, attention_backward, memory or host");
    measured_kernel k{.kind = found->kind, .work = {.kind = found->type}};
    k.work.moved = bytes(source.count(row.line, "bytes", row["bytes"]));
    if (k.work.moved == bytes(0)) source.fail(row.line, "bytes is '0', expected a number above 0");
    if (k.kind != kernel_kind::memory_bound)
      k.work.flops = source.positive(row.line, "operations", row["operations"], "a positive number");
    k.time_us = source.time(row.line, "time_us", row["time_us"]);
    kernels.push_back(k);
  });
  if (kernels.empty()) refuse(error_category::format, input.name() + ": holds no kernel");
  return kernels;
}

}  // namespace shardweave::inline v0
