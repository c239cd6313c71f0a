// expect: duration_value
#include <shardweave/overlap/savings.hpp>

#include <string>
#include <vector>

#ifdef SHARDWEAVE_REFUSED
using time_value = std::string;
#else
using time_value = long;
#endif

auto hidden(const std::vector<time_value>& computation, const std::vector<shardweave::hideable<time_value>>& demands) {
  return shardweave::hide(computation, demands);
}
