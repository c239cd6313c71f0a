#pragma once

#include <shardweave/spmd/mesh.hpp>
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/tensor.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace shardweave::inline v0::detail {

/// The shardings of one tensor on one mesh as numbers 0, 1, ... A number has a digit per mesh dimension, the first
/// being the most significant: 0 = R, 1 + d = S(d), rank + 1 = P of whatever kind.
class sharding_numbers {
 public:
  sharding_numbers(const tensor& value, const device_mesh& mesh)
      : value_(value), base_(static_cast<std::uint32_t>(value.rank()) + 2), weight_(mesh.rank()) {
    std::uint32_t count = 1;
    for (std::size_t d = mesh.rank(); d-- > 0;) {
      weight_[d] = count;
      count *= base_;
    }
    digits_.resize(count * weight_.size());
    for (std::uint32_t number = 0; number < count; ++number)
      for (std::size_t d = 0; d < weight_.size(); ++d)
        digits_[number * weight_.size() + d] = static_cast<std::uint8_t>(number / weight_[d] % base_);
    held_.resize(count);
    for (std::uint32_t number = 0; number < count; ++number) {
      sharding where(mesh.rank());
      for (std::size_t d = 0; d < mesh.rank(); ++d) where.set(d, placement_of(digit(number, d)));
      held_[number] = is_valid_sharding(value.shape, where, mesh) ? local_size(value, where, mesh).count() : -1;
    }
  }

  [[nodiscard]] const tensor& value() const { return value_; }
  [[nodiscard]] std::size_t size() const { return held_.size(); }
  /// Whether every device has an element.
  [[nodiscard]] bool is_valid(std::uint32_t number) const { return held_[number] >= 0; }
  /// What lies on each rank. \pre is_valid(number)
  [[nodiscard]] bytes held(std::uint32_t number) const { return bytes(held_[number]); }

  [[nodiscard]] std::uint32_t digit(std::uint32_t number, std::size_t d) const {
    return digits_[number * weight_.size() + d];
  }
  /// The digit of a partial result: the greatest one.
  [[nodiscard]] std::uint32_t partial_digit() const { return base_ - 1; }
  [[nodiscard]] std::uint32_t with_digit(std::uint32_t number, std::size_t d, std::uint32_t digit_there) const {
    return number + (digit_there - digit(number, d)) * weight_[d];
  }
  [[nodiscard]] dim_placement placement_of(std::uint32_t digit) const {
    if (digit == 0) return dim_placement::replicate();
    return digit == partial_digit() ? dim_placement::partial() : dim_placement::shard(digit - 1);
  }

  /// The number of a sharding, or nothing if it is not one of this tensor on this mesh.
  [[nodiscard]] std::optional<std::uint32_t> number_of(const sharding& where) const {
    if (where.size() != weight_.size()) return std::nullopt;
    std::uint32_t number = 0;
    for (std::size_t d = 0; d < where.size(); ++d) {
      const dim_placement p = where[d];
      if (p.is_sharded() && p.dim() + 2 >= base_) return std::nullopt;
      const std::uint32_t code = p.is_replicated() ? 0
                                 : p.is_partial()  ? partial_digit()
                                                   : static_cast<std::uint32_t>(p.dim()) + 1;
      number += code * weight_[d];
    }
    if (!is_valid(number)) return std::nullopt;
    return number;
  }
  /// The number of the target if both ends are valid and no partial result would have to be made.
  [[nodiscard]] std::optional<std::uint32_t> reachable_number(const sharding& from, const sharding& to) const {
    return number_of(from) ? number_from(from, to) : std::nullopt;
  }
  /// The same from a sharding that is known to be valid.
  [[nodiscard]] std::optional<std::uint32_t> number_from(const sharding& from, const sharding& to) const {
    if (to.has_partial() && to.size() == from.size())
      for (std::size_t d = 0; d < to.size(); ++d)
        if (to[d].is_partial() && to[d] != from[d]) return std::nullopt;
    return number_of(to);
  }

  /// Whether a mesh dimension other than d, not before `first`, cuts the same tensor dimension as `code` does.
  [[nodiscard]] bool is_nested(std::uint32_t number, std::size_t d, std::uint32_t code, std::size_t first) const {
    if (code == 0 || code == partial_digit()) return false;
    for (std::size_t other = first; other < weight_.size(); ++other)
      if (other != d && digit(number, other) == code) return true;
    return false;
  }

 private:
  tensor value_;
  std::uint32_t base_;
  std::vector<std::uint32_t> weight_;  // of each mesh dimension's digit
  std::vector<std::uint8_t> digits_;   // by number and mesh dimension
  std::vector<std::int64_t> held_;     // bytes on a rank, by number; -1 = not a valid sharding
};

}  // namespace shardweave::inline v0::detail
