#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/cost/collective_cost.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

/// \file
/// Devices in a grid.

namespace shardweave::inline v0 {

/// Most dimensions that a mesh may have.
inline constexpr std::size_t max_mesh_rank = 7;

/// Most devices that it may have.
inline constexpr std::int64_t most_mesh_devices = std::int64_t{1} << 31;

/// An n-dimensional grid of devices. Ranks are numbered in row-major order (the last dimension is the
/// fastest) and fill one node after the other. Collectives run along one dimension.
class device_mesh {
 public:
  /// \param shape  extent of each dimension
  /// \param names  one per dimension, or none at all ("d0", "d1", ... are given then)
  /// \throws error if the shape is empty, has too many dimensions, an extent below 1 or more than 2^31 devices, or if
  ///         names do not match
  explicit device_mesh(std::vector<std::int64_t> shape, std::vector<std::string> names = {})
      : shape_(std::move(shape)), names_(std::move(names)) {
    if (shape_.empty() || shape_.size() > max_mesh_rank)
      refuse(error_category::input, "a mesh has 1 to " + std::to_string(max_mesh_rank) + " dimensions, this one has " +
                                        std::to_string(shape_.size()));
    for (std::size_t d = 0; d < shape_.size(); ++d)
      if (shape_[d] < 1)
        refuse(error_category::input, "mesh dimension " + std::to_string(d) + " has extent " +
                                          std::to_string(shape_[d]) + ", expected at least 1");
    std::int64_t devices = 1;
    for (const std::int64_t extent : shape_) {
      if (extent > most_mesh_devices / devices)
        refuse(error_category::input, "a mesh of " + to_string() + " is larger than any machine, expected at most " +
                                          std::to_string(most_mesh_devices) + " devices");
      devices *= extent;
    }
    if (names_.empty())
      for (std::size_t d = 0; d < shape_.size(); ++d) names_.push_back("d" + std::to_string(d));
    if (names_.size() != shape_.size())
      refuse(error_category::input, "a mesh of " + std::to_string(shape_.size()) + " dimensions was given " +
                                        std::to_string(names_.size()) + " names");
  }

  /// Reads "64", "8x8", "2x4x8".
  /// \throws error naming the text if it is something else
  [[nodiscard]] static device_mesh parse(std::string_view text) {
    std::vector<std::int64_t> shape;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (true) {
      std::int64_t extent = 0;
      const auto [next, code] = std::from_chars(at, end, extent);
      if (code != std::errc{} || extent < 1) break;
      shape.push_back(extent);
      if (next == end) return device_mesh(std::move(shape));
      if (*next != 'x' && *next != 'X') break;
      at = next + 1;
    }
    refuse(error_category::input, "'" + std::string(text) + "' is no mesh; expected extents like 64, 8x8 or 2x4x8");
  }

  /// Number of dimensions.
  [[nodiscard]] std::size_t rank() const { return shape_.size(); }
  /// \pre dim < rank()
  [[nodiscard]] std::int64_t extent(std::size_t dim) const { return shape_[dim]; }
  [[nodiscard]] const std::vector<std::int64_t>& shape() const { return shape_; }
  [[nodiscard]] const std::string& name(std::size_t dim) const { return names_[dim]; }
  /// Number of devices.
  [[nodiscard]] std::int64_t size() const {
    std::int64_t n = 1;
    for (const std::int64_t extent : shape_) n *= extent;
    return n;
  }
  /// "8x8"
  [[nodiscard]] std::string to_string() const {
    std::string text;
    for (const std::int64_t extent : shape_) {
      if (!text.empty()) text += 'x';
      text += std::to_string(extent);
    }
    return text;
  }

  /// How the groups along one dimension lie on nodes: as many ranks on each as a node has room for, all nodes
  /// alike (12 ranks on nodes of 8 lie as 2 times 6).
  /// \pre dim < rank(), devices_per_node >= 1
  [[nodiscard]] group_shape group_along(std::size_t dim, std::int64_t devices_per_node) const {
    std::int64_t inner = 1;
    for (std::size_t d = dim + 1; d < rank(); ++d) inner *= extent(d);
    std::int64_t together = std::max<std::int64_t>(1, std::min(devices_per_node / inner, extent(dim)));
    while (extent(dim) % together != 0) --together;
    return {together, extent(dim) / together};
  }

  friend bool operator==(const device_mesh& a, const device_mesh& b) { return a.shape_ == b.shape_; }

 private:
  std::vector<std::int64_t> shape_;
  std::vector<std::string> names_;
};

}  // namespace shardweave::inline v0
