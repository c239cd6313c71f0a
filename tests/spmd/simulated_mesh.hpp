#pragma once

#include <shardweave/core/random.hpp>
#include <shardweave/spmd/mesh.hpp>
#include <shardweave/spmd/redistribution.hpp>
#include <shardweave/spmd/sharding.hpp>

#include <models/interpreter.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

/// Devices played by arrays: what a sharding means, element by element. Independent of the library's own idea of
/// local shapes and redistribution.
namespace simulated {

using interpreter::array;
using interpreter::indices;
using shardweave::device_mesh;
using shardweave::dim_placement;
using shardweave::partial_kind;
using shardweave::sharding;

/// One array per device, in row-major order of the mesh.
using pieces = std::vector<array>;

/// Elements of the dimensions [first, end) of a shape.
inline std::size_t extent_of(const indices& shape, std::size_t first, std::size_t end) {
  std::size_t n = 1;
  for (std::size_t d = first; d < end; ++d) n *= static_cast<std::size_t>(shape[d]);
  return n;
}

/// Elements [first, end) of dimension `dim`.
inline array cut(const array& whole, std::size_t dim, std::int64_t first, std::int64_t end) {
  indices shape = whole.shape;
  shape[dim] = end - first;
  array piece = interpreter::zeros(shape);
  const std::size_t outer = extent_of(shape, 0, dim), inner = extent_of(shape, dim + 1, shape.size());
  const std::size_t from = static_cast<std::size_t>(first) * inner,
                    length = piece.data.size() / std::max<std::size_t>(outer, 1);
  const std::size_t stride = static_cast<std::size_t>(whole.shape[dim]) * inner;
  for (std::size_t o = 0; o < outer; ++o)
    std::copy_n(whole.data.data() + o * stride + from, length, piece.data.data() + o * length);
  return piece;
}

/// Piece i of n: all but the last are equally long, rounded up.
inline array chunk(const array& whole, std::size_t dim, std::int64_t i, std::int64_t n) {
  const std::int64_t length = whole.shape[dim];
  const std::int64_t each = (length + n - 1) / n;
  return cut(whole, dim, std::min(i * each, length), std::min((i + 1) * each, length));
}

inline array joined(const pieces& parts, std::size_t dim) {
  array whole = parts.front();
  whole.data.clear();
  whole.shape[dim] = 0;
  for (const array& part : parts) whole.shape[dim] += part.shape[dim];
  const std::size_t outer = extent_of(whole.shape, 0, dim);
  for (std::size_t o = 0; o < outer; ++o)
    for (const array& part : parts) {
      const std::size_t block = part.data.size() / outer;
      const auto begin = part.data.begin() + static_cast<std::ptrdiff_t>(o * block);
      whole.data.insert(whole.data.end(), begin, begin + static_cast<std::ptrdiff_t>(block));
    }
  return whole;
}

inline array reduced(const pieces& parts, partial_kind kind) {
  array result = parts.front();
  for (std::size_t p = 1; p < parts.size(); ++p)
    for (std::size_t e = 0; e < result.data.size(); ++e) {
      const interpreter::number a = result.data[e];
      const interpreter::number b = parts[p].data[e];
      if (kind == partial_kind::max)
        result.data[e] = std::max(a.real(), b.real());
      else if (kind == partial_kind::min)
        result.data[e] = std::min(a.real(), b.real());
      else
        result.data[e] = a + b;
    }
  if (kind == partial_kind::avg)
    for (auto& x : result.data) x /= static_cast<double>(parts.size());
  return result;
}

/// What n devices hold that together give `whole`.
inline pieces split(const array& whole, dim_placement p, std::int64_t n, shardweave::random_source& random) {
  pieces parts;
  for (std::int64_t i = 0; i < n; ++i) parts.push_back(p.is_sharded() ? chunk(whole, p.dim(), i, n) : whole);
  if (!p.is_partial()) return parts;
  for (std::size_t e = 0; e < whole.data.size(); ++e) {
    const auto owner = static_cast<std::size_t>(random.below(static_cast<std::size_t>(n)));
    interpreter::number rest = whole.data[e];
    if (p.kind() == partial_kind::avg) rest *= static_cast<double>(n);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (i == owner) continue;
      auto& x = parts[i].data[e];
      switch (p.kind()) {
        case partial_kind::sum:
        case partial_kind::avg:
          rest -= x = {random.unit(), random.unit()};
          break;
        case partial_kind::max:
          x = whole.data[e].real() - random.unit();
          break;
        case partial_kind::min:
          x = whole.data[e].real() + random.unit();
          break;
        case partial_kind::mask:
          x = 0;
          break;
      }
    }
    parts[owner].data[e] = rest;
  }
  return parts;
}

