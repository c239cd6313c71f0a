#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

/// \file
/// Equal things get equal numbers, so that work on them is done once.

namespace shardweave::inline v0 {

/// Mixes a value into a running hash.
constexpr std::size_t hash_combine(std::size_t seed, std::size_t value) {
  std::uint64_t z = static_cast<std::uint64_t>(seed) * 0x9e3779b97f4a7c15ULL + value + 0x632be59bd9b4e019ULL;
  z = (z ^ (z >> 29)) * 0xbf58476d1ce4e5b9ULL;
  return static_cast<std::size_t>(z ^ (z >> 32));
}

/// A hash of `count` hashes in their order: four running ones, so that none waits for the one before.
/// \param at  gives hash k of `count`
template <class At>
[[nodiscard]] constexpr std::size_t hash_in_order(std::size_t count, At at) {
  std::size_t lanes[4] = {count, 1, 2, 3};
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4)
    for (std::size_t lane = 0; lane < 4; ++lane) lanes[lane] = hash_combine(lanes[lane], at(i + lane));
  for (; i < count; ++i) lanes[0] = hash_combine(lanes[0], at(i));
  return hash_combine(hash_combine(lanes[0], lanes[1]), hash_combine(lanes[2], lanes[3]));
}

/// A hash of a sequence of hashable values, which gives them by position.
struct sequence_hash {
  template <class Sequence>
  [[nodiscard]] std::size_t operator()(const Sequence& values) const {
    return hash_in_order(
        values.size(), [&](std::size_t i) { return std::hash<std::remove_cvref_t<decltype(values[i])>>{}(values[i]); });
  }
};

/// Numbers distinct values in the order in which they first come: 0, 1, 2, ...
/// Complexity: one hash and, on average, one comparison per call.
template <class Value, class Hash = std::hash<Value>>
class interner {
 public:
  interner() = default;
  interner(interner&&) = default;
  interner& operator=(interner&&) = default;

  /// The number of `value`, a new one if it was not seen before: only then is it copied.
  std::uint32_t operator()(const Value& value) { return number_of(value); }
  std::uint32_t operator()(Value&& value) { return number_of(std::move(value)); }
  [[nodiscard]] std::size_t size() const { return values_.size(); }
  /// \pre id < size()
  [[nodiscard]] const Value& operator[](std::uint32_t id) const { return *values_[id]; }

 private:
  template <class V>
  std::uint32_t number_of(V&& value) {
    const auto [at, fresh] = index_.try_emplace(std::forward<V>(value), static_cast<std::uint32_t>(values_.size()));
    if (fresh) values_.push_back(&at->first);
    return at->second;
  }

  std::unordered_map<Value, std::uint32_t, Hash> index_;
  std::vector<const Value*> values_;  // nodes of an unordered_map stay where they are
};

}  // namespace shardweave::inline v0
