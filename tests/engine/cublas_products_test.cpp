// Products of matrices on a device: what the double takes, to the figure, and what holds on any.
#include "fake_gpu.hpp"
#include "nccl_ranks.hpp"
#include <shardweave/cost/compute_profile.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/engine/cublas_products.hpp>
#include <shardweave/engine/nccl_calibration.hpp>
#include <shardweave/engine/nccl_engine.hpp>
#include <shardweave/engine/replay.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sw = shardweave;
using ns = sw::nanoseconds;

namespace cublas_products_tests {
namespace {
using nccl_tests::has_devices;
using nccl_tests::nothing_left;
using nccl_tests::on_ranks;
using nccl_tests::small_options;

constexpr auto f16 = static_cast<std::size_t>(sw::arithmetic::f16);
}  // namespace

TEST_SUITE("cublas_products, on the double") {
  TEST_CASE("each shape takes what the double takes, and is called as the library wants it") {
    const nothing_left after;
    sw::use_device(0, 0);
    const std::vector<sw::product_shape> shapes{{.rows = 64, .inner = 128, .columns = 256},
                                                {.rows = 8, .inner = 8, .columns = 16},
                                                {.rows = 256, .inner = 256, .columns = 256}};
    const sw::cublas_products products(shapes);
    REQUIRE(products.measured().size() == 3);
    for (std::size_t i = 0; i < 3; ++i) CHECK(products.measured()[i].shape.rows == shapes[i].rows);
    CHECK(products.measured()[0].time_us == doctest::Approx(2));  // 512 ns of operations are less than the least
    CHECK(products.measured()[1].time_us == doctest::Approx(2));
    CHECK(products.measured()[2].time_us == doctest::Approx(4.096));
    const auto called = fake_gpu::calls(0);
    CHECK(std::count(called.begin(), called.end(), "cublasGemmEx 256 x 128 x 64") == 1 + 6 * 8);
  }

  TEST_CASE("a duration becomes products, the longest first, and nothing where it is too short") {
    const nothing_left after;
    sw::use_device(0, 0);
    const sw::cublas_products products(sw::square_products(128, 512));  // 2, 4.096 and 32.768 us
    CHECK(products.pieces(ns(0)) == 0);
    CHECK(products.pieces(ns(999)) == 0);
    CHECK(products.pieces(ns(1000)) == 1);
    CHECK(products.pieces(ns(2000)) == 1);
    CHECK(products.pieces(ns(4096)) == 1);
    CHECK(products.pieces(ns(2 * 32768 + 4096)) == 3);
    CHECK(products.pieces(ns(2 * 32768 + 4096 + 1999)) == 4);
    CHECK(products.pieces(ns(5 * 4096)) == 5);
  }

  TEST_CASE("in place of copies they take the durations of a schedule, to the nanosecond") {
    const nothing_left after;
    const auto words = on_ranks(2, small_options(), [&](sw::nccl_engine& engine) {
      const auto made = [] { return sw::cublas_products(sw::square_products(128, 512)); };
      engine.compute_by(made().stand_in());  // lives on in the engine
      engine.connect(std::vector<sw::process_group>{{.size = 2}});
      const auto some = engine.run({.duration = ns(4096)}), more = engine.run({.duration = ns(100 * 32768 + 2000)});
      const auto none = engine.run({.duration = ns(10)});
      engine.wait(engine.start({1, 0, sw::collective::all_reduce, "f32", "sum", sw::bytes(64), sw::bytes(64), {}, {}}));
      engine.finish();
      const auto is = [&](std::size_t operation, std::int64_t expected) {
        if (std::abs(engine.span(operation).length().count() - expected) > 1)
          sw::refuse(sw::error_category::input, "it took " + std::to_string(engine.span(operation).length().count()));
      };
      is(some, 4096);
      is(more, 100 * 32768 + 2000);
      is(none, 0);
    });
    CHECK(words == std::vector<std::string>(2));
    const auto called = fake_gpu::calls(1);
    CHECK(std::count(called.begin(), called.end(), "cublasGemmEx 512 x 512 x 512") == 1 + 6 * 8 + 100);
  }

  TEST_CASE("what cannot be measured, and what the library refuses, is told") {
    const nothing_left after;
    sw::use_device(0, 0);
    CHECK_THROWS_WITH_AS(sw::cublas_products(std::vector<sw::product_shape>()), "there is no product to measure",
                         sw::error);
    for (const sw::product_shape& wrong :
         {sw::product_shape{.rows = 0, .inner = 4, .columns = 4}, {.batch = 2, .rows = 4, .inner = 4, .columns = 4}})
      CHECK_THROWS_AS(sw::cublas_products(std::vector{wrong}), sw::error);
    const sw::product_shape huge{.rows = 8, .inner = std::int64_t{1} << 31, .columns = 1};
    CHECK_THROWS_WITH_AS(
        sw::cublas_products(std::vector{huge}),
        "a product of 8 x 2147483648 and 2147483648 x 1, 1 times: expected one of matrices whose sizes "
        "are from 1 to 2147483647",
        sw::error);
    CHECK(sw::square_products(0, 8).empty());
    fake_gpu::fail_next("cublasCreate", CUBLAS_STATUS_ALLOC_FAILED);
    CHECK_THROWS_WITH_AS(sw::cublas_products(sw::square_products(8, 8)), "cublasCreate: the resource allocation failed",
                         sw::error);
    fake_gpu::fail_next("cublasGemmEx", CUBLAS_STATUS_INVALID_VALUE);
    CHECK_THROWS_WITH_AS(sw::cublas_products(sw::square_products(8, 8)),
                         "cublasGemmEx: an unsupported value or parameter was passed to the function", sw::error);
  }
}

TEST_SUITE("calibrate_products, on the double") {
  TEST_CASE("shares and floors are the double's own, alike on all ranks, for shapes that were not measured too") {
    const nothing_left after({.copy_ns = 10, .copy_bytes_per_ns = 1000, .product_ns = 100, .product_half = 30});
    std::vector<sw::machine_calibration> found(2);
    const auto words = on_ranks(2, small_options(), [&](sw::nccl_engine& engine) {
      sw::machine_calibration& mine = found[static_cast<std::size_t>(engine.rank())];
      mine.device.source = "calibrate_nccl";
      sw::calibrate_products(mine, engine, sw::cublas_products(sw::square_products(16, 512)), *sw::known_device_here());
    });
    CHECK(words == std::vector<std::string>(2));
    for (const sw::machine_calibration& one : found) {
      CHECK(one.device.device == "h100");
      CHECK(one.device.source.starts_with("calibrate_nccl; products of bf16, cuBLAS "));
      REQUIRE(one.device.compute);
      const sw::compute_profile& compute = *one.device.compute;
      CHECK(compute.product_floor_us == doctest::Approx(0.1));
      CHECK(compute.launch_us == doctest::Approx(0.01).epsilon(0.1));
      // a copy of 10 MB, counted twice
      CHECK(compute.memory_time(sw::bytes(20'000'000)) == doctest::Approx(10.01).epsilon(2e-3));
      const double rate = compute.device.rate(sw::arithmetic::f16);
      CHECK(compute.product[f16].peak * rate == doctest::Approx(8.192e12).epsilon(0.01));
      CHECK(compute.product[f16].half == doctest::Approx(30).epsilon(0.03));
      CHECK(compute.product[f16].power == doctest::Approx(1).epsilon(0.02));
      for (const sw::product_shape& shape : {sw::product_shape{.rows = 3000, .inner = 5000, .columns = 700},
                                             {.rows = 700, .inner = 7000, .columns = 7000}}) {
        const sw::device_work work = sw::work_of(shape, 2);
        const double per_byte = work.flops / static_cast<double>(work.moved.count());
        CHECK(compute.compute_time(work) == doctest::Approx(work.flops * (1 + 30 / per_byte) / 8.192e6).epsilon(0.01));
      }
      CHECK(compute.compute_time(sw::work_of({.rows = 16, .inner = 16, .columns = 16}, 2)) == doctest::Approx(0.1));
      CHECK(compute.product[f16] == found[0].device.compute->product[f16]);
      // what was not measured stays as it was
      CHECK(compute.attention == sw::compute_profile().attention);
    }
  }

  TEST_CASE("with products in place of copies, the calibration of collectives says what they do to each other") {
    const nothing_left after;
    const auto words = on_ranks(2, small_options(), [&](sw::nccl_engine& engine) {
      const sw::cublas_products products(sw::square_products(32, 128));
      engine.compute_by(products.stand_in());
      sw::machine_calibration found =
          sw::calibrate_nccl(engine, {.largest = sw::kibibytes(64), .factor = 64, .repetitions = 1, .warm_up = 0});
      sw::calibrate_products(found, engine, products, sw::find_device("a100"));
      if (found.device.device != "a100" || !found.device.compute || !found.device.under_load)
        sw::refuse(sw::error_category::input, "something is missing");
      // all take what a launch takes: the one that reaches most says what is reached
      const double share = 2.0 * 128 * 128 * 128 / 2e-6 / sw::find_device("a100").rate(sw::arithmetic::f16);
      if (std::abs(found.device.compute->product[f16].peak / share - 1) > 0.01)
        sw::refuse(sw::error_category::input, "a share of " + std::to_string(found.device.compute->product[f16].peak));
    });
    CHECK(words == std::vector<std::string>(2));
    const auto called = fake_gpu::calls(0);
    CHECK(std::count(called.begin(), called.end(), "cublasGemmEx 128 x 128 x 128") > 1 + 6 * 8);
  }

  TEST_CASE("a device is known by a word of its name, and one without rates is refused") {
    const auto known = [](const char* name) {
      const nothing_left after({.name = name});
      const auto found = sw::known_device_here();
      return std::string(found ? found->name : "none");
    };
    sw::use_device(0, 0);
    CHECK(known("NVIDIA H100 80GB HBM3") == "h100");
    CHECK(known("NVIDIA A100-SXM4-80GB") == "a100");
    CHECK(known("NVIDIA GB200") == "gb200");
    CHECK(known("NVIDIA GH200 480GB") == "none");
    CHECK(known("Tesla T4") == "none");
    const nothing_left after;
    const auto words = on_ranks(1, small_options(), [&](sw::nccl_engine& engine) {
      sw::machine_calibration found;
      sw::calibrate_products(found, engine, sw::cublas_products(sw::square_products(8, 8)),
                             {.name = "abacus", .memory_bandwidth = 1});
    });
    CHECK(words[0] == "device 'abacus' states no rate for 16-bit numbers or no bandwidth, of which to tell shares");
  }
}

TEST_SUITE("cublas_products, on a device") {
  TEST_CASE("larger products take longer, and a calibration of them prices what was measured") {
    if (!has_devices(1)) return;
    sw::nccl_engine engine(sw::meet_alone(), small_options());
    const sw::cublas_products products(sw::square_products(256, 4096));
    CHECK(products.version() > 0);
    const auto& measured = products.measured();
    CHECK(measured.back().time_us > 4 * measured.front().time_us);
    sw::machine_calibration found = sw::calibrate_nccl(engine);
    sw::calibrate_products(found, engine, products, sw::known_device_here().value_or(sw::find_device("h100")));
    REQUIRE(found.device.compute);
    const sw::timed_product& last = measured.back();
    CHECK(found.device.compute->compute_time(sw::work_of(last.shape, 2)) == doctest::Approx(last.time_us).epsilon(0.5));

    engine.compute_by(products.stand_in());
    engine.connect({});
    const auto some = engine.run({.duration = ns(1'000'000)}), more = engine.run({.duration = ns(4'000'000)});
    engine.finish();
    const double one = static_cast<double>(engine.span(some).length().count());
    CHECK(one > 0.5e6);
    CHECK(one < 3e6);
    CHECK(static_cast<double>(engine.span(more).length().count()) > 2 * one);
  }

  TEST_CASE("a layer of a LLaMA model is replayed with products in place of copies, with right values") {
    if (!has_devices(1)) return;
    sw::nccl_engine engine(sw::meet_alone(), small_options());
    engine.compute_by(sw::cublas_products(sw::square_products(128, 1024)).stand_in());
    const sw::task_graph g = nccl_tests::llama_layer(1);
    sw::schedule s;
    for (sw::task_index t = 0; t < g.size(); ++t) s.order.push_back(t);
    const sw::timeline line = sw::replay(g, s, engine);
    CHECK(engine.checked() == 21);
    CHECK(line.compute > ns(0));
    CHECK(line.end_to_end >= line.compute);
  }
}

}  // namespace cublas_products_tests
