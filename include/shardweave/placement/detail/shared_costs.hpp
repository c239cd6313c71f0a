#pragma once

#include <shardweave/core/interning.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/detail/equal_lines.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace shardweave::inline v0::detail {

/// Many costs with few distinct values: those, and a two-byte code for each. Costs of redistributions on a large mesh
/// are like this: some thousand distinct values in tables of millions.
template <cost_value Cost>
class packed_costs {
 public:
  /// Null if that saves less than half of the memory.
  /// Complexity: one hash look-up per cost
  [[nodiscard]] static std::shared_ptr<const packed_costs> of(std::span<const Cost> costs) {
    if constexpr (sizeof(Cost) != sizeof(std::uint64_t)) {
      return nullptr;  // padding bits could not be told from others
    } else {
      constexpr std::size_t most = 1U << 16, slots = 2 * most;
      std::vector<std::uint32_t> code_at(slots);  // one more than the code; 0 where there is none
      std::vector<Cost> values;
      std::vector<std::uint16_t> codes(costs.size());
      for (std::size_t k = 0; k < costs.size(); ++k) {
        const auto bits = std::bit_cast<std::uint64_t>(costs[k]);
        std::size_t slot = hash_combine(0, static_cast<std::size_t>(bits)) % slots;
        while (code_at[slot] != 0 && std::bit_cast<std::uint64_t>(values[code_at[slot] - 1]) != bits)
          slot = (slot + 1) % slots;
        if (code_at[slot] == 0) {
          if (values.size() == most || values.size() > costs.size() / 4) return nullptr;
          values.push_back(costs[k]);
          code_at[slot] = static_cast<std::uint32_t>(values.size());
        }
        codes[k] = static_cast<std::uint16_t>(code_at[slot] - 1);
      }
      values.shrink_to_fit();
      return std::make_shared<const packed_costs>(std::move(values), std::move(codes));
    }
  }

  packed_costs(std::vector<Cost> values, std::vector<std::uint16_t> codes)
      : values_(std::move(values)), codes_(std::move(codes)) {}

  [[nodiscard]] Cost operator[](std::size_t k) const { return values_[codes_[k]]; }

  /// All costs, unpacked at the first call and kept. May be called concurrently.
  [[nodiscard]] const Cost* unpacked() const {
    std::call_once(is_unpacked_, [this] {
      unpacked_.reserve(codes_.size());
      for (const std::uint16_t code : codes_) unpacked_.push_back(values_[code]);
    });
    return unpacked_.data();
  }

 private:
  std::vector<Cost> values_;
  std::vector<std::uint16_t> codes_;
  mutable std::once_flag is_unpacked_;
  mutable std::vector<Cost> unpacked_;
};

/// An immutable sequence of costs that copies share; plain or packed.
template <cost_value Cost>
class shared_costs {
 public:
  shared_costs() = default;
  explicit shared_costs(std::vector<Cost> costs) : size_(costs.size()) {
    const auto held = std::make_shared<const std::vector<Cost>>(std::move(costs));
    plain_ = std::shared_ptr<const Cost>(held, held->data());
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] Cost operator[](std::size_t k) const {
    const Cost* const plain = plain_.get();
    return plain != nullptr ? plain[k] : (*packed_)[k];
  }
  /// All costs as an array, unpacked if necessary.
  [[nodiscard]] const Cost* data() const { return packed_ == nullptr ? plain_.get() : packed_->unpacked(); }
  [[nodiscard]] bool is_packed() const { return packed_ != nullptr; }
  /// The same costs, packed if they are many and that saves memory.
  [[nodiscard]] shared_costs packed() const {
    constexpr std::size_t many = 1U << 15;
    shared_costs result = *this;
    if (is_packed() || size_ < many) return result;
    result.packed_ = packed_costs<Cost>::of({plain_.get(), size_});
    if (result.packed_ != nullptr) result.plain_ = nullptr;
    return result;
  }

  /// The hash of the costs, whether packed or not.
  [[nodiscard]] std::size_t hash() const {
    return hash_of_costs(size_, [this](std::size_t k) { return (*this)[k]; });
  }
  friend bool operator==(const shared_costs& a, const shared_costs& b) {
    if (a.size_ != b.size_) return false;
    if (a.plain_ == b.plain_ && a.packed_ == b.packed_) return true;
    for (std::size_t k = 0; k < a.size_; ++k)
      if (a[k] != b[k]) return false;
    return true;
  }

 private:
  std::size_t size_ = 0;
  std::shared_ptr<const Cost> plain_;  // of a vector: the default allocator aligns to 16 bytes; null if packed
  std::shared_ptr<const packed_costs<Cost>> packed_;
};

}  // namespace shardweave::inline v0::detail
