// What a collective and an operation cost; a host's own model of collectives is one struct.
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/node_table.hpp>
#include <shardweave/cost/roofline.hpp>

#include <cstdio>

namespace sw = shardweave;

// [own]
/// Adds what this host measured for the start of a collective to another model's answer.
template <sw::collective_cost_model Base>
struct slow_start {
  Base base;
  double start_us = 20;

  [[nodiscard]] sw::collective_estimate estimate(sw::collective kind, sw::bytes size, sw::group_shape group) const {
    sw::collective_estimate answer = base.estimate(kind, size, group);
    if (group.ranks() == 1) return answer;  // nothing starts: 0 is part of the promise
    answer.latency_us += start_us;
    answer.time_us += start_us;
    return answer;
  }
};
static_assert(sw::collective_cost_model<slow_start<sw::alpha_beta>>);
// [own]

int main() {
  const sw::device_profile h100 = sw::find_device("H100");
  // [estimate]
  const sw::node_table<> inside(h100);  // fitted constants in one node, alpha-beta between nodes
  const sw::group_shape node{.ranks_per_node = 8, .nodes = 1}, cluster{.ranks_per_node = 8, .nodes = 8};
  const auto near = inside.estimate(sw::collective::all_gather, sw::mebibytes(256), node);
  const auto far = inside.estimate(sw::collective::all_gather, sw::mebibytes(256), cluster);
  // [estimate]
  std::printf("all_gather of 256 MiB: %.0f us among 8 devices of a node, %.0f us among 64 on 8 nodes\n", near.time_us,
              far.time_us);

  const slow_start<sw::node_table<>> own{inside};
  const auto slow = own.estimate(sw::collective::all_gather, sw::mebibytes(256), node);
  std::printf("with our own start: %.0f us\n", slow.time_us);

  // [roofline]
  const sw::roofline device{h100};
  const double n = 8192;  // a square matrix product in bf16
  const double us = device.compute_time({.flops = 2 * n * n * n, .moved = sw::mebibytes(3 * 128)});
  // [roofline]
  std::printf("a product of 8192 x 8192 matrices: %.0f us\n", us);

  const bool alone_is_free = own.estimate(sw::collective::all_reduce, sw::mebibytes(1), {}).time_us == 0;
  // 2 n^3 operations at 70% of 989 * 10^12 per second
  const bool as_by_hand = us > 1588 && us < 1589;
  return near.time_us < far.time_us && slow.time_us == near.time_us + 20 && alone_is_free && as_by_hand ? 0 : 1;
}
