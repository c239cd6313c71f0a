#pragma once

#include <shardweave/core/number_text.hpp>

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

/// What is wrong with the first field that is not positive (or no number); empty if all are.
template <class T>
[[nodiscard]] std::string first_not_positive(config_fields<T> all) {
  for (const auto& [field, found] : all)
    if (!(found > 0)) return wrong_field(field, found, "a positive number");
  return {};
}

/// What is wrong with the first field that is below 0 (or no number); empty if none is.
template <class T>
[[nodiscard]] std::string first_negative(config_fields<T> all) {
  for (const auto& [field, found] : all)
    if (!(found >= 0)) return wrong_field(field, found, "no less than 0");
  return {};
}

}  // namespace shardweave::inline v0::detail
