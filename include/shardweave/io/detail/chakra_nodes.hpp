#pragma once

#include <shardweave/io/chakra_trace.hpp>
#include <shardweave/io/detail/protobuf_message.hpp>
#include <shardweave/io/detail/shortened.hpp>
#include <shardweave/io/json_shape.hpp>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

/// \file
/// What both forms of a Chakra trace share: values of attributes, and what the attributes mean.

namespace shardweave::inline v0::detail {

/// Some 30 years; durations beyond do not add up to a time in nanoseconds.
inline constexpr std::int64_t longest_chakra_us = 1'000'000'000'000'000;

/// "node 17 (name)"
[[nodiscard]] inline std::string chakra_label(const chakra_node& n) {
  return "node " + std::to_string(n.id) + " (" + shortened(n.name) + ")";
}

/// The value of an attribute: a number, a truth or a text; null for lists, which no attribute here has.
[[nodiscard]] inline json_scalar chakra_value(const protobuf_field& field) {
  using kind = json_scalar::kind;
  const auto integer = [](std::uint64_t value) {
    return json_scalar{.type = kind::integer, .integer = static_cast<std::int64_t>(value)};
  };
  const auto unsigned_integer = [&](std::uint64_t value) {
    if (value >> 63 == 0) return integer(value);
    return json_scalar{.type = kind::number, .number = static_cast<double>(value)};
  };
  const auto zigzag = [&](std::uint64_t value) { return integer(value >> 1 ^ (~(value & 1) + 1)); };
  const auto low = static_cast<std::uint32_t>(field.value);
  switch (field.number) {  // the numbers of `AttributeProto`; those between are lists
    case 3:
      return {.type = kind::number, .number = std::bit_cast<double>(field.value)};
    case 5:
      return {.type = kind::number, .number = std::bit_cast<float>(low)};
    case 7:
    case 9:
    case 25:
      return integer(field.value);
    case 11:
    case 13:
    case 21:
      return unsigned_integer(field.value);
    case 15:
    case 17:
      return zigzag(field.value);
    case 19:
      return integer(low);
    case 23:
      return integer(static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(low)}));
    case 27:
      return {.type = kind::boolean, .flag = field.value != 0};
    case 29:
    case 31:
      return {.type = kind::text, .text = field.bytes};
    default:
      return {};
  }
}

/// A whole number, as JSON says it (a number, or a text of one, as 64-bit numbers are written) or as a floating-point
/// one.
[[nodiscard]] inline std::optional<std::int64_t> chakra_integer(const json_scalar& s) {
  constexpr double limit = 0x1p63;
  if (s.type == json_scalar::kind::integer) return s.integer;
  if (s.type == json_scalar::kind::boolean) return s.flag ? 1 : 0;
  if (s.type == json_scalar::kind::number) {
    if (!(s.number > -limit && s.number < limit) || s.number != std::floor(s.number)) return std::nullopt;
    return static_cast<std::int64_t>(s.number);
  }
  if (s.type != json_scalar::kind::text) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(s.text.data(), s.text.data() + s.text.size(), value);
  if (code != std::errc() || end != s.text.data() + s.text.size()) return std::nullopt;
  return value;
}
/// The same, not negative.
[[nodiscard]] inline std::optional<std::int64_t> chakra_count(const json_scalar& s) {
  const auto value = chakra_integer(s);
  return value && *value >= 0 ? value : std::nullopt;
}

/// The id of a node: any number of 64 bits without a sign.
[[nodiscard]] inline std::optional<std::uint64_t> chakra_id(const json_scalar& s) {
  if (s.type == json_scalar::kind::integer && s.integer >= 0) return static_cast<std::uint64_t>(s.integer);
  if (s.type != json_scalar::kind::text && s.type != json_scalar::kind::number) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, code] = std::from_chars(s.text.data(), s.text.data() + s.text.size(), value);
  if (code != std::errc() || end != s.text.data() + s.text.size()) return std::nullopt;
  return value;
}

/// The place of a name among names, or of its number.
template <class Names>
[[nodiscard]] std::optional<std::int64_t> chakra_enumerator(const json_scalar& s, const Names& names) {
  if (s.type == json_scalar::kind::text)
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == s.text) return static_cast<std::int64_t>(i);
  const auto value = chakra_count(s);
  return value && *value < static_cast<std::int64_t>(names.size()) ? value : std::nullopt;
}

/// Takes an attribute that says something of time, order or size; passes over the others.
/// \return what is wrong, worded to follow the node's name; empty if nothing is
[[nodiscard]] inline std::string set_chakra_attribute(chakra_node& n, std::string_view name, const json_scalar& value) {
  const auto wrong = [&](const std::string& expected) {
    std::string found =
        value.type == json_scalar::kind::text ? "\"" + shortened(value.text) + "\"" : shortened(value.text);
    if (value.type == json_scalar::kind::integer) found = std::to_string(value.integer);
    if (value.type == json_scalar::kind::number && value.text.empty()) found = std::to_string(value.number);
    return "has the attribute '" + std::string(name) + "'" + (found.empty() ? "" : " of " + found) + ", expected " +
           expected;
  };
  const auto count = [&](std::int64_t& into) -> std::string {
    const auto found = chakra_count(value);
    constexpr std::int64_t largest = std::int64_t{1} << 60;
    if (!found || *found > largest) return wrong("a whole number from 0 to 2^60");
    into = *found;
    return {};
  };
  const auto rank = [&](std::optional<std::int64_t>& into) -> std::string {
    into = chakra_integer(value);
    return into ? std::string() : wrong("a rank");
  };
  if (name == "is_cpu_op") {
    const auto flag = chakra_integer(value);
    if (!flag) return wrong("true or false");
    n.on_host = *flag != 0;
  }
  if (name == "num_ops") return count(n.ops);
  if (name == "tensor_size") return count(n.tensor_size);
  if (name == "comm_size") return count(n.comm_size);
  if (name == "comm_src") return rank(n.source);
  if (name == "comm_dst") return rank(n.destination);
  if (name == "comm_type") {
    const auto known = chakra_enumerator(value, chakra_collective_names);
    if (!known)
      return wrong("a collective's name, or its number below " + std::to_string(chakra_collective_names.size()));
    n.comm_type = *known;
  }
  if (name == "pg_name" || name == "op_type") {
    std::string& into = name == "pg_name" ? n.group : n.op;
    if (value.type == json_scalar::kind::integer) {
      into = std::to_string(value.integer);
    } else if (value.type == json_scalar::kind::text) {
      into = value.text;
    } else {
      return wrong("a text");
    }
  }
  return {};
}

}  // namespace shardweave::inline v0::detail
