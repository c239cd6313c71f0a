// expect: Computation must be a sized range with random access to lengths of time
// doors: 2
#include <shardweave/overlap/savings.hpp>
#include <shardweave/overlap/savings_tracker.hpp>

#include <deque>
#include <string>
#include <vector>
namespace sw = shardweave;
#ifdef SHARDWEAVE_REFUSED
using given = std::string;
#else
using given = double;
#endif
using hideables = std::vector<sw::hideable<double>>;

auto saved(const std::vector<given>& computation, const hideables& d) { return sw::hide(computation, d); }
auto tracked(const std::deque<given>& computation, const hideables& d) { return sw::savings_tracker(computation, d); }
