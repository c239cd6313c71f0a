#pragma once

#include <shardweave/cost/accuracy.hpp>
#include <shardweave/cost/device_calibration.hpp>
#include <shardweave/io/detail/record_text.hpp>
#include <shardweave/io/detail/shortened.hpp>
#include <shardweave/io/json_file.hpp>
#include <shardweave/io/json_shape.hpp>
#include <shardweave/io/json_stream.hpp>
#include <shardweave/io/json_writer.hpp>
#include <shardweave/io/text_input.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Reads and writes what was measured on a machine: format shardweave.device.

namespace shardweave::inline v0 {
namespace detail {

inline constexpr by_arithmetic<std::string_view> arithmetic_names{"f64", "f32", "f16", "i8", "f8"};

/// Microseconds of any one time, so that sums of nanoseconds are whole.
inline constexpr double most_device_us = 1e15;

/// A number above 0, or from 0 on, up to `most`.
[[nodiscard]] inline json_shape device_number(double& into, bool may_be_zero,
                                              double most = std::numeric_limits<double>::max()) {
  return json_value(most < 1e300  ? "a number, not negative, at most 1e15 microseconds"
                    : may_be_zero ? "a number, not negative"
                                  : "a positive number",
                    [&into, may_be_zero, most](const json_scalar& s) {
                      const auto found = number_of(s);
                      if (found) into = *found;
                      return found && *found <= most && (may_be_zero ? *found >= 0 : *found > 0);
                    });
}

[[nodiscard]] inline std::vector<json_field> saturation_fields(saturation& into) {
  return {json_required("peak", device_number(into.peak, false)), json_optional("half", device_number(into.half, true)),
          json_optional("power", device_number(into.power, false))};
}

inline void write_saturation(json_writer& out, const saturation& s) {
  out.member("peak", s.peak).member("half", s.half).member("power", s.power);
}

}  // namespace detail

/// Reads a device file.
/// \throws error naming the file, the line and byte, the field, what was found and what was expected
[[nodiscard]] inline device_calibration read_device(text_source input, const read_options& options = {}) {
  device_calibration device;
  struct {
    std::string op;
    group_shape group;
    std::vector<std::int64_t> sizes;
    std::vector<double> times;
  } curve;
  const auto curve_ends = [&]() -> std::string {
    const auto kind = detail::collective_of_name(curve.op);
    if (!kind)
      return "has op '" + detail::shortened(curve.op) +
             "', expected all_gather, reduce_scatter, all_reduce, all_to_all or shift";
    if (curve.group.nodes < 1 || curve.group.ranks_per_node < 1 || curve.group.nodes > (1 << 30) ||
        curve.group.ranks_per_node > (1 << 30) || curve.group.ranks() < 2)
      return "has a group without two ranks, or one that is too large";
    if (curve.sizes.size() != curve.times.size())
      return "has " + std::to_string(curve.sizes.size()) + " sizes and " + std::to_string(curve.times.size()) +
             " times, expected as many";
    for (std::size_t i = 0; i < curve.sizes.size(); ++i) {
      if (curve.sizes[i] < 1 || !(curve.times[i] > 0))
        return "has a size or time that is not positive, at position " + std::to_string(i);
      if (!(curve.times[i] <= detail::most_device_us))
        return "has a time above 1e15 microseconds, at position " + std::to_string(i);
      device.collectives.push_back({*kind, curve.group, bytes(curve.sizes[i]), curve.times[i]});
    }
    curve = {};
    return {};
  };
  compute_profile compute;
  contention load;
  std::string kind;
  saturation share;
  bool has_backward = false, has_product_memory = false;
  const auto shares = [&](by_arithmetic<saturation>& into) {
    auto fields = detail::saturation_fields(share);
    fields.push_back(json_required("arithmetic", json_text(kind)));
    return json_list(json_object(std::move(fields)), [&]() -> std::string {
      const saturation found = std::exchange(share, saturation());
      for (std::size_t k = 0; k < into.size(); ++k)
        if (kind == detail::arithmetic_names[k]) {
          into[k] = found;
          has_backward = has_backward || &into == &compute.attention_backward;
          return {};
        }
      return "has arithmetic '" + detail::shortened(kind) + "', expected f64, f32, f16, i8 or f8";
    });
  };
  std::vector<json_field> fields = json_header("shardweave.device", 1);
  fields.push_back(json_required("name", json_text(device.name)));
  fields.push_back(json_optional("device", json_text(device.device)));
  fields.push_back(json_optional("source", json_text(device.source)));
  fields.push_back(json_optional(
      "collectives", json_list(json_object({json_required("op", json_text(curve.op)),
                                            json_required("ranks_per_node", json_number(curve.group.ranks_per_node)),
                                            json_optional("nodes", json_number(curve.group.nodes)),
                                            json_required("bytes", json_numbers(curve.sizes)),
                                            json_required("time_us", json_numbers(curve.times))},
                                           curve_ends))));
  fields.push_back(json_optional(
      "compute",
      json_object(
          {json_optional("memory", json_object(detail::saturation_fields(compute.memory))),
           json_optional("product_memory", json_object(detail::saturation_fields(compute.product_memory),
                                                       [&]() -> std::string {
                                                         has_product_memory = true;
                                                         return {};
                                                       })),
           json_optional("product", shares(compute.product)), json_optional("attention", shares(compute.attention)),
           json_optional("attention_backward", shares(compute.attention_backward)),
           json_optional("launch_us", detail::device_number(compute.launch_us, true, detail::most_device_us)),
           json_optional("product_floor_us",
                         detail::device_number(compute.product_floor_us, true, detail::most_device_us))},
          [&]() -> std::string {
            if (!has_backward) compute.attention_backward = compute.attention;
            if (!has_product_memory) compute.product_memory = compute.memory;
            device.compute = compute;
            return {};
          })));
  fields.push_back(json_optional(
      "contention",
      json_object({json_optional("processors", detail::device_number(load.processors, false)),
                   json_optional("memory_bandwidth", detail::device_number(load.memory_bandwidth, false)),
                   json_optional("memory_per_wire", detail::device_number(load.memory_per_wire, true)),
                   json_optional("compute_factor", detail::device_number(load.compute_factor, false)),
                   json_optional("collective_factor", detail::device_number(load.collective_factor, false))},
                  [&]() -> std::string {
                    device.under_load = load;
                    return {};
                  })));
  fields.push_back(json_optional("held_out", json_anything()));
  read_json(input, json_object(std::move(fields)), options);
  return device;
}

/// Writes a device file. Numbers read back to the same bits, so that models made of what was read answer alike.
/// \param held_out  the errors of a calibration on sizes that it did not see; told to readers of the file, skipped by
///                  programs
inline void write_device(json_writer& out, const device_calibration& device,
                         const accuracy_report* held_out = nullptr) {
  out.begin_object().member("format", "shardweave.device").member("version", 1).member("name", device.name);
  out.text_if_any("device", device.device).text_if_any("source", device.source);
  const auto rows = detail::sorted_measurements(device.collectives);
  out.key("collectives").begin_list();
  detail::for_each_curve(rows, [&](std::span<const collective_measurement> curve) {
    const collective_measurement& first = curve.front();
    out.line().begin_object().member("op", name_of(first.kind));
    out.member("ranks_per_node", first.group.ranks_per_node).member("nodes", first.group.nodes);
    out.key("bytes").begin_list();
    for (const collective_measurement& m : curve) out.value(m.size.count());
    out.end_list().key("time_us").begin_list();
    for (const collective_measurement& m : curve) out.value(m.time_us);
    out.end_list().end_object();
  });
  out.end_list();
  if (device.compute) {
    out.line().key("compute").begin_object().key("memory").begin_object();
    detail::write_saturation(out, device.compute->memory);
    out.end_object();
    if (device.compute->product_memory != device.compute->memory) {
      out.key("product_memory").begin_object();
      detail::write_saturation(out, device.compute->product_memory);
      out.end_object();
    }
    const auto shares = [&](std::string_view name, const by_arithmetic<saturation>& from) {
      out.key(name).begin_list();
      for (std::size_t k = 0; k < from.size(); ++k) {
        out.begin_object().member("arithmetic", detail::arithmetic_names[k]);
        detail::write_saturation(out, from[k]);
        out.end_object();
      }
      out.end_list();
    };
    shares("product", device.compute->product);
    shares("attention", device.compute->attention);
    if (device.compute->attention_backward != device.compute->attention)
      shares("attention_backward", device.compute->attention_backward);
    out.member("launch_us", device.compute->launch_us);
    out.member("product_floor_us", device.compute->product_floor_us).end_object();
  }
  if (device.under_load) {
    const contention& c = *device.under_load;
    out.line().key("contention").begin_object().member("processors", c.processors);
    out.member("memory_bandwidth", c.memory_bandwidth).member("memory_per_wire", c.memory_per_wire);
    out.member("compute_factor", c.compute_factor).member("collective_factor", c.collective_factor).end_object();
  }
  if (held_out != nullptr) {
    out.line().key("held_out").begin_list();
    for (std::size_t i = 0; i < held_out->size(); ++i) {
      const error_figures& f = (*held_out)[i];
      if (f.count == 0) continue;
      out.begin_object().member("sizes", size_bands[i].name).member("count", f.count);
      out.member("median_percent", f.median).member("p90_percent", f.p90).member("mean_percent", f.mean).end_object();
    }
    out.end_list();
  }
  out.line().end_object().line();
}

/// Writes a device file, which is there whole or not at all.
/// \throws error (system)
inline void write_device(const std::filesystem::path& path, const device_calibration& device,
                         const accuracy_report* held_out = nullptr) {
  write_json_file(path, [&](json_writer& out) { write_device(out, device, held_out); });
}

}  // namespace shardweave::inline v0
