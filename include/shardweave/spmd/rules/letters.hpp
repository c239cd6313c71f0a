#pragma once

#include <shardweave/spmd/detail/letter_terms.hpp>
#include <shardweave/spmd/rules.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Rules written like an einsum: one letter per dimension says what belongs together.

namespace shardweave::inline v0 {

/// One way per letter: it is cut wherever it stands, and a result that lacks it is a partial sum. Letters of `whole`
/// stay together, and it must name those that only results have. "..." stands for any number of leading dimensions, the
/// same everywhere; trailing arguments that an operation lacks are left out. Dimensions of one letter have one extent.
///
/// ```
/// rules.add("rms_norm", letter_rule{"...d,d->...d,...", "d"}, {.moves_data_only = true});  // x, weight -> y, mean
/// rules.add("class_scores", letter_rule{"tf,cf->tc", "f"}, {.flops = letter_flops{"tf,cf->tc"}});
/// ```
struct letter_rule {
  std::string notation = {};
  std::string whole = {};
  /// Ways in which partial results pass, beside those by letter. Left out where the number of arguments is another.
  std::vector<dim_strategy> partial = {};

  /// \throws error naming the operation if the notation does not fit its tensors, a letter has two extents, only
  ///         results have a letter that `whole` lacks, or `whole` has one that nothing has
  [[nodiscard]] std::vector<dim_strategy> operator()(const operation_view& view, std::int64_t) const {
    const auto terms = detail::letter_terms::of(view, notation);
    static_cast<void>(terms.extents(view, notation, view.whole_inputs, view.op.outputs, true));
    std::string letters;
    for (const std::string& term : terms.inputs)
      for (const char letter : term)
        if (letters.find(letter) == std::string::npos) letters += letter;
    for (std::size_t r = 0; r < terms.outputs.size(); ++r)
      for (const char letter : terms.outputs[r])
        if (letters.find(letter) == std::string::npos && whole.find(letter) == std::string::npos)
          detail::refuse_letters(view, notation,
                                 "has " + detail::letter_name(letter) + " in result " + std::to_string(r) +
                                     " only; expected it in an argument, or among the letters that stay "
                                     "whole");
    for (const char letter : whole)
      if (notation.find(letter) == std::string::npos || letter == '.' || letter == ',')
        detail::refuse_letters(view, notation, std::string("has no letter '") + letter + "' to keep whole");
    std::erase_if(letters, [&](char letter) { return whole.find(letter) != std::string::npos; });

    const auto cut = [](const std::string& term, char letter, dim_placement otherwise) {
      const std::size_t d = term.find(letter);
      return d == std::string::npos ? otherwise : dim_placement::shard(d);
    };
    std::vector<dim_strategy> ways{
        {std::vector<dim_placement>(terms.outputs.size()), std::vector<dim_placement>(terms.inputs.size())}};
    for (const char letter : letters) {
      dim_strategy way;
      for (const std::string& term : terms.outputs) way.outputs.push_back(cut(term, letter, dim_placement::partial()));
      for (const std::string& term : terms.inputs) way.inputs.push_back(cut(term, letter, dim_placement()));
      ways.push_back(std::move(way));
    }
    for (const dim_strategy& way : partial)
      if (way.inputs.size() == terms.inputs.size() && way.outputs.size() == terms.outputs.size()) ways.push_back(way);
    return ways;
  }
};

/// So many floating-point operations for every combination of the letters: two for a sum of products.
struct letter_flops {
  std::string notation = {};
  double each = 2;

  /// \throws error naming the operation if the notation does not fit its tensors
  [[nodiscard]] double operator()(const operation_view& view) const {
    const auto terms = detail::letter_terms::of(view, notation);
    double count = each;
    for (const auto& [letter, extent] : terms.extents(view, notation, view.inputs, view.outputs, false))
      count *= static_cast<double>(extent);
    return count;
  }
};

}  // namespace shardweave::inline v0
