#include <shardweave/core/units.hpp>
#include <shardweave/schedule/overlap_settings.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace overlap_settings_tests {
namespace {
namespace sw = shardweave;
}  // namespace

TEST_SUITE("overlap_settings") {
  TEST_CASE("an operator is element-wise by its usual name, with or without namespace and overload, and by no other") {
    for (const std::string op : {"add", "mul", "silu", "gelu", "convert_element_type", "where", "rsqrt"}) {
      CAPTURE(op);
      CHECK(sw::is_elementwise_op(op));
      CHECK(sw::is_elementwise_op("aten." + op));
      CHECK(sw::is_elementwise_op("aten." + op + ".Tensor"));
      CHECK(sw::is_elementwise_op("prims." + op + ".default"));
      CHECK_FALSE(sw::is_elementwise_op(op + "mm"));
      CHECK_FALSE(sw::is_elementwise_op("other." + op));
    }
    for (const std::string_view op : {"", "aten.", "mm", "aten.mm.default", "view", "sum", "softmax", "aten"}) {
      CAPTURE(std::string(op));
      CHECK_FALSE(sw::is_elementwise_op(op));
    }
  }

  TEST_CASE("the defaults are those of PyTorch's function, and its list of element-wise operators") {
    const sw::overlap_settings s;
    CHECK(s.in_flight == sw::bytes(5LL << 30));
    CHECK(s.compute_ahead == 200);
    CHECK(s.candidates == 200);
    CHECK(s.memory_increase == sw::bytes(1LL << 30));
    CHECK(s.memory_ratio == 0.05);
    CHECK(s.off_path_batch == sw::bytes(512LL << 20));
    CHECK((s.group_by_key && s.merging_saves_latency && !s.exact_batches));
    CHECK(s.is_elementwise("aten.add.Tensor"));
  }
}

}  // namespace overlap_settings_tests
