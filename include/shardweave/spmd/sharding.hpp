#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/interning.hpp>
#include <shardweave/spmd/mesh.hpp>
#include <shardweave/spmd/tensor.hpp>

#include <array>
#include <bit>
#include <charconv>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

/// \file
/// How a tensor lies on a mesh: along each mesh dimension it is sharded, replicated, or a partial result.

namespace shardweave::inline v0 {

/// How partial results are put together. `mask`: a sum in which every element is non-zero on one rank at
/// most (rows of a sharded embedding table).
enum class partial_kind : std::uint8_t { sum, avg, max, min, mask };

/// What happens to a tensor along one mesh dimension. One byte.
class dim_placement {
 public:
  /// Replicated.
  constexpr dim_placement() = default;
  [[nodiscard]] static constexpr dim_placement replicate() { return {}; }
  /// \pre dim < 100
  [[nodiscard]] static constexpr dim_placement shard(std::size_t dim) {
    return dim_placement(static_cast<std::uint8_t>(dim + 1));
  }
  [[nodiscard]] static constexpr dim_placement partial(partial_kind kind = partial_kind::sum) {
    return dim_placement(static_cast<std::uint8_t>(first_partial + static_cast<std::uint8_t>(kind)));
  }
  [[nodiscard]] static constexpr dim_placement from_code(std::uint8_t code) { return dim_placement(code); }

  [[nodiscard]] constexpr bool is_replicated() const { return code_ == 0; }
  [[nodiscard]] constexpr bool is_sharded() const { return code_ != 0 && code_ < first_partial; }
  [[nodiscard]] constexpr bool is_partial() const { return code_ >= first_partial; }
  /// The tensor dimension. \pre is_sharded()
  [[nodiscard]] constexpr std::size_t dim() const { return code_ - 1U; }
  /// \pre is_partial()
  [[nodiscard]] constexpr partial_kind kind() const { return static_cast<partial_kind>(code_ - first_partial); }
  [[nodiscard]] constexpr std::uint8_t code() const { return code_; }
  friend constexpr auto operator<=>(dim_placement, dim_placement) = default;

 private:
  static constexpr std::uint8_t first_partial = 101;
  constexpr explicit dim_placement(std::uint8_t code) : code_(code) {}
  std::uint8_t code_ = 0;
};

/// One placement per mesh dimension, in 8 bytes: cheap to copy, compare and hash. The default value has none
/// and stands for "no tensor here". Where two mesh dimensions shard the same tensor dimension, each cuts
/// the pieces of the one before.
class sharding {
 public:
  constexpr sharding() = default;
  /// Replicated along `mesh_rank` dimensions.
  /// \pre mesh_rank <= max_mesh_rank
  constexpr explicit sharding(std::size_t mesh_rank) : size_(static_cast<std::uint8_t>(mesh_rank)) {}
  constexpr sharding(std::initializer_list<dim_placement> placements) {
    for (const dim_placement p : placements) codes_[size_++] = p.code();
  }

  /// Reads what `to_string` writes.
  /// \throws error naming the text if it is something else
  [[nodiscard]] static sharding parse(std::string_view text);

  [[nodiscard]] constexpr std::size_t size() const { return size_; }
  [[nodiscard]] constexpr bool is_none() const { return size_ == 0; }
  /// \pre dim < size()
  [[nodiscard]] constexpr dim_placement operator[](std::size_t dim) const {
    return dim_placement::from_code(codes_[dim]);
  }
  /// \pre dim < size()
  constexpr void set(std::size_t dim, dim_placement placement) { codes_[dim] = placement.code(); }
  [[nodiscard]] constexpr sharding with(std::size_t dim, dim_placement placement) const {
    sharding changed = *this;
    changed.set(dim, placement);
    return changed;
  }
  [[nodiscard]] constexpr bool has_partial() const {
    for (std::size_t d = 0; d < size_; ++d)
      if ((*this)[d].is_partial()) return true;
    return false;
  }
  [[nodiscard]] constexpr std::uint64_t key() const {
    std::uint64_t packed = size_;
    for (const std::uint8_t code : codes_) packed = packed << 8 | code;
    return packed;
  }
  /// "S(0)R", "PS(1)", "P(avg)R"; "-" for no tensor. P alone is a sum.
  [[nodiscard]] std::string to_string() const;
  friend constexpr auto operator<=>(const sharding&, const sharding&) = default;
  /// All bytes at once: large meshes compare many.
  friend constexpr bool operator==(const sharding& a, const sharding& b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  }

