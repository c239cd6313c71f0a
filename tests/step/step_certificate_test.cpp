#include "step/certificate_by_hand.hpp"
#include <shardweave/placement/stated_form.hpp>
#include <shardweave/step/step_certificate.hpp>
#include <shardweave/step/step_claim.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sw = shardweave;

namespace step_certificate_tests {
namespace {
using namespace certificate_by_hand;

/// The costs of the first vertex's two strategies with the only one of the second.
std::array<double, 2> sums(const sw::costs_in_place<double>& costs) {
  std::array<double, 2> all{};
  for (std::uint32_t s = 0; s < 2; ++s) {
    for (const auto& v : costs.vertices) all[s] += v.costs[v.vertex == 0 ? s : 0] * static_cast<double>(v.times);
    for (const auto& e : costs.edges) all[s] += (*e.table)(s, 0) * static_cast<double>(e.times);
    all[s] = std::ldexp(all[s], -costs.bits);
  }
  return all;
}
}  // namespace

TEST_SUITE("step_certificate") {
  TEST_CASE("costs at the weights of claims are the work that they count, each edge in its cheapest way") {
    const by_hand p;
    sw::step_claim priced = stream;
    priced.price = 1;
    priced.held = 2;
    struct proof {
      std::vector<sw::step_claim> claims;
      std::vector<std::int64_t> halves;
      std::array<double, 2> costs;
    };
    const proof proofs[] = {{{}, {}, {0, 0}},
                            {{stream}, {2}, {3 + 2, 5 + 2}},
                            {{along}, {2}, {3 + 4 + 2, 5 + 6 + 2}},
                            {{stream, along}, {1, 1}, {(5 + 9) / 2.0, (7 + 13) / 2.0}},
                            {{channel}, {2}, {0, 0}},                                     // packed away
                            {{stream, channel}, {1, 1}, {(5 + 4) / 2.0, (7 + 6) / 2.0}},  // 10 on the stream is dearer
                            {{priced}, {1}, {(5 + 7) / 2.0, (7 + 1) / 2.0}}};
    for (const proof& one : proofs) {
      const auto found = sums(sw::costs_at(p.certificate(one.claims, one.halves, 0), p.work));
      for (std::size_t s = 0; s < 2; ++s) {
        CAPTURE(one.costs[s]);
        CHECK(found[s] <= one.costs[s]);
        CHECK(found[s] >= one.costs[s] - 0x1p-29);  // a vertex's or an edge's is rounded down to a unit
      }
    }
  }

  TEST_CASE("limits at the prices of what claims hold go off the bound, rounded so that it claims no more") {
    const by_hand p;
    sw::step_claim priced = stream;
    priced.price = 1;
    priced.held = 2;
    CHECK(sw::bound_of(p.certificate({stream}, {2}, 5), p.work) == 5);
    const double one = sw::bound_of(p.certificate({priced}, {1}, 9), p.work);  // the limit is 4, at a half
    CHECK(one == doctest::Approx(9 - 4 * 0.5));
    CHECK(one <= 9 - 4 * 0.5);
    const double both = sw::bound_of(p.certificate({priced, stream, priced}, {1, 0, 1}, 9), p.work);
    CHECK(both == doctest::Approx(9 - 4));
    CHECK(both <= 9 - 4);
  }
}

}  // namespace step_certificate_tests
