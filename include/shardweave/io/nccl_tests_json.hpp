#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/io/detail/record_text.hpp>
#include <shardweave/io/json_shape.hpp>
#include <shardweave/io/json_stream.hpp>
#include <shardweave/io/measured_record.hpp>
#include <shardweave/io/text_input.hpp>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Reads what nccl-tests writes with option -J.

namespace shardweave::inline v0 {

/// Two records per result, out of place and in place, as in its text output. The collective is that of the program in
/// `args`, unless `options` name one; the group must be given, because the file does not say which ranks share a node.
/// \throws error (format) naming the file, the line and byte, the field, what was found and what was expected; (input)
///         if the collective or the group is open
[[nodiscard]] inline std::vector<measured_record> read_nccl_tests_json(text_source input,
                                                                       const record_options& options) {
  if (!options.group || options.group->ranks() < 2)
    refuse(error_category::input,
           input.name() + ": does not say which ranks share a node; give a group of two or more");
  struct placed {
    std::optional<double> time;
    std::optional<double> cpu_time;
    [[nodiscard]] std::optional<double> microseconds() const { return time ? time : cpu_time; }
  };
  struct result {
    std::int64_t size = 0;
    placed out;
    placed in;
  } now;
  std::vector<std::string> arguments;
  std::vector<measured_record> records;
  const auto side = [](placed& into) {
    return json_object(
        {json_optional("time", json_number(into.time)), json_optional("cpu_time", json_number(into.cpu_time))});
  };
  const auto ends = [&]() -> std::string {
    const result done = std::exchange(now, result());
    if (done.size < 0) return "has a negative size";
    for (const auto& [side_of, name] : {std::pair{&done.out, "out"}, std::pair{&done.in, "in"}}) {
      const auto time = side_of->microseconds();
      if (!time || done.size == 0) continue;
      if (!(*time > 0) || !std::isfinite(*time)) return "has a time that is not positive";
      records.push_back({{collective{}, *options.group, bytes(done.size), *time}, {}, name, {}});
    }
    return {};
  };
  read_json(input,
            json_object({json_optional("args", json_texts(arguments)),
                         json_required("results", json_list(json_object({json_required("size", json_number(now.size)),
                                                                         json_optional("out_of_place", side(now.out)),
                                                                         json_optional("in_place", side(now.in))},
                                                                        ends)))}));
  std::optional<collective> kind = options.kind;
  if (!kind && !arguments.empty()) {
    const std::string_view program = arguments.front();
    kind = detail::collective_of_name(program.substr(program.rfind('/') + 1));  // the whole if there is no '/'
  }
  if (!kind)
    refuse(error_category::input,
           input.name() + ": does not name the program of a known collective in 'args', and none was given");
  for (measured_record& r : records) r.measurement.kind = *kind;
  return records;
}

}  // namespace shardweave::inline v0
