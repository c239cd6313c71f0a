#pragma once

#include <shardweave/spmd/computation.hpp>

#include <models/arrays.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// Rows that are picked and put by lists of numbers, number by number.
namespace interpreter {

/// False for an operator that is none of these.
inline bool indexing_operator(const shardweave::operation& op, const std::vector<const array*>& in,
                              std::vector<array>& results) {
  const bool picks = op.op == "index", adds = op.op == "index_backward", puts = op.op == "index_put";
  if (!picks && !adds && !puts) return false;
  array out = zeros(op.outputs.front().shape);
  if (puts) out.data = in[0]->data;
  const array& table = picks ? *in[0] : out;
  const array& values = picks ? out : *in[adds ? 0 : 1];
  const std::size_t before = puts ? 2 : 1;
  const indices& dims = op.with.dims;
  std::size_t wide = 0;
  for (std::size_t i = before; i < in.size(); ++i) wide = std::max(wide, in[i]->shape.size());
  const bool neighbours = dims.back() - dims.front() + 1 == static_cast<std::int64_t>(dims.size());
  const auto first = neighbours ? dims.front() : 0;
  each(values.shape, [&](const indices& at) {
    const indices among(at.begin() + first, at.begin() + first + static_cast<std::ptrdiff_t>(wide));
    indices rest = at;
    rest.erase(rest.begin() + first, rest.begin() + first + static_cast<std::ptrdiff_t>(wide));
    indices there;
    for (std::size_t d = 0, named = 0, kept = 0; d < table.shape.size(); ++d) {
      if (named < dims.size() && dims[named] == static_cast<std::int64_t>(d)) {
        const array& numbers = *in[before + named++];
        there.push_back(static_cast<std::int64_t>(numbers.data[offset(numbers, among)].real()));
      } else {
        there.push_back(rest[kept++]);
      }
    }
    if (picks)
      out.data[offset(out, at)] = table.data[offset(table, there)];
    else if (adds)
      out.data[offset(out, there)] += values.data[offset(values, at)];
    else
      out.data[offset(out, there)] = values.data[offset(values, at)];
  });
  results.assign(1, std::move(out));
  return true;
}

}  // namespace interpreter
