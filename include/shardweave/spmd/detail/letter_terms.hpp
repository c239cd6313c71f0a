#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/spmd/rules.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardweave::inline v0::detail {

[[noreturn]] inline void refuse_letters(const operation_view& view, const std::string& notation,
                                        const std::string& what) {
  refuse(error_category::input, "operation '" + view.op.name + "': '" + notation + "' " + what);
}

/// "letter 'd'", or "dimension 2 of '...'", which has no letter.
[[nodiscard]] inline std::string letter_name(char letter) {
  if (std::isalpha(static_cast<unsigned char>(letter)) != 0) return std::string("letter '") + letter + "'";
  return "dimension " + std::to_string(letter - 1) + " of '...'";
}

/// A notation "...d,d->...d,..." for the tensors of an operation: a string of letters for each. The dimensions of "..."
/// are the characters 1, 2, ...
struct letter_terms {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;

  /// \throws error naming the operation if the notation does not fit its tensors
  [[nodiscard]] static letter_terms of(const operation_view& view, const std::string& notation) {
    const std::size_t arrow = notation.find("->");
    if (arrow == std::string::npos) refuse_letters(view, notation, "has no '->'");
    std::size_t leading = unknown;
    letter_terms result;
    const std::string_view text = notation;
    result.inputs = read(view, notation, text.substr(0, arrow), view.whole_inputs, true, leading);
    result.outputs = read(view, notation, text.substr(arrow + 2), view.op.outputs, false, leading);
    return result;
  }

  /// How long each letter is: its longest piece, where tensors are cut.
  /// \throws error naming the operation and the letter if it has two lengths and they are whole
  [[nodiscard]] std::map<char, std::int64_t> extents(const operation_view& view, const std::string& notation,
                                                     std::span<const tensor> arguments, std::span<const tensor> results,
                                                     bool are_whole) const {
    std::map<char, std::int64_t> known;
    std::map<char, std::string> where;
    const auto measure = [&](const std::vector<std::string>& terms, std::span<const tensor> tensors, const char* what) {
      for (std::size_t t = 0; t < terms.size(); ++t)
        for (std::size_t d = 0; d < terms[t].size(); ++d) {
          const char letter = terms[t][d];
          const std::int64_t extent = tensors[t].shape[d];
          const auto [at, fresh] = known.try_emplace(letter, extent);
          if (fresh) {
            where[letter] = what + std::to_string(t);
          } else if (!are_whole) {
            at->second = std::max(at->second, extent);
          } else if (at->second != extent) {
            refuse_letters(view, notation,
                           "has " + letter_name(letter) + " with extent " + std::to_string(at->second) + " in " +
                               where[letter] + " and " + std::to_string(extent) + " in " + what + std::to_string(t));
          }
        }
    };
    measure(inputs, arguments, "argument ");
    measure(outputs, results, "result ");
    return known;
  }

 private:
  static constexpr std::size_t unknown = ~std::size_t{0};

  [[nodiscard]] static std::vector<std::string> read(const operation_view& view, const std::string& notation,
                                                     std::string_view text, std::span<const tensor> tensors,
                                                     bool may_lack, std::size_t& leading) {
    const auto wrong = [&](const std::string& what) { refuse_letters(view, notation, what); };
    std::vector<std::string> found;
    for (bool last = false; !last && !(may_lack && found.size() == tensors.size());) {
      const std::size_t comma = text.find(',');
      last = comma == std::string_view::npos;
      std::string_view term = text.substr(0, comma);
      if (!last) text.remove_prefix(comma + 1);
      const std::string what = (may_lack ? "argument " : "result ") + std::to_string(found.size());
      if (found.size() == tensors.size())
        wrong("has more results than the operation, which has " + std::to_string(tensors.size()));
      const std::size_t rank = tensors[found.size()].rank();
      std::string expanded;
      if (term.starts_with("...")) {
        term.remove_prefix(3);
        if (leading == unknown && rank >= term.size()) leading = rank - term.size();
        for (std::size_t d = 0; d < leading && leading != unknown; ++d) expanded += static_cast<char>(1 + d);
      }
      for (std::size_t d = 0; d < term.size(); ++d) {
        if (std::isalpha(static_cast<unsigned char>(term[d])) == 0)
          wrong(std::string("has '") + term[d] + "' in " + what + ", expected letters, '...' before them alone");
        if (term.find(term[d]) != d) wrong("has letter '" + std::string(1, term[d]) + "' twice in " + what);
      }
      expanded += term;
      if (expanded.size() != rank)
        wrong("gives " + what + " " + std::to_string(expanded.size()) + " dimensions, found " + std::to_string(rank));
      found.push_back(std::move(expanded));
    }
    if (found.size() != tensors.size())
      wrong("has " + std::to_string(found.size()) + (may_lack ? " arguments" : " results") + ", found " +
            std::to_string(tensors.size()));
    return found;
  }
};

}  // namespace shardweave::inline v0::detail
