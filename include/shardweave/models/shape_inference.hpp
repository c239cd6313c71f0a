#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/spmd/tensor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// What shape and element type an operation gives. `who` names the operation in messages.

namespace shardweave::inline v0 {

/// Extents by dimension; empty for a scalar.
using shape_vector = std::vector<std::int64_t>;

/// For messages: "[2, 3]".
[[nodiscard]] inline std::string text_of(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t d = 0; d < shape.size(); ++d) text += (d == 0 ? "" : ", ") + std::to_string(shape[d]);
  return text + "]";
}

/// The element type of arithmetic on two types: complex before real before whole numbers, wide before
/// narrow; of two floating types of equal width (f16 and bf16, or the two of 8 bits), f32.
[[nodiscard]] constexpr dtype promoted(dtype a, dtype b) {
  if (a == b) return a;
  const auto kind = [](dtype t) {
    if (t == dtype::c64) return 3;
    if (t == dtype::f64 || t == dtype::f32 || t == dtype::bf16 || t == dtype::f16 || is_f8(t)) return 2;
    return t == dtype::boolean ? 0 : 1;
  };
  if (kind(a) != kind(b)) return kind(a) > kind(b) ? a : b;
  if (element_size(a) != element_size(b)) return element_size(a) > element_size(b) ? a : b;
  return dtype::f32;
}

/// Values of real and complex types have gradients, whole numbers have none.
[[nodiscard]] constexpr bool has_gradients(dtype type) { return promoted(type, dtype::i64) != dtype::i64; }

/// The common shape of an element-wise operation: dimensions match from the last on, extent 1 stretches.
/// \throws error naming the dimension that does not match
[[nodiscard]] inline shape_vector broadcast_shape(std::string_view who, const shape_vector& a, const shape_vector& b) {
  shape_vector out(std::max(a.size(), b.size()));
  for (std::size_t back = 1; back <= out.size(); ++back) {
    const std::int64_t x = back <= a.size() ? a[a.size() - back] : 1;
    const std::int64_t y = back <= b.size() ? b[b.size() - back] : 1;
    if (x != y && x != 1 && y != 1)
      refuse(error_category::input, std::string(who) + ": shapes " + text_of(a) + " and " + text_of(b) +
                                        " do not match in dimension -" + std::to_string(back) +
                                        ", expected equal extents or 1");
    out[out.size() - back] = x == 1 ? y : x;
  }
  return out;
}

/// The shape of an einsum, "bsk,kn->bsn": one letter per dimension, the output written out.
/// \throws error if the equation does not fit the operands, or a letter has two extents
[[nodiscard]] inline shape_vector einsum_shape(std::string_view who, std::string_view equation,
                                               std::span<const shape_vector> operands) {
  const auto wrong = [&](const std::string& what) {
    refuse(error_category::input, std::string(who) + ": equation \"" + std::string(equation) + "\" " + what);
  };
  const std::size_t arrow = equation.find("->");
  if (arrow == std::string_view::npos) wrong("has no \"->\", expected the output's letters after it");
  std::map<char, std::int64_t> extent;
  std::string_view left = equation.substr(0, arrow);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::size_t comma = left.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == operands.size()))
      wrong("does not name " + std::to_string(operands.size()) + " operands, as many as were given");
    const std::string_view letters = left.substr(0, comma);
    if (letters.size() != operands[i].size())
      wrong("expects " + std::to_string(letters.size()) + " dimensions of operand " + std::to_string(i) + ", found " +
            text_of(operands[i]));
    for (std::size_t d = 0; d < letters.size(); ++d) {
      const auto [at, fresh] = extent.try_emplace(letters[d], operands[i][d]);
      if (!fresh && at->second != operands[i][d])
        wrong("gives letter '" + std::string(1, letters[d]) + "' two extents, " + std::to_string(at->second) + " and " +
              std::to_string(operands[i][d]));
    }
    left = comma == std::string_view::npos ? std::string_view{} : left.substr(comma + 1);
  }
  shape_vector out;
  for (const char letter : equation.substr(arrow + 2)) {
    if (!extent.contains(letter)) wrong("has letter '" + std::string(1, letter) + "' in the output only");
    out.push_back(extent[letter]);
  }
  return out;
}

/// \throws error unless `dims` is a permutation of the dimensions
[[nodiscard]] inline shape_vector permuted_shape(std::string_view who, const shape_vector& shape,
                                                 std::span<const std::int64_t> dims) {
  shape_vector sorted(dims.begin(), dims.end());
  std::ranges::sort(sorted);
  bool good = dims.size() == shape.size();
  for (std::size_t d = 0; good && d < sorted.size(); ++d) good = sorted[d] == static_cast<std::int64_t>(d);
  if (!good)
    refuse(error_category::input,
           std::string(who) + ": " + text_of(dims) + " is not a permutation of the dimensions of " + text_of(shape));
  shape_vector out;
  for (const std::int64_t d : dims) out.push_back(shape[static_cast<std::size_t>(d)]);
  return out;
}

/// The dimensions counted from the first, in ascending order; negative ones are given as counted from the last.
/// \throws error naming a dimension that does not exist
[[nodiscard]] inline shape_vector normalized_dims(std::string_view who, const shape_vector& shape,
                                                  std::span<const std::int64_t> dims) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  shape_vector out;
  for (const std::int64_t d : dims) {
    if (d < -rank || d >= rank)
      refuse(error_category::input,
             std::string(who) + ": dimension " + std::to_string(d) + " does not exist in " + text_of(shape));
    out.push_back(d < 0 ? d + rank : d);
  }
  std::ranges::sort(out);
  return out;
}

/// The shape of a reduction over `dims`, which count from the first and are in order.
[[nodiscard]] inline shape_vector reduced_shape(const shape_vector& shape, std::span<const std::int64_t> dims,
                                                bool keep_dims) {
  shape_vector out;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const bool reduced = std::ranges::find(dims, static_cast<std::int64_t>(d)) != dims.end();
    if (!reduced) out.push_back(shape[d]);
    if (reduced && keep_dims) out.push_back(1);
  }
  return out;
}

}  // namespace shardweave::inline v0
