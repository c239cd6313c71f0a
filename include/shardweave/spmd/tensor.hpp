#pragma once

#include <shardweave/core/units.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

/// \file
/// What is known of a tensor before it is sharded.

namespace shardweave::inline v0 {

/// Element types. Complex numbers count as one element of 8 bytes.
enum class dtype : std::uint8_t { f64, f32, bf16, f16, c64, i64, i32, u8, boolean, f8e4m3, f8e5m2 };

/// Bytes of one element.
[[nodiscard]] constexpr std::int64_t element_size(dtype type) {
  switch (type) {
    case dtype::f64:
    case dtype::c64:
    case dtype::i64:
      return 8;
    case dtype::f32:
    case dtype::i32:
      return 4;
    case dtype::bf16:
    case dtype::f16:
      return 2;
    case dtype::u8:
    case dtype::boolean:
    case dtype::f8e4m3:
    case dtype::f8e5m2:
      return 1;
  }
  return 0;
}

/// Floating point of 8 bits.
[[nodiscard]] constexpr bool is_f8(dtype type) { return type == dtype::f8e4m3 || type == dtype::f8e5m2; }

/// The name that files use, for example "bf16".
[[nodiscard]] constexpr std::string_view name_of(dtype type) {
  constexpr std::string_view names[] = {"f64", "f32", "bf16", "f16",    "c64",   "i64",
                                        "i32", "u8",  "bool", "f8e4m3", "f8e5m2"};
  return names[static_cast<std::size_t>(type)];
}

/// Global (unsharded) shape and element type; row-major and contiguous unless said otherwise.
struct tensor {
  std::vector<std::int64_t> shape;
  dtype type = dtype::f32;
  bool contiguous = true;

  [[nodiscard]] std::size_t rank() const { return shape.size(); }
  /// The greatest number where there are more.
  [[nodiscard]] std::int64_t element_count() const {
    std::int64_t n = 1;
    for (const std::int64_t extent : shape) n = product(n, extent);
    return n;
  }
  /// The greatest number where there are more.
  [[nodiscard]] bytes size() const { return bytes(product(element_count(), element_size(type))); }
  friend bool operator==(const tensor&, const tensor&) = default;

 private:
  [[nodiscard]] static std::int64_t product(std::int64_t a, std::int64_t b) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    return a > 0 && b > most / a ? most : a * b;
  }
};

}  // namespace shardweave::inline v0
