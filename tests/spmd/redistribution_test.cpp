#include "spmd/redistributors.hpp"
#include <shardweave/spmd/redistribution.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>

namespace redistribution_tests {
namespace {

using namespace redistributors;
using namespace shardweave;

}  // namespace

TEST_SUITE("redistribution") {
  TEST_CASE("a searched way is never dearer than one step per mesh dimension, and sometimes much cheaper") {
    for (const char* text : {"2x4", "8x8"}) {
      auto fixed = h100(text, {.search = false});
      auto searched = h100(text);
      const tensor x{{64, 128, 64}, dtype::bf16};
      std::size_t cheaper = 0;
      for (const sharding& from : all_shardings(x, fixed.mesh()))
        for (const sharding& to : all_shardings(x, fixed.mesh())) {
          // where cuts meet on the way, one step per dimension would put the pieces together in a wrong order
          const auto meet = [](dim_placement a, dim_placement b) { return a.is_sharded() && a == b; };
          if (meet(from[0], from[1]) || meet(from[0], to[1]) || meet(to[0], from[1]) || meet(to[0], to[1])) continue;
          CAPTURE(from.to_string());
          CAPTURE(to.to_string());
          const double straight = fixed.cost(x, from, to);
          const double best = searched.cost(x, from, to);
          CHECK((straight == infinity) == (best == infinity));
          CHECK(best <= straight * (1 + 1e-12));
          cheaper += best < 0.75 * straight ? 1U : 0U;
        }
      CHECK(cheaper > 10);
    }
    // the slice along the second dimension is free and makes the gather of the first eight times smaller
    const tensor x{{16, 8192, 4096}, dtype::bf16};
    auto fixed = h100("8x8", {.search = false});
    auto searched = h100("8x8");
    CHECK(searched.cost(x, spec("S(0)R"), spec("RS(1)")) < 0.2 * fixed.cost(x, spec("S(0)R"), spec("RS(1)")));
  }

  TEST_CASE("shardings that are not valid for the tensor have no way") {
    auto plans = h100("8x8");
    CHECK(plans.cost(tensor{{16, 64}}, spec("S(0)S(0)"), spec("RR")) == infinity);
    CHECK(plans.cost(tensor{{16, 64}}, spec("RR"), spec("S(2)R")) == infinity);
    CHECK(plans.cost(tensor{{16, 64}}, spec("R"), spec("S(0)")) == infinity);
    CHECK(plans.plan(tensor{{16, 64}}, spec("RR"), spec("S(5)R")).steps.empty());
    CHECK(plans.cost(tensor{{16, 64}}, {}, spec("RR")) == 0);
  }

  TEST_CASE("cuts that nest are undone from the last on where nesting is strict, and in any order by default") {
    const tensor x{{64, 64}, dtype::bf16};
    auto strict = h100("2x4", {.strict_nesting = true});
    auto loose = h100("2x4");
    const auto steps = [&](auto& plans, const char* from, const char* to) {
      std::string text;
      for (const redistribution_step& s : plans.plan(x, spec(from), spec(to)).steps)
        text += std::to_string(s.mesh_dim) + (s.op ? " " + std::string(name_of(*s.op)) + " " : " slice ");
      return text;
    };
    // the gather of the second cut makes the pieces of the first, which is put together last
    CHECK(steps(strict, "S(0)S(0)", "RR") == "1 all_gather 0 all_gather ");
    CHECK(steps(loose, "S(0)S(0)", "RS(0)") == "0 all_gather ");
    CHECK(steps(strict, "S(0)S(0)", "RS(0)") != "0 all_gather ");
    CHECK(steps(strict, "RR", "S(0)S(0)") == "0 slice 1 slice ");
  }

  TEST_CASE("the steps of a way go from one sharding to the other, and their costs are its own") {
    auto plans = h100("2x4");
    const tensor x{{64, 128, 64}, dtype::bf16};
    for (const sharding& from : all_shardings(x, plans.mesh()))
      for (const sharding& to : all_shardings(x, plans.mesh())) {
        const redistribution way = plans.plan(x, from, to);
        sharding at = from;
        double sum = 0;
        for (const redistribution_step& s : way.steps) {
          REQUIRE(at[s.mesh_dim] == s.from);
          at.set(s.mesh_dim, s.to);
          sum += s.cost_us;
          CHECK((s.op.has_value() || s.after <= s.before));  // a slice keeps a part
        }
        if (way.cost_us == infinity) {
          CHECK(way.steps.empty());
          continue;
        }
        CHECK(at == to);
        CHECK(sum == doctest::Approx(way.cost_us));
        CHECK(way.cost_us == plans.cost(x, from, to));
      }
  }
}

}  // namespace redistribution_tests
