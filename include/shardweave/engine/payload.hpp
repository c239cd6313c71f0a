#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/engine/collective_engine.hpp>
#include <shardweave/engine/half_number.hpp>
#include <shardweave/tasks/task.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// What collectives carry when they are executed: how many elements, which values, and what must come out.

namespace shardweave::inline v0 {

/// The type of an element on the wire. Between hosts 16-bit floats travel as 16-bit numbers, which have their size:
/// hosts have no sum of bf16. Between devices, which have no sum of 16-bit numbers, they travel as f16.
enum class element_type : std::uint8_t { u8, u16, u32, u64, f32, f64, f16 };

/// The type that stands for a dtype; 8 bits where the dtype is unknown.
[[nodiscard]] inline element_type element_of(std::string_view dtype) {
  if (dtype == "f32" || dtype == "float32") return element_type::f32;
  if (dtype == "f64" || dtype == "float64") return element_type::f64;
  if (dtype.ends_with("64")) return element_type::u64;
  if (dtype.ends_with("32")) return element_type::u32;
  if (dtype.ends_with("16")) return element_type::u16;
  return element_type::u8;
}
/// Bytes of one element.
[[nodiscard]] constexpr std::int64_t width_of(element_type type) {
  constexpr std::int64_t widths[] = {1, 2, 4, 8, 4, 8, 2};
  return widths[static_cast<std::size_t>(type)];
}
/// Calls `use(T{})` with the type.
template <class Use>
auto with_element(element_type type, Use use) {
  switch (type) {
    case element_type::u8:
      return use(std::uint8_t{});
    case element_type::u16:
      return use(std::uint16_t{});
    case element_type::u32:
      return use(std::uint32_t{});
    case element_type::u64:
      return use(std::uint64_t{});
    case element_type::f32:
      return use(float{});
    case element_type::f16:
      return use(half_number{});
    case element_type::f64:
      break;
  }
  return use(double{});
}

/// How a rank's values become one. An average travels as a sum.
enum class reduce_op : std::uint8_t { sum, max, min };
/// By the name that task graphs use: "max", "min", else a sum.
[[nodiscard]] constexpr reduce_op reduce_op_of(std::string_view name) {
  return name == "max" ? reduce_op::max : name == "min" ? reduce_op::min : reduce_op::sum;
}

/// The buffers of a collective or bucket, in elements, on a group of `ranks`. A member's send buffer is
/// `send_blocks` blocks of its unit, its receive buffer `receive_blocks`: a gather receives a block from each rank,
/// a reduce-scatter sends one to each, a shift sends one to the next rank. In a bucket each block holds the units of
/// all members, one after the other.
struct payload_shape {
  collective kind = {};
  element_type type = {};
  reduce_op reduce = {};
  std::int64_t ranks = 1;
  std::vector<task_index> tasks = {};    ///< one, or the members of the bucket
  std::vector<std::int64_t> units = {};  ///< elements in a block, of each; sizes are rounded up
  std::int64_t unit = 0;                 ///< their sum
  std::uint64_t values = 32;             ///< what ranks send is below: sums of f16 are exact up to 2048

