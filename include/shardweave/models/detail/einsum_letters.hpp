#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace shardweave::inline v0::detail {

/// The letters of an einsum's operands, then those of its result.
inline std::vector<std::string> einsum_letters(const std::string& equation) {
  std::vector<std::string> letters(1);
  for (std::size_t i = 0; i < equation.size(); ++i) {
    if (equation[i] == '-') continue;
    if (equation[i] == ',' || equation[i] == '>')
      letters.emplace_back();
    else
      letters.back() += equation[i];
  }
  return letters;
}

}  // namespace shardweave::inline v0::detail
