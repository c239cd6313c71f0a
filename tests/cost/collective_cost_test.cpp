#include <shardweave/core/units.hpp>
#include <shardweave/cost/collective.hpp>
#include <shardweave/cost/collective_cost.hpp>
#include <shardweave/cost/node_table.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

namespace collective_cost_tests {
namespace {

using namespace shardweave;

struct free_of_charge {
  collective_estimate estimate(collective, bytes, group_shape) const { return {}; }
};
struct not_a_model {
  double estimate(collective, bytes, group_shape) const { return 0; }
};
struct changes_itself {
  collective_estimate estimate(collective, bytes, group_shape) { return {}; }
};
static_assert(collective_cost_model<free_of_charge>);
static_assert(collective_cost_model<node_table<free_of_charge>>);
static_assert(!collective_cost_model<not_a_model>);
static_assert(!collective_cost_model<changes_itself>);
static_assert(!collective_cost_model<int>);

}  // namespace

TEST_SUITE("collective_cost") {
  TEST_CASE("each rank of an exchange in place of a shift sends as much to others as the shift does") {
    for (const group_shape group : {group_shape{2, 1}, {3, 1}, {8, 1}, {8, 2}, {1, 5}}) {
      const auto n = static_cast<double>(group.ranks());
      for (const std::int64_t size : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1000}, std::int64_t{1} << 40}) {
        const double exchanged = static_cast<double>(exchange_of_shift(bytes(size), group).count());
        CHECK(std::abs(exchanged * (n - 1) / n - static_cast<double>(size)) < 1);  // all but its own n-th
      }
    }
  }

  TEST_CASE("a group has as many ranks as its nodes have together, and one unless it is told") {
    CHECK(group_shape{}.ranks() == 1);
    CHECK(group_shape{8, 16}.ranks() == 128);
    CHECK(group_shape{8, 16} != group_shape{16, 8});
  }

  TEST_CASE("what was measured is better than what was fitted, and a formula is the least") {
    using enum estimate_quality;
    CHECK((formula < extrapolated && extrapolated < fitted && fitted < measured));
    CHECK(collective_estimate{}.quality == formula);
    CHECK(detail::estimate_by(free_of_charge{}, collective::all_reduce, bytes(9), {8, 1}).time_us == 0);
  }
}

}  // namespace collective_cost_tests