  [[nodiscard]] std::int64_t send_blocks() const {
    return kind == collective::reduce_scatter || kind == collective::all_to_all ? ranks : 1;
  }
  [[nodiscard]] std::int64_t receive_blocks() const {
    return kind == collective::all_gather || kind == collective::all_to_all ? ranks : 1;
  }
  [[nodiscard]] bytes send_size() const { return bytes(send_blocks() * unit * width_of(type)); }
  [[nodiscard]] bytes receive_size() const { return bytes(receive_blocks() * unit * width_of(type)); }
};

/// \param type  how elements travel, where that is not as between hosts
/// \throws error if the operation is none of `priced_collectives`
[[nodiscard]] inline payload_shape payload_of(const collective_call& call, std::int64_t ranks,
                                              std::optional<element_type> type = std::nullopt) {
  payload_shape shape;
  if (call.op == collective::other)
    refuse(error_category::input, "task " + std::to_string(call.task) +
                                      " is a collective of another kind, expected all_gather, reduce_scatter, "
                                      "all_reduce, all_to_all or shift");
  shape.kind = call.op;
  shape.type = type ? *type : element_of(call.dtype);
  shape.reduce = reduce_op_of(call.reduce);
  shape.ranks = ranks;
  if (shape.type == element_type::f16)
    shape.values = static_cast<std::uint64_t>(std::clamp<std::int64_t>(2048 / ranks, 1, 32));
  const auto add = [&](task_index task, bytes in) {
    const std::int64_t block = shape.send_blocks() * width_of(shape.type);
    shape.tasks.push_back(task);
    shape.units.push_back((in.count() + block - 1) / block);
    shape.unit += shape.units.back();
  };
  if (call.parts.empty()) add(call.task, call.bytes_in);
  for (const bucket_part& part : call.parts) add(part.task, part.bytes_in);
  return shape;
}

/// What a rank sends at an element of a collective: below 32, so that sums of eight ranks fit into a byte and all
/// sums are exact in every type.
[[nodiscard]] constexpr std::uint64_t payload_value(task_index task, std::int64_t position, std::int64_t element) {
  std::uint64_t x = (static_cast<std::uint64_t>(task) << 40U) ^ (static_cast<std::uint64_t>(position) << 32U) ^
                    static_cast<std::uint64_t>(element);
  x = (x ^ (x >> 29U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 32U)) * 0x94d049bb133111ebU;
  return x >> 59U;
}

/// What the rank at `position` of its group sends for a member, at an element of its send buffer.
[[nodiscard]] constexpr std::uint64_t sent_value(const payload_shape& shape, std::size_t member, std::int64_t position,
                                                 std::int64_t element) {
  return payload_value(shape.tasks[member], position, element) % shape.values;
}

/// What the rank at `position` of its group must hold at an element of its receive buffer afterwards.
/// \pre element is below receive_blocks() * units[member]
[[nodiscard]] inline std::uint64_t expected_value(const payload_shape& shape, std::size_t member, std::int64_t position,
                                                  std::int64_t element) {
  const std::int64_t unit = shape.units[member];
  if (shape.kind == collective::all_gather) return sent_value(shape, member, element / unit, element % unit);
  if (shape.kind == collective::all_to_all)
    return sent_value(shape, member, element / unit, position * unit + element % unit);
  if (shape.kind == collective::shift)
    return sent_value(shape, member, (position + shape.ranks - 1) % shape.ranks, element);
  const std::int64_t at = shape.kind == collective::reduce_scatter ? position * unit + element : element;
  std::uint64_t all = sent_value(shape, member, 0, at);
  for (std::int64_t r = 1; r < shape.ranks; ++r) {
    const std::uint64_t one = sent_value(shape, member, r, at);
    all = shape.reduce == reduce_op::sum   ? all + one
          : shape.reduce == reduce_op::max ? std::max(all, one)
                                           : std::min(all, one);
  }
  return all;
}

/// Writes what the rank at `position` sends for a member.
inline void fill_payload(const payload_shape& shape, std::size_t member, std::int64_t position,
                         std::span<std::byte> into) {
  with_element(shape.type, [&](auto zero) {
    using element = decltype(zero);
    for (std::int64_t i = 0; i < shape.send_blocks() * shape.units[member]; ++i) {
      const auto value = static_cast<element>(sent_value(shape, member, position, i));
      std::memcpy(into.data() + static_cast<std::size_t>(i) * sizeof value, &value, sizeof value);
    }
  });
}

/// Compares what the rank at `position` received for a member with what it must hold.
/// \returns what is wrong at the first wrong element; empty if nothing is
[[nodiscard]] inline std::string payload_fault(const payload_shape& shape, std::size_t member, std::int64_t position,
                                               std::span<const std::byte> received) {
  return with_element(shape.type, [&](auto zero) {
    using element = decltype(zero);
    for (std::int64_t i = 0; i < shape.receive_blocks() * shape.units[member]; ++i) {
      element value;
      std::memcpy(&value, received.data() + static_cast<std::size_t>(i) * sizeof value, sizeof value);
      const auto expected = static_cast<element>(expected_value(shape, member, position, i));
      if (value != expected)
        return "holds " + std::to_string(value) + " at element " + std::to_string(i) + ", expected " +
               std::to_string(expected);
    }
    return std::string();
  });
}

/// Copies between the members' buffers and a bucket's: `copy(offset in the bucket, offset in the member's buffer,
/// member, size)` in bytes, for each unit of each block.
template <class Copy>
void for_each_unit(const payload_shape& shape, std::int64_t blocks, Copy copy) {
  const std::int64_t width = width_of(shape.type);
  std::int64_t at = 0;
  for (std::int64_t b = 0; b < blocks; ++b)
    for (std::size_t m = 0; m < shape.units.size(); ++m) {
      const std::int64_t unit = shape.units[m] * width;
      copy(static_cast<std::size_t>(at), static_cast<std::size_t>(b * unit), m, static_cast<std::size_t>(unit));
      at += unit;
    }
}

}  // namespace shardweave::inline v0
