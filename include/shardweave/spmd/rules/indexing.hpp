#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/spmd/rules.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// \file
/// Rules of operators that read or write the elements that tensors of indices name.

namespace shardweave::inline v0 {

/// What is done with the indexed elements.
enum class index_action : std::uint8_t { pick, add, put };

/// Indexing by tensors of indices, as in NumPy's advanced indexing: `dims` names the indexed dimensions of a table,
/// ascending, and for each there is an argument of whole numbers. These are broadcast to one shape; the dimensions of
/// that shape stand in the values in place of the indexed ones, or in front of all where these are not neighbours.
///
/// | `way` | arguments | result |
/// |---|---|---|
/// | `pick` | table, indices... | values |
/// | `add` | values, indices... | table of zeros to which values are added |
/// | `put` | table, values, indices... | the table with values put there |
///
/// Dimensions that are not indexed may be cut. Those of the indices may where values are picked, and where values are
/// added, which then gives partial sums. Values that are put stay whole there, as which comes last must not depend on
/// the cut.
struct indexing_rule {
  static constexpr bool moves_data_only = true;
  index_action way = index_action::pick;

  /// \throws error naming the operation if its shapes do not fit
  [[nodiscard]] std::vector<dim_strategy> operator()(const operation_view& view, std::int64_t) const {
    const layout at = layout_of(view);
    const dim_placement whole;
    const std::vector<dim_placement> all_whole(at.numbers.size());
    std::vector<dim_strategy> ways{made(whole, whole, all_whole)};
    for (std::size_t d = 0, kept = 0; d < at.table.size(); ++d) {
      if (at.is_named(d)) continue;
      const std::size_t place = kept < at.first ? kept : kept + at.wide;
      ++kept;
      ways.push_back(made(dim_placement::shard(d), dim_placement::shard(place), all_whole));
    }
    const dim_placement sum = dim_placement::partial();
    if (way != index_action::put)
      for (std::size_t d = 0; d < at.wide; ++d) {
        std::vector<dim_placement> cut;
        for (const tensor& t : at.numbers) {
          const std::size_t missing = at.wide - t.rank();
          const bool has = d >= missing && (t.shape[d - missing] != 1 || at.spread[d] == 1);
          cut.push_back(has ? dim_placement::shard(d - missing) : whole);
        }
        ways.push_back(made(way == index_action::pick ? whole : sum, dim_placement::shard(at.first + d), cut));
      }
    for (const partial_kind kind : {partial_kind::sum, partial_kind::avg, partial_kind::max, partial_kind::min}) {
      const bool is_linear = kind == partial_kind::sum || kind == partial_kind::avg;
      const dim_placement partial = dim_placement::partial(kind);
      if (way != index_action::add || is_linear) ways.push_back(made(partial, partial, all_whole));
    }
    return ways;
  }

 private:
  struct layout {
    std::vector<std::int64_t> table;
    std::vector<std::int64_t> dims;
    std::span<const tensor> numbers;
    std::vector<std::int64_t> spread;  // the shape of all numbers together
    std::size_t wide = 0;              // its rank
    std::size_t first = 0;             // where it begins in the values

    [[nodiscard]] bool is_named(std::size_t d) const {
      return std::ranges::find(dims, static_cast<std::int64_t>(d)) != dims.end();
    }
  };

  [[nodiscard]] dim_strategy made(dim_placement table, dim_placement values, std::vector<dim_placement> numbers) const {
    if (way == index_action::pick) numbers.insert(numbers.begin(), table);
    if (way == index_action::add) numbers.insert(numbers.begin(), values);
    if (way == index_action::put) numbers.insert(numbers.begin(), {table, values});
    return {{way == index_action::pick ? values : table}, numbers};
  }

  [[nodiscard]] layout layout_of(const operation_view& view) const {
    const auto wrong = [&](const std::string& what) {
      refuse(error_category::input, "operation '" + view.op.name + "': " + what);
    };
    layout at;
    at.dims = view.op.with.dims;
    const std::size_t before = way == index_action::put ? 2 : 1;
    if (at.dims.empty() || view.whole_inputs.size() != before + at.dims.size())
      wrong("indexing " + std::to_string(at.dims.size()) + " dimensions takes " +
            std::to_string(before + at.dims.size()) + " tensors, at least " + std::to_string(before + 1) + ", found " +
            std::to_string(view.whole_inputs.size()));
    at.table = way == index_action::add ? view.op.outputs.front().shape : view.whole_inputs[0].shape;
    at.numbers = view.whole_inputs.subspan(before);
    for (std::size_t i = 0; i < at.dims.size(); ++i)
      if (at.dims[i] < 0 || at.dims[i] >= static_cast<std::int64_t>(at.table.size()) ||
          (i > 0 && at.dims[i] <= at.dims[i - 1]))
        wrong("indexed dimensions are ascending numbers below " + std::to_string(at.table.size()) + ", found " +
              std::to_string(at.dims[i]));
    for (const tensor& t : at.numbers) at.wide = std::max(at.wide, t.rank());
    at.spread.assign(at.wide, 1);
    for (const tensor& t : at.numbers)
      for (std::size_t d = 0; d < t.rank(); ++d) {
        std::int64_t& extent = at.spread[at.wide - t.rank() + d];
        if (extent != 1 && t.shape[d] != 1 && t.shape[d] != extent)
          wrong("numbers of extents " + std::to_string(extent) + " and " + std::to_string(t.shape[d]) +
                " cannot be spread over each other");
        if (t.shape[d] != 1) extent = t.shape[d];
      }
    const bool are_neighbours = at.dims.back() - at.dims.front() + 1 == static_cast<std::int64_t>(at.dims.size());
    at.first = are_neighbours ? static_cast<std::size_t>(at.dims.front()) : 0;
    std::vector<std::int64_t> expected;
    for (std::size_t d = 0; d < at.table.size(); ++d)
      if (!at.is_named(d)) expected.push_back(at.table[d]);
    expected.insert(expected.begin() + static_cast<std::ptrdiff_t>(at.first), at.spread.begin(), at.spread.end());
    const tensor& values = way == index_action::pick  ? view.op.outputs.front()
                           : way == index_action::add ? view.whole_inputs[0]
                                                      : view.whole_inputs[1];
    if (values.shape != expected)
      wrong("what is indexed has shape " + text_of(expected) + ", found " + text_of(values.shape));
    return at;
  }

  [[nodiscard]] static std::string text_of(const std::vector<std::int64_t>& shape) {
    std::string text = "[";
    for (const std::int64_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
    return text + "]";
  }
};

}  // namespace shardweave::inline v0
