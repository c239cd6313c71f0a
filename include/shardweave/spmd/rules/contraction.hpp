#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/spmd/rules.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// Rules of matrix products in the notation of einsum.

namespace shardweave::inline v0 {

/// An einsum equation, "bsk,kn->bsn", taken apart.
struct einsum_terms {
  std::vector<std::string> inputs;  ///< letters of each argument
  std::string output;
  std::string letters;  ///< all, in the order in which they first come

  /// \throws error naming the operation if the equation does not fit its arguments
  [[nodiscard]] static einsum_terms of(const operation_view& view) {
    const std::string_view text = view.op.with.equation;
    const auto wrong = [&](const std::string& what) {
      refuse(error_category::input, "operation '" + view.op.name + "': einsum '" + std::string(text) + "' " + what);
    };
    einsum_terms terms;
    const std::size_t arrow = text.find("->");
    if (arrow == std::string_view::npos) wrong("has no '->'");
    std::string_view left = text.substr(0, arrow);
    while (true) {
      const std::size_t comma = left.find(',');
      terms.inputs.emplace_back(left.substr(0, comma));
      if (comma == std::string_view::npos) break;
      left.remove_prefix(comma + 1);
    }
    terms.output = text.substr(arrow + 2);
    if (terms.inputs.size() != view.inputs.size())
      wrong("names " + std::to_string(terms.inputs.size()) + " arguments, found " + std::to_string(view.inputs.size()));
    for (std::size_t a = 0; a < terms.inputs.size(); ++a) {
      if (terms.inputs[a].size() != view.inputs[a].rank())
        wrong("gives argument " + std::to_string(a) + " " + std::to_string(terms.inputs[a].size()) +
              " dimensions, found " + std::to_string(view.inputs[a].rank()));
      for (std::size_t d = 0; d < terms.inputs[a].size(); ++d) {
        if (terms.inputs[a].find(terms.inputs[a][d]) != d) wrong("repeats a letter in one argument");
        if (terms.letters.find(terms.inputs[a][d]) == std::string::npos) terms.letters += terms.inputs[a][d];
      }
    }
    for (const char letter : terms.output)
      if (terms.letters.find(letter) == std::string::npos)
        wrong(std::string("has letter '") + letter + "' in the result only");
    check_extents(view, terms, wrong);
    return terms;
  }

 private:
  template <class Wrong>
  static void check_extents(const operation_view& view, const einsum_terms& terms, const Wrong& wrong) {
    const std::vector<std::int64_t>& result = view.op.outputs.front().shape;
    if (terms.output.size() != result.size())
      wrong("gives the result " + std::to_string(terms.output.size()) + " dimensions, found " +
            std::to_string(result.size()));
    std::map<char, std::int64_t> extent;
    const auto measure = [&](const std::string& word, const std::vector<std::int64_t>& shape) {
      for (std::size_t d = 0; d < word.size(); ++d)
        if (const auto [at, fresh] = extent.try_emplace(word[d], shape[d]); at->second != shape[d])
          wrong(std::string("has letter '") + word[d] + "' with extents " + std::to_string(at->second) + " and " +
                std::to_string(shape[d]));
    };
    for (std::size_t a = 0; a < terms.inputs.size(); ++a) measure(terms.inputs[a], view.whole_inputs[a].shape);
    measure(terms.output, result);
  }
};

/// One way per letter: it is cut wherever it stands; if the result lacks it, pieces of the sum come out. No
/// partial arguments.
struct einsum_rule {
  [[nodiscard]] std::vector<dim_strategy> operator()(const operation_view& view, std::int64_t) const {
    const einsum_terms terms = einsum_terms::of(view);
    const auto cut = [](const std::string& of, char letter, dim_placement otherwise) {
      const std::size_t d = of.find(letter);
      return d == std::string::npos ? otherwise : dim_placement::shard(d);
    };
    std::vector<dim_strategy> ways{{{dim_placement()}, std::vector<dim_placement>(terms.inputs.size())}};
    for (const char letter : terms.letters) {
      dim_strategy way{{cut(terms.output, letter, dim_placement::partial())}, {}};
      for (const std::string& in : terms.inputs) way.inputs.push_back(cut(in, letter, dim_placement()));
      ways.push_back(std::move(way));
    }
    return ways;
  }
};

/// A multiplication and an addition for every combination of the letters.
struct einsum_flops {
  [[nodiscard]] double operator()(const operation_view& view) const {
    const einsum_terms terms = einsum_terms::of(view);
    std::map<char, std::int64_t> extent;
    for (std::size_t a = 0; a < terms.inputs.size(); ++a)
      for (std::size_t d = 0; d < terms.inputs[a].size(); ++d) extent[terms.inputs[a][d]] = view.inputs[a].shape[d];
    double count = 2;
    for (const auto& [letter, size] : extent) count *= static_cast<double>(size);
    return count;
  }
};

}  // namespace shardweave::inline v0
