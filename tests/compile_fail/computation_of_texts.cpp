// expect: computation_range
#include <shardweave/overlap/hideable.hpp>

#include <string>
#include <vector>

template <shardweave::computation_range Computation>
std::size_t positions(const Computation& offered) {
  return offered.size();
}

#ifdef SHARDWEAVE_REFUSED
using given = std::string;
#else
using given = double;
#endif

auto use(const std::vector<given>& offered) { return positions(offered); }
