// NCCL's cost model: for planning without its jumps, as it is for comparison, and why it chooses what it chooses.
#include <shardweave/cost/nccl_smooth.hpp>
#include <shardweave/cost/nccl_symmetric.hpp>
#include <shardweave/cost/nccl_tuner.hpp>

#include <cstdio>
#include <string>

namespace sw = shardweave;

int main() {
  // [models]
  const auto h100 = sw::find_device("h100");
  const sw::nccl_smooth planning(h100);                                    // nothing jumps, ramps as measured
  const sw::nccl_tuner exact(h100, {.version = sw::nccl_version::v2_27});  // what NCCL 2.27 believes
  const sw::nccl_symmetric<> symmetric(h100);                              // kernels for symmetric memory
  const sw::group_shape node{.ranks_per_node = 8, .nodes = 1}, cluster{.ranks_per_node = 8, .nodes = 64};
  const auto estimate = planning.estimate(sw::collective::all_reduce, sw::mebibytes(64), cluster);
  // [models]
  std::printf("all_reduce of 64 MiB among 512 devices: %.0f us by %s\n", estimate.time_us, estimate.algorithm.data());

  // [machine]
  sw::nccl_node cloud = sw::nccl_node_of(h100);
  cloud.network_latency_us = 20;  // what the network plugin declares; InfiniBand: 0
  cloud.processor = sw::nccl_processor::amd;
  const sw::nccl_smooth in_cloud(cloud);
  // [machine]
  const auto slower = in_cloud.estimate(sw::collective::all_reduce, sw::mebibytes(64), cluster);
  std::printf("in the cloud: %.0f us\n", slower.time_us);

  // [explain]
  const std::string why = to_text(exact.explain(sw::collective::all_reduce, sw::mebibytes(1), node));
  // [explain]
  std::fputs(why.c_str(), stdout);

  const auto gather = symmetric.estimate(sw::collective::all_gather, sw::mebibytes(32), node);
  std::printf("all_gather of 32 MiB on symmetric memory: %.0f us on %d thread blocks\n", gather.time_us,
              gather.channels);
  const bool explained = why.find("* ring ll: 28.01 us") != std::string::npos;
  return slower.time_us > estimate.time_us && explained && gather.channels == 2 ? 0 : 1;
}
