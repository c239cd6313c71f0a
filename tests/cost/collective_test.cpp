#include "cost/promises.hpp"
#include <shardweave/cost/collective.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

namespace collective_tests {
namespace {

using namespace shardweave;
using namespace cost_promises;

}  // namespace

TEST_SUITE("collective") {
  TEST_CASE("each has a name of its own by which it is found, and no other text is one") {
    for (const auto& [kind, name] :
         {std::pair(collective::all_gather, "all_gather"), std::pair(collective::reduce_scatter, "reduce_scatter"),
          std::pair(collective::all_reduce, "all_reduce"), std::pair(collective::all_to_all, "all_to_all"),
          std::pair(collective::shift, "shift"), std::pair(collective::other, "other")}) {
      CHECK(name_of(kind) == name);
      CHECK(collective_from(name) == kind);
      const bool sends = kind == collective::all_to_all || kind == collective::shift || kind == collective::other;
      CHECK(is_mergeable(kind) == !sends);
    }
    for (const char* name : {"", "all_gather_coalesced", "ALL_REDUCE", "broadcast"}) CHECK(!collective_from(name));
    CHECK(std::equal(kinds.begin(), kinds.end(), priced_collectives.begin(), priced_collectives.end()));
  }
}

}  // namespace collective_tests
