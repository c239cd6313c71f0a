#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/spmd/rules.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// \file
/// Rules written like an einsum: one letter per dimension says what belongs together.

namespace shardweave {
inline namespace v0 {

/// One way per letter: it is cut wherever it stands, and a result that lacks it is a partial sum. Letters of
/// `whole`, and those that only results have, stay together. "..." stands for any number of leading dimensions,
/// the same everywhere; trailing arguments that an operation lacks are left out.
///
/// ```
/// rules.add("rms_norm", letter_rule{"...d,d->...d,...", "d"});        // x, weight -> y, root mean square
/// rules.add("mixture", letter_rule{"egcd,gsk,gsk->gsd", "csk"});      // cut by e, pieces of a sum come out
/// ```
struct letter_rule {
  std::string notation = {};
  std::string whole = {};
  /// Ways in which partial results pass, beside those by letter. Left out where the number of arguments is another.
  std::vector<dim_strategy> partial = {};

  /// \throws error naming the operation if the notation does not fit its tensors
  [[nodiscard]] std::vector<dim_strategy> operator()(const operation_view& view, std::int64_t) const {
    const std::size_t arrow = notation.find("->");
    if (arrow == std::string::npos) wrong(view, "has no '->'");
    std::size_t leading = unknown;
    const auto inputs = terms(view, std::string_view(notation).substr(0, arrow), view.whole_inputs, true, leading);
    const auto outputs = terms(view, std::string_view(notation).substr(arrow + 2), view.op.outputs, false, leading);

    std::string letters;
    for (const std::string& term : inputs)
      for (const char letter : term)
        if (letters.find(letter) == std::string::npos && whole.find(letter) == std::string::npos) letters += letter;
    const auto cut = [](const std::string& term, char letter, dim_placement otherwise) {
      const std::size_t d = term.find(letter);
      return d == std::string::npos ? otherwise : dim_placement::shard(d);
    };
    std::vector<dim_strategy> ways{
        {std::vector<dim_placement>(outputs.size()), std::vector<dim_placement>(inputs.size())}};
    for (const char letter : letters) {
      dim_strategy way;
      for (const std::string& term : outputs) way.outputs.push_back(cut(term, letter, dim_placement::partial()));
      for (const std::string& term : inputs) way.inputs.push_back(cut(term, letter, dim_placement()));
      ways.push_back(std::move(way));
    }
    for (const dim_strategy& way : partial)
      if (way.inputs.size() == inputs.size() && way.outputs.size() == outputs.size()) ways.push_back(way);
    return ways;
  }

 private:
  static constexpr std::size_t unknown = ~std::size_t{0};

  [[noreturn]] void wrong(const operation_view& view, const std::string& what) const {
    refuse(error_category::input, "operation '" + view.op.name + "': '" + notation + "' " + what);
  }

  /// A string of letters per tensor; the dimensions of "..." are the characters 1, 2, ...
  [[nodiscard]] std::vector<std::string> terms(const operation_view& view, std::string_view text,
                                               std::span<const tensor> tensors, bool may_lack,
                                               std::size_t& leading) const {
    std::vector<std::string> found;
    for (bool last = false; !last && !(may_lack && found.size() == tensors.size());) {
      const std::size_t comma = text.find(',');
      last = comma == std::string_view::npos;
      std::string_view term = text.substr(0, comma);
      if (!last) text.remove_prefix(comma + 1);
      const std::string what = (may_lack ? "argument " : "result ") + std::to_string(found.size());
      if (found.size() == tensors.size())
        wrong(view, "has more results than the operation, which has " + std::to_string(tensors.size()));
      const std::size_t rank = tensors[found.size()].rank();
      std::string expanded;
      if (term.starts_with("...")) {
        term.remove_prefix(3);
        if (leading == unknown && rank >= term.size()) leading = rank - term.size();
        for (std::size_t d = 0; d < leading && leading != unknown; ++d) expanded += static_cast<char>('1' + d);
      }
      expanded += term;
      if (expanded.size() != rank)
        wrong(view,
              "gives " + what + " " + std::to_string(expanded.size()) + " dimensions, found " + std::to_string(rank));
      found.push_back(std::move(expanded));
    }
    if (found.size() != tensors.size())
      wrong(view, "has " + std::to_string(found.size()) + (may_lack ? " arguments" : " results") + ", found " +
                      std::to_string(tensors.size()));
    return found;
  }
};

}  // namespace v0
}  // namespace shardweave
