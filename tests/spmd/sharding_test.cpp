#include "simulated_mesh.hpp"
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/tensor.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace shardweave;

TEST_SUITE("device_mesh") {
  TEST_CASE("text gives extents, and back") {
    const device_mesh mesh = device_mesh::parse("2x4x8");
    CHECK(mesh.shape() == std::vector<std::int64_t>{2, 4, 8});
    CHECK(mesh.size() == 64);
    CHECK(mesh.to_string() == "2x4x8");
    CHECK(mesh.name(1) == "d1");
    CHECK(device_mesh::parse("64").rank() == 1);
    CHECK(device_mesh({2, 2}, {"dp", "tp"}).name(1) == "tp");
    CHECK(device_mesh({2, 2}, {"dp", "tp"}) == device_mesh::parse("2X2"));
  }

  TEST_CASE("what is no mesh is refused") {
    for (const char* text : {"", "x", "8x", "x8", "8x0", "-8", "8.5", "8x8 ", "eight"})
      CHECK_THROWS_WITH_AS(device_mesh::parse(text),
                           (std::string("'") + text + "' is no mesh; expected extents like 64, 8x8 or 2x4x8").c_str(),
                           error);
    CHECK_THROWS_WITH_AS(device_mesh({}), "a mesh has 1 to 7 dimensions, this one has 0", error);
    CHECK_THROWS_WITH_AS(device_mesh({1, 1, 1, 1, 1, 1, 1, 1}), "a mesh has 1 to 7 dimensions, this one has 8", error);
    CHECK(device_mesh({2, std::int64_t{1} << 30}).size() == std::int64_t{1} << 31);
    for (const std::string wide : {"3000000000", "4294967296x4294967296", "2x3x9223372036854775807"})
      CHECK_THROWS_WITH_AS(
          device_mesh::parse(wide),
          ("a mesh of " + wide + " is larger than any machine, expected at most 2147483648 devices").c_str(), error);
    CHECK_THROWS_WITH_AS(device_mesh({4, 0}), "mesh dimension 1 has extent 0, expected at least 1", error);
    CHECK_THROWS_WITH_AS(device_mesh({4, 2}, {"dp"}), "a mesh of 2 dimensions was given 1 names", error);
  }

  TEST_CASE("groups lie on nodes as ranks fill them") {
    CHECK(device_mesh::parse("8").group_along(0, 8) == group_shape{8, 1});
    const device_mesh two = device_mesh::parse("2x8");
    CHECK(two.group_along(1, 8) == group_shape{8, 1});
    CHECK(two.group_along(0, 8) == group_shape{1, 2});
    const device_mesh three = device_mesh::parse("2x4x4");
    CHECK(three.group_along(2, 8) == group_shape{4, 1});
    CHECK(three.group_along(1, 8) == group_shape{2, 2});
    CHECK(three.group_along(0, 8) == group_shape{1, 2});
    CHECK(device_mesh::parse("64").group_along(0, 8) == group_shape{8, 8});
    CHECK(device_mesh::parse("12").group_along(0, 8) == group_shape{6, 2});
    CHECK(device_mesh::parse("72").group_along(0, 72) == group_shape{72, 1});
  }
}

TEST_SUITE("sharding") {
  TEST_CASE("text gives placements, and back") {
    for (const char* text : {"R", "S(0)R", "RS(12)", "PP", "P(avg)S(1)P(max)", "P(min)P(mask)", "S(0)S(0)RRRRR", "-"})
      CHECK(sharding::parse(text).to_string() == text);
    CHECK(sharding::parse("P(sum)R").to_string() == "PR");
    CHECK(sharding::parse("S(1)P") == sharding{dim_placement::shard(1), dim_placement::partial()});
    CHECK(sharding::parse("-").is_none());
    CHECK(sharding(2) == sharding::parse("RR"));
  }

  TEST_CASE("what is no sharding is refused") {
    for (const char* text :
         {"", "X", "S", "S()", "S(x)", "S(1", "S(-1)", "S(100)", "R(0)", "P()R(", "P(median)", "S0R", "RRRRRRRR"})
      CHECK_THROWS_WITH_AS(sharding::parse(text),
                           (std::string("'") + text +
                            "' is no sharding; expected one of R, S(d), P, P(avg), P(max), P(min), P(mask) per mesh "
                            "dimension")
                               .c_str(),
                           error);
  }

  TEST_CASE("distinct shardings have distinct keys") {
    std::vector<sharding> all;
    for (const char* text :
         {"-", "R", "RR", "S(0)", "S(0)R", "RS(0)", "P", "P(avg)", "RP", "PR", "S(1)S(0)", "S(0)S(1)"})
      all.push_back(sharding::parse(text));
    for (std::size_t a = 0; a < all.size(); ++a)
      for (std::size_t b = 0; b < all.size(); ++b) {
        CHECK((all[a].key() == all[b].key()) == (a == b));
        CHECK((std::hash<sharding>{}(all[a]) == std::hash<sharding>{}(all[b])) == (a == b));
      }
  }

  TEST_CASE("a cut needs an element per device, counted after the cuts before it") {
    const auto valid = [](std::vector<std::int64_t> shape, const char* where, const char* mesh) {
      return is_valid_sharding(shape, sharding::parse(where), device_mesh::parse(mesh));
    };
    CHECK(valid({256}, "S(0)", "256"));
    CHECK_FALSE(valid({100}, "S(0)", "256"));
    CHECK(valid({10}, "S(0)", "8"));
    CHECK(valid({257}, "S(0)", "256"));
    CHECK(valid({64}, "S(0)S(0)", "8x8"));
    CHECK_FALSE(valid({56}, "S(0)S(0)", "8x8"));
    CHECK(valid({57}, "S(0)S(0)", "8x8"));  // 57 / 8 rounds up to 8
    CHECK_FALSE(valid({4, 4}, "S(2)", "2"));
    CHECK_FALSE(valid({4, 4}, "S(0)", "2x2"));
    CHECK_FALSE(valid({4, 4}, "-", "2"));
    CHECK(valid({}, "PR", "2x2"));
  }

  TEST_CASE("partial kinds mix only where the order of reducing does not matter") {
    const device_mesh mesh = device_mesh::parse("2x2");
    const std::vector<std::int64_t> shape{4};
    const auto valid = [&](const char* where) { return is_valid_sharding(shape, sharding::parse(where), mesh); };
    for (const char* where : {"PP", "PP(avg)", "P(avg)P", "P(max)P(max)", "P(mask)P(mask)", "P(min)R"})
      CHECK(valid(where));
    for (const char* where : {"PP(max)", "P(max)P(min)", "P(avg)P(min)", "P(mask)P(max)"}) CHECK_FALSE(valid(where));
  }

  TEST_CASE("the local shape is that of the largest piece") {
    random_source random(1);
    const device_mesh mesh = device_mesh::parse("2x3");
    const interpreter::array whole = interpreter::zeros({7, 10});
    for (const char* where : {"RR", "S(0)R", "RS(0)", "S(0)S(0)", "S(1)S(0)", "S(1)S(1)", "PS(1)", "S(0)P(avg)"}) {
      const sharding s = sharding::parse(where);
      std::size_t largest = 0;
      std::vector<std::int64_t> shape;
      for (const auto& piece : simulated::distribute(whole, s, mesh, random))
        if (piece.data.size() > largest) {
          largest = piece.data.size();
          shape = piece.shape;
        }
      CHECK(local_shape({7, 10}, s, mesh) == shape);
      CHECK(local_size({{7, 10}, dtype::bf16}, s, mesh) == bytes(static_cast<std::int64_t>(largest) * 2));
    }
  }
}
