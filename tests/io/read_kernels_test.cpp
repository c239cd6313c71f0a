#include "refused.hpp"
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/io/read_kernels.hpp>
#include <shardweave/io/text_input.hpp>

#include <doctest/doctest.h>
#include <support/shared_data.hpp>

#include <cstddef>
#include <string>

namespace sw = shardweave;

namespace read_kernels_tests {
namespace {

std::string refused_text(const std::string& text) {
  return refused([&] {
    auto input = sw::text_input::of_memory("kernels.csv", text);
    return sw::read_kernels(input);
  });
}

const std::string small =
    "# a device\nkind,kernel,operations,bytes,time_us\nproduct,\"8 x 8, in bf16\",1024,384,9.5\r\n"
    "product_f8,x,2048,100,9\n\nattention,y,4096,100,8\nattention_backward,z,8192,100,7\nmemory,copy,0,64,5\n"
    "host,launch,0,0,2\n";

}  // namespace

TEST_SUITE("read_kernels") {
  TEST_CASE("rows become kernels, whatever the pieces that the text comes in") {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{1} << 20}) {
      auto input = sw::text_input::of_memory("kernels.csv", small, piece);
      const auto found = sw::read_kernels(input);
      REQUIRE(found.size() == 5);
      CHECK(found[0].kind == sw::kernel_kind::matrix_product);
      CHECK(found[0].work.flops == 1024);
      CHECK(found[0].work.moved == sw::bytes(384));
      CHECK(found[0].work.kind == sw::arithmetic::f16);
      CHECK(found[0].time_us == 9.5);
      CHECK(found[1].kind == sw::kernel_kind::matrix_product);
      CHECK(found[1].work.kind == sw::arithmetic::f8);
      CHECK(found[2].kind == sw::kernel_kind::attention);
      CHECK(found[3].kind == sw::kernel_kind::attention_backward);
      CHECK(found[4].kind == sw::kernel_kind::memory_bound);
      CHECK(found[4].work.flops == 0);
    }
  }

  TEST_CASE("the tables of one H100 and one H200 are read") {
    CHECK(sw::read_kernels(SHARDWEAVE_SOURCE_DIR "/tests/data/measured/kernels_h100.csv").size() == 227);
    CHECK(sw::read_kernels(SHARDWEAVE_SOURCE_DIR "/tests/data/measured/kernels_h200.csv").size() == 325);
  }

  TEST_CASE("what is wrong is told with its line") {
    CHECK(
        refused_text(changed(small, "attention,y", "attentive,y")) ==
        "kernels.csv: line 6: kind is 'attentive', expected product, product_f8, attention, attention_backward, memory "
        "or host");
    CHECK(refused_text(changed(small, "1024,384", "1024,0")) ==
          "kernels.csv: line 3: bytes is '0', expected a number above 0");
    CHECK(refused_text(changed(small, "2048,100", "-1,100")) ==
          "kernels.csv: line 4: operations is '-1', expected a positive number");
    CHECK(refused_text(changed(small, "64,5", "64,soon")) ==
          "kernels.csv: line 8: time_us is 'soon', expected a positive number of microseconds");
    CHECK(refused_text("kind,operations,bytes,time_us\nhost,0,0,2\n") == "kernels.csv: holds no kernel");
    for (const char* name : {"kind", "operations", "bytes", "time_us"})
      CHECK(is_one_line(refused_text(changed(small, name, "other"))));
  }
}

}  // namespace read_kernels_tests
