#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/io/iopddl.hpp>
#include <shardweave/io/json_stream.hpp>
#include <shardweave/io/read_placement.hpp>
#include <shardweave/io/text_input.hpp>
#include <shardweave/placement/description.hpp>

#include <cstdint>
#include <filesystem>
#include <utility>
#include <variant>

/// \file
/// Placement problems of any format that the library reads.

namespace shardweave::inline v0 {

/// A problem with exact or with floating costs, as its format has them.
using any_placement = std::variant<placement_description<std::int64_t>, placement_description<double>>;

namespace detail {
/// Is a problem written as in the IOPDDL contest, and not in the library's own format? Told by what the text says, not
/// by its name: an IOPDDL file has a field "problem", ours a field "format". Reads no further than it must.
[[nodiscard]] inline bool is_iopddl(text_input& input) {
  bool known = false;
  bool result = true;
  json_shape problem = json_object({});
  problem.begin = [&] { known = true; };
  json_shape format = json_value("a string", [&](const json_scalar& s) {
    result = false;
    known = s.type == json_scalar::kind::text;
    return known;
  });
  const json_shape root =
      json_object({json_optional("problem", std::move(problem)), json_optional("format", std::move(format))});
  read_json(input, root, {}, &known);
  if (!known)
    refuse(error_category::format, input.name() +
                                       ": is no placement problem: it has neither a field 'problem' "
                                       "(IOPDDL) nor a field 'format' (shardweave.placement)");
  return result;
}
}  // namespace detail

/// Reads a problem of either format, told by its content. The file is opened twice.
/// \throws error (format) for text that is no JSON object or has neither a field "problem" nor a field "format", and as
///         `read_iopddl` and `read_placement` do
[[nodiscard]] inline any_placement read_any_placement(const std::filesystem::path& path,
                                                      const read_options& options = {}) {
  text_input first_look(path);
  if (detail::is_iopddl(first_look)) return read_iopddl(path, options);
  return read_placement(path, options);
}

}  // namespace shardweave::inline v0
