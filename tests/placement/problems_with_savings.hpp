#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/placement/compile.hpp>

#include <doctest/doctest.h>
#include <support/random_savings.hpp>
#include <support/scale.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace problems_with_savings {

namespace sw = shardweave;

/// Random problems as they are compiled; those that nothing can satisfy are left out.
template <class Check>
void for_each(std::size_t seeds, Check check) {
  const std::uint64_t first = shardweave_test::sized(0U, 100U);  // few forbid pairs or join tables; some of these do
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    CAPTURE(seed);
    std::optional<sw::placement_problem<std::int64_t>> problem;
    try {
      problem = sw::compile(shardweave_test::draw_savings_problem<std::int64_t>(seed).description);
    } catch (const sw::error&) {
      continue;
    }
    if (problem->compact().size() == 0) continue;
    sw::random_source random(seed);
    check(*problem, random);
  }
}

}  // namespace problems_with_savings
