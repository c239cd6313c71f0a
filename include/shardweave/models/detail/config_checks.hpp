#pragma once

#include <shardweave/core/number_text.hpp>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

/// \file
/// What may be wrong with the figures of a model, said alike for all models.

namespace shardweave::inline v0::detail {

/// Fields of a config and what was found there.
template <class T>
using config_fields = std::initializer_list<std::pair<const char*, T>>;

template <class T>
[[nodiscard]] std::string wrong_field(const std::string& field, T found, const std::string& expected) {
  return field + " is " + number_text(found) + ", expected " + expected;
}

/// Beyond any model: what is computed of two such counts stays in 64 bits.
inline constexpr std::int64_t most_of_a_count = 1'000'000'000;
/// Beyond any model, and below what bytes and operations of it are counted to.
inline constexpr double most_weights = 1e15;

template <class T>
[[nodiscard]] std::string beyond_counts(const char* field, T found) {
  if constexpr (std::integral<T>)
    if (found > most_of_a_count) return wrong_field(field, found, number_text(most_of_a_count) + " at most");
  return {};
}

/// What is wrong with the first field that is not positive (or no number), or a count beyond any model; empty if all
/// are well.
template <class T>
[[nodiscard]] std::string first_not_positive(config_fields<T> all) {
  for (const auto& [field, found] : all) {
    if (!(found > 0)) return wrong_field(field, found, "a positive number");
    if (std::string wrong = beyond_counts(field, found); !wrong.empty()) return wrong;
  }
  return {};
}

/// The same of fields that may be 0.
template <class T>
[[nodiscard]] std::string first_negative(config_fields<T> all) {
  for (const auto& [field, found] : all) {
    if (!(found >= 0)) return wrong_field(field, found, "no less than 0");
    if (std::string wrong = beyond_counts(field, found); !wrong.empty()) return wrong;
  }
  return {};
}

/// What is wrong with so many weights of all layers; empty if nothing is.
[[nodiscard]] inline std::string too_many_weights(double count) {
  if (count <= most_weights) return {};
  return "the model has " + number_text(count) + " weights, expected " + number_text(most_weights) + " at most";
}

}  // namespace shardweave::inline v0::detail