/// Mesh dimensions in the order in which they cut; mesh order unless said otherwise.
inline std::vector<std::size_t> mesh_order(const device_mesh& mesh) {
  std::vector<std::size_t> order(mesh.rank());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

inline std::size_t stride(const device_mesh& mesh, std::size_t d) {
  std::int64_t n = 1;
  for (std::size_t inner = d + 1; inner < mesh.rank(); ++inner) n *= mesh.extent(inner);
  return static_cast<std::size_t>(n);
}

/// Lays a tensor out on the mesh.
inline pieces distribute(const array& whole, const sharding& where, const device_mesh& mesh,
                         shardweave::random_source& random, const std::vector<std::size_t>& order) {
  std::vector<std::pair<std::size_t, array>> now{{0, whole}};  // first rank of those that share it so far
  for (const std::size_t d : order) {
    std::vector<std::pair<std::size_t, array>> next;
    for (const auto& [rank, held] : now) {
      const pieces parts = split(held, where[d], mesh.extent(d), random);
      for (std::size_t i = 0; i < parts.size(); ++i) next.emplace_back(rank + i * stride(mesh, d), parts[i]);
    }
    now = std::move(next);
  }
  pieces result(now.size());
  for (auto& [rank, held] : now) result[rank] = std::move(held);
  return result;
}
inline pieces distribute(const array& whole, const sharding& where, const device_mesh& mesh,
                         shardweave::random_source& random) {
  return distribute(whole, where, mesh, random, mesh_order(mesh));
}

inline bool close(const array& a, const array& b) {
  if (a.shape != b.shape || a.data.size() != b.data.size()) return false;
  for (std::size_t e = 0; e < a.data.size(); ++e)
    if (!(std::abs(a.data[e] - b.data[e]) <= 1e-9 * (1 + std::abs(a.data[e])))) return false;
  return true;
}

/// Whether at most one of the pieces has something else than zero, element by element.
inline bool are_masks(const pieces& parts) {
  for (std::size_t e = 0; e < parts.front().data.size(); ++e)
    if (std::ranges::count_if(parts, [e](const array& part) { return part.data[e] != 0.0; }) > 1) return false;
  return true;
}

/// The tensor that the pieces stand for; nothing if copies that should be equal are not, or masks overlap.
inline std::optional<array> collect(const pieces& held, const sharding& where, const device_mesh& mesh,
                                    std::size_t d = 0, std::size_t first = 0) {
  if (d == mesh.rank()) return held[first];
  pieces parts;
  for (std::int64_t i = 0; i < mesh.extent(d); ++i) {
    auto part = collect(held, where, mesh, d + 1, first + static_cast<std::size_t>(i) * stride(mesh, d));
    if (!part) return std::nullopt;
    parts.push_back(std::move(*part));
  }
  if (where[d].is_sharded()) return joined(parts, where[d].dim());
  if (where[d] == dim_placement::partial(partial_kind::mask) && !are_masks(parts)) return std::nullopt;
  if (where[d].is_partial()) return reduced(parts, where[d].kind());
  for (const array& other : parts)
    if (!close(parts.front(), other)) return std::nullopt;
  return parts.front();
}

/// Carries out one step of a redistribution, group by group.
inline void carry_out(const shardweave::redistribution_step& step, pieces& held, const device_mesh& mesh) {
  using shardweave::collective;
  const std::size_t d = step.mesh_dim;
  const std::int64_t n = mesh.extent(d);
  for (std::size_t first = 0; first < held.size(); ++first) {
    if (first / stride(mesh, d) % static_cast<std::size_t>(n) != 0) continue;
    pieces group;
    for (std::int64_t i = 0; i < n; ++i) group.push_back(held[first + static_cast<std::size_t>(i) * stride(mesh, d)]);
    for (std::int64_t i = 0; i < n; ++i) {
      array& mine = held[first + static_cast<std::size_t>(i) * stride(mesh, d)];
      if (!step.op) {
        mine = chunk(mine, step.to.dim(), i, n);
      } else if (*step.op == collective::all_gather) {
        mine = joined(group, step.from.dim());
      } else if (*step.op == collective::all_to_all) {
        mine = chunk(joined(group, step.from.dim()), step.to.dim(), i, n);
      } else {
        mine = reduced(group, step.from.kind());
        if (*step.op == collective::reduce_scatter) mine = chunk(mine, step.to.dim(), i, n);
      }
    }
  }
}

}  // namespace simulated
