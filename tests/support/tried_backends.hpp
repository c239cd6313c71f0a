#pragma once

#include <support/backends.hpp>
#include <support/skipped.hpp>

#include <vector>

namespace shardweave_test {

/// `backends`, for a test case that tries each: where there is none, says that the test case is skipped.
[[nodiscard]] inline std::vector<shardweave::any_backend> tried_backends(bool whole_numbers = false) {
  std::vector<shardweave::any_backend> all = backends(whole_numbers);
  if (all.empty()) skipped("no component with a backend is here");
  return all;
}

}  // namespace shardweave_test
