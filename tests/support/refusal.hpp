#pragma once

#include <shardweave/core/error.hpp>

#include <optional>
#include <string>

namespace shardweave_test {

/// What a call says when it refuses, which it must do as an error of the category where one is given; empty: it did
/// not refuse.
template <class Call>
[[nodiscard]] std::string refusal_of(Call call, std::optional<shardweave::error_category> category = std::nullopt) {
  try {
    static_cast<void>(call());
  } catch (const shardweave::error& e) {
    return category && e.category() != *category ? "another category: " + std::string(e.what()) : e.what();
  }
  return {};
}

}  // namespace shardweave_test
