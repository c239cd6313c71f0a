#pragma once

#include <shardweave/placement/description.hpp>

#include <string>
#include <string_view>
#include <vector>

/// \file
/// The values of `--overlap`.

namespace programs {

inline constexpr shardweave::savings_form overlap_forms[] = {
    shardweave::savings_form::off, shardweave::savings_form::windows, shardweave::savings_form::strict,
    shardweave::savings_form::inclusive, shardweave::savings_form::inclusive_twice};

[[nodiscard]] inline std::vector<std::string> overlap_names() {
  std::vector<std::string> names;
  for (const shardweave::savings_form form : overlap_forms) names.emplace_back(shardweave::name_of(form));
  return names;
}

/// \pre `name` is one of `overlap_names`
[[nodiscard]] inline shardweave::savings_form overlap_form(std::string_view name) {
  for (const shardweave::savings_form form : overlap_forms)
    if (shardweave::name_of(form) == name) return form;
  return shardweave::savings_form::off;
}

}  // namespace programs