 private:
  std::array<std::uint8_t, max_mesh_rank> codes_ = {};
  std::uint8_t size_ = 0;
};

/// The name that texts of shardings use: "sum", "avg", "max", "min", "mask".
[[nodiscard]] constexpr std::string_view name_of(partial_kind kind) {
  constexpr std::string_view names[] = {"sum", "avg", "max", "min", "mask"};
  return names[static_cast<std::size_t>(kind)];
}

inline std::string sharding::to_string() const {
  if (is_none()) return "-";
  std::string text;
  for (std::size_t d = 0; d < size_; ++d) {
    const dim_placement p = (*this)[d];
    if (p.is_replicated()) {
      text += 'R';
    } else if (p.is_sharded()) {
      text += "S(" + std::to_string(p.dim()) + ")";
    } else {
      text += 'P';
      if (p.kind() != partial_kind::sum) text += "(" + std::string(shardweave::name_of(p.kind())) + ")";
    }
  }
  return text;
}

inline sharding sharding::parse(std::string_view text) {
  if (text == "-") return {};
  sharding result;
  std::string_view rest = text;
  const auto bad = [&] {
    refuse(error_category::input, "'" + std::string(text) + "' is no sharding; expected one of R, S(d), P, P(avg), " +
                                      "P(max), P(min), P(mask) per mesh dimension");
  };
  while (!rest.empty()) {
    if (result.size_ == max_mesh_rank) bad();
    const char letter = rest.front();
    rest.remove_prefix(1);
    std::string_view inside;
    if (!rest.empty() && rest.front() == '(') {
      const std::size_t close = rest.find(')');
      if (close == std::string_view::npos) bad();
      inside = rest.substr(1, close - 1);
      rest.remove_prefix(close + 1);
    }
    dim_placement p;
    if (letter == 'S') {
      std::size_t dim = 100;
      const auto [end, code] = std::from_chars(inside.data(), inside.data() + inside.size(), dim);
      if (code != std::errc{} || end != inside.data() + inside.size() || dim >= 100) bad();
      p = dim_placement::shard(dim);
    } else if (letter == 'P') {
      partial_kind kind = partial_kind::sum;
      while (!inside.empty() && shardweave::name_of(kind) != inside) {
        if (kind == partial_kind::mask) bad();
        kind = static_cast<partial_kind>(static_cast<std::uint8_t>(kind) + 1);
      }
      p = dim_placement::partial(kind);
    } else if (letter != 'R' || !inside.empty()) {
      bad();
    }
    result.codes_[result.size_++] = p.code();
  }
  if (result.is_none()) bad();
  return result;
}

/// Shape of the largest shard: every cut rounds up.
/// \pre the sharding is valid for the shape
[[nodiscard]] inline std::vector<std::int64_t> local_shape(std::vector<std::int64_t> shape, const sharding& where,
                                                           const device_mesh& mesh) {
  for (std::size_t d = 0; d < where.size(); ++d)
    if (where[d].is_sharded()) {
      std::int64_t& extent = shape[where[d].dim()];
      extent = (extent + mesh.extent(d) - 1) / mesh.extent(d);
    }
  return shape;
}

/// Bytes of the largest shard. A partial result is as large as the whole.
/// \pre the sharding is valid for the tensor's shape
[[nodiscard]] inline bytes local_size(const tensor& value, const sharding& where, const device_mesh& mesh) {
  std::int64_t count = element_size(value.type);
  for (const std::int64_t extent : local_shape(value.shape, where, mesh)) count *= extent;
  return bytes(count);
}

/// Whether a tensor of this shape may lie so: every shard names a dimension of it; a dimension that is cut has, after
/// the cuts before, at least as many elements as the mesh dimension has devices; and partial kinds along several mesh
/// dimensions can be reduced in any order (equal kinds, or sums and averages). Pieces are of ceil(elements / devices)
/// elements, so that the last ones may be smaller, or empty: 5 elements lie on 4 devices as 2, 2, 1, 0.
[[nodiscard]] inline bool is_valid_sharding(std::span<const std::int64_t> shape, const sharding& where,
                                            const device_mesh& mesh) {
  if (where.size() != mesh.rank()) return false;
  const dim_placement* partial = nullptr;
  std::array<dim_placement, max_mesh_rank> seen;
  const auto is_linear = [](partial_kind kind) { return kind == partial_kind::sum || kind == partial_kind::avg; };
  for (std::size_t d = 0; d < where.size(); ++d) {
    const dim_placement p = seen[d] = where[d];
    if (p.is_partial()) {
      if (partial != nullptr && p != *partial && !(is_linear(p.kind()) && is_linear(partial->kind()))) return false;
      partial = &seen[d];
    }
    if (!p.is_sharded()) continue;
    if (p.dim() >= shape.size()) return false;
    std::int64_t extent = shape[p.dim()];  // after the cuts of the mesh dimensions before this one
    for (std::size_t earlier = 0; earlier < d; ++earlier)
      if (where[earlier] == p) extent = (extent + mesh.extent(earlier) - 1) / mesh.extent(earlier);
    if (extent < mesh.extent(d)) return false;
  }
  return true;
}

}  // namespace shardweave::inline v0

template <>
struct std::hash<shardweave::sharding> {
  [[nodiscard]] std::size_t operator()(const shardweave::sharding& s) const noexcept {
    return shardweave::hash_combine(0x5d, static_cast<std::size_t>(s.key()));
  }
};
