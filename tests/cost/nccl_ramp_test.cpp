#include <shardweave/cost/device.hpp>
#include <shardweave/cost/nccl_node.hpp>
#include <shardweave/cost/nccl_ramp.hpp>
#include <shardweave/cost/nccl_smooth.hpp>

#include <doctest/doctest.h>
#include <support/refusal.hpp>

#include <utility>
#include <vector>

namespace nccl_ramp_tests {
namespace {

using namespace shardweave;
using shardweave_test::refusal_of;

}  // namespace

TEST_SUITE("nccl_ramp") {
  TEST_CASE("a ramp is a line with every doubling between its points, and constant outside") {
    const detail::nccl_ramp ramp({{20, .25}, {24, .5}, {25, .5}}, "one");
    for (const auto& [doublings, share] : {std::pair{-3.0, .25},
                                           {0.0, .25},
                                           {20.0, .25},
                                           {21.5, .34375},
                                           {23.0, .4375},
                                           {24.0, .5},
                                           {24.5, .5},
                                           {63.0, .5},
                                           {1e9, .5}})
      CHECK(ramp.at(doublings) == doctest::Approx(share));
    CHECK(detail::nccl_ramp({}, "none").at(7) == 1);
    for (const auto& [size, doublings] : {std::pair{1.0, 0.0}, {3.0, 1.5}, {1024.0, 10.0}, {1280.0, 10.25}})
      CHECK(detail::doublings_in(size) == doublings);
  }

  TEST_CASE("each kind of wrong ramp is refused with its point, and a gentle one is not") {
    const auto words = [](std::vector<nccl_ramp_point> multicast, std::vector<nccl_ramp_point> ring = {}) {
      return refusal_of([&] {
        return nccl_smooth(nccl_node_of(find_device("h100")), {.multicast_ramp = multicast, .ampere_ring_ramp = ring});
      });
    };
    CHECK(words({{20, .5}, {21, .649}}).empty());  // not quite 30 % with a doubling
    CHECK(words({{0, 1}}).empty());
    for (const std::vector<nccl_ramp_point>& wrong : std::vector<std::vector<nccl_ramp_point>>{{{20, .5}, {21, .66}},
                                                                                               {{20, .5}, {20, .5}},
                                                                                               {{20, .5}, {19, .5}},
                                                                                               {{20, .5}, {21, 1.1}},
                                                                                               {{20, .5}, {21, .49}}}) {
      CHECK(words(wrong) == "point 1 of the multicast ramp does not rise gently");
      CHECK(words({}, wrong) == "point 1 of the ring ramp does not rise gently");
    }
    CHECK(words({{-1, .5}}) == "point 0 of the multicast ramp does not rise gently");
    CHECK(words({{20, 1.01}}) == "point 0 of the multicast ramp does not rise gently");
  }
}

}  // namespace nccl_ramp_tests
