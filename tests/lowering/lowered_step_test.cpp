#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/lowering/lowered_step.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lowered_step_tests {
namespace {

namespace sw = shardweave;

/// What a rank holds of a tensor of bf16 that is cut as told, ceilings per mesh dimension.
double held(const sw::tensor& x, const sw::sharding& at, const sw::device_mesh& mesh) {
  std::vector<double> shape(x.shape.begin(), x.shape.end());
  for (std::size_t m = 0; m < mesh.rank(); ++m)
    if (at[m].is_sharded()) shape[at[m].dim()] = std::ceil(shape[at[m].dim()] / static_cast<double>(mesh.extent(m)));
  double size = 2;
  for (const double extent : shape) size *= extent;
  return size;
}

}  // namespace

TEST_SUITE("lowered_step") {
  TEST_CASE("a step is its copies and its collective, each at its own price, and together what the way costs") {
    const sw::device_profile device = sw::find_device("h100");
    const sw::tensor x{{64, 96, 128}, sw::dtype::bf16};
    std::size_t slices = 0, alone = 0, packed = 0, unpacked = 0, both = 0;
    for (const char* shape : {"8", "1x4", "4x8"}) {
      const auto mesh = sw::device_mesh::parse(shape);
      sw::redistributor by(mesh, sw::roofline{device}, sw::node_table<>(device));
      const auto copy = [&](double bytes) { return by.compute().memory_time(sw::bytes(std::llround(2 * bytes))); };
      const auto placements = [&] {
        std::vector<sw::dim_placement> all{sw::dim_placement::replicate(), sw::dim_placement::partial()};
        for (std::size_t d = 0; d < 3; ++d) all.push_back(sw::dim_placement::shard(d));
        return all;
      }();
      for (std::size_t m = 0; m < mesh.rank(); ++m)
        for (const sw::dim_placement from : placements)
          for (const sw::dim_placement to : placements) {
            const auto before = sw::sharding(mesh.rank()).with(m, from), after = before.with(m, to);
            CAPTURE(before.to_string());
            CAPTURE(after.to_string());
            const sw::redistribution way = by.plan(x, before, after);
            for (const sw::redistribution_step& step : way.steps) {
              const sw::lowered_step made = sw::lowered(step, by);
              CHECK(made.is_collective == sw::is_collective(step, mesh));
              const std::size_t along = step.mesh_dim;  // a way may cut and gather along another one
              if (!step.op || mesh.extent(along) == 1) {
                CHECK(made.launch == sw::nanoseconds(0));
                CHECK(made.pack == sw::nanoseconds(0));
                CHECK(made.unpack == sw::nanoseconds(0));
                CHECK_FALSE(made.packs);
                CHECK_FALSE(made.unpacks);
                ++slices;
                continue;
              }
              // the whole, rounded to a nanosecond in each part
              const double sum = static_cast<double>((made.pack + made.launch + made.unpack).count()) * 1e-3;
              CHECK(std::abs(sum - step.cost_us) <= 2e-3);
              const double n = static_cast<double>(mesh.extent(along));
              const bool gathers = step.op == sw::collective::all_gather;
              const auto largest = static_cast<double>(step.before.count()) * (gathers ? n : 1);
              CHECK(static_cast<double>(made.largest.count()) == largest);
              const auto group = mesh.group_along(along, device.devices_per_node);
              CHECK(made.launch ==
                    sw::from_microseconds(sw::node_table<>(device).estimate(*step.op, made.largest, group).time_us));
              // pieces that arrive along a dimension other than the first are put in place; all else is packed
              const bool unpacks = step.from.is_sharded() && step.from.dim() != 0;
              const bool packs = step.to.is_sharded() && step.to.dim() != 0;
              CHECK(made.unpacks == unpacks);
              CHECK(made.packs == packs);
              CHECK(made.unpack == (unpacks ? sw::from_microseconds(copy(largest)) : sw::nanoseconds(0)));
              if (packs) CHECK(std::abs(static_cast<double>(made.pack.count()) - 1e3 * copy(largest)) <= 1);
              packed += packs && !unpacks ? 1 : 0;
              unpacked += unpacks && !packs ? 1 : 0;
              both += packs && unpacks ? 1 : 0;
              alone += !packs && !unpacks ? 1 : 0;
            }
            if (way.steps.size() == 1) CHECK(way.steps[0].before.count() == std::llround(held(x, before, mesh)));
          }
    }
    for (const std::size_t count : {slices, alone, packed, unpacked, both}) CHECK(count > 0);
  }
}

}  // namespace lowered_step_tests
