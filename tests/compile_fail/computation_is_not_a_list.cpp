// expect: computation_range
#include <shardweave/overlap/savings_tracker.hpp>

#include <list>
#include <vector>
#ifdef SHARDWEAVE_REFUSED
using computation = std::list<long>;
#else
using computation = std::vector<long>;
#endif
auto tracker(const computation& c, const std::vector<shardweave::hideable<long>>& d) {
  return shardweave::savings_tracker<long>(c, d);
}
