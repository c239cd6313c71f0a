// expect: hideable_range
#include <shardweave/overlap/savings.hpp>

#include <vector>
namespace sw = shardweave;
#ifdef SHARDWEAVE_REFUSED
using demand = double;
#else
using demand = sw::hideable<double>;
#endif
auto saved(const std::vector<double>& computation, const std::vector<demand>& demands) {
  return sw::hide(computation, demands);
}
