#include <shardweave/core/error.hpp>
#include <shardweave/spmd/mesh.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace mesh_tests {
namespace {
using extents = std::vector<std::int64_t>;

/// Where the ranks of the first group along a dimension lie, rank by rank: how many on each node, and on how many.
/// \pre all is powers of two, so that nodes are alike
sw::group_shape listed(const sw::device_mesh& mesh, std::size_t dim, std::int64_t per_node) {
  std::int64_t stride = 1;
  for (std::size_t d = dim + 1; d < mesh.rank(); ++d) stride *= mesh.extent(d);
  std::map<std::int64_t, std::int64_t> on_node;
  for (std::int64_t k = 0; k < mesh.extent(dim); ++k) ++on_node[k * stride / per_node];
  return {on_node.begin()->second, static_cast<std::int64_t>(on_node.size())};
}
}  // namespace

TEST_SUITE("mesh") {
  TEST_CASE("a mesh is read as it is written, whichever case the x has") {
    for (const char* text : {"64", "8x8", "2x4x8", "1x1x1x1x1x1x2"})
      CHECK(sw::device_mesh::parse(text).to_string() == text);
    CHECK(sw::device_mesh::parse("2X4x8") == sw::device_mesh(extents{2, 4, 8}));
    CHECK(sw::device_mesh::parse("2x4x8").size() == 64);
    CHECK_FALSE(sw::device_mesh::parse("2x4") == sw::device_mesh::parse("4x2"));
  }
  TEST_CASE("dimensions have names, numbered ones unless told otherwise") {
    CHECK(sw::device_mesh(extents{2, 4}).name(1) == "d1");
    const sw::device_mesh named(extents{2, 4}, {"data", "tensor"});
    CHECK(named.name(0) == "data");
    CHECK(named == sw::device_mesh(extents{2, 4}));  // by what it is
    CHECK_THROWS_WITH_AS(sw::device_mesh(extents{2, 4}, {"data"}), "a mesh of 2 dimensions was given 1 names",
                         sw::error);
  }
  TEST_CASE("what is no mesh is refused in words") {
    for (const char* text : {"", "x", "8x", "x8", "8x0", "8 x 8", "8x-1", "8y8", "99999999999999999999"})
      CHECK_THROWS_WITH_AS((void)sw::device_mesh::parse(text),
                           ("'" + std::string(text) + "' is no mesh; expected extents like 64, 8x8 or 2x4x8").c_str(),
                           sw::error);
    CHECK_THROWS_AS(sw::device_mesh(extents{}), sw::error);
    CHECK_THROWS_AS(sw::device_mesh(extents(sw::max_mesh_rank + 1, 1)), sw::error);
    CHECK_THROWS_AS(sw::device_mesh(extents{2, 0}), sw::error);
    CHECK_NOTHROW(sw::device_mesh(extents{sw::most_mesh_devices / 2, 2}));
    CHECK_THROWS_AS(sw::device_mesh(extents{sw::most_mesh_devices / 2, 4}), sw::error);
  }
  TEST_CASE("groups lie on nodes as their ranks do, one by one") {
    for (const extents& shape : {extents{64}, extents{8, 8}, extents{2, 4, 8}, extents{16, 2, 2}, extents{4, 4, 2, 2}})
      for (const std::int64_t per_node : {1, 2, 4, 8, 16, 64}) {
        const sw::device_mesh mesh(shape);
        for (std::size_t d = 0; d < mesh.rank(); ++d) CHECK(mesh.group_along(d, per_node) == listed(mesh, d, per_node));
      }
  }
  TEST_CASE("ranks that do not fill nodes lie on equal ones") {
    CHECK(sw::device_mesh(extents{12}).group_along(0, 8) == sw::group_shape{6, 2});
    CHECK(sw::device_mesh(extents{7}).group_along(0, 4) == sw::group_shape{1, 7});
    CHECK(sw::device_mesh(extents{3, 16}).group_along(0, 8) == sw::group_shape{1, 3});
  }
}

}  // namespace mesh_tests
