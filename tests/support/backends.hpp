#pragma once

#include <shardweave/solve/backend/any_backend.hpp>
#ifdef SHARDWEAVE_HAS_GLPK
#include <shardweave/solve/backend/glpk.hpp>
#endif
#ifdef SHARDWEAVE_HAS_CLP
#include <shardweave/solve/backend/clp.hpp>
#endif
#ifdef SHARDWEAVE_HAS_CBC
#include <shardweave/solve/backend/cbc.hpp>
#endif
#ifdef SHARDWEAVE_HAS_HIGHS
#include <shardweave/solve/backend/highs.hpp>
#endif

#include <vector>

/// \file
/// The backends that this build knows, so that one test speaks for all of them and is compiled once.

namespace shardweave_test {

/// Those that know whole numbers, or all of them.
[[nodiscard]] inline std::vector<shardweave::any_backend> backends(bool whole_numbers = false) {
  std::vector<shardweave::any_backend> all;
#ifdef SHARDWEAVE_HAS_GLPK
  all.emplace_back(shardweave::glpk{});
#endif
#ifdef SHARDWEAVE_HAS_CLP
  if (!whole_numbers) all.emplace_back(shardweave::clp{});
#endif
#ifdef SHARDWEAVE_HAS_CBC
  all.emplace_back(shardweave::cbc{});
#endif
#ifdef SHARDWEAVE_HAS_HIGHS
  all.emplace_back(shardweave::highs{});
#endif
  static_cast<void>(whole_numbers);
  return all;
}

}  // namespace shardweave_test
