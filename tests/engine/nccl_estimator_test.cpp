#include "fake_gpu.hpp"
#include "nccl_ranks.hpp"
#include <shardweave/engine/folder_meeting.hpp>
#include <shardweave/engine/nccl_estimator.hpp>
#include <shardweave/engine/rank_meeting.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <thread>
#include <vector>

namespace sw = shardweave;

namespace nccl_estimator_tests {
namespace {
using nccl_tests::has_devices;
using nccl_tests::nothing_left;

/// A model that answers always the same.
struct constant {
  double us = 7;
  sw::collective_estimate estimate(sw::collective, sw::bytes, sw::group_shape) const { return {.time_us = us}; }
};
}  // namespace

TEST_SUITE("nccl_estimator, on the double") {
  TEST_CASE("NCCL is asked for one collective at a time, once, and for what it knows") {
    const nothing_left after;
    const temporary_folder folder;
    std::vector<std::string> faults(4);
    std::vector<std::thread> ranks;
    for (int r = 0; r < 4; ++r)
      ranks.emplace_back([&, r] {
        std::string& fault = faults[static_cast<std::size_t>(r)];
        try {
          sw::check_cuda(cudaSetDevice(r), "cudaSetDevice");
          const sw::nccl_estimator model(sw::meet_in_folder(folder / "run", r, 4), {.ranks_per_node = 4}, constant{},
                                         sw::mebibytes(1));
          const auto us = [&](sw::collective kind, std::int64_t size, std::int64_t n = 4) {
            return model.estimate(kind, sw::bytes(size), {.ranks_per_node = n}).time_us;
          };
          const auto near = [&](double found, double expected) {
            if (std::abs(found - expected) > 1e-3) fault += std::to_string(found) + " ";
          };
          for (int again = 0; again < 2; ++again)
            for (const auto kind :
                 {sw::collective::all_gather, sw::collective::reduce_scatter, sw::collective::all_reduce})
              near(us(kind, 400'000), 14);
          near(us(sw::collective::all_to_all, 400'000), 7);     // no estimate
          near(us(sw::collective::all_reduce, 400'000, 2), 7);  // another group
          near(us(sw::collective::all_reduce, 1 << 21), 7);     // larger than the memory
        } catch (const std::exception& e) {
          fault = e.what();
        }
      });
    for (std::thread& rank : ranks) rank.join();
    CHECK(faults == std::vector<std::string>(4));
    const auto called = fake_gpu::calls(3);
    CHECK(std::count(called.begin(), called.end(), "ncclGroupSimulateEnd") == 3);
    CHECK(std::count(called.begin(), called.end(), "ncclGroupEnd") == 0);
  }

  TEST_CASE("a question that NCCL refused is asked again") {
    const nothing_left after;
    const temporary_folder folder;
    fake_gpu::fail_next("ncclAllReduce", ncclSystemError);
    std::atomic<int> refused = 0;
    std::vector<std::string> faults(2);
    std::vector<std::thread> ranks;
    for (int r = 0; r < 2; ++r)
      ranks.emplace_back([&, r] {
        try {
          sw::check_cuda(cudaSetDevice(r), "cudaSetDevice");
          const sw::nccl_estimator model(sw::meet_in_folder(folder / "run", r, 2), {.ranks_per_node = 2}, constant{},
                                         sw::mebibytes(1));
          const auto ask = [&] {
            return model.estimate(sw::collective::all_reduce, sw::bytes(400'000), {.ranks_per_node = 2}).time_us;
          };
          double us = 0;
          try {
            us = ask();
          } catch (const sw::error&) {
            ++refused;
            us = ask();
          }
          if (std::abs(us - 14) > 1e-3) faults[static_cast<std::size_t>(r)] = std::to_string(us);
        } catch (const std::exception& e) {
          faults[static_cast<std::size_t>(r)] = e.what();
        }
      });
    for (std::thread& rank : ranks) rank.join();
    CHECK(refused == 1);
    CHECK(faults == std::vector<std::string>(2));
  }

  TEST_CASE("a group that is not the communicator's, and what NCCL refuses, are errors") {
    const nothing_left after;
    sw::check_cuda(cudaSetDevice(0), "cudaSetDevice");
    CHECK_THROWS_WITH_AS(sw::nccl_estimator(sw::meet_alone(), {.ranks_per_node = 2}, constant{}, sw::kibibytes(1)),
                         "estimates for a group of 2 ranks were asked for on a communicator of 1", sw::error);
  }
}

TEST_SUITE("nccl_estimator, on a device") {
  TEST_CASE("NCCL has no estimate for a single rank: the other model answers") {
    if (!has_devices(1)) return;
    sw::check_cuda(cudaSetDevice(0), "cudaSetDevice");
    const sw::nccl_estimator model(sw::meet_alone(), {}, constant{}, sw::kibibytes(4));
    static_assert(sw::collective_cost_model<decltype(model)>);
    CHECK(!model.told(sw::collective::all_reduce, sw::bytes(1024)));
    CHECK(model.estimate(sw::collective::all_reduce, sw::bytes(1024), {}).time_us == 7);
  }
}

}  // namespace nccl_estimator_tests
